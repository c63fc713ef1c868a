"""Expressions of random programs about the tape. What they compute stays of moderate size, however often it is fed back
into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
ATOM = re.compile(r"[\w.]+(\[[^()]*\]|\([^()]*\)(?! ))?")
# Of one or two numbers, none of which grows by much: most ask for their operands again when they are differentiated.
FORMS = (
    "0.5 * {a} + 0.3 * {b}", "0.6 * {a} * {b}", "{a} - 0.4 * {b}", "{a} / (1.3 + {b} * {b})", "np.sin({a})",
    "np.tanh({a} + {b})", "0.4 * {a} ** 2", "np.exp(-{a} * {a})", "np.sqrt(0.2 + {a} * {a})", "max({a}, 0.4 * {b})",
    "min({a}, {b})", "0.7 * abs({a})", "({a} if {b} > {c} else 0.5 * {b})", "np.cos({a}) * {b}", "0.9 * {a}",
    "np.where({a} < {c}, {b}, 0.3 * {a})", "0.8 * {a} + {c}", "math.log(1.2 + {a} * {a})", "0.3 * {a} * {b} * {b}",
)  # fmt: skip
OF_ARRAYS = (
    "0.5 * {a} + 0.3 * {b}", "0.6 * {a} * {b}", "np.tanh({a} + {b})", "np.sin({a})", "{a} / (1.3 + {b} * {b})",
    "np.where({a} < {c}, {b}, 0.3 * {a})", "np.maximum({a}, {b})", "0.4 * {a} ** 2", "{a} - {c} * {b}",
)  # fmt: skip
# How a place gets a new value that its old one goes into, or not.
UPDATES = (
    "{x} = {e}", "{x} = {e}", "{x} = 0.5 * {x} + {e}", "{x} = 0.7 * {x} * {e}", "{x} += 0.3 * {e}", "{x} *= {e}",
    "{x} -= 0.2 * {e}", "{x} = np.sin({x} + {e})", "{x} = max(0.9 * {x}, {e})", "{x} = min({x}, {e})",
    "{x} /= 1.2 + ({e}) ** 2", "{x} = {e} - {x}",
)  # fmt: skip


class Drawer:
    """Random choices, and expressions made by them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def constant(self) -> str:
        """A number that nothing computed meets exactly."""
        return f"{self.rng.uniform(-0.6, 1.1):.3f}"

    def number(self, items: Sequence[str], depth: int = 2) -> str:
        """An expression of some of `items`."""
        if depth == 0 or self.chance(0.25):
            return self.pick(items)
        return self.formed(FORMS, items, depth)

    def whole_array(self, items: Sequence[str], depth: int = 2) -> str:
        """An expression of whole arrays of one shape."""
        if depth == 0 or self.chance(0.25):
            return self.pick(items)
        return f"({self.formed(OF_ARRAYS, items, depth, is_array=True)})"

    def formed(self, forms: Sequence[str], items: Sequence[str], depth: int, is_array: bool = False) -> str:
        draw = self.whole_array if is_array else self.number
        a, b = (in_brackets(draw(items, depth - 1)) for _ in range(2))
        return self.pick(forms).format(a=a, b=b, c=self.constant())

    def update(self, place: str, items: Sequence[str], depth: int = 2) -> str:
        """A statement that changes `place`."""
        return self.pick(UPDATES).format(x=place, e=in_brackets(self.number(items, depth)))

    def condition(self, items: Sequence[str]) -> str:
        form = self.pick(("{a} > {c}", "{a} < {b}", "{a} * {b} > {c}", "(abs({a}) < {d} or {b} > {c})"))
        a, b = in_brackets(self.number(items, 1)), in_brackets(self.pick(items))
        return form.format(a=a, b=b, c=self.constant(), d=f"{self.rng.uniform(0.3, 1.2):.3f}")


def in_brackets(text: str) -> str:
    """`text` as an operand."""
    return text if ATOM.fullmatch(text) else f"({text})"
