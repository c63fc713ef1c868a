"""`vectorize_grad` for the oracle: the function as it is, with gradients that are taken on tapes of their own.

Every number that goes into a gradient is lifted, so that tapes inside of each other do not mix.
"""

from __future__ import annotations

import collections
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numbers
from ..arrays import Array
from ..numbers import Number, Taped
from ..structures import leaves, mapped


def applied(function: Callable[[Any], Any], array: Any) -> Any:
    """An array of what `function` makes of each element."""
    made = np.empty(array.shape, dtype=object)
    for place in np.ndindex(*array.shape):
        made[place] = function(array[place])
    return made.view(Array)


def lifted(leaf: Any) -> Any:
    """A leaf of new nodes, whose numbers are those that there were."""
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        return applied(Taped, leaf)
    return Taped(leaf) if isinstance(leaf, (Number, float)) else leaf


def lowered(leaf: Any) -> Any:
    """What stands below the nodes of a leaf."""
    if isinstance(leaf, Array):
        return applied(lowered, leaf)
    return leaf.value if isinstance(leaf, Taped) else leaf


def is_number(leaf: Any) -> bool:
    return isinstance(leaf, (Number, float)) or (isinstance(leaf, np.ndarray) and leaf.dtype == object)


def write_back(leaf: Any, after: Any) -> None:
    """Leave in an array of the caller what the function did to it."""
    if isinstance(leaf, Array):
        leaf[...] = lowered(after)


class Decorated:
    """A function and its gradients."""

    def __init__(self, function: Any, wrt: Any = None, has_aux: bool = False) -> None:
        self.function, self.has_aux, self.wrt = function, has_aux, wrt
        self.signature = inspect.signature(function)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = Decorated(self.function.__get__(instance), None, self.has_aux)
        bound.wrt, bound.instance = self.wrt, instance
        return bound

    instance: Any = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    def grad(self, *args: Any, **named: Any) -> Any:
        value, gradients = self.value_and_grad(*args, **named)
        if not self.has_aux:
            return gradients
        return gradients, value[1] if len(value) == 2 else tuple(value[1:])

    def value_and_grad(self, *args: Any, **named: Any) -> tuple[Any, Any]:
        """All numbers among the arguments, and in the instance, are those of a tape; `wrt` says which count."""
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        before = dict(bound.arguments)
        if self.instance is not None:
            before["self"] = self.instance
        starts = {name: of_parts(lifted, value) for name, value in before.items()}
        inside = {name: of_parts(copied, value) for name, value in starts.items()}
        bound.arguments.update((name, inside[name]) for name in bound.arguments)
        function = self.function if self.instance is None else self.function.__func__.__get__(inside["self"])
        result = function(*bound.args, **bound.kwargs)
        for name, value in before.items():
            of_parts(write_back, value, inside[name])
        by_node = numbers.adjoints([(result[0] if self.has_aux else result, 1.0)])

        def gradient(leaf: Any) -> Any:
            if isinstance(leaf, Array):
                return applied(gradient, leaf)
            return by_node.get(leaf.made, 0.0) if isinstance(leaf, Taped) else None

        roots = roots_of(self.wrt, [*before], [n for n in before if n != "self" and has_numbers(before[n])])
        record = collections.namedtuple("Gradients", roots)  # type: ignore[misc]
        return mapped(lowered, result), record(*(of_parts(gradient, starts[root]) for root in roots))


def has_numbers(value: Any) -> bool:
    return any(is_number(leaf) for _, leaf in leaves(value))


def roots_of(wrt: Any, names: list[str], active: list[str]) -> list[str]:
    """The arguments that are differentiated by, in order."""
    if wrt is None:
        return active
    asked = [wrt] if isinstance(wrt, (str, int)) else wrt
    own = [name for name in names if name != "self"]
    texts = [own[w] if isinstance(w, int) else w for w in asked]
    return list(dict.fromkeys(text.split("[")[0].split(".")[0] for text in texts))


def copied(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def of_parts(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """`function` of the leaves of a structure, or of an instance of the class of a program, and of others like it."""
    if type(value).__name__ != "Holder":
        return mapped(function, value, *others)
    made = object.__new__(type(value))
    for name, part in vars(value).items():
        setattr(made, name, mapped(function, part, *(getattr(other, name) for other in others)))
    return made


def decorator(function: Any = None, /, **settings: Any) -> Any:
    """Stands for `vectorize_grad`, whose other settings have no meaning here."""
    return Decorated(function, **settings) if function is not None else lambda f: Decorated(f, **settings)
