"""What a program gives, and its derivatives, from running the undecorated function on numbers with derivatives."""

from __future__ import annotations

import copy
import itertools
import linecache
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array
from .functions import namespace
from .numbers import Dual, Number, Taped, adjoints, primal
from .structures import RECORDS, leaves, mapped
from .surfaces.taped import decorator

Args = dict[str, Any]
registered = itertools.count()


def function_of(source: str, globals_: dict[str, Any]) -> Any:
    """The function `f` of a program's text, whose source can be read as that of a file."""
    name = f"<program {next(registered)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), globals_)
    return globals_["f"]


def plain_function(source: str) -> Any:
    return function_of(source, {"__name__": "program", "np": np, "math": math, "vectorize_grad": decorator, **RECORDS})


def is_active(argument: Any) -> bool:
    """Whether an argument has floating leaves, so that there are derivatives with respect to it."""
    return any(is_active_leaf(leaf) for _, leaf in leaves(argument))


def is_active_leaf(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype in (np.float64, np.float32)
    return isinstance(value, float)


def lifted(value: Any, make: Callable[[float, Any], Number], attached: Any) -> Any:
    """A leaf of an argument, of numbers that `make` makes of each float and of what is attached to it."""
    if not is_active_leaf(value):
        return copy.deepcopy(value)
    if isinstance(value, float):
        return make(float(value), attached)
    result = np.empty(value.shape, dtype=object)
    for place in np.ndindex(*value.shape):
        result[place] = make(float(value[place]), attached[place])
    return result.view(Array)


def items(result: Any) -> list[Any]:
    """The leaves of a result, none for a function that returns nothing."""
    return [] if result is None else [leaf for _, leaf in leaves(result)]


def floats(value: Any, of: Callable[[Any], Any] = primal) -> Any:
    """A value with each number replaced by a float: its own, or another one that `of` gives."""
    if isinstance(value, Array):
        result = np.empty(value.shape)
        for place in np.ndindex(*value.shape):
            result[place] = of(value[place])
        return result
    return of(value) if isinstance(value, (Number, float)) else value


def is_floating(value: Any) -> bool:
    return isinstance(value, (Number, Array, float))


def weighted(value: Any, weights: Any) -> list[tuple[Any, Any]]:
    """The numbers of a leaf with their weights: None for one that does not count."""
    if weights is None:
        return []
    if isinstance(value, Array):
        return [(value[place], float(weights[place])) for place in np.ndindex(*value.shape)]
    return [(value, float(weights))] if isinstance(value, Number) else []


def zeros_for(argument: Any) -> Any:
    return mapped(lambda leaf: np.zeros(leaf.shape) if isinstance(leaf, np.ndarray) else 0.0, argument)


@dataclass(frozen=True)
class Run:
    """One run of a program: its arguments as they went in and as they came out, and its result."""

    leaves: Args
    finals: Args
    result: Any

    def values(self) -> list[Any]:
        return [floats(item) for item in items(self.result)]

    def written(self) -> Args:
        """By argument with floating arrays that no longer hold what they held, which of its leaves are such."""
        changed = {name: mapped(is_changed, before, self.finals[name]) for name, before in self.leaves.items()}
        return {name: flags for name, flags in changed.items() if any(flag for _, flag in leaves(flags))}

    def pull(self, seeds: list[Any], cotangents: Mapping[str, Any], of: Callable[[Any], Any] = primal) -> Args:
        """The gradients by argument of the sum of items times seeds and final arrays times cotangents."""
        outputs = [pair for item, seed in zip(items(self.result), seeds, strict=True) for pair in weighted(item, seed)]
        for name, cotangent in cotangents.items():
            parts = zip(leaves(self.finals[name]), leaves(cotangent), strict=True)
            outputs += [pair for (_, final), (_, weight) in parts for pair in weighted(final, weight)]
        by_node = adjoints(outputs)

        def gradient(number: Any) -> Any:
            return of(by_node.get(number.made, 0.0))

        def gradients(leaf: Any) -> Any:
            return floats(leaf, gradient) if is_floating(leaf) else None

        active = (name for name, argument in self.leaves.items() if any(is_floating(v) for _, v in leaves(argument)))
        return {name: mapped(gradients, self.leaves[name]) for name in active}


def is_changed(before: Any, after: Any) -> bool:
    return isinstance(before, Array) and any(before[p] is not after[p] for p in np.ndindex(*before.shape))


def run(source: str, args: Args, make: Callable[[float, Any], Number], attached: Mapping[str, Any]) -> Run:
    def of_one(leaf: Any, change: Any) -> Any:
        return lifted(leaf, make, change)

    before = {name: mapped(of_one, value, attached.get(name, zeros_for(value))) for name, value in args.items()}
    finals = {name: mapped(copied, value) for name, value in before.items()}
    return Run(before, finals, function_of(source, {**namespace(), "vectorize_grad": decorator})(**finals))


def copied(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def taped(source: str, args: Args) -> Run:
    """Run for reverse mode."""
    return run(source, args, lambda value, _: Taped(value), {})


def dual(source: str, args: Args, tangents: Mapping[str, Any]) -> Run:
    """Run forward mode along one direction."""
    return run(source, args, lambda value, tangent: Dual(value, float(tangent)), tangents)


def tangent(number: Any) -> float:
    return primal(number.tangent) if isinstance(number, Dual) else 0.0


def taped_dual(source: str, args: Args, tangents: Mapping[str, Any]) -> Run:
    """Run for reverse mode whose gradients carry how they change along a direction."""
    return run(source, args, lambda value, change: Taped(Dual(value, float(change))), tangents)
