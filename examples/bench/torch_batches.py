"""`torch.func.vmap` of small loop nests and of their derivatives, against PyTorch's own batches of the same and against
calls one by one.

    python examples/bench/torch_batches.py

Gradients are compared before anything is timed. Times are medians on one thread; those of one line are taken in turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.func import grad, jvp, vmap

from loopdiff import vectorize_grad
from loopdiff.torch import wrap

ROUNDS, LEAST = 9, 0.1


@vectorize_grad
def step(W, x, h):
    """A recurrent step."""
    new = np.zeros_like(x)
    for i in range(W.shape[0]):
        s = x[i]
        for j in range(W.shape[1]):
            s += W[i, j] * h[j]
        new[i] = np.tanh(s)
    return new


def step_twin(W: Any, x: Any, h: Any) -> Any:
    return torch.tanh(W @ h + x)


@vectorize_grad
def lorenz(y, p):
    """Fifty steps of an integrator of three numbers."""
    a, b, c = y[0], y[1], y[2]
    for _ in range(50):
        da, db, dc = p[0] * (b - a), a * (p[1] - c) - b, a * b - p[2] * c
        a, b, c = a + 0.01 * da, b + 0.01 * db, c + 0.01 * dc
    return a, b, c


def lorenz_twin(y: Any, p: Any) -> Any:
    a, b, c = y[0], y[1], y[2]
    for _ in range(50):
        da, db, dc = p[0] * (b - a), a * (p[1] - c) - b, a * b - p[2] * c
        a, b, c = a + 0.01 * da, b + 0.01 * db, c + 0.01 * dc
    return a, b, c


def total_of(found: Any) -> Any:
    parts = found if isinstance(found, tuple) else (found,)
    return sum(((1.0 + k) * part).sum() for k, part in enumerate(parts))


def slopes_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of a weighted sum by both of the first arguments."""
    return grad(lambda *args: total_of(f(*args)), (0, 1))


def tangent_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """Tangents along the sines of both of the first arguments."""
    return lambda a, b, *rest: jvp(lambda a, b: total_of(f(a, b, *rest)), (a, b), (torch.sin(a), torch.sin(b)))[1]


def products_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """Second derivatives along the same."""
    return lambda a, b, *rest: jvp(
        lambda a, b: slopes_of(lambda *args: total_of(f(*args)) ** 2)(a, b, *rest), (a, b), (torch.sin(a), torch.sin(b))
    )[1]


def one_by_one(f: Any, axes: Sequence[int | None]) -> Callable[..., Any]:
    """Calls of the elements, and their results as tensors."""

    def every(*args: Any) -> Any:
        size = next(a.shape[0] for a, axis in zip(args, axes, strict=True) if axis is not None)
        each = [f(*(a if axis is None else a[k] for a, axis in zip(args, axes, strict=True))) for k in range(size)]
        if isinstance(each[0], tuple):
            return tuple(torch.stack(part) for part in zip(*each, strict=True))
        return torch.stack(each)

    return every


def time_of(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    count, begin = 0, time.perf_counter()
    while (taken := time.perf_counter() - begin) < LEAST:
        call()
        count += 1
    return taken / count


def line(name: str, calls: Sequence[Callable[..., Any]], args: Sequence[Any]) -> None:
    found = [call(*args) for call in calls]
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=1e-3, atol=1e-3)
    times = [[time_of(lambda call=call: call(*args)) for call in calls] for _ in range(ROUNDS)]
    medians = [statistics.median(each) * 1e3 for each in zip(*times, strict=True)]
    cells = [f"{t:.3g}" for t in medians] + [""] * (3 - len(medians))
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    cases: list[tuple[str, Any, Any, tuple[int | None, ...], tuple[Any, ...]]] = []
    for dtype in (torch.float64, torch.float32):
        W, X, H = (
            torch.tensor(s * rng.standard_normal(n), dtype=dtype)
            for s, n in ((0.1, (64, 64)), (1, (500, 64)), (1, (500, 64)))
        )
        name = f"a recurrent step, 64 wide, 500 examples, `{str(dtype).removeprefix('torch.')}`"
        cases.append((name, wrap(step), step_twin, (None, 0, 0), (W, X, H)))
    Y, p = torch.tensor(rng.standard_normal((10_000, 3))), torch.tensor([10.0, 28.0, 8 / 3], dtype=torch.float64)
    cases.append(("Lorenz's equations, 50 steps, 10,000 examples", wrap(lorenz), lorenz_twin, (0, None), (Y, p)))
    print("| milliseconds | loopdiff | `vmap` of the same in PyTorch | calls one by one |\n| --- | --- | --- | --- |")
    for name, own, twin, axes, args in cases:
        batches = [vmap(f, axes) for f in (own, twin)] + [one_by_one(own, axes)]
        line(name, batches, args)
        line("its gradient", [slopes_of(f) for f in batches], args)
        line("its tangent", [tangent_of(f) for f in batches], args)
        line("its Hessian times a vector", [products_of(f) for f in batches[:2]], args)


if __name__ == "__main__":
    main()
