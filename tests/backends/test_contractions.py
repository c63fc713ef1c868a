"""Random contractions of two arrays against `np.einsum`: any order of loops and axes, layouts, offsets, and starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.pipeline.cpu import compile_loopset
from tests.ad.interpreted import lower
from tests.texts import registered

COUNT = 24


def function_of(text: str, name: str) -> Callable[..., None]:
    return registered(text, f"<{name}>", name, np=np)


def placed(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Random numbers in C order, in F order or in every second place."""
    values = rng.standard_normal(shape).astype(dtype)
    match rng.integers(4):
        case 0:
            return np.asfortranarray(values)
        case 1:
            wide = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
            wide[..., ::2] = values
            return wide[..., ::2]
        case _:
            return values


def drawn(rng: np.random.Generator) -> tuple[str, str, str]:
    """Indices of both operands and of the target: shared ones, rows, columns and sums."""
    shared, rows, columns, sums = "bc"[: rng.integers(3)], "ij"[: rng.integers(1, 3)], "mn"[: rng.integers(1, 3)], "xyz"
    sums = sums[: rng.integers(1, 4)]

    def shuffled(text: str) -> str:
        return "".join(rng.permutation(list(text)))

    return shuffled(shared + rows + sums), shuffled(shared + columns + sums), shuffled(shared + rows + columns)


def program(rng: np.random.Generator, name: str, a: str, b: str, c: str, offset: int) -> str:
    """The contraction as loops in random order; sums inside a start are innermost."""
    has_start = bool(rng.integers(2))
    kept, sums = list(rng.permutation(list(c))), list(rng.permutation(sorted(set(a) - set(c))))
    order = kept + sums if has_start else list(rng.permutation(kept + sums))
    where = {k: f"A.shape[{a.index(k)}]" if k in a else f"B.shape[{b.index(k)}]" for k in order}
    lines = [f"def {name}(A, B, C):"]
    for depth, k in enumerate(order, 1):
        lines.append(f"{'    ' * depth}for {k} in range({where[k]}):")
        if has_start and depth == len(kept):
            lines.append(f"{'    ' * (depth + 1)}C[{subscripts(c, offset)}] = 0.0")
    scale = ("", "-", "0.5 * ")[rng.integers(3)]
    product = f"{scale}A[{', '.join(a)}] * B[{', '.join(b)}]"
    lines.append(f"{'    ' * (len(order) + 1)}C[{subscripts(c, offset)}] += {product}")
    return "\n".join(lines) + "\n"


def subscripts(c: str, offset: int) -> str:
    return ", ".join([f"{c[0]} + {offset}" if offset else c[0], *c[1:]])


@pytest.mark.part(4)
@pytest.mark.parametrize("seed", range(COUNT))
def test_random_contraction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = drawn(rng)
    dtype = (np.float64, np.float32)[seed % 2]
    offset = int(rng.integers(2))
    extents = {k: int(rng.choice([1, 2, 3, 5, 8, 9, 17, 26])) for k in a + b}
    A, B = (placed(rng, tuple(extents[k] for k in axes), dtype) for axes in (a, b))
    shape = [extents[k] for k in c]
    shape[0] += offset
    text = program(rng, f"contraction_{seed}", a, b, c, offset)
    C = placed(rng, tuple(shape), dtype)
    sums = np.einsum(f"{a},{b}->{c}", A.astype(np.float64), B.astype(np.float64))
    scale = -1.0 if "+= -" in text else 0.5 if "0.5 *" in text else 1.0
    expected = C.astype(np.float64)
    expected[offset:] = scale * sums + (0.0 if "= 0.0" in text else expected[offset:])
    args = {"A": A, "B": B, "C": C}
    compile_loopset(lower(function_of(text, f"contraction_{seed}"), args)).dispatcher(*args.values())
    tolerance = 1e-12 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(C, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max()))
