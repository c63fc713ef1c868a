"""What the compiler makes of the corpus: a digest of the arranged loops and of the generated text of every function.

Nothing is compiled to machine code. Two records of one corpus are equal where a change only moved code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from numba.core import config

from loopdiff.api import vectorize_grad
from loopdiff.backends.cuda import compile as cuda
from loopdiff.backends.load import CompiledFunction
from loopdiff.errors import LoopdiffError
from loopdiff.frontend.capture import argument_types
from loopdiff.ir.printer import print_loopset
from loopdiff.model.machine import Machine
from loopdiff.report.schedules import explain_schedule
from loopdiff.specialize import specialization
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import SweepUnits, Unit
from tests.corpus import BY_NAME, Entry

FEATURES = "+avx512f,+avx512vl,+avx2,+fma"  # of the processor that is generated for, wherever this runs
TARGETS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "threads": {"parallel": True},
    "strict": {"fastmath": False},
    "emulated": {"target": "cuda-emulated"},
    "cuda": {"target": "cuda"},
}
# Names of generated modules hash the compiler's own text, keys of rules the place of their file.
INSTALLED = re.compile(r"(loopdiff_\w+?_)[0-9a-f]{16}|(?<=called\()'[^']*'")
Record = dict[str, str]


@contextmanager
def only_texts() -> Iterator[list[str]]:
    """Functions are generated for one processor in this context and not compiled; the modules of kernels are noted."""
    kernels: list[str] = []
    write = cuda.write_module

    def noted(stem: str, text: str, *, is_cached: bool = True) -> Path:
        kernels.append(text)
        return write(stem, text, is_cached=is_cached)

    with ExitStack() as stack:
        stack.enter_context(patch.object(config, "CPU_FEATURES", FEATURES))
        stack.enter_context(patch.object(specialization, "instantiate", lambda *_: None))
        stack.enter_context(patch.object(cuda, "write_module", noted))
        stack.enter_context(patch.object(cuda, "kernel_code", lambda path, kernel: f"kernel_{kernel.name}"))
        yield kernels


def record_of_name(job: tuple[str, str]) -> Record:
    """`record_of` the entry of that name for the target."""
    name, target = job
    return record_of(BY_NAME[name], target)


def record_of(entry: Entry, target: str) -> Record:
    """Digests by function and form, `loops` and `text` of each, or the codes of an error; and which passes changed any
    function, as `changes`."""
    found: Record = {}
    options = TARGETS[target]
    with only_texts() as kernels:
        try:
            decorated = vectorize_grad(wrt=entry.wrt, cache=False, **options)(entry.function)
            spec = decorated.specialize(argument_types(entry.args(0)))
        except LoopdiffError as error:
            return {f"{entry.name}/{target}": " ".join(error.codes)}
        for name, make in functions_of(spec, target):
            key = f"{entry.name}/{target}/{name}"
            kernels.clear()
            try:
                unit = make()
            except LoopdiffError as error:
                found[key] = " ".join(error.codes)
                continue
            if unit is not None:
                found[f"{key}/loops"] = digest(loops_of(unit))
                found[f"{key}/text"] = digest("\n".join([unit.function.source, *kernels]))
        found[f"{entry.name}/{target}/changes"] = " ".join(sorted({c.by for c in spec.stages.changes}))
    return found


def functions_of(spec: Specialization, target: str) -> Iterator[tuple[str, Callable[[], Unit | None]]]:
    """What is compiled for a function, by name; elsewhere than on the CPU only the sweeps of `value_and_grad`."""
    yield "primal", lambda: spec.primal
    yield "tangent", lambda: spec.tangent
    yield "one pass", lambda: spec.one_pass
    forms = [("gradient", "auto")]
    if target == "cpu":
        forms += [("sums", "auto"), ("pullback", "auto"), ("sums", "store"), ("sums", "recompute")]
    for form, tape in forms:

        def sweeps(form: Any = form, tape: Any = tape) -> SweepUnits:
            return spec.sweeps(form, tape)

        yield f"forward {form} {tape}", lambda s=sweeps: s().forward
        yield f"reverse {form} {tape}", lambda s=sweeps: s().reverse
        yield f"counts {form} {tape}", lambda s=sweeps: s().counts


def loops_of(unit: Unit) -> str:
    """The loops of a function as they were given to the back end, and as that arranged them, with the schedule."""
    function: CompiledFunction = unit.function
    texts = [print_loopset(unit.ls)]
    arranged = function.arranged
    while arranged is not None:
        texts += [print_loopset(arranged.ls), explain_schedule(arranged.schedule, arranged.ls, Machine())]
        arranged = arranged.threads
    return "\n".join(texts)


def digest(text: str) -> str:
    return hashlib.sha256(INSTALLED.sub(lambda m: m[1] or "", text).encode()).hexdigest()[:16]
