"""loopdiff itself, called as its users call it.

The gradient of a kernel that returns its loss is `f.value_and_grad(...)`. Of one with weighted arrays there are two:
that of a loss which calls the kernel and sums its outputs up, as `losses` has it, and `f.vjp(...)` with its pullback,
which notices arrays that changed in between. `sweeps` is the compiled code alone, with buffers that are used again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from kernels import Problem
from losses import LOSSES
from timing import Call

from loopdiff import vectorize_grad
from peers import Gradient


def decorated(problem: Problem, **settings: Any) -> Any:
    return vectorize_grad(wrt=problem.wrt, **settings)(problem.kernel.entry.function)


def primal(problem: Problem, f: Any) -> Call:
    args = tuple(problem.args.values())

    def call() -> object:
        problem.restore()
        return f(*args)

    return call


def value_and_grad(problem: Problem, f: Any, args: tuple[Any, ...]) -> Gradient:
    def call() -> tuple[Any, dict[str, Any]]:
        problem.restore()
        value, found = f.value_and_grad(*args)
        return value, found._asdict()

    return call


def gradient(problem: Problem, f: Any) -> Gradient:
    """The gradient of the kernel `f`, by its value where that is the loss."""
    args = tuple(problem.args.values())
    if problem.kernel.is_scalar:
        return value_and_grad(problem, f, args)
    weight = dict(problem.weight)
    seed = (weight.pop("result"),) if "result" in weight else ()

    def pulled_back() -> tuple[Any, dict[str, Any]]:
        problem.restore()
        value, pullback = f.vjp(*args)
        return value, pullback(*seed, **weight)._asdict()

    return pulled_back


def loss_gradient(problem: Problem, **settings: Any) -> Gradient | None:
    """The value and the gradient of a loss over a kernel that returns none."""
    if problem.name not in LOSSES:
        return None
    loss = vectorize_grad(wrt=problem.wrt, **settings)(LOSSES[problem.name])
    return value_and_grad(problem, loss, (*problem.args.values(), *problem.weight.values()))


def sweeps(problem: Problem, f: Any) -> Call | None:
    """The forward and the reverse sweep on buffers that are filled again for each call."""
    args = tuple(problem.args.values())
    k = f.compile(*args)
    workspace = k.workspace(*args)
    rest: list[Any] = []
    filled: list[tuple[np.ndarray, Any]] = []
    for parameter in k.signature("reverse")[len(args) + len(workspace) :]:
        name = parameter.removesuffix("_adj")
        if name == "result":
            rest.append(np.dtype(problem.dtype).type(1.0))
        elif name in problem.args:
            rest.append(np.zeros_like(problem.args[name]))
            filled.append((rest[-1], problem.weight.get(name, 0.0)))
        else:
            return None

    def call() -> object:
        problem.restore()
        for array, value in filled:
            array[...] = value
        result = k.unchecked.forward(*args, *workspace)
        k.unchecked.reverse(*args, *workspace, *rest)
        return result

    return call
