"""Several reads that see one version of an array share one copy of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.facts import gather_facts
from loopdiff.ad.tape import versions as versions_of
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import loads_of
from loopdiff.testing import check_grads
from tests.ad.interpreted import lower
from tests.corpus import versions
from tests.gradients.interpreted import interpreting


def kept(function: Any, args: tuple[Any, ...]) -> dict[str, tuple[str, int]]:
    """The dtype and the bytes of each array between the sweeps, once the gradients are right."""
    with interpreting():
        f = vectorize_grad(function)
        check_grads(f, args)
        return {t.name: (t.dtype, t.bytes or 0) for t in f.compile(*args).temporaries}


def total(found: dict[str, tuple[str, int]]) -> int:
    return sum(size for _, size in found.values())


RNG = np.random.default_rng(5)
N, M, T = 4, 3, 3
FIELD = N * M * 8


def test_a_gather_of_four_keeps_the_field_of_each_step() -> None:
    args = (RNG.random((N, M)), 0.6 + RNG.random((N, M)), 0.2 + 0.5 * RNG.random((N, M)), T)
    assert total(kept(versions.advected, args)) == T * FIELD


def test_a_triangular_product_in_place_keeps_what_was_there_at_first() -> None:
    args = (RNG.random((N, N)), RNG.random((N, M)))
    assert total(kept(versions.triangular_product_in_place, args)) == FIELD


def test_buffers_that_rotate_share_one_tape() -> None:
    found = kept(versions.rotated_wave, (RNG.random((4, 3)), RNG.random((4, 3)), 0.1, 5))
    assert sum(size for dtype, size in found.values() if dtype == "float64") == 5 * 4 * 3 * 8


def test_branches_share_one_tape() -> None:
    def program(u, v, c):
        s = 0.0
        for t in range(c.shape[0]):
            if c[t] > 0.5:
                for i in range(1, u.shape[0]):
                    s += u[i - 1] * u[i]
                for i in range(u.shape[0]):
                    u[i] = 0.5 * u[i] + 0.1
            else:
                for i in range(1, u.shape[0]):
                    s += v[i - 1] * v[i]
                for i in range(u.shape[0]):
                    v[i] = 0.5 * v[i] + 0.2
        return s

    found = kept(program, (RNG.random(N), RNG.random(N), RNG.random(6)))
    assert total(found) == 6 * N * 8


def test_attention_keeps_its_scores_once() -> None:
    """And for each row the greatest, and the sum."""
    found = kept(versions.attention_rows, (RNG.random((5, 3)), RNG.random((4, 3)), RNG.random((4, 2))))
    assert total(found) == (5 * 4 + 2 * 5) * 8


def test_a_row_that_loops_read_in_pairs_is_kept_once() -> None:
    assert total(kept(versions.rows_by_pairs, (RNG.random((N, M)),))) <= 2 * FIELD


def test_what_a_loop_overwrites_again_is_no_version_behind_it() -> None:
    """`x[i, j]` is read as it was made, and later overwritten by the same loop; the other read sees the last one."""

    def program(x):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1] - 1):
                x[i, j] = np.sin(x[i, j])
                s += x[i, j] * x[i, j]
                x[i, j + 1] = x[i, j] * x[i, j + 1]
                x[i, j] = x[i, j] + x[i, j] * x[i, j + 1]
            for j in range(x.shape[1]):
                s += x[i, j] * x[i, j] * x[i, j]
                x[i, j] = np.cos(x[i, j])
        return s

    kept(program, (RNG.random((N, M)),))


def test_a_row_that_may_not_exist_is_not_copied() -> None:
    """The second array has fewer rows than the loop has iterations; a condition keeps these from it."""

    def program(x, y):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(y.shape[1]):
                if i < y.shape[0]:
                    y[i, j] = 0.5 * y[i, j]
            for j in range(y.shape[1]):
                s += y[i, j] * y[i, j] if i < y.shape[0] else x[i, j]
            for j in range(y.shape[1]):
                if i < y.shape[0]:
                    s += y[i, j] ** 3
                    y[i, j] = np.sin(y[i, j])
        return s

    x, y = RNG.random((N, M)), RNG.random((N - 2, M))
    kept(program, (x, y))
    facts = gather_facts(lower(program, {"x": x, "y": y}), ("x", "y"))
    read = {e.access.array: (path, e.access) for path, s in facts.sites.items() for e in loads_of(s.stmt)}
    depth = {name: len(facts.loops_around(path)[0][0]) + 1 for name, (path, _) in read.items()}
    rows = {name: versions_of.row_read(facts, *read[name], depth[name]) for name in read}
    assert (len(rows["x"]), len(rows["y"])) == (1, 0)


@pytest.mark.parametrize(
    ("first", "last", "shift", "found"), [(0, 4, 0, 1), (0, 4, -1, 0), (0, 3, 2, 0), (1, 4, -1, 1)]
)
def test_rows_are_copied_that_surely_exist(first: int, last: int, shift: int, found: int) -> None:
    """Of four rows; a condition keeps an iteration from others."""

    def program():
        s = 0.0
        x = np.ones((4, 3))
        for i in range(first, last):
            if 0 <= i + shift < 4:
                for j in range(3):
                    s += x[i + shift, j] * x[i + shift, j]
        return s

    facts = gather_facts(lower(program, {}), ())
    path, access = next(
        (p, e.access) for p, s in facts.sites.items() for e in loads_of(s.stmt) if e.access.array == "x"
    )
    depth = len(facts.loops_around(path)[-1][0])
    assert len(versions_of.row_read(facts, path, access, depth)) == found


def test_no_version_is_behind_the_last_statement_of_a_branch() -> None:
    def program(x, y):
        s = 0.0
        for i in range(x.shape[0]):
            if i % 2 == 0:
                for j in range(x.shape[1]):
                    x[i, j] = np.sin(x[i, j])
                    for k in range(y.shape[0]):
                        s += x[i, j] * x[i, j] * y[k]
            else:
                for j in range(x.shape[1]):
                    s += x[i, j] ** 3
                    x[i, j] = np.cos(x[i, j])
            for j in range(x.shape[1]):
                s += x[i, j] * x[i, j] * 0.5
                x[i, j] = 0.3 * x[i, j] * x[i, j]
        return s

    x, y = RNG.random((N, M)), RNG.random(3)
    kept(program, (x, y))
    facts = gather_facts(lower(program, {"x": x, "y": y}), ("x", "y"))
    (branch,) = (path for path, s in facts.sites.items() if isinstance(s.stmt, ir.If))
    assert versions_of.next_after(facts, (*branch, 0)) is None
    assert versions_of.next_after(facts, (*branch, 1)) is None
    assert versions_of.next_after(facts, branch) == (*branch[:-1], branch[-1] + 1)


def test_a_version_behind_a_branch_is_not_copied_at_its_beginning() -> None:
    """There the array is not yet what the reads in the branch see."""
    kept(versions.steps_behind_a_gate, (RNG.random(N), RNG.random((4, N)), np.array([0.9, 0.2, 0.7, 0.8])))


def test_who_was_the_smaller_one_takes_a_byte() -> None:
    assert kept(versions.shortest_paths, (0.1 + RNG.random((N, N)),)) == {"d_after_min_outcome_tape": ("int8", N**3)}


def test_ties_of_what_is_overwritten_are_shared() -> None:
    """`max(x, y)` where both are equal: half of the slope each, whether or not the values are kept."""

    def program(a, b):
        for i in range(a.shape[0]):
            a[i] = max(a[i], b[i] * b[i])
            b[i] = 3.0 * b[i] * a[i]
        return np.sum(a)

    f = vectorize_grad(program)
    a, b = np.array([4.0, 1.0, 9.0]), np.array([2.0, 2.0, 2.0])
    found = f.grad(a, b)
    np.testing.assert_allclose(found.a, [0.5, 0.0, 1.0])
    np.testing.assert_allclose(found.b, [2.0, 4.0, 0.0])


def test_an_extremum_of_nan_has_no_slope() -> None:
    def program(a, b):
        for t in range(2):
            for i in range(a.shape[0]):
                a[i] = min(a[i], b[i] + a[(i + 1) % a.shape[0]] * t)
        return np.sum(a)

    f = vectorize_grad(program)
    found = f.vjp(np.array([1.0, np.nan]), np.array([2.0, 0.5]))[1](1.0)
    assert found.a[1] == 0.0
    assert found.b[1] == 0.0


def test_a_large_array_of_which_few_elements_are_read_is_not_copied() -> None:
    def program(x, idx, steps):
        s = 0.0
        for _ in range(steps):
            for i in range(idx.shape[0]):
                s += x[idx[i]] * x[idx[i] + 1] * x[idx[i] + 2]
            for i in range(idx.shape[0]):
                x[idx[i]] = 0.5 * x[idx[i]]
        return s

    args = (RNG.random(50), np.array([3, 7]), T)
    assert total(kept(program, args)) == 3 * T * 2 * 8  # the factors; their product follows


def test_a_diagonal_does_not_copy_the_matrix() -> None:
    def program(x, steps):
        s = 0.0
        for _ in range(steps):
            for i in range(x.shape[0] - 1):
                s += x[i, i] * x[i + 1, i + 1]
            for i in range(x.shape[0]):
                x[i, i] = 0.5 * x[i, i] + s
        return s

    found = kept(program, (RNG.random((N, N)), T))
    assert total(found) < T * N * N * 8


def test_iterations_that_are_left_keep_a_copy_each() -> None:
    def program(x, limit):
        total = 0.0
        while total < limit:
            for i in range(1, x.shape[0] - 1):
                total += x[i - 1] * x[i] * x[i + 1]
            for i in range(x.shape[0]):
                x[i] = x[i] * 1.1
        return total

    found = kept(program, (np.full(6, 0.8), 9.0))
    assert [name for name in found if name.startswith("x_tape")] == ["x_tape"]


def test_loops_without_iterations_keep_nothing() -> None:
    def program(x, z):
        s = 0.5
        for i in range(x.shape[0] - 2, 1, -1):
            x[i] += np.sin(s if z[i] >= 0.25 else z[i])
            for j in range(i, x.shape[0]):
                z[j] -= s

    for size in (0, 1, 2, 5):
        kept(program, (RNG.random(size), RNG.random(size)))


def test_a_state_of_few_components_is_run_again_in_segments() -> None:
    """`A.shape[1]` is not known, but of three subscripts: states at the starts of segments are not large then."""

    def program(x, A, steps):
        for _ in range(steps):
            for i in range(x.shape[0]):
                A[i, 0] = A[i, 0] * A[i, 1] + 0.1
                A[i, 1] = A[i, 1] * x[i] * A[i, 2]
                A[i, 2] = A[i, 2] * A[i, 0] * A[i, 1]
            for i in range(x.shape[0]):
                x[i] = x[i] * A[i, 2] + 0.5
        return np.sum(x)

    f = vectorize_grad(tape="recompute")(program)
    sizes = [f.compile(RNG.random(6), RNG.random((6, 3)), steps).temporaries for steps in (100, 10_000)]
    few, many = (sum(t.bytes or 0 for t in found) for found in sizes)
    assert many < 15 * few


def test_an_extremum_in_a_loop_that_is_left_with_one_iteration() -> None:
    """The last iteration of `i` is apart, and `j` takes one value there: the minimum is at a place without it."""

    def program(steps, x, y, A):
        n = y.shape[0]
        for t in range(steps):
            for i in range(n):
                for j in range(i, n):
                    y[j] = min(y[j], A[i, t % 3])
                x[i] += y[(i + 1) % n]
        return np.sum(x)

    with interpreting():
        check_grads(vectorize_grad(program), (2, RNG.random(4), RNG.random(4), RNG.random((4, 3))))


def in_one_loop(a):
    n = a.shape[0]
    for k in range(n):
        p = a[k, k]
        for j in range(n):
            a[k, j] = a[k, j] / p
        for i in range(n):
            if i != k:
                f = a[i, k]
                for j in range(n):
                    a[i, j] -= f * a[k, j]


def above_and_below(a):
    n = a.shape[0]
    for k in range(n):
        p = a[k, k]
        for j in range(n):
            a[k, j] = a[k, j] / p
        for i in range(k):
            f = a[i, k]
            for j in range(n):
                a[i, j] -= f * a[k, j]
        for i in range(k + 1, n):
            f = a[i, k]
            for j in range(n):
                a[i, j] -= f * a[k, j]


@pytest.mark.parametrize(("function", "matrices"), [(in_one_loop, 3), (above_and_below, 5)])
def test_the_row_that_eliminates_is_kept_once_for_each_step(function: Any, matrices: int) -> None:
    n = 6
    assert total(kept(function, (RNG.random((n, n)) + n * np.eye(n),))) <= (matrices * n + 1) * n * 8


def test_who_was_the_greater_of_two_that_are_overwritten_takes_a_byte() -> None:
    def widest(w):
        n = w.shape[0]
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    w[i, j] = max(w[i, j], min(w[i, k], w[k, j]))

    n = 5
    assert total(kept(widest, (RNG.random((n, n)),))) == 2 * n**3
    with interpreting():  # ties are shared as they are by the values themselves
        w = np.array([[2.0, np.nan], [1.0, 2.0]])
        found = [vectorize_grad(f) for f in (smaller_ones, smaller_again)]
        shares = [f.vjp(w.copy())[1](w=np.ones((2, 2))).w for f in found]
        dtypes = [{t.dtype for t in f.compile(w).temporaries} for f in found]
    np.testing.assert_array_equal(*shares)
    np.testing.assert_array_equal(shares[0], [[0.25, 0.0], [1.0, 0.25]])
    assert dtypes[0] == {"int8"}
    assert dtypes[1] != {"int8"}


def smaller_ones(w):
    for k in range(2):
        low = min(w[0, k], w[1, 1])
        w[0, k] = 0.5 * low
        w[1, 1] = 3.0 + low


def smaller_again(w):
    for k in range(2):
        x = w[0, k]
        y = w[1, 1]
        low = x if x < y else y
        if x == y:
            low = 0.5 * x + 0.5 * y
        if not (x <= y or y <= x):
            low = x * 0.0
        w[0, k] = 0.5 * low
        w[1, 1] = 3.0 + low
