"""What a call through `loopdiff.torch.wrap` costs beside an `autograd.Function` written by hand.

The one written by hand calls the same compiled functions: `f`, `f.vjp` and the pullback, on `.numpy()` of the tensors,
with copies of what the loops write. Gradients of both are compared first. Medians, in microseconds.

    python examples/bench/torch_overhead.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from loopdiff import vectorize_grad
from loopdiff.torch import wrap

REPEATS, ROUNDS = 400, 41


@vectorize_grad
def energy(x, w):
    """A number."""
    s = 0.0
    for i in range(x.shape[0]):
        s += w[i] * np.sin(x[i]) * x[i]
    return s


@vectorize_grad
def filtered(x, w):
    """An array that is returned."""
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0] - w.shape[0] + 1):
        for k in range(w.shape[0]):
            y[i] += w[k] * np.tanh(x[i + k])
    return y


@vectorize_grad
def march(x, a):
    """An array that is written in place."""
    for i in range(1, x.shape[0]):
        x[i] = a[i] * x[i] * x[i - 1] + 0.1


class Energy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        value, ctx.pullback = energy.vjp(x.detach().numpy(), w.detach().numpy())
        ctx.save_for_backward(x, w)
        return torch.tensor(value, dtype=torch.float64)

    @staticmethod
    def backward(ctx: Any, *seeds: torch.Tensor) -> Any:
        _ = ctx.saved_tensors
        x, w = ctx.pullback(seeds[0].item())
        return torch.from_numpy(x), torch.from_numpy(w)


class Filtered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        value, ctx.pullback = filtered.vjp(x.detach().numpy(), w.detach().numpy())
        ctx.save_for_backward(x, w)
        return torch.from_numpy(value)

    @staticmethod
    def backward(ctx: Any, *seeds: torch.Tensor) -> Any:
        _ = ctx.saved_tensors
        x, w = ctx.pullback(seeds[0].numpy())
        return torch.from_numpy(x), torch.from_numpy(w)


class March(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        y = x.detach().clone()
        _, ctx.pullback = march.vjp(y.numpy(), a.detach().numpy())
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        _ = ctx.saved_tensors
        x, a = ctx.pullback(x=cotangents[0].numpy())
        return torch.from_numpy(x), torch.from_numpy(a)


def energy_by_hand(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.tensor(energy(x.numpy(), w.numpy()), dtype=torch.float64)


def filtered_by_hand(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(filtered(x.numpy(), w.numpy()))


def march_by_hand(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    march(y.numpy(), a.numpy())
    return y


CASES: tuple[tuple[Any, Any, Any], ...] = (
    (energy, Energy, energy_by_hand),
    (filtered, Filtered, filtered_by_hand),
    (march, March, march_by_hand),
)


def medians(by_hand: Callable[[], object], wrapped: Callable[[], object]) -> tuple[float, float]:
    """Microseconds of a call of each, measured in turns."""
    functions = (by_hand, wrapped)
    times: list[list[float]] = [[], []]
    for function in functions:
        for _ in range(50):
            function()
    for _ in range(ROUNDS):
        for function, found in zip(functions, times, strict=True):
            start = time.perf_counter()
            for _ in range(REPEATS):
                function()
            found.append((time.perf_counter() - start) / REPEATS * 1e6)
    return statistics.median(times[0]), statistics.median(times[1])


def measure(f: Any, function: Any, plain: Any, size: int) -> list[tuple[str, float, float]]:
    """Rows of what is called, by hand and through `wrap`."""
    draw = torch.Generator().manual_seed(size)
    x = torch.rand(size, generator=draw, dtype=torch.float64)
    w = torch.rand(size if f is not filtered else 3, generator=draw, dtype=torch.float64)
    xg, wg = x.clone().requires_grad_(), w.clone().requires_grad_()
    wrapped = wrap(f)
    ones = torch.ones_like(wrapped(x, w))

    def gradient(g: Callable[..., torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(g(xg, wg), (xg, wg), ones)

    torch.testing.assert_close(wrapped(x, w), plain(x, w))
    for mine, other in zip(gradient(wrapped), gradient(function.apply), strict=True):
        torch.testing.assert_close(mine, other)
    name = f.__name__
    value = medians(lambda: plain(x, w), lambda: wrapped(x, w))
    forward = medians(lambda: function.apply(xg, wg), lambda: wrapped(xg, wg))
    both = medians(lambda: gradient(function.apply), lambda: gradient(wrapped))
    labels = ("value", "value with graph", "value and gradient")
    return [(f"{name} {label}", *pair) for label, pair in zip(labels, (value, forward, both), strict=True)]


def main() -> None:
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, medians of {ROUNDS} times {REPEATS} calls, microseconds")
    print(f"{'':34s} {'n':>6s} {'by hand':>9s} {'wrap':>9s} {'ratio':>6s}")
    for f, function, plain in CASES:
        for size in (8, 1000):
            for label, by_hand, wrapped in measure(f, function, plain, size):
                print(f"{label:34s} {size:6d} {by_hand:9.2f} {wrapped:9.2f} {wrapped / by_hand:6.2f}")


if __name__ == "__main__":
    main()
