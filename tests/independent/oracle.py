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

from .arrays import Array, namespace
from .numbers import Dual, Number, Taped, adjoints, primal

Args = dict[str, Any]
registered = itertools.count()


def function_of(source: str, globals_: dict[str, Any]) -> Any:
    """The function `f` of a program's text, whose source can be read as that of a file."""
    name = f"<program {next(registered)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), globals_)
    return globals_["f"]


def plain_function(source: str) -> Any:
    return function_of(source, {"__name__": "program", "np": np, "math": math})


def is_active(value: Any) -> bool:
    """Whether an argument is floating, so that there are derivatives with respect to it."""
    if isinstance(value, np.ndarray):
        return value.dtype in (np.float64, np.float32)
    return isinstance(value, float)


def lifted(value: Any, make: Callable[[float, Any], Number], attached: Any) -> Any:
    """An argument of numbers that `make` makes of each float and of what is attached to it."""
    if not is_active(value):
        return copy.deepcopy(value)
    if isinstance(value, float):
        return make(float(value), attached)
    result = np.empty(value.shape, dtype=object)
    for place in np.ndindex(*value.shape):
        result[place] = make(float(value[place]), attached[place])
    return result.view(Array)


def items(result: Any) -> list[Any]:
    """The items of a result, none for a function that returns nothing."""
    if result is None:
        return []
    return list(result) if isinstance(result, tuple) else [result]


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
    if isinstance(value, Array):
        return [(value[place], float(weights[place])) for place in np.ndindex(*value.shape)]
    return [(value, float(weights))] if isinstance(value, Number) else []


def zeros_for(value: Any) -> Any:
    return np.zeros(value.shape) if isinstance(value, np.ndarray) else 0.0


@dataclass(frozen=True)
class Run:
    """One run of a program: its arguments as they went in and as they came out, and its result."""

    leaves: Args
    finals: Args
    result: Any

    def values(self) -> list[Any]:
        return [floats(item) for item in items(self.result)]

    def written(self) -> set[str]:
        """Floating arrays that no longer hold what they held."""
        return {
            name
            for name, leaf in self.leaves.items()
            if isinstance(leaf, Array) and any(leaf[p] is not self.finals[name][p] for p in np.ndindex(*leaf.shape))
        }

    def pull(self, seeds: list[Any], cotangents: Mapping[str, Any], of: Callable[[Any], Any] = primal) -> Args:
        """The gradients by argument of the sum of items times seeds and final arrays times cotangents."""
        outputs = [pair for item, seed in zip(items(self.result), seeds, strict=True) for pair in weighted(item, seed)]
        for name, cotangent in cotangents.items():
            outputs += weighted(self.finals[name], cotangent)
        by_node = adjoints(outputs)

        def gradient(leaf: Any) -> Any:
            return of(by_node.get(leaf.made, 0.0))

        return {name: floats(leaf, gradient) for name, leaf in self.leaves.items() if is_floating(leaf)}


def run(source: str, args: Args, make: Callable[[float, Any], Number], attached: Mapping[str, Any]) -> Run:
    leaves = {name: lifted(value, make, attached.get(name, zeros_for(value))) for name, value in args.items()}
    finals = {name: leaf.copy() if isinstance(leaf, np.ndarray) else leaf for name, leaf in leaves.items()}
    return Run(leaves, finals, function_of(source, namespace())(**finals))


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
