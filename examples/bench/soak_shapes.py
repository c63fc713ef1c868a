"""Loop nests over large arrays of odd shapes, their values and gradients beside those of NumPy in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdiff import vectorize_grad

LEAST, MOST = 129, 3000
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Nest:
    """A nest that writes `out`: the shapes of its arguments for extents, what NumPy makes of them, and of a cotangent.

    `terms`: how many terms the longest sum has, which bounds what rounding may do.
    """

    function: Callable[..., None]
    axes: int
    shapes: Callable[..., dict[str, tuple[int, ...]]]
    value: Callable[[Arrays], np.ndarray]
    gradients: Callable[[Arrays, np.ndarray], Arrays]
    terms: Callable[..., int]


def product(A, B, out):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            for k in range(A.shape[1]):
                out[m, n] += A[m, k] * B[k, n]


def rows_by_rows(A, B, out):
    for m in range(A.shape[0]):
        for n in range(B.shape[0]):
            t = 0.0
            for k in range(A.shape[1]):
                t += A[m, k] * B[n, k]
            out[m, n] = t


def matrix_by_vector(A, x, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i] += A[i, j] * x[j]


def vector_by_matrix(A, x, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[j] += A[i, j] * x[i]


def five_points(x, out):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            out[i, j] = 0.5 * x[i, j] + 0.125 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def differences(x, out):
    for i in range(x.shape[0]):
        for j in range(2, x.shape[1]):
            out[i, j] = x[i, j] - 2.0 * x[i, j - 1] + x[i, j - 2]


def squares_of_rows(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i] += x[i, j] * x[i, j]


def squares_of_columns(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j] * x[i, j]


def largest_of_rows(x, out):
    for i in range(x.shape[0]):
        m = x[i, 0]
        for j in range(x.shape[1]):
            m = max(m, x[i, j])
        out[i] = m


def exponentials_of_rows(x, out):
    for i in range(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += np.exp(x[i, j])
        out[i] = np.log(t)


def smoothed(x: np.ndarray) -> np.ndarray:
    found = np.zeros_like(x)
    inner = 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    found[1:-1, 1:-1] = 0.5 * x[1:-1, 1:-1] + inner
    return found


def smoothed_back(w: np.ndarray) -> np.ndarray:
    found = np.zeros_like(w)
    inner = w[1:-1, 1:-1]
    found[1:-1, 1:-1] += 0.5 * inner
    for rows, columns in (
        (slice(None, -2), slice(1, -1)),
        (slice(2, None), slice(1, -1)),
        (slice(1, -1), slice(None, -2)),
        (slice(1, -1), slice(2, None)),
    ):
        found[rows, columns] += 0.125 * inner
    return found


def second_differences(x: np.ndarray) -> np.ndarray:
    found = np.zeros_like(x)
    found[:, 2:] = x[:, 2:] - 2.0 * x[:, 1:-1] + x[:, :-2]
    return found


def differences_back(w: np.ndarray) -> np.ndarray:
    found = np.zeros_like(w)
    found[:, 2:] += w[:, 2:]
    found[:, 1:-1] -= 2.0 * w[:, 2:]
    found[:, :-2] += w[:, 2:]
    return found


def at_largest(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    is_largest = x == x.max(axis=1, keepdims=True)
    return w[:, None] * is_largest / is_largest.sum(axis=1, keepdims=True)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x)
    return e / e.sum(axis=1, keepdims=True)


def of_rows(m: int, n: int) -> dict[str, tuple[int, ...]]:
    return {"x": (m, n), "out": (m,)}


def of_elements(m: int, n: int) -> dict[str, tuple[int, ...]]:
    return {"x": (m, n), "out": (m, n)}


NESTS = (
    Nest(
        product, 3, lambda m, n, k: {"A": (m, k), "B": (k, n), "out": (m, n)},
        lambda a: a["A"] @ a["B"], lambda a, w: {"A": w @ a["B"].T, "B": a["A"].T @ w}, max,
    ),
    Nest(
        rows_by_rows, 3, lambda m, n, k: {"A": (m, k), "B": (n, k), "out": (m, n)},
        lambda a: a["A"] @ a["B"].T, lambda a, w: {"A": w @ a["B"], "B": w.T @ a["A"]}, max,
    ),
    Nest(
        matrix_by_vector, 2, lambda m, n: {"A": (m, n), "x": (n,), "out": (m,)},
        lambda a: a["A"] @ a["x"], lambda a, w: {"A": np.outer(w, a["x"]), "x": w @ a["A"]}, max,
    ),
    Nest(
        vector_by_matrix, 2, lambda m, n: {"A": (m, n), "x": (m,), "out": (n,)},
        lambda a: a["x"] @ a["A"], lambda a, w: {"A": np.outer(a["x"], w), "x": a["A"] @ w}, max,
    ),
    Nest(five_points, 2, of_elements, lambda a: smoothed(a["x"]), lambda a, w: {"x": smoothed_back(w)}, lambda *_: 5),
    Nest(
        differences, 2, of_elements, lambda a: second_differences(a["x"]), lambda a, w: {"x": differences_back(w)},
        lambda *_: 3,
    ),
    Nest(
        squares_of_rows, 2, of_rows, lambda a: (a["x"] ** 2).sum(axis=1), lambda a, w: {"x": 2 * w[:, None] * a["x"]},
        max,
    ),
    Nest(
        squares_of_columns, 2, lambda m, n: {"x": (m, n), "out": (n,)},
        lambda a: (a["x"] ** 2).sum(axis=0), lambda a, w: {"x": 2 * w * a["x"]}, max,
    ),
    Nest(
        largest_of_rows, 2, of_rows, lambda a: a["x"].max(axis=1), lambda a, w: {"x": at_largest(a["x"], w)},
        lambda *_: 1,
    ),
    Nest(
        exponentials_of_rows, 2, of_rows, lambda a: np.log(np.exp(a["x"]).sum(axis=1)),
        lambda a, w: {"x": w[:, None] * softmax(a["x"])}, max,
    ),
)  # fmt: skip


def extents(rng: np.random.Generator, axes: int, number: int, most: int) -> tuple[int, ...]:
    """First every axis in turn as long as can be, the others short; then odd extents of all magnitudes."""
    if number < axes:
        return tuple(most if k == number else LEAST for k in range(axes))
    drawn = np.exp(rng.uniform(np.log(LEAST), np.log(most), axes))
    return tuple(int(n) // 2 * 2 + 1 for n in drawn)


def check_nest(nest: Nest, f: Any, sizes: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Iterator[str]:
    """What is wrong with the value and the gradients for one shape."""
    shapes = nest.shapes(*sizes)
    args = {n: rng.uniform(-1.0, 1.0, s).astype(dtype) for n, s in shapes.items()}
    args["out"][...] = 0
    exact = {n: a.astype(np.float64) for n, a in args.items() if n != "out"}
    w = rng.uniform(-1.0, 1.0, shapes["out"]).astype(dtype)
    terms = nest.terms(*sizes)
    bound = 8 * np.finfo(dtype).eps * terms**0.5 * max(1.0, terms**0.5)
    _, pullback = f.vjp(**args)
    pairs = [("value", args["out"], nest.value(exact))]
    found = pullback(out=w)._asdict()
    wanted = nest.gradients(exact, w.astype(np.float64))
    pairs += [(f"d/d{n}", found[n], g) for n, g in wanted.items()]
    for what, value, right in pairs:
        error = float(np.max(np.abs(value - right)))
        if not error <= bound or value.dtype != dtype:
            yield f"{nest.function.__name__} {sizes} {dtype}: {what} is off by {error:.3g}"


def check_shapes(count: int, most: int, seed: int) -> tuple[int, list[str]]:
    """How many shapes of nests were tried, `count` for each nest and precision, and what was wrong."""
    rng, tried, wrong = np.random.default_rng(seed), 0, []
    for nest in NESTS:
        names = tuple(n for n in nest.shapes(*(1,) * nest.axes) if n != "out")
        for is_parallel in (False, True):
            f = vectorize_grad(wrt=names, parallel=is_parallel)(nest.function)
            for dtype in ("float64", "float32"):
                for number in range(count):
                    sizes = extents(rng, nest.axes, number, most)
                    tried += 1
                    wrong += check_nest(nest, f, sizes, dtype, rng)
    return tried, wrong
