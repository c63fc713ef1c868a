"""How a program is compiled and called: settings, a schedule that is asked for, a processor, callers at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from loopdiff.backends.cpu.simd.types import cpu_features
from loopdiff.immutable import immutable, replace
from loopdiff.settings.requests import ON_CPU, ON_GPU, SWEEPS

Wished = tuple[str, str, str]  # a sweep, a loop of it, and what that shall be
# Processors that code is compiled for, with their features: vectors of 256 and of 128 bits. This one must have them.
PROCESSORS = {
    "haswell": "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2",
    "nehalem": "+popcnt,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2",
}
OTHERS = tuple(n for n, text in PROCESSORS.items() if set(text.replace("+", "").split(",")) <= cpu_features())
BLOCKS = ("rows=1", "rows=2", "rows=3", "rows=5", "rows=7", "rows=64", "no rows")
LIMITS = (512, 4096, 1 << 20)


@immutable
class Setting:
    """Arguments of `vectorize_grad`, wishes of its `schedule`, a processor (none: this one), and how many threads call
    the function at once. With `parallel`, loops of any length run on several threads.
    """

    fastmath: bool = True
    parallel: bool = False
    target: str = "cpu"
    accuracy: str = "default"
    memory_limit: int | None = None
    wishes: tuple[Wished, ...] = ()
    processor: str = ""
    callers: int = 1
    negative: str = "error"

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `vectorize_grad`."""
        schedule: dict[str, dict[str, str]] = {}
        for sweep, loop, wish in self.wishes:
            schedule.setdefault(sweep, {})[loop] = wish
        names = ("fastmath", "parallel", "target", "accuracy", "memory_limit", "negative")
        return {name: getattr(self, name) for name in names} | {"schedule": schedule or None}

    def plainer(self) -> Iterator[Setting]:
        """Settings with one thing less out of the ordinary."""
        for n in range(len(self.wishes)):
            yield replace(self, wishes=self.wishes[:n] + self.wishes[n + 1 :])
        for name, value in PLAIN_VALUES.items():
            if getattr(self, name) != value:
                yield replace(self, wishes=() if name == "target" else self.wishes, **{name: value})

    @property
    def weight(self) -> int:
        """How much is out of the ordinary."""
        return len(self.wishes) + sum(getattr(self, n) != v for n, v in PLAIN_VALUES.items())

    def __str__(self) -> str:
        given = {n: getattr(self, n) for n, v in {**PLAIN_VALUES, "wishes": ()}.items() if getattr(self, n) != v}
        return ", ".join(f"{n}={v!r}" for n, v in given.items()) or "as they come"


PLAIN_VALUES = {
    "callers": 1, "processor": "", "memory_limit": None, "accuracy": "default", "target": "cpu", "parallel": False,
    "fastmath": True, "negative": "error",
}  # fmt: skip


def draw_setting(seed: int, text: str) -> Setting:
    """The setting for a program; half of them are plain but for `fastmath`."""
    rng = Random(f"setting {seed}")
    found = Setting(fastmath=rng.random() < 0.5)
    if rng.random() < 0.4:
        return found
    target = "cuda-emulated" if rng.random() < 0.15 else "cpu"
    is_on_cpu = target == "cpu"
    return replace(
        found,
        target=target,
        parallel=is_on_cpu and rng.random() < 0.35,
        accuracy="high" if rng.random() < 0.1 else "default",
        memory_limit=rng.choice(LIMITS) if rng.random() < 0.15 else None,
        wishes=draw_wishes(rng, text, is_on_cpu) if rng.random() < 0.4 else (),
        processor=rng.choice(OTHERS) if OTHERS and is_on_cpu and rng.random() < 0.25 else "",
        callers=4 if rng.random() < 0.2 else 1,
        negative="from_end" if rng.random() < 0.1 else "error",
    )


def draw_wishes(rng: Random, text: str, is_on_cpu: bool) -> tuple[Wished, ...]:
    """Up to three, for loops of the text."""
    loops = sorted(set(re.findall(r"\bfor (\w+) in range", text)))
    if not loops:
        return ()
    wishes = (*(ON_CPU if is_on_cpu else ON_GPU), rng.choice(BLOCKS))
    sweeps = rng.choices(SWEEPS, k=rng.randint(1, 3))
    return tuple({(s, loop): (s, loop, rng.choice(wishes)) for s in sweeps if (loop := rng.choice(loops))}.values())
