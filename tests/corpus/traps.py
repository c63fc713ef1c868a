"""Programs that other tools get wrong without a word; values in `tests/gradients/test_traps.py`."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def nonlinear_after_loop(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] * x[i]
    return math.sqrt(s) + s * s


def product_in_loop(x):
    p = 1.0
    for i in range(x.shape[0]):
        p = p * x[i]
    return p


def value_from_before_the_loop(x, n):
    v = x[0] * x[0]
    s = 0.0
    for i in range(n):
        s += x[i]
    return v * s + v


def nested_dynamic_loops(x, count):
    s = 0.0
    for i in range(x.shape[0]):
        t = x[i]
        for j in range(count[i]):
            for k in range(j):
                t = t * 0.5 + x[k]
            s += t * t
    return s


def read_then_overwrite(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
        x[i] = math.sin(x[i])
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
        x[i] = 0.0
    return s


def rotated_vector(x, steps):
    a = x[0]
    b = x[1]
    c = x[2]
    for t in range(steps):
        a, b, c = b * c, c + a * 0.5, a - b * b
    return a + b * 2.0 + c * 3.0


def scatter_then_square(x, idx, y):
    for i in range(x.shape[0]):
        y[idx[i]] += x[i]
    s = 0.0
    for k in range(y.shape[0]):
        s += y[k] * y[k] * y[k]
    return s


def rescaling_branch(x):
    s = 0.0
    m = x[0]
    for i in range(x.shape[0]):
        if x[i] > m:
            s = s * math.exp(m - x[i]) + 1.0
            m = x[i]
        else:
            s += math.exp(x[i] - m)
    return m + math.log(s)


def diagonal_access(A, x):
    n = A.shape[0]
    s = 0.0
    for i in range(n):
        s += A[i, i] * A[i, i] * x[i]
        for j in range(n):
            s += A[j, j] * x[i]
    return s


def test_at_the_top(x, limit):
    v = x[0]
    go = v < limit
    for _ in range(8):
        if go:
            v = v * v + x[1]
            go = v < limit
    return v


def test_at_the_bottom(x, limit):
    v = x[0]
    v = v * v + x[1]
    go = v < limit
    for _ in range(7):
        if go:
            v = v * v + x[1]
            go = v < limit
    return v


def loop_built_index(x, y):
    k = 0
    for i in range(3):
        k = k * 2 + 1
        y[i] = x[k] * x[k - 1]
    return y[0] * y[1] * y[2]


def loads_by_hand(x, y):
    y[0] = x[1] * x[0]
    y[1] = x[3] * x[2]
    y[2] = x[7] * x[6]
    return y[0] * y[1] * y[2]


def column_extremes(A, hi, lo):
    M, N = A.shape
    for j in range(N):
        hi[j] = -math.inf
        lo[j] = math.inf
    for i in range(M):
        for j in range(N):
            hi[j] = max(hi[j], A[i, j])
            lo[j] = min(lo[j], A[i, j])


def truncated_steps(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * int(4.0 * x[i]) + math.floor(3.0 * x[i])


def bound_changed_after_use(x, count):
    s = 0.0
    n = x.shape[0]
    for i in range(n):
        for j in range(count[i]):
            s = s * 0.5 + x[j] * x[i]
            count[i] = 0
        count[i // n] += 1
        n = 2
    return s * s


def spilled_functions(x):
    a = 0.1
    b = 0.2
    for i in range(x.shape[0]):
        a = math.exp(b * x[i])
        b = math.tanh(a * x[i])
        a = math.exp(-a * b)
    return a * b


def divisor_in_loop(x):
    s = 1.0
    for i in range(x.shape[0]):
        s = x[i] / (s * s + x[i] * s) + s / x[i]
    return s


def packed_by_a_counter(x, y):
    k = 0
    for i in range(x.shape[0]):
        if x[i] > 0.3:
            y[k] = x[i] * x[i]
            k += 1
    s = 0.0
    for j in range(k):
        s += y[j] * y[j]
    return s


def buffer_not_differentiated(x, scratch, y):
    for i in range(x.shape[0]):
        scratch[0] = x[i] * x[i]
        scratch[1] = math.sin(scratch[0])
        y[i] = scratch[0] * scratch[1]


def fill_with_squares(into, of, scale):
    for i in range(into.shape[0]):
        into[i] = into[i] * scale + of[i] * of[i]


def changed_by_helper_in_loop(x, y, steps):
    for _ in range(steps):
        fill_with_squares(y, x, y[0])
        fill_with_squares(x, y, 0.5)
    return y[0] * x[1]


def while_at_the_top(x, limit):
    v = x[0]
    while v < limit:
        v = v * v + x[1]
    return v


def until_at_the_bottom(x, limit):
    v = x[0]
    while True:
        v = v * v + x[1]
        if not v < limit:
            break
    return v


def as_many_factors(x, n):
    y = 1.0
    k = 0
    while k < n:
        y = y * x
        k += 1
    return y


def index_stepped_by_hand(x, y):
    k = 0
    while k < x.shape[0]:
        y[k] = x[k] * x[k]
        if x[k] > 0.5:
            k += 1
        k += 2


def written_under_another_name(a, y):
    b = a
    for i in range(1, a.shape[0]):
        b[i] = a[i - 1] * b[i]
        y[i] = a[i] * b[i - 1]


def written_through_a_view(a, y):
    r = a[1:]
    for i in range(r.shape[0]):
        r[i] = a[i] * r[i]
    y[0] = a[1] * r[1]


def slices_in_time(a, c, steps):
    for _ in range(steps):
        a[1:-1] = a[1:-1] * a[:-2] + c * a[2:]


def swapped_in_time(u, v, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i - 1] * u[i] + u[i + 1]
        tmp = u
        u = v
        v = tmp
    return u[1] * v[2]


def truncated_variance(v0, kappa, theta, xi, dt, z):
    """Full truncation of a square-root diffusion (Lord, Koekkoek and van Dijk 2010)."""
    s = 0.0
    for p in range(z.shape[1]):
        v = v0
        for t in range(z.shape[0]):
            vp = max(v, 0.0)
            v = v + kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * z[t, p]
            s += v
    return s


ENTRIES = (
    Entry(
        name="nonlinear_after_loop",
        function=nonlinear_after_loop,
        make=lambda r: dict(x=r.random(6), n=5),
        wrt=("x",),
        is_analytic=True,
        notes="trap 1",
    ),
    Entry(
        name="product_in_loop",
        function=product_in_loop,
        make=lambda r: dict(x=r.random(6)),
        wrt=("x",),
        oracle=lambda xp, x: {"result": xp.prod(x)},
        is_twin=True,
        is_analytic=True,
        notes="trap 2",
    ),
    Entry(
        name="value_from_before_the_loop",
        function=value_from_before_the_loop,
        make=lambda r: dict(x=r.random(6), n=5),
        wrt=("x",),
        is_analytic=True,
        notes="trap 3",
    ),
    Entry(
        name="nested_dynamic_loops",
        function=nested_dynamic_loops,
        make=lambda r: dict(x=r.random(5), count=np.array([2, 0, 4, 1, 3])),
        wrt=("x",),
        is_analytic=True,
        notes="trap 4",
    ),
    Entry(
        name="read_then_overwrite",
        function=read_then_overwrite,
        make=lambda r: dict(x=r.random(5), y=np.zeros(5)),
        wrt=("x",),
        outputs=("x", "y"),
        oracle=lambda xp, x, y: {"result": xp.sum(xp.sin(x) * x * x), "y": x * x, "x": 0.0 * x},
        is_twin=True,
        is_analytic=True,
        notes="trap 6",
    ),
    Entry(
        name="rotated_vector",
        function=rotated_vector,
        make=lambda r: dict(x=r.random(3), steps=5),
        wrt=("x",),
        is_analytic=True,
        notes="trap 10",
    ),
    Entry(
        name="scatter_then_square",
        function=scatter_then_square,
        make=lambda r: dict(x=r.random(9), idx=r.integers(0, 3, 9), y=r.random(4)),
        wrt=("x", "y"),
        outputs=("y",),
        is_analytic=True,
        notes="trap 17",
    ),
    Entry(
        name="rescaling_branch",
        function=rescaling_branch,
        make=lambda r: dict(x=r.standard_normal(8)),
        wrt=("x",),
        oracle=lambda xp, x: {"result": xp.log(xp.sum(xp.exp(x)))},
        is_twin=True,
        notes="trap 18: streaming log-sum-exp",
    ),
    Entry(
        name="diagonal_access",
        function=diagonal_access,
        make=lambda r: dict(A=r.random((4, 4)), x=r.random(4)),
        wrt=("A", "x"),
        is_analytic=True,
        notes="trap 19",
    ),
    Entry(
        name="test_at_the_top",
        function=test_at_the_top,
        make=lambda r: dict(x=r.uniform(0.5, 1, 2), limit=2.0),
        wrt=("x",),
        notes="trap 20",
    ),
    Entry(
        name="test_at_the_bottom",
        function=test_at_the_bottom,
        make=lambda r: dict(x=r.uniform(0.5, 1, 2), limit=2.0),
        wrt=("x",),
        notes="trap 20",
    ),
    Entry(
        name="loop_built_index",
        function=loop_built_index,
        make=lambda r: dict(x=r.random(8), y=np.zeros(3)),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        notes="trap 21",
    ),
    Entry(
        name="loads_by_hand",
        function=loads_by_hand,
        make=lambda r: dict(x=r.random(8), y=np.zeros(3)),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        notes="trap 21",
    ),
    Entry(
        name="column_extremes",
        function=column_extremes,
        make=lambda r: dict(A=r.standard_normal((5, 4)), hi=np.zeros(4), lo=np.zeros(4)),
        wrt=("A",),
        outputs=("hi", "lo"),
        oracle=lambda xp, A, hi, lo: {"hi": xp.max(A, 0), "lo": xp.min(A, 0)},
        is_twin=True,
        notes="trap 22",
    ),
    Entry(
        name="truncated_steps",
        function=truncated_steps,
        make=lambda r: dict(x=r.random(7), y=np.zeros(7)),
        wrt=("x",),
        outputs=("y",),
        notes="trap 23",
    ),
    Entry(
        name="bound_changed_after_use",
        function=bound_changed_after_use,
        make=lambda r: dict(x=r.random(5), count=np.array([2, 0, 4, 1, 3])),
        wrt=("x",),
        outputs=("count",),
        is_analytic=True,
        notes="trap 8",
    ),
    Entry(
        name="spilled_functions",
        function=spilled_functions,
        make=lambda r: dict(x=r.random(4)),
        wrt=("x",),
        is_analytic=True,
        notes="trap 9",
    ),
    Entry(
        name="as_many_factors",
        function=as_many_factors,
        make=lambda r: dict(x=r.random(), n=5),
        wrt=("x",),
        is_analytic=True,
        notes="traps 11 and 12",
    ),
    Entry(
        name="divisor_in_loop",
        function=divisor_in_loop,
        make=lambda r: dict(x=r.uniform(0.5, 1.0, 4)),
        wrt=("x",),
        is_analytic=True,
        notes="trap 13",
    ),
    Entry(
        name="changed_by_helper_in_loop",
        function=changed_by_helper_in_loop,
        make=lambda r: dict(x=r.random(3), y=r.random(3), steps=2),
        wrt=("x", "y"),
        outputs=("x", "y"),
        is_analytic=True,
        notes="trap 14",
    ),
    Entry(
        name="written_under_another_name",
        function=written_under_another_name,
        make=lambda r: dict(a=r.random(5), y=np.zeros(5)),
        wrt=("a", "y"),
        outputs=("a", "y"),
        is_analytic=True,
        notes="trap 15",
    ),
    Entry(
        name="written_through_a_view",
        function=written_through_a_view,
        make=lambda r: dict(a=r.random(4), y=np.zeros(1)),
        wrt=("a",),
        outputs=("a", "y"),
        is_analytic=True,
        notes="trap 15",
    ),
    Entry(
        name="swapped_in_time",
        function=swapped_in_time,
        make=lambda r: dict(u=r.random(5), v=r.random(5), steps=3),
        wrt=("u", "v"),
        outputs=("u", "v"),
        is_analytic=True,
        notes="trap 15",
    ),
    Entry(
        name="slices_in_time",
        function=slices_in_time,
        make=lambda r: dict(a=r.random(6), c=0.5, steps=2),
        wrt=("a", "c"),
        outputs=("a",),
        is_analytic=True,
        notes="trap 16",
    ),
    Entry(
        name="while_at_the_top",
        function=while_at_the_top,
        make=lambda r: dict(x=r.uniform(0.5, 1, 2), limit=2.0),
        wrt=("x",),
        notes="trap 20",
    ),
    Entry(
        name="until_at_the_bottom",
        function=until_at_the_bottom,
        make=lambda r: dict(x=r.uniform(0.5, 1, 2), limit=2.0),
        wrt=("x",),
        notes="trap 20",
    ),
    Entry(
        name="index_stepped_by_hand",
        function=index_stepped_by_hand,
        make=lambda r: dict(x=r.random(9), y=np.zeros(9)),
        wrt=("x", "y"),
        outputs=("y",),
        notes="trap 21",
    ),
    Entry(
        name="packed_by_a_counter",
        function=packed_by_a_counter,
        make=lambda r: dict(x=r.random(7), y=np.zeros(7)),
        wrt=("x",),
        outputs=("y",),
        notes="trap 26",
    ),
    Entry(
        name="buffer_not_differentiated",
        function=buffer_not_differentiated,
        make=lambda r: dict(x=r.random(5), scratch=np.zeros(2), y=np.zeros(5)),
        wrt=("x",),
        outputs=("scratch", "y"),
        is_analytic=True,
        notes="trap 27",
    ),
    Entry(
        name="truncated_variance",
        function=truncated_variance,
        make=lambda r, T=5, P=6: dict(v0=0.04, kappa=1.5, theta=0.05, xi=0.9, dt=0.1, z=r.normal(size=(T, P))),
        wrt=("v0", "kappa", "theta", "xi", "dt", "z"),
        notes="trap 48",
    ),
)
