"""`loopdiff.jax.wrap` under JAX's transformations, against pure JAX twins; refusals by name."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

import loopdiff.jax
from loopdiff import vectorize_grad
from loopdiff.backends.cpu.direct import convention
from loopdiff.errors import ArgumentError, DifferentiationError, OutOfMemoryError, UnsupportedLoopError

pytestmark = [
    pytest.mark.part(3),
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed"),
]


@vectorize_grad
def march(x, a):
    for i in range(1, x.shape[0]):
        x[i] = a * x[i] * x[i - 1] + 0.1


def march_twin(x, a):
    def step(carry, value):
        new = a * value * carry + 0.1
        return new, new

    _, rest = jax.lax.scan(step, x[0], x[1:])
    return jnp.concatenate([x[:1], rest])


@vectorize_grad
def product(A, B, C):
    t = 0.0
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            C[m, n] = 0.0
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]
            t += C[m, n] * C[m, n]
    return t


@vectorize_grad
def cumulative(x):
    y = np.empty(x.shape[0])
    s = 0.0
    for i in range(x.shape[0]):
        s = s + x[i] * x[i]
        y[i] = s
    return y, s


@vectorize_grad
def gathered(x, idx, n):
    t = 0.0
    for i in range(n):
        t += x[idx[i]] ** 2
    return t


@vectorize_grad(wrt="x")
def scaled(x, a):
    return a * x[0]


@vectorize_grad
def ragged_power(ptr, x):
    t = 0.0
    for i in range(ptr.shape[0] - 1):
        s = 1.0
        for k in range(ptr[i], ptr[i + 1]):
            s = s * s + x[k]
        t += s
    return t


@vectorize_grad
def padded_power(x, w, pad, stride):
    t = 0.0
    for i in range((x.shape[0] + 2 * pad - w.shape[0]) // stride + 1):
        s = 0.0
        for k in range(w.shape[0]):
            p = i * stride + k - pad
            if 0 <= p < x.shape[0]:
                s += w[k] * x[p]
        t += s**3
    return t


@vectorize_grad
def doubling(x):
    stride = 1
    for _ in range(3):
        for i in range(0, x.shape[0], stride):
            x[i] = np.sin(x[i]) * x[i]
        stride *= 2


@vectorize_grad
def many(
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15,
    a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31,
):  # fmt: skip
    return a0 * a31 + a1 * a30 + a15 * a16


SHAPE = {"C": lambda A, B: (A.shape[0], B.shape[1])}
wrapped_march = loopdiff.jax.wrap(march)
wrapped_product = loopdiff.jax.wrap(product, outputs=SHAPE)
x = jnp.linspace(0.1, 1.0, 6)


def twice(f):
    return lambda x, a: jnp.sum(jnp.sin(f(f(x, a), a)))


def close(found, expected, rtol=1e-12):
    jax.tree.map(lambda f, e: np.testing.assert_allclose(f, e, rtol=rtol, atol=rtol), found, expected)


@pytest.mark.parametrize("a", [0.7, np.float64(0.7)])
def test_gradient_of_a_composition_eager_and_compiled(a):
    expected = jax.grad(twice(march_twin), (0, 1))(x, a)
    close(jax.grad(twice(wrapped_march), (0, 1))(x, a), expected)
    close(jax.jit(jax.grad(twice(wrapped_march), (0, 1)))(x, a), expected)


def test_inputs_that_are_written_are_not_changed():
    before = np.array(x)
    wrapped_march(x, 0.5)
    np.testing.assert_array_equal(x, before)


def test_vmap_and_gradient_under_vmap():
    batch = jnp.stack([x, 2 * x, x - 0.3])
    close(jax.vmap(wrapped_march, (0, None))(batch, 0.7), jax.vmap(march_twin, (0, None))(batch, 0.7))
    gradient = jax.vmap(jax.grad(twice(wrapped_march)), (0, None))(batch, 0.7)
    close(gradient, jax.vmap(jax.grad(twice(march_twin)), (0, None))(batch, 0.7))


def test_scan():
    def loss(f):
        return lambda x: jnp.sum(jax.lax.scan(lambda c, _: (f(c, 0.5), None), x, length=3)[0] ** 2)

    close(jax.jit(jax.grad(loss(wrapped_march)))(x), jax.grad(loss(march_twin))(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pure_output_value_and_pullback(dtype):
    rng = np.random.default_rng(0)
    A, B = jnp.asarray(rng.random((5, 4)), dtype), jnp.asarray(rng.random((4, 3)), dtype)
    w = jnp.asarray(rng.random((5, 3)), dtype)
    rtol = 1e-5 if dtype == "float32" else 1e-12
    (t, C), pullback = jax.vjp(wrapped_product, A, B)
    assert t.dtype == C.dtype == jnp.dtype(dtype)
    close(C, A @ B, rtol)
    close(t, jnp.sum((A @ B) ** 2), rtol)
    _, reference = jax.vjp(lambda A, B: (jnp.sum((A @ B) ** 2), A @ B), A, B)
    seed = jnp.asarray(0.5, dtype)
    close(pullback((seed, w)), reference((seed, w)), rtol)
    close(pullback((seed, w)), reference((seed, w)), rtol)


def test_returned_local_array():
    f = loopdiff.jax.wrap(cumulative)
    y, s = jax.jit(f)(x)
    close(y, jnp.cumsum(x * x))
    close(s, jnp.sum(x * x))
    w = jnp.arange(6.0)
    close(jax.grad(lambda x: f(x)[0] @ w)(x), jax.grad(lambda x: jnp.cumsum(x * x) @ w)(x))


def test_integer_arguments_and_static_length():
    f = loopdiff.jax.wrap(gathered)
    idx = jnp.array([1, 1, 4])
    close(jax.jit(jax.grad(f), static_argnums=2)(x, idx, 2), jnp.zeros(6).at[1].set(4 * x[1]))
    close(jax.jit(f)(x, idx, 3), 2 * x[1] ** 2 + x[4] ** 2)


def test_truth_value_as_argument():
    @vectorize_grad
    def scaled_if(x, flag):
        if flag:
            return 3.0 * x.max()
        return x.max()

    f, x = loopdiff.jax.wrap(scaled_if), np.array([0.5, 2.0])
    assert f(x, False) == 2.0
    assert jax.jit(f)(x, True) == 6.0
    np.testing.assert_array_equal(jax.grad(f)(x, True), [0.0, 3.0])


def test_repeated_calls_in_one_program():
    f = jax.jit(lambda x: sum(jnp.sum(wrapped_march(x * k, 0.5)) for k in range(1, 5)))
    twin = jax.jit(lambda x: sum(jnp.sum(march_twin(x * k, 0.5)) for k in range(1, 5)))
    for _ in range(3):
        close(f(x), twin(x))


# -- refusals ------------------------------------------------------------------------------------------------
def test_shape_is_refused_when_tracing():
    with pytest.raises(ArgumentError, match=r"LD310.*`B"):
        jax.jit(wrapped_product)(jnp.ones((3, 4)), jnp.ones((2, 5)))


def test_rank_is_refused_by_name():
    with pytest.raises((UnsupportedLoopError, ArgumentError), match="`A`"):
        wrapped_product(jnp.ones(3), jnp.ones((3, 5)))


def test_dtype_is_refused_by_name():
    with pytest.raises(ArgumentError, match=r"LD350: `A` has dtype float8_e5m2"):
        wrapped_product(jnp.ones((3, 4), jnp.float8_e5m2), jnp.ones((4, 5), jnp.float8_e5m2))


def test_subscript_out_of_bounds_fails_the_call():
    with pytest.raises(Exception, match=r"LD310.*idx") as failure:
        jax.block_until_ready(loopdiff.jax.wrap(gathered)(x, jnp.array([1, 99]), 2))
    assert isinstance(failure.value, ValueError | RuntimeError)


def test_derivative_outside_wrt_is_refused():
    with pytest.raises(DifferentiationError, match="LD405: `a`"):
        jax.grad(lambda a: loopdiff.jax.wrap(scaled)(x, a))(0.3)


def test_missing_argument():
    with pytest.raises(ArgumentError, match="LD301"):
        wrapped_march(x)


def test_output_that_is_not_written_and_output_that_is_unknown():
    with pytest.raises(ArgumentError, match="LD350: `outputs` names `a`"):
        loopdiff.jax.wrap(march, outputs={"a": (3,)})
    with pytest.raises(ArgumentError, match="LD350: `outputs` names `z`"):
        loopdiff.jax.wrap(march, outputs={"z": (3,)})


def test_output_shape_must_be_a_tuple_of_integers():
    with pytest.raises(ArgumentError, match=r"LD351.*`C`"):
        loopdiff.jax.wrap(product, outputs={"C": lambda A, B: None})(jnp.ones((2, 2)), jnp.ones((2, 2)))


def test_tape_of_data_dependent_size_is_refused():
    ragged = loopdiff.jax.wrap(ragged_power)
    with pytest.raises(ArgumentError, match="LD352"):
        jax.grad(lambda x: ragged(jnp.array([0, 2, 5]), x))(x)
    np.testing.assert_allclose(ragged(jnp.array([0, 2, 5]), x), ragged_power(np.array([0, 2, 5]), np.asarray(x)))


def test_tape_whose_size_follows_from_shapes_and_static_integers():
    x, w = np.linspace(0.5, 2.0, 9), np.array([0.5, -1.0, 2.0])
    padded = loopdiff.jax.wrap(padded_power)
    expected, g = padded_power.value_and_grad(x, w, 1, 2)
    value, found = jax.jit(jax.value_and_grad(lambda *a: padded(*a, 1, 2), argnums=(0, 1)))(x, w)
    np.testing.assert_allclose(value, expected)
    for a, b in zip(found, g, strict=True):
        np.testing.assert_allclose(a, b)
    with pytest.raises(ArgumentError, match=r"LD35[12]"):
        jax.jit(jax.grad(padded))(x, w, jnp.asarray(1), jnp.asarray(2))


def test_tape_that_is_counted_when_tracing():
    y = np.linspace(0.5, 2.0, 8)
    assert "counts" in doubling.compile(y).functions
    found = jax.jit(jax.grad(lambda x: jnp.sum(loopdiff.jax.wrap(doubling)(x))))(y)
    _, pullback = doubling.vjp(y)
    np.testing.assert_allclose(found, pullback(x=np.ones(8)).x)


@vectorize_grad(tape="recompute")
def horner(x, n, a):
    t = 0.0
    for i in range(n):
        t = t * a + x[i]
    return t


@pytest.mark.parametrize("n", range(6))
def test_tape_whose_length_alone_matters_to_the_forward_sweep(n):
    """How far apart the values are that it keeps is the length of an array that the reverse sweep fills."""
    found = jax.grad(loopdiff.jax.wrap(horner), (0, 2))(x, n, 0.7)
    np.testing.assert_allclose(found[0], horner.grad(np.asarray(x), n, 0.7).x)
    np.testing.assert_allclose(found[1], horner.grad(np.asarray(x), n, 0.7).a)


def test_forward_mode_where_data_decide_how_long_loops_are():
    """Nothing is kept for it; reverse mode is refused when it is asked for."""
    f, n = loopdiff.jax.wrap(horner), jnp.asarray(4)
    found = jax.jacfwd(f, (0, 2))(x, n, 0.7)
    for a, b in zip(found, jax.jacrev(f, (0, 2))(x, 4, 0.7), strict=True):
        np.testing.assert_allclose(a, b)
    each = jax.vmap(jax.jacfwd(f), (None, 0, None))(x, jnp.array([1, 4]), 0.7)
    np.testing.assert_allclose(each[1], found[0])
    np.testing.assert_allclose(jax.jacfwd(jax.jacfwd(f, 2), 2)(x, n, 0.7), jax.hessian(f, 2)(x, 4, 0.7))
    with pytest.raises(ArgumentError, match="LD351"):
        jax.grad(f, 2)(x, n, 0.7)


@vectorize_grad
def sometimes(x, s):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            s = np.sin(s) * x[i]
    return s


def test_places_of_the_tape_that_nothing_fills_are_no_nan():
    slope = jax.grad(loopdiff.jax.wrap(sometimes), (0, 1))
    expected = slope(x, 0.3)
    with jax.debug_nans(True):
        for _ in range(5):
            del (lambda: [np.full(len(x), np.nan) for _ in range(20)])()[:]
            for a, b in zip(slope(x, 0.3), expected, strict=True):
                np.testing.assert_allclose(a, b)


@vectorize_grad
def scaled_by_default(x, y, n=2, c=3.0):
    for i in range(n):
        y[i] = c * x[i]


def test_arguments_left_out():
    f = loopdiff.jax.wrap(scaled_by_default, outputs={"y": lambda x, n, c: (n,)})
    np.testing.assert_allclose(f(x), 3.0 * x[:2])
    np.testing.assert_allclose(f(x, c=1.0), x[:2])


@vectorize_grad
def counted(x, s):
    n = 0
    for i in range(x.shape[0]):
        n += 1
        x[i] *= s
    return n


def test_types_of_both_widths_in_one_process():
    f, v = loopdiff.jax.wrap(counted), np.ones(3, np.float32)
    for is_wide in (True, False, True):
        with jax.enable_x64(is_wide) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(is_wide):
            n, y = f(v, 2.0)
            assert n.dtype == ("int64" if is_wide else "int32")
            assert y.dtype == "float32"
            assert jax.grad(lambda s: f(v, s)[1].sum())(2.0) == 3.0


def test_more_arguments_than_python_puts_into_one_literal():
    values = [float(k) for k in range(32)]
    found = jax.jit(jax.grad(loopdiff.jax.wrap(many), argnums=(0, 31, 16)))(*values)
    assert [float(g) for g in found] == [31.0, 0.0, 15.0]


def test_not_a_differentiable_function():
    with pytest.raises(ArgumentError, match="LD350"):
        loopdiff.jax.wrap(lambda x: x)


def test_tape_larger_than_the_memory():
    """Said of the arrays when the call is traced, before XLA asks for them."""

    @vectorize_grad(tape="store")
    def steps(x, n):
        h = x[0]
        for _ in range(n):
            h = np.tanh(h * x[0])
        return h

    f, x = loopdiff.jax.wrap(steps), np.array([0.5])
    expected = steps.grad(x, 3).x
    for transform in (lambda g: g, jax.jit):
        with pytest.raises(OutOfMemoryError, match=r"LD610: .* for `steps`; .*_tape` 80000000000000000"):
            transform(jax.grad(lambda x: f(x, 10**16)))(x)
        np.testing.assert_allclose(transform(jax.grad(lambda x: f(x, 3)))(x), expected, rtol=1e-14)


def test_array_of_the_function_larger_than_the_memory():
    @vectorize_grad
    def squares(x, n):
        y = np.zeros(n)
        total = 0.0
        for i in range(n):
            y[i] = x[0] + i
        for i in range(n):
            total += y[n - 1 - i] * y[i]
        return total

    with pytest.raises(Exception, match=r"`squares` stopped: .*LD610: there is not enough memory for `y`"):
        loopdiff.jax.wrap(squares)(np.array([0.5]), 10**16)


@pytest.mark.parametrize(
    ("transform", "lead"),
    [(lambda f: f, ()), (jax.jit, ()), (jax.checkpoint, ()), (lambda f: jax.vmap(f, (None, 0)), (4,))],
)
def test_what_raises_is_run_where_nothing_has_elements(transform, lead):
    """XLA leaves out calls whose results have none, and their errors."""

    @vectorize_grad
    def apart(x, A):
        i = 0
        while x[i] > 0.5:
            A = A - x[i] * A.T
            i += 1
        return A * 2.0

    f, x = transform(loopdiff.jax.wrap(apart)), jnp.array([1.0, 1.0, 0.0])
    assert f(x, jnp.ones((*lead, 0, 0))).shape == (*lead, 0, 0)
    with pytest.raises(Exception, match=r"`apart\w*` stopped: .*LD320"):
        jax.block_until_ready(f(x, jnp.ones((*lead, 0, 3))))


@pytest.mark.parametrize("via", ["primitives", "custom_vjp"])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        jax.jit,
        lambda f: jax.jit(lambda *args: (f(*args), args[0])[1]),
        lambda f: lambda *args: jax.vmap(f)(*(jnp.stack([v, v]) for v in args)),
        lambda f: lambda *args: jax.vjp(f, *args),
        lambda f: lambda *args: jax.lax.scan(lambda c, _: (c, f(*args)), 0.0, length=2),
    ],
)
def test_what_raises_is_run_where_it_gives_nothing(transform, via):
    """JAX leaves out primitives without outputs, and their errors."""

    @vectorize_grad
    def nothing(x, flag):
        while flag > 0.5:
            size = x
            flag -= 1.0
        twice = 2.0 * size  # noqa: F841 - which is asked for by this alone

    f = transform(loopdiff.jax.wrap(nothing, via=via))
    jax.block_until_ready(f(jnp.float64(1.0), jnp.float64(1.0)))
    with pytest.raises(Exception, match=r"`nothing\w*` stopped: .*LD331"):
        jax.block_until_ready(f(jnp.float64(1.0), jnp.float64(0.0)))


@pytest.mark.parametrize("via", ["primitives", "custom_vjp"])
def test_gradients_of_checkpoints_of_what_has_no_elements(via):
    @vectorize_grad
    def tripled(x, A):
        return 3.0 * A * x[0]

    f = loopdiff.jax.wrap(tripled, via=via)
    found = jax.grad(jax.checkpoint(lambda x: jnp.sum(f(x, jnp.ones((0, 3)))) + x[0]))(jnp.ones(2))
    np.testing.assert_array_equal(found, [1.0, 0.0])


def test_conditions_that_are_known_when_traced_may_compute() -> None:
    """By operations of decisions, which are exact, and by conversions."""

    @vectorize_grad
    def scaled(x):
        total = 0.0
        for t in (0, 1, 2):
            total += x[t] * np.int32(t + 1.5)
        return total

    np.testing.assert_allclose(jax.grad(loopdiff.jax.wrap(scaled))(jnp.ones(3)), [1.0, 2.0, 3.0])


def test_functions_whose_arguments_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of functions of very many arrays are."""
    monkeypatch.setattr(convention, "MOST_WORDS", 7)
    f = vectorize_grad(cache=False)(lattice)
    x, w = jnp.linspace(0.1, 0.9, 12).reshape(3, 4), jnp.linspace(-1.0, 1.0, 4)
    wrapped = loopdiff.jax.wrap(f)
    got = jax.jit(jax.value_and_grad(wrapped, (0, 1)))(x, w)
    expected = jax.value_and_grad(lambda x, w: jnp.sum(jnp.sin(x * w)), (0, 1))(x, w)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), got, expected)


def lattice(x, w):
    t = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            t += np.sin(x[i, k] * w[k])
    return t
