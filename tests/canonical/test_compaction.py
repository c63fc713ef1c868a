"""Elements chosen by masks, read where they come from: the same values, and only where nothing was written since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import LoopdiffError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from tests.gradients.interpreted import interpreting, normal_form


def mean(x, y, m):
    y[0] = x[m].mean()


def error_of_chosen(x, y, m):
    d = x[m] - y[m]
    y[0] = np.sum(d * d) / m.sum()


def power(x, y, m):
    x[x > 0.5] = x[x > 0.5] ** 1.5


def two_in_one_out(x, y, m):
    y[m] = x[m] * y[m] + 1.0


def added(x, y, m):
    x[m] += 2.0 * x[m]


def by_a_loop(x, y, m):
    packed = np.zeros(x.shape[0])
    n = 0
    for i in range(x.shape[0]):
        t = x[i] - 0.5
        if t > 0.0:
            packed[n] = t * y[i]
            n += 1
    s = 0.0
    for k in range(n):
        s += packed[k] * packed[k]
    y[0] = s


def in_a_loop(x, y, m):
    for t in range(3):
        v = x[x > 0.25 * t]
        x[t] += v.sum() / v.size


def other_mask(x, y, m):
    v = x[m]
    m[:] = ~m
    y[0] = v.sum()


def other_elements(x, y, m):
    v = x[m]
    x[:] = 0.0
    y[0] = v.sum()


def mask_of_what_is_written(x, y, m):
    v = y[x > 0.5]
    x[0] = 1.0
    w = x[x > 0.5]
    y[: v.shape[0]] = v[::-1]
    y[0] += w.sum()


def shifted(x, y, m):
    x[1:][m[1:]] = x[:-1][m[1:]]


def turned_round(x, y, m):
    v = x[m]
    x[m] = v[::-1]


def functions_of_chosen(x, y, m):
    v = np.exp(x[m])
    y[0] = v.sum() + (v * v).sum() + v.max()


def of_another(x, y, m):
    v = x[m]
    n = m.sum()
    m[0] = not m[0]
    y[0] = n + m.sum() + v.sum()


def packed_again(x, y, m):
    packed = np.zeros(x.shape[0])
    n = 0
    for i in range(x.shape[0]):
        if m[i]:
            packed[n] = x[i]
            n += 1
    n = 0
    for i in range(x.shape[0]):
        if m[i]:
            packed[n] = 2.0 * packed[n]
            y[i] = packed[n]
            n += 1
    for k in range(n):
        packed[0] = packed[0] + packed[k]
    y[0] = packed[0]


def changed_behind(x, y, m):
    packed = np.zeros(x.shape[0])
    n = 0
    for i in range(x.shape[0]):
        if m[i]:
            packed[n] = x[i]
            packed[n] += y[i] * y[i]
            n += 1
    for k in range(n):
        y[0] += packed[k] * packed[k]


def chosen_again(x, y, m):
    packed = np.zeros((x.shape[0], 2))
    n = 0
    for i in range(x.shape[0]):
        if m[i]:
            for j in range(2):
                packed[n, j] = x[i]
            if x[i] > 0.5:
                packed[n, 1] = 0.5
            n += 1
    for k in range(n):
        y[0] += packed[k, 0] * packed[k, 1]


def earlier_changed(x, y, m):
    packed = np.zeros(x.shape[0])
    n = 0
    for i in range(x.shape[0]):
        if m[i]:
            packed[n] = x[i]
            if n > 0:
                packed[n - 1] = packed[n - 1] + x[i]
            n += 1
    for k in range(n):
        y[0] += packed[k] * packed[k]


def small_integers(x, y, m):
    negative = np.zeros(x.shape[0], dtype=np.int8)
    packed = np.zeros(x.shape[0], dtype=np.uint8)
    n = 0
    for i in range(x.shape[0]):
        negative[i] = -i
    for i in range(x.shape[0]):
        if m[i]:
            packed[n] = negative[i]
            n += 1
    for k in range(n):
        y[0] += packed[k]


UNPACKED = (mean, error_of_chosen, power, two_in_one_out, added, by_a_loop, in_a_loop)
PACKED = (
    other_mask, other_elements, mask_of_what_is_written, turned_round, functions_of_chosen, packed_again,
    changed_behind, chosen_again, earlier_changed, small_integers,
)  # fmt: skip


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {"x": rng.random(11), "y": rng.random(11), "m": rng.random(11) > 0.4}


@pytest.mark.parametrize("function", [*UNPACKED, *PACKED, shifted, of_another])
def test_what_was_chosen(function: Callable[..., Any]) -> None:
    args = arguments()
    found = normal_form(function, args)
    verify(found, "compactions")
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    function(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)


@pytest.mark.parametrize("function", UNPACKED)
def test_nothing_is_packed(function: Callable[..., Any]) -> None:
    found = normal_form(function, arguments())
    assert not [a.name for a in found.arrays if a.role == "local" and a.extents]


@pytest.mark.parametrize("function", PACKED)
def test_something_is_packed(function: Callable[..., Any]) -> None:
    found = normal_form(function, arguments())
    packed = {a.name for a in found.arrays if a.role == "local" and a.extents}
    assert packed & {s.stmt.target.array for s in statements(found.body) if isinstance(s.stmt, ir.Assign)}


def rows(X, w, m):
    R = X[m]
    s = 0.0
    for i in range(R.shape[0]):
        for j in range(R.shape[1]):
            s += R[i, j] * w[j]
    return s / R.shape[0]


def test_rows_are_chosen() -> None:
    rng = np.random.default_rng(3)
    args = {"X": rng.random((7, 3)), "w": rng.random(3), "m": rng.random(7) > 0.4}
    found = normal_form(rows, args)
    assert not [a.name for a in found.arrays if a.role == "local" and a.extents]
    assert run(found, dict(args)) == rows(**args)


def too_little_room(x, m):
    packed = np.zeros(2)
    n = 0
    for i in range(x.shape[0]):
        if m[i]:
            packed[n] = x[i]
            n += 1
    s = 0.0
    for k in range(n):
        s += packed[k]
    return s


def test_too_little_room_is_an_error() -> None:
    args = {"x": np.ones(5), "m": np.ones(5, bool)}
    with pytest.raises((LoopdiffError, IndexError)):
        run(normal_form(too_little_room, args), dict(args))


def escape(z, c, n):
    for _ in range(3):
        inside = np.abs(z) < 1.2
        n[inside] += 1
        z[inside] = z[inside] ** 2 + c[inside]


def exchanged(z, c, n):
    m = z.real > 0.1
    z[m] = c[m].conjugate() * 1j + z[m]
    c[m] = c[m] * z[m]


def with_the_other_part(z, c, n):
    m = z.imag > 0.0
    w = z[m]
    z[m] = w.imag + 1j * (w.real - c[m].imag)


def changed_between(z, c, n):
    m = z.real > 0.0
    w = z[m]
    z[:] = 0.5 * c
    c[m] = w * 2.0


def sized(z, c, n, rows, columns):
    g = np.zeros((rows, columns))
    g += 0.3 * z.real[:rows, None]
    m = g > 0.1
    g[m] = g[m] * 2.0
    n[0] = int(100.0 * g.sum())


@pytest.mark.parametrize(
    ("function", "kept"), [(escape, 0), (exchanged, 0), (with_the_other_part, 0), (changed_between, 1), (sized, 0)]
)
def test_complex_numbers_and_numbers_of_rows(function: Callable[..., Any], kept: int) -> None:
    rng = np.random.default_rng(4)
    z, c = (rng.normal(size=9) + 1j * rng.normal(size=9) for _ in range(2))
    args: dict[str, Any] = {"z": z, "c": c, "n": np.zeros(9, int)}
    args |= {"rows": 4, "columns": 3} if function is sized else {}
    f = vectorize_grad(function)
    mine = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}
    with interpreting():
        f(**mine)
    function(**args)
    for name in ("z", "c", "n"):
        np.testing.assert_allclose(mine[name], args[name], rtol=1e-14, err_msg=name)
    found = normal_form(function, args)
    chosen = [a for a in found.arrays if a.role == "local" and a.extents and a.name not in ("inside", "m", "g")]
    assert len(chosen) == kept, [a.name for a in chosen]
