"""Programs that were wrong once, made small; most were found by random search (`python -m loopdiff fuzz`)."""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def returned_array_without_derivative(x):
    marks = np.zeros(3)
    marks[1] = 2.0
    return x[0] * x[0], marks


def elements_given_twice_in_a_loop(x, n):
    a = x
    for _t in range(n):
        w = np.zeros(len(x))
        for i in range(len(x)):
            for _turn in range(2):
                w[i] = np.sin(x[i])
        a = w
    return (x * a).sum()


def array_returned_twice(x):
    squares = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        squares[i] = x[i] * x[i]
    return squares, squares[1], squares


def largest_of_rows(x, w):
    row = np.empty(w.shape[0])
    most = 0.0
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(w.shape[0]):
            row[j] = np.exp(np.sin(x[i] * w[j]) + x[i] * w[j])
            total += row[j] * row[j]
        most = max(most, total + x[i])
    return most


def torn_nest(x, z, s):
    for k in range(z.shape[0]):
        for i in range(z.shape[1]):
            x[i + 1] = x[i + 1] * 0.5 + 1.0
            z[k, i] += x[i]
            s[i] += z[k, i]


def largest_of_none(x, y, idx, n):
    for i in range(n):
        y[-1] = max(y[-1], x[i])
    for k in range(x.shape[0]):
        for i in range(k, n):
            y[idx[k]] = min(y[idx[k]], x[i] * x[k])
    for i in range(x.shape[0]):
        for k in range(i, 3 * n):
            x[i] = max(x[i], 0.5 * x[k])


def rows_changed_by_helper(A, y):
    for i in range(A.shape[0]):
        scaled_by_neighbour(A[i], y)


def scaled_by_neighbour(r, y):
    r[1:] = r[:-1] * r[1:]
    y[:] += r * r


def chosen_result(x):
    t = 1.1 + x[0] * x[1]
    s = x[1] * x[2]
    return t if t >= 1.25 else (s if s * t < 0.2 else t * s), min(t, x[int(4.0 * s)])


def left_for_good(A, x):
    s = 0.5
    is_over = False
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if is_over:
                is_over = i > 2
                break
            s += A[i, j] * x[j] * x[j]
            is_over = (2 * i + j) % 5 == 3
    return s


def largest_at_remainder(x, y, c):
    n = y.shape[0]
    for i in range(n):
        for j in range(x.shape[0]):
            y[int(3.0 * c) % n] = max(y[int(3.0 * c) % n], x[j] * c)
    for j in range(n):
        y[(j + 2) // n] += x[j]
        for i in range(1, n):
            y[(i + j) // n] = min(y[(i + j) // n], x[i])


def rows_of_a_counter(x, z):
    n = z.shape[0]
    b = np.ones(n)
    k = 0
    while k < n:
        for i in range(x.shape[0]):
            t = x[i]
            for j in range(n):
                b[j] = np.sin(t * z[k]) * b[j]
                t += b[j] * b[j] * t
            z[k] = max(z[k], t)
        k += 1
    return b[0] + z[0]


def returned_product_of_overwritten(A, B):
    C = np.empty((3, 4))
    for i in range(3):
        for j in range(4):
            C[i, j] = 0.0
            for k in range(3):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(3):
        A[i, 0] = A[i, 0] * 2.0
    return C


def inverted_masks(A, x):
    x[~(0.5 * A.sum(axis=0) < x)] *= 2.0
    m = ~((np.sin(x) > 0.2) & (A[0] < 0.7))
    return x[m].sum() + np.sum(x[~m] ** 2)


def listed_if_not_yet_overwritten(idx, v, w, y, x):
    t = np.zeros((v.shape[0], v.shape[1]))
    for p in range(v.shape[0]):
        for l in range(v.shape[1]):
            t[p, l] = v[p, l] * v[p, l]
    for p in range(v.shape[0]):
        s = 0.0
        for l in range(1, v.shape[1]):
            if t[p, l - 1] > 0.0:
                y[l, idx[p, l]] += w[l, 0] * v[p, l]
            s += t[p, l]
            t[p, l] = -1.0
        x[p] += s


def sums_at_places_of_rows(A, x, idx, y, n):
    for i in range(n):
        for j in range(x.shape[0]):
            y[i * 3 + idx[i]] += A[i, j] * x[j]
    for i in range(n):
        for j in range(x.shape[0]):
            y[idx[i]] += x[j] * y[i]


def places_of_what_fades(x, w, y):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            s = s + x[i] * w[j]
            k = int(s * 1.7)
            y[k] += x[i] * s
        s = s * 0.5
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            k = int(2.0 * x[i] * w[j] + w[j])
            y[k] *= x[i]


def conditions_on_bits(x, q, y):
    for i in range(x.shape[0]):
        k = q[i]
        if x[i] > 0.5:
            if k & 1:
                k = k ^ (k >> 1)
            if k & 2:
                k = k ^ (k >> 2)
            if k & 4:
                k = k ^ (k >> 1)
        y[k % 5] += x[i] * x[i]


def largest_of_gathered(x, idx):
    x -= np.maximum(np.tanh(x[idx]), 0.53)


def first_smallest(w, n):
    total = 0.0
    best = 1e30
    for k in range(n):
        s = w[k] - 0.7
        if s < best:
            best = s
    total += best
    return total


def rows_of_lanes_side_by_side(a, w, p, s, c):
    for i in range(a.shape[0] - 1):
        c[i, 0] = 0.2 * a[i, 0]
        for j in range(a.shape[1] - 1):
            s[p[j]] += a[i, j + 1] + a[i, j] * w[i] + 2.0 * a[i + 1, j + 1]


def rows_of_lanes_oracle(xp, a, w, p, s, c):
    terms = a[:-1, 1:] + a[:-1, :-1] * w[:-1, None] + 2.0 * a[1:, 1:]
    first = xp.concatenate((0.2 * a[:-1, 0], c[-1:, 0]))
    places = p[:-1, None] == xp.arange(s.shape[0])
    return {"s": s + xp.sum(terms, axis=0) @ places, "c": xp.concatenate((first[:, None], c[:, 1:]), axis=1)}


def in_columns(r: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return np.asfortranarray(r.random((rows, columns)))


def masks_that_never_fit(x, idx):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
        if i > 9:
            s += x[idx[2:]][x[idx[::-1]] > 0.2].sum()
    return s


def read_before_it_is_overwritten(c):
    c *= np.where(c, c, c)
    return c.sum()


def repeated_and_cut(x, y):
    z = np.repeat(x, 2)[: len(x)]
    for i in range(len(x)):
        y[i] = z[len(x) - 1 - i]
    return z.sum()


def name_from_a_loop_that_never_runs(x, n):
    if n:
        return x @ x
    for _i in range(1, 1):
        acc = x[1]
    w = acc * x
    return np.dot(x, w)


def packed_and_changed(x, m):
    packed = np.zeros(len(x))
    n = 0
    for i in range(len(x)):
        if m[i]:
            packed[n] = x[i]
            packed[n] += x[i] * x[i]
            if n > 0:
                packed[n - 1] = packed[n - 1] + x[i]
            n += 1
    s = 0.0
    for k in range(n):
        s += packed[k] ** 3
    return s


def packed_and_changed_oracle(xp, x, m):
    v = x[np.flatnonzero(m)]
    return {"result": xp.sum((v + v * v + xp.append(v[1:], 0.0)) ** 3)}


def fewer_than_none(x, y, n):
    packed = np.zeros(len(y))
    m = 0
    for i in range(len(y)):
        if y[i] > 0.0:
            packed[m] = y[i]
            m += 1
    s = 0.0
    for k in range(m):
        s += packed[k] ** 3
    found = 0
    for i in range(n):
        if x[i] > 0.0:
            found += 1
    return s + x[0] * x[0] * min(found, n)


def rows_of_small_integers(x, q):
    c = np.empty(len(x), dtype=np.uint8)
    s = 0.0
    for i in range(len(x)):
        c[i] = q[i]
        s += c[i] * np.sin(x[i]) ** 3 * np.exp(x[i])
    return s


def small_counts(x, k):
    h = np.zeros(4, dtype=np.int32)
    for i in range(len(k)):
        h[k[i]] += 1
    s = 0.0
    for i in range(len(x)):
        s += h[k[i]] * x[i] ** 2
    return s


ENTRIES = (
    Entry(
        name="largest_of_gathered",
        function=largest_of_gathered,
        make=lambda r: dict(x=r.uniform(-1.4, 1.4, 40), idx=r.integers(0, 40, 40)),
        wrt=("x",),
        outputs=("x",),
        notes="the reverse sweep compared a kept maximum of vectors with arguments that it computed again one by one",
    ),
    Entry(
        name="inverted_masks",
        function=inverted_masks,
        make=lambda r: dict(A=r.random((3, 6)), x=r.random(6)),
        wrt=("A", "x"),
        outputs=("x",),
        notes="`~` of an array of booleans was refused if they were compared with more than an element",
    ),
    Entry(
        name="returned_product_of_overwritten",
        function=returned_product_of_overwritten,
        make=lambda r: dict(A=r.random((3, 3)), B=r.random((3, 4))),
        wrt=("A", "B"),
        outputs=("A",),
        notes="arrays that the caller sees were taken for buffers of rows",
    ),
    Entry(
        name="rows_of_a_counter",
        function=rows_of_a_counter,
        make=lambda r: dict(x=r.random(3), z=r.random(4)),
        wrt=("x", "z"),
        outputs=("z",),
        notes="where a replay looked for `z[k]`, `k` had already become what was recorded of it",
    ),
    *(
        Entry(
            name=f"largest_at_remainder_of_{n}",
            function=largest_at_remainder,
            make=lambda r, n=n: dict(x=r.random(3), y=r.random(n), c=0.7),
            wrt=("x", "y", "c"),
            outputs=("y",),
            notes="the element of a reduction that does not run is at a remainder by zero",
        )
        for n in (0, 3)
    ),
    Entry(
        name="left_for_good",
        function=left_for_good,
        make=lambda r: dict(A=r.uniform(-0.2, 1.0, (5, 6)), x=r.random(6)),
        wrt=("A", "x"),
        notes="an iteration that was run again read what was recorded for a loop inside it, before it knew where",
    ),
    Entry(
        name="largest_of_none",
        function=largest_of_none,
        make=lambda r: dict(x=r.random(3), y=np.zeros(0), idx=np.array([5, 6, 7]), n=0),
        wrt=("x", "y"),
        outputs=("x", "y"),
        notes="a reduction that does not run has no element: it was read, and its tangent written",
    ),
    Entry(
        name="largest_of_some",
        function=largest_of_none,
        make=lambda r: dict(x=r.random(3), y=np.ones(3), idx=np.array([2, 0, 2]), n=1),
        wrt=("x", "y"),
        outputs=("x", "y"),
    ),
    Entry(
        name="rows_changed_by_helper",
        function=rows_changed_by_helper,
        make=lambda r: dict(A=r.random((3, 4)), y=r.random(4)),
        wrt=("A", "y"),
        outputs=("A", "y"),
        is_analytic=True,
        notes="parts of one loop that were split and stayed together had the same names",
    ),
    Entry(
        name="torn_nest",
        function=torn_nest,
        make=lambda r: dict(x=r.random(4), z=r.random((2, 3)), s=r.random(3)),
        wrt=("x", "z", "s"),
        outputs=("x", "z", "s"),
        is_analytic=True,
        notes="of three pieces of a loop two were put together again, and the third with them, which ran twice",
    ),
    Entry(
        name="chosen_result",
        function=chosen_result,
        make=lambda r: dict(x=r.uniform(0.1, 0.6, 3)),
        wrt=("x",),
        notes="what a computed condition in a result decided was not recorded",
    ),
    Entry(
        name="elements_given_twice_in_a_loop",
        function=elements_given_twice_in_a_loop,
        make=lambda r: dict(x=r.random(5), n=2),
        wrt=("x",),
        notes="the zero that an adjoint went back to was taken for one of the next iteration of the outer loop",
    ),
    Entry(
        name="array_returned_twice",
        function=array_returned_twice,
        make=lambda r: dict(x=r.random(5)),
        wrt=("x",),
    ),
    Entry(
        name="returned_array_without_derivative",
        function=returned_array_without_derivative,
        make=lambda r: dict(x=r.random(3)),
        wrt=("x",),
        is_analytic=True,
    ),
    Entry(
        name="largest_of_rows",
        function=largest_of_rows,
        make=lambda r: dict(x=r.random(7), w=r.random(9)),
        wrt=("x",),
        oracle=lambda xp, x, w: {"result": xp.max(xp.sum(xp.exp(xp.sin(xp.outer(x, w)) + xp.outer(x, w)) ** 2, 1) + x)},
        is_twin=True,
        notes="the reverse sweep compared rows that it had computed again with the largest that was found before",
    ),
    Entry(
        name="listed_if_not_yet_overwritten",
        function=listed_if_not_yet_overwritten,
        make=lambda r: dict(
            idx=r.integers(0, 6, (10, 4)), v=r.random((10, 4)), w=r.random((4, 6)), y=np.zeros((4, 6)), x=np.zeros(10)
        ),
        wrt=("v", "w"),
        outputs=("y", "x"),
        notes="listed updates moved ahead of what overwrites the elements that their condition reads",
    ),
    Entry(
        name="sums_at_places_of_rows",
        function=sums_at_places_of_rows,
        make=lambda r: dict(A=r.random((9, 5)), x=r.random(5), idx=r.integers(0, 3, 9), y=r.random(30), n=9),
        wrt=("A", "x", "y"),
        outputs=("y",),
        is_analytic=True,
        notes="dot products side by side, whose places were looked up as if there were one",
    ),
    Entry(
        name="conditions_on_bits",
        function=conditions_on_bits,
        make=lambda r: dict(x=r.random(12), q=r.integers(0, 256, 12), y=r.random(5)),
        wrt=("x", "y"),
        outputs=("y",),
        is_analytic=False,
        notes="values that conditions choose between were put into each other, twice as long for each condition",
    ),
    Entry(
        name="first_smallest",
        function=first_smallest,
        make=lambda r: dict(w=r.random(9), n=9),
        wrt=("w",),
        oracle=lambda xp, w, n: {"result": xp.min(w) - 0.7},
        is_twin=True,
        notes="a segment that ran again began without the value that decides nothing but its own next one",
    ),
    Entry(
        name="rows_of_lanes_side_by_side",
        function=rows_of_lanes_side_by_side,
        make=lambda r: dict(
            a=in_columns(r, 11, 9), w=r.random(11), p=r.integers(0, 5, 9), s=r.random(6), c=in_columns(r, 11, 9)
        ),
        wrt=("a",),
        outputs=("s", "c"),
        oracle=rows_of_lanes_oracle,
        is_twin=True,
        notes="an element that lanes held in registers was one that the lane beside them stored to",
    ),
    Entry(
        name="places_of_what_fades",
        function=places_of_what_fades,
        make=lambda r: dict(x=r.random(4), w=r.random(3), y=r.random(9)),
        wrt=("x", "y"),
        outputs=("y",),
        notes="places were worked out ahead without what the rest of the loop makes of a cell that they are made from",
    ),
    Entry(
        name="masks_that_never_fit",
        function=masks_that_never_fit,
        make=lambda r: dict(x=r.random(5), idx=r.integers(0, 5, 5)),
        wrt=("x",),
        oracle=lambda xp, x, idx: {"result": xp.sum(x * x)},
        is_twin=True,
        notes="nothing runs behind a check that never holds: no dependence forbade lanes that count and choose at once",
    ),
    Entry(
        name="read_before_it_is_overwritten",
        function=read_before_it_is_overwritten,
        make=lambda r: dict(c=r.uniform(-1.0, 1.0, 40)),
        wrt=("c",),
        outputs=("c",),
        oracle=lambda xp, c: {"result": xp.sum(c * c), "c": c * c},
        is_twin=True,
        notes="LLVM 22 took a masked load for one that comes behind a store to the same element",
    ),
    Entry(
        name="name_from_a_loop_that_never_runs",
        function=name_from_a_loop_that_never_runs,
        make=lambda r: dict(x=r.random(4), n=1),
        wrt=("x",),
        oracle=lambda xp, x, n: {"result": xp.sum(x * x)},
        is_twin=True,
        notes="a cell that nothing writes was looked for in the reverse sweep, which does not have it",
    ),
    Entry(
        name="repeated_and_cut",
        function=repeated_and_cut,
        make=lambda r: dict(x=r.random(5), y=np.zeros(5)),
        wrt=("x",),
        outputs=("y",),
        oracle=lambda xp, x, y: {"result": xp.sum(xp.repeat(x, 2)[:5]), "y": xp.repeat(x, 2)[:5][::-1]},
        is_twin=True,
        notes="two nests were one kernel though the second reads what later iterations of the first write",
    ),
    Entry(
        name="packed_and_changed",
        function=packed_and_changed,
        make=lambda r: dict(x=r.random(9), m=np.array([1, 0, 1, 1, 0, 0, 1, 0, 1], dtype=bool)),
        wrt=("x",),
        oracle=packed_and_changed_oracle,
        is_twin=True,
        notes="what a loop packs was read where it comes from though the same iteration, or the next one, changes it",
    ),
    Entry(
        name="fewer_than_none",
        function=fewer_than_none,
        make=lambda r: dict(x=r.random(4) + 0.1, y=r.random(5) + 0.1, n=-2),
        wrt=("x", "y"),
        oracle=lambda xp, x, y, n: {"result": xp.sum(y**3) - 2.0 * x[0] ** 2},
        is_twin=True,
        notes="a count was taken for no more than the end of a range, which may be below zero",
    ),
    Entry(
        name="rows_of_small_integers",
        function=rows_of_small_integers,
        make=lambda r: dict(x=r.random(6), q=np.array([1, -56, 5, -128, 127, -3], dtype=np.int8)),
        wrt=("x",),
        oracle=lambda xp, x, q: {"result": xp.sum((q.astype(int) % 256) * xp.sin(x) ** 3 * xp.exp(x))},
        is_twin=True,
        notes="an array of small integers became a variable in the loop of both sweeps, which did not wrap",
    ),
    Entry(
        name="small_counts",
        function=small_counts,
        make=lambda r: dict(x=r.random(30), k=r.integers(0, 4, 30)),
        wrt=("x",),
        oracle=lambda xp, x, k: {"result": xp.sum(xp.asarray(np.bincount(k, minlength=4)[k]) * x**2)},
        is_twin=True,
        notes="what threads counted apart was of other integers than the array, which Numba refused",
    ),
)
