"""Lists, ranges and shapes as people write them, against what Python computes and central differences."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X, IDX = np.linspace(0.11, 1.3, 7), np.array([3, 1, 3, 2, 1, 1, 5])


def extents_of_a_matrix(x, idx):
    A = np.outer(x, x[:4])
    t = 0.0
    for k in range(min(A.shape)):
        t += A[k, k]
    return t * max(A.shape) + sum(A.shape)


def numbers_in_a_range(x, idx):
    r = range(2, len(x), 2)
    t = 0.0
    for i in r:
        t += x[i]
    return t / len(r)


def a_name_for_two_ranges(x, idx):
    t = 0.0
    r = range(3)
    for i in r:
        t += x[i] ** 2
    r = range(3, len(x))
    for i in r:
        t += x[i] ** 3
    return t


def a_range_in_each_iteration(x, idx):
    t = 0.0
    for k in range(3):
        r = range(k, len(x), k + 1)
        for i in r:
            t += x[i] * len(r)
    return t


def ranges_of_branches(x, idx):
    if x[0] > 0.5:
        r = range(2)
    else:
        r = range(len(x) - 1, 0, -1)
    t = 0.0
    for i in r:
        t = 0.5 * t + x[i]
    return t


def numbers_in_no_range(x, idx):
    return x[0] * len(range(3, len(x))) + np.prod(x.shape) * x[1]


def pairs_from_the_first(x, idx):
    path = [(0, x[0])]
    for i in range(1, len(x)):
        k, v = path[-1]
        path.append((k + 1, v * x[i]))
    return sum((k * v for k, v in path))


def rows_change_places(x, idx):
    rows = [x * (i + 1.0) for i in range(len(x))]
    for i in range(3):
        rows[i], rows[idx[i]] = (rows[idx[i]], rows[i])
    return sum(((k + 1) * r[k] for k, r in enumerate(rows)))


def rows_change_places_by_formulas(x, idx):
    rows = [x * (i + 1.0) for i in range(len(x))]
    for i in range(3):
        j = idx[i] + 1
        rows[i], rows[j] = (rows[j], rows[i])
        rows[i + 1], rows[idx[0] + 1] = (rows[idx[0] + 1], rows[i + 1])
    return sum(((k + 1) * r[k] for k, r in enumerate(rows)))


def tuples_from_the_first(x, idx):
    best = [(0.0, x * 1.0)]
    for v in x:
        if v > best[-1][0]:
            best.append((v, x * v))
    return best[-1][1].sum() * len(best) + best[1][0]


def extents_of_views(x, idx):
    B = np.zeros((3, len(x)))
    for k in range(max(B.shape)):
        B[0, k % min(B.shape)] = x[k]
    return B.sum() * sum(x.shape) * max(B.T.shape) + min(B[0].shape)


def extents_of_parameters(x, idx):

    def most(M):
        return max(M.shape)

    return x[0] * most(x) + most(np.outer(x, x[:2])) * x[1] + max(np.outer(x, x[:2]).shape)


def ranges_downward(x, idx):
    r = range(len(x) - 1, -1, -2)
    out = np.zeros(len(r))
    for k, i in enumerate(r):
        out[k] = x[i]
    return out @ out + len(range(5, 3)) + len(range(0, 7, idx[0])) * x[0] + len(range(7, 0, -idx[0])) * x[2]


def rows_change_places_by_lists(x, idx):
    rows = [x * (i + 1.0) for i in range(len(x))]
    perm = list(idx)
    for i in range(3):
        rows[perm[i]], rows[perm[i + 1] + 1] = (rows[perm[i + 1] + 1], rows[perm[i]])
    return sum(((k + 1) * r[k] for k, r in enumerate(rows)))


def two_tuples_first(x, idx):
    path = [(0.0, x.copy()), (0.1, x * 2.0)]
    for i in range(len(x)):
        t, v = path[-1]
        path.append((t + x[i], v * 0.9 + path[-2][1]))
    return sum((t * v.sum() for t, v in path)) + len(path)


def one_of_some_numbers(x, idx):
    s = 0.0
    for i in range(len(x)):
        k = idx[i]
        if k in (1, 5):
            s += x[i]
        elif k not in [2, -3] and i > 0:
            s += x[i] ** 2
    return s + sum(v for k, v in enumerate(x) if k in {0, 2})


def swapped_by_what_changes(x, idx):
    rows = [[i, 1, 2] for i in range(4)]
    rows[rows[0][1]], rows[rows[0][2]] = rows[rows[0][2]], rows[rows[0][1]]
    return x[0] * rows[1][0]


def bumped(x):
    x[0] += 1.0
    return 0.5


def a_list_behind_what_changes_its_items(x, idx):
    w = x * 1.0
    y, v = bumped(w), [w[0], w[1], w[2]]
    u, z = [w[3], w[4], w[5]], bumped(w)
    return y * v[idx[0] % 3] + u[idx[1] % 3] * w[0] * z


def a_list_begun_beside_its_end(x, idx):
    v = [x[0], x[1]]
    v, y = [], v[0] + v[1] * x[2]
    for u in x:
        v.append(u * 2.0)
    return y * v[idx[0] % 3]


PROGRAMS = {
    name: function
    for name, function in list(globals().items())
    if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["x", "idx"]
}


@pytest.mark.part(2)
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"swapped_by_what_changes"}))
def test_programs_give_what_python_gives(name: str) -> None:
    plain = PROGRAMS[name]
    with interpreting():
        value, gradients = vectorize_grad(wrt=("x",))(plain).value_and_grad(X.copy(), IDX.copy())
    assert value == pytest.approx(plain(X.copy(), IDX.copy()), rel=1e-12)
    slopes = [(plain(X + 1e-6 * e, IDX) - plain(X - 1e-6 * e, IDX)) / 2e-6 for e in np.eye(len(X))]
    np.testing.assert_allclose(gradients.x, slopes, rtol=2e-6, atol=1e-7)


def test_rows_whose_places_follow_from_them_do_not_change_places() -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD134"):
        vectorize_grad(wrt=("x",))(swapped_by_what_changes)(X, IDX)


def stepped(x):
    def slope(v):
        return np.tanh(v) - 0.1 * v

    y, path, said = x, [x], {}
    for _ in range(8):
        y = y + 0.2 * slope(y + 0.1 * slope(y))
        path.append(y)
    path = np.array(path)
    said["end"] = np.sum(path[-1] ** 2)
    said["bends"] = np.sum(np.diff(path, axis=0) ** 2)
    return sum(said.values())


def paired(x):
    pairs = []
    for i in range(6):
        pairs.append((i, i + 1, np.abs(x[i + 1] - x[i])))
    return sum(d * x[a] * x[b] for a, b, d in pairs)


@pytest.mark.parametrize(("program", "is_written_out"), [(stepped, False), (paired, True)])
def test_short_loops_are_written_out_unless_they_call_what_arrays_can_hold(program, is_written_out) -> None:
    x = np.array([0.3, 0.9, 0.2, 0.5, 0.7, 0.1, 0.4])
    with interpreting():
        f = vectorize_grad(program)
        check_grads(f, (x,))
        text = f.compile(x).ir("surface")
    assert ("range(0, 8, 1)" in text or "range(0, 6, 1)" in text) is not is_written_out
