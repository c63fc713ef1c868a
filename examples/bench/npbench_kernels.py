"""Benchmarks of a checkout of NPBench, as they stand there: arguments, NumPy sources, variants, and their outputs."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of the checkout `root` at one of NPBench's sizes."""

    root: Path
    name: str
    size: str

    @cached_property
    def info(self) -> Mapping[str, Any]:
        return json.loads((self.root / "bench_info" / f"{self.name}.json").read_text())["benchmark"]

    def function(self, variant: str, name: str | None = None) -> Function:
        """The function of a variant: `numpy`, `numba_n`, `jax`; that of the benchmark, or one called `name`.

        Raises FileNotFoundError where there is no such variant.
        """
        stem = f"{self.info['module_name']}{variant and '_'}{variant}"
        path = self.root / "npbench" / "benchmarks" / self.info["relative_path"] / f"{stem}.py"
        return getattr(module_at(stem, path), name or self.info["func_name"])

    @cached_property
    def args(self) -> tuple[Any, ...]:
        """The arguments, as NPBench makes them."""
        scope = dict(self.info["parameters"][self.size])
        init = self.info.get("init")
        if init:
            made = self.function("", init["func_name"])(*(scope[a] for a in init["input_args"]))
            names = init["output_args"]
            scope |= dict(zip(names, made if isinstance(made, tuple) else (made,), strict=True))
        return tuple(scope[a] for a in self.info["input_args"])

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """Arguments that NPBench calls outputs."""
        return tuple(self.info["input_args"].index(n) for n in self.info["output_args"])

    def changed(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Which arguments are not what they were."""
        pairs = zip(args, self.args, strict=True)
        return tuple(k for k, (a, b) in enumerate(pairs) if isinstance(a, np.ndarray) and not is_same(a, b))


def is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays of one shape are equal, NaN too, with no copies of their numbers: `array_equal` makes two."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


def outputs_of(function: Function, args: Sequence[Any], places: Sequence[int]) -> Outputs:
    """What `function` computes: what it returns, and what it leaves in the arguments at `places`."""
    found = function(*args)
    results = () if found is None else found if isinstance(found, tuple) else (found,)
    return Outputs(tuple(map(np.asarray, results)), {p: np.asarray(args[p]) for p in places})


@dataclass(frozen=True)
class Outputs:
    """What a benchmark computes: results, and final values of arguments, by position."""

    results: tuple[np.ndarray, ...]
    written: Mapping[int, np.ndarray]

    @property
    def all(self) -> tuple[np.ndarray, ...]:
        return (*self.results, *self.written.values())


def module_at(name: str, path: Path) -> ModuleType:
    """The module of a file, run."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def copies(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def has_slope(value: np.ndarray) -> bool:
    return np.issubdtype(value.dtype, np.inexact)


def error(found: np.ndarray, want: np.ndarray, least: float = 1e-300) -> float:
    """The largest difference, in units of the largest element, and of `least` at least."""
    if found.shape != want.shape or not np.array_equal(np.isnan(found), np.isnan(want)):
        return np.inf
    scale = max(float(np.nanmax(np.abs(want), initial=0.0)), least)
    return float(np.nanmax(np.abs(found - want), initial=0.0)) / scale


def unjitted(function: Function) -> Function:
    """The Python function in a compiled one, of Numba or of JAX."""
    return getattr(function, "py_func", None) or getattr(function, "__wrapped__", function)


def weights_of(outputs: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    """What each output counts in the loss, element by element, neighbours differently; None for integers."""
    return [
        (1.0 + 0.5 * np.cos(np.arange(w.size))).reshape(w.shape).astype(w.dtype) if has_slope(w) else None
        for w in outputs
    ]
