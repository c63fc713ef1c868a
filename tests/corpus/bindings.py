"""Names of arrays that branches, loops and helpers bind, and that are used afterwards.

Most are plain functions of arrays, which JAX differentiates as they stand: they are their own twins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.corpus.entry import Arguments, Entry


# -- branches ------------------------------------------------------------------------------------------------
def bound_in_either_branch(x, n):
    if n == 3:
        X = 2.0 * x
    else:
        X = 3.0 * x
    return X.sum()


def replaced_by_zeros(x, n):
    X = 2 * x
    if n == 3:
        X = np.zeros_like(x)
    X[0] = x[1]
    return (X * X).sum()


def argument_or_new(x, n):
    X = x
    if n == 3:
        X = 2 * x
    return (X * x).sum()


def argument_or_new_in_one_line(x, n):
    X = 2 * x if n == 3 else x
    Y = x if n == 3 else X * X
    return (X * Y).sum()


def negated_where_small(x):
    X = 2 * x
    if x[0] < 1:
        X = -X
    return (X * x).sum()


def chain_of_branches_then_slices(x, n):
    if n == 0:
        X = 2.0 * x
    elif n == 1:
        X = x * x
    elif n == 2:
        X = x * x * x
    else:
        X = np.zeros_like(x)
    return (X[1:] * X[:-1]).sum()


def gram_in_branch(A, n):
    if n == 1:
        A = A.T @ A
    return (A * A).sum()


def filled_or_computed(x, n):
    if x[0] < 1:
        X = np.zeros(n + 1)
        for i in range(n + 1):
            X[i] = x[i] ** 2
    else:
        X = x * 2
    Y = X[1:]
    Y[0] = 3.0 * x[2]
    return (X[:-1] * Y).sum()


def row_or_other_row(A, n):
    v = A[1]
    if n > 2:
        v = A[0]
    return (v * v[::-1]).sum()


def other_name_is_written(x, n):
    X = x * 2
    Y = X
    if n == 3:
        X = X * x
    Y[0] = 7.0 * x[1]
    return (X * Y).sum()


def integers_or_floats(x, n):
    k = np.zeros(4, dtype=np.int64)
    if n == 3:
        k = k * 0.5 + 1.0
    return (x * k).sum()


def integers_take_no_fractions(k, x):
    X = 2 * k
    X[0] = x[0]
    return (X * x).sum(), X


# -- loops ---------------------------------------------------------------------------------------------------
def sums_of_negated_products(x):
    P = np.zeros_like(x)
    for z in x:
        X = x * z
        if z < 1:
            X = -X
        P += X
    return (P * P).sum()


def last_of_a_loop(x, n):
    for i in range(n):
        X = (2 + i) * x
    return (X * X).sum()


def last_of_a_loop_returned(x, n):
    for i in range(n):
        X = (2 + i) * x * x
    return X


def last_of_a_nest(x, n):
    for i in range(n):
        for j in range(2):
            X = (2 + i + j) * x * x
    return (X * X).sum()


def last_before_break(x, n):
    for i in range(n):
        X = (2 + i) * x * x
        if X[1] > 8.0:
            break
    return (X * X).sum()


def matrix_of_last_sweep(A, n):
    for k in range(n):
        M = np.zeros((3, 3))
        for i in range(3):
            for j in range(3):
                M[i, j] = A[i, j] * (k + 1) + A[j, i] ** 2
    return (M * M).sum()


def powers_of_gram(A, n):
    B = A * 1.0
    for i in range(n):
        B = B.T @ A
    return (B * B).sum()


def bound_while(x, n):
    k = 0
    while k < n:
        X = (k + 1) * x * x
        k += 1
    return X.sum()


def branches_of_a_time_loop(x, n):
    Y = x * 1.0
    for t in range(n):
        if t % 2 == 0:
            Y = Y * x
        else:
            if t == 1:
                Y = Y + x
            else:
                Y = 3.0 * Y
    return (Y * x).sum()


def runge_kutta(x, n):
    u = x
    for t in range(n):
        k1 = -u * u
        k2 = -((u + 0.05 * k1) ** 2)
        k3 = -((u + 0.05 * k2) ** 2)
        k4 = -((u + 0.1 * k3) ** 2)
        u = u + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return (u * u).sum()


def three_names_in_turn(x, n):
    before = x
    now = x * 1.5
    for t in range(n):
        new = 2 * now - before * x
        before = now
        now = new
    return (before * now).sum()


def three_buffers_in_turn(x, n):
    old = x.copy()
    now = x.copy()
    new = np.zeros_like(x)
    for t in range(n):
        for i in range(1, len(x) - 1):
            new[i] = 2.0 * now[i] - old[i] + 0.3 * (now[i + 1] - 2.0 * now[i] + now[i - 1]) * x[i]
        old, now, new = now, new, old
    return (now * now).sum()


def scores_of_a_chain(x, n):
    score = x
    for t in range(n):
        new = np.zeros(len(score))
        for j in range(len(score)):
            new[j] = score[j] * x[j] + score[0]
        score = new
    return score.sum()


def swapped_where_even(x, n):
    a = x * 1.0
    b = x * x
    for i in range(n):
        if i % 2 == 0:
            a, b = b, a
        a[i] = a[i] * b[i]
    return (a * a * b).sum()


def written_then_bound_anew(x, n):
    X = x
    for i in range(n):
        X[i] = X[i] * 2.0 + x[3]
        if i == 1:
            X = X * x
    return (X * x).sum()


def bound_by_else_of_loop(x, n):
    X = x * 1.0
    for i in range(n):
        for j in range(n):
            Y = X * x + j
            if Y[0] > 1.0:
                break
            X = Y
        else:
            X = X * 0.5
        if i == 1:
            X = Y * x
            break
    return (X * Y).sum()


def best_row(x):
    A = np.outer(x, x + 1.0)
    best = A[0]
    for row in A:
        if row.sum() > best.sum():
            best = row
    return (best * x).sum()


def conjugate_gradients(x, n):
    u = np.zeros(4)
    r = x - u
    p = r
    rs = (r * r).sum()
    for i in range(n):
        Ap = 2.0 * p
        Ap[1:] -= 0.3 * p[:-1]
        Ap[:-1] -= 0.3 * p[1:]
        a = rs / (p * Ap).sum()
        u = u + a * p
        r = r - a * Ap
        new = (r * r).sum()
        p = r + (new / rs) * p
        rs = new
    return (u * x).sum()


def matrix_product_in_a_loop(A, n):
    v = A[0] * 1.0
    for k in range(n):
        B = A @ A
        v = B @ v / (1.0 + (v * v).sum())
    return v.sum()


def name_from_an_earlier_turn(x, n):
    for i in range(n):
        q = x * (i + 1.0)
        for j in range(n - 1 - i):
            r = q
    return (r * r).sum()


def rows_handed_on(A, n):
    B = A * A
    u = B[0]
    v = B[1]
    for t in range(2):
        for i in range(n):
            w = B[i]
            w += 0.3 * u * v
            u, v = v, w
        v[0] *= 1.5
    return (B * A).sum() + u[0] + 2.0 * v[1]


def row_chosen_by_data(A, n):
    B = A * A
    r = B[0]
    for i in range(n):
        if B[i, 1] > r[0]:
            r = B[i]
        r[1] *= 1.5
    return (B * A).sum() + r.sum()


def same_array_in_the_first_turn(x, n):
    a = x * 1.0
    b = a
    for t in range(n):
        for i in range(1, x.shape[0]):
            b[i] = 0.5 * a[i - 1] + 0.3 * b[i] * a[i]
        b = a * x
        a, b = b, a
    return (a * x).sum() + b.sum()


def iterated_then_bound_anew(x, n):
    a = x * 1.0
    t = 0.0
    for v in a:
        for k in range(n):
            a = a * 1.1
        t += v * a[0]
    for i, v in enumerate(a[1:]):
        if v > 0.5:
            a = a + x
        t += v * a[i]
    return t + a.sum()


def two_names_left_for_one_array(x, n):
    a = x * x
    c = a
    for k in range(n):
        a = 0.5 * c
        c = a
    c[0] = 0.2 * x[1]
    return (a * x).sum() + 3.0 * (c * x).sum()


def altered_in_the_next_turn(x, y, n):
    for i in range(n):
        y[0] += 0.5 * x[1]
        y = x if y[1] > 0.0 else x[::-1]


def turned_round_and_exchanged(x, y, n):
    z = x
    for i in range(n):
        x, y = y, x
        y = x[::-1]
    return (x * z).sum() + 2.0 * (y * z).sum()


def one_array_given_back_twice(x, n):
    p, q = same_or_not(x, n)
    p[0] = x[1]
    return (p * x).sum() + 3.0 * (q * x).sum()


def same_or_not(v, n):
    w = 2.0 * v
    if n > 1:
        return w, w
    return w, 3.0 * v


def itself(v):
    return v


def one_of_two_among_others(x, n):
    a = x * 1.0
    b = x * x
    u, v = a if n > 1 else b, a
    w = itself(b if x[0] > 0.7 else u)
    a[0] = 5.0 * x[1]
    v[1] += 1.0
    w[2] *= u[1]
    return (u * x).sum() + (v * b).sum() + w.sum()


# -- helpers -------------------------------------------------------------------------------------------------
def filled(v):
    w = np.empty_like(v)
    for i in range(v.shape[0]):
        w[i] = v[i] * v[i] + 1.0
    return w


def helper_in_branches(x, n):
    if n == 1:
        X = filled(x)
    else:
        X = filled(x * x)
    return X


def helper_in_loop(x, n):
    v = x * 1.0
    a = filled(v)
    for i in range(n):
        v += a
        a = filled(v * 0.1)
    return (v * a).sum()


def squared_or_scaled(v, n):
    if n == 1:
        return v * v
    return 3.0 * v


def several_returns(x, n):
    X = x * 1.0
    for i in range(n):
        X = squared_or_scaled(X, i)
    return (X * X).sum()


def first_that_is_large(v, n):
    for i in range(n):
        w = v * (i + 1.3)
        if w[0] > 1.0:
            return w * w, 3.0 * w[1]
    return v, 0.0


def returns_from_a_loop(x, n):
    t = 0.0
    for k in range(n):
        a, b = first_that_is_large(x, k)
        t += (a * x).sum() * b + a[2]
    return t


def own_returns(x, n):
    if n == 1:
        return x * x
    for i in range(n):
        X = x + i
        if X[1] > 3.0:
            return X
    return 3.0 * x


def default_keeps_its_array(x, n):
    a = x * 1.0

    def at(i, of=a, doubled=a * 2.0):
        of[i] += 1.0
        return of[i] * doubled[i]

    for k in range(n):
        a = a * 2.0
    return at(0) * at(1) + (a * x).sum()


def reader_of(v):
    return lambda i: 2.0 * v[i]


def function_keeps_its_array(x, n):
    a = x * 1.0
    b = x * x
    first = reader_of(a)
    for k in range(n):
        a, b = b, a
        b[0] += 0.5 * a[1]
        a = a * b
    if n > 2:
        b = x * a
    return first(0) * first(1) + (a * x).sum() + b.sum()


def one_of_three(v, w, k):
    if k == 0:
        return v
    if k == 1:
        return w[::-1]
    return v + w


def first_or_second(v, w, k):
    return one_of_three(w, v, k), k


def arrays_given_back_and_altered(x, n):
    u = 2.0 * x
    v = x * x
    z = one_of_three(u, v, n)
    z[0] = 4.0 * x[1]
    t = one_of_three(u, v, n)[1] + (one_of_three(u, v, 1 - n) * z).sum()
    w, k = first_or_second(u, v, n)
    w[1] += 2.0 * k * u[2]
    return (u * v).sum() + (z * x).sum() + t + w.sum()


def row_with_most(M, n):
    r = M[0]
    for i in range(n):
        if M[i, 0] > r[0]:
            r = M[i]
    return r


def chosen_row_altered(A, n):
    B = A * A
    r = row_with_most(B, n)
    r[1] = 3.0 * r[0]
    B[0], s = r, 2.0
    B[1], c = doubled_and_own(r)
    c[2] += s
    return (B * A).sum()


def doubled_and_own(v):
    return v * 2.0, v


VECTOR = np.array([0.5, 1.7, -0.3, 2.2])
MATRIX = np.array([[0.5, 1.2, -0.3], [0.7, -1.1, 0.4], [0.2, 0.9, 1.3]])


def entry(
    function: Callable, n: int | None, of: str = "x", outputs: tuple[str, ...] = (), is_twin: bool = True
) -> Entry:  # fmt: skip
    """`function` of a vector `x` or a matrix `A`, and of `n` if that is given."""

    def make(rng: np.random.Generator) -> Arguments:
        values = VECTOR if of == "x" else MATRIX
        first = {of: values + 1e-2 * rng.standard_normal(values.shape)}
        return first if n is None else first | {"n": n}

    return Entry(
        name=function.__name__,
        function=function,
        make=make,
        wrt=(of,),
        outputs=outputs,
        oracle=(lambda xp, **arguments: {"result": function(**arguments)}) if is_twin else None,
        is_twin=is_twin,
        constructs=("arrays bound in branches and loops",),
        notes="an array bound in a branch, a loop or a helper, and used after it",
    )


def of_two(function: Callable, outputs: tuple[str, ...] = ()) -> Entry:
    """`function` of two vectors and of `n`."""
    return Entry(
        name=function.__name__,
        function=function,
        make=lambda r: dict(x=r.random(4) + 0.5, y=r.random(4) - 0.5, n=3),
        wrt=("x", "y"),
        outputs=outputs,
        constructs=("arrays bound in branches and loops",),
        notes="two arrays change hands in a loop",
    )


ENTRIES = (
    entry(bound_in_either_branch, 3),
    entry(replaced_by_zeros, 3, is_twin=False),
    entry(argument_or_new, 3),
    entry(argument_or_new_in_one_line, 2),
    entry(negated_where_small, None, is_twin=False),
    entry(chain_of_branches_then_slices, 1),
    entry(gram_in_branch, 1, "A"),
    entry(filled_or_computed, 3, is_twin=False),
    entry(row_or_other_row, 3, "A"),
    entry(other_name_is_written, 3, is_twin=False),
    entry(integers_or_floats, 3, is_twin=False),
    Entry(
        name="integers_take_no_fractions",
        function=integers_take_no_fractions,
        make=lambda r: dict(k=np.arange(4), x=r.random(4) + 1.5),
        wrt=("x",),
        notes="the type of a computed array was that of all that was ever stored in it",
    ),
    entry(sums_of_negated_products, None, is_twin=False),
    entry(last_of_a_loop, 3),
    entry(last_of_a_loop_returned, 3),
    entry(last_of_a_nest, 3),
    entry(last_before_break, 3, is_twin=False),
    entry(matrix_of_last_sweep, 3, "A", is_twin=False),
    entry(powers_of_gram, 2, "A"),
    entry(bound_while, 3),
    entry(branches_of_a_time_loop, 3),
    entry(runge_kutta, 3),
    entry(three_names_in_turn, 3),
    entry(three_buffers_in_turn, 4, is_twin=False),
    entry(scores_of_a_chain, 3, is_twin=False),
    entry(swapped_where_even, 3, is_twin=False),
    entry(written_then_bound_anew, 3, outputs=("x",), is_twin=False),
    entry(bound_by_else_of_loop, 3, is_twin=False),
    entry(best_row, None, is_twin=False),
    entry(conjugate_gradients, 3, is_twin=False),
    entry(matrix_product_in_a_loop, 2, "A"),
    entry(name_from_an_earlier_turn, 3),
    entry(rows_handed_on, 3, "A", is_twin=False),
    entry(row_chosen_by_data, 3, "A", is_twin=False),
    entry(same_array_in_the_first_turn, 2, is_twin=False),
    entry(iterated_then_bound_anew, 2, is_twin=False),
    entry(one_of_two_among_others, 2, is_twin=False),
    entry(two_names_left_for_one_array, 2, is_twin=False),
    of_two(altered_in_the_next_turn, outputs=("x", "y")),
    of_two(turned_round_and_exchanged),
    entry(one_array_given_back_twice, 2, is_twin=False),
    entry(helper_in_branches, 1, is_twin=False),
    entry(helper_in_loop, 3, is_twin=False),
    entry(several_returns, 3),
    entry(returns_from_a_loop, 3, is_twin=False),
    entry(own_returns, 3, is_twin=False),
    entry(arrays_given_back_and_altered, 1, is_twin=False),
    entry(chosen_row_altered, 3, "A", is_twin=False),
    entry(default_keeps_its_array, 2, is_twin=False),
    entry(function_keeps_its_array, 3, is_twin=False),
)
