"""What JAX's users do with a function, with one made by `wrap`, against the same in JAX (see `docs/howto/jax.md`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

from tests.jax.rnn import arguments, loss, rnn, twin  # noqa: E402

pytestmark = pytest.mark.part(3)
ALL = (0, 1, 2)
Check = Callable[[Any, Any, Any, Any], Any]


def times(a: Any, k: float) -> Any:
    return jax.tree.map(lambda v: k * v, a)


def batch(a: Any) -> Any:
    return jnp.stack([a, 0.5 * a, a - 0.1])


def repeated(f: Any, W: Any, x: Any, h: Any) -> Any:
    """Steps in a loop of JAX's."""
    return jnp.sum(lax.scan(lambda c, k: (f(W, x * k, c)[0], None), h, jnp.arange(1.0, 4.0, dtype=x.dtype))[0] ** 2)


def chosen(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jnp.sum(lax.cond(h[0] > 9.0, lambda h: h, lambda h: f(W, x, h)[0], h) ** 2)


def switched(f: Any, W: Any, x: Any, h: Any) -> Any:
    branches = [lambda h: h, lambda h: f(W, x, h)[0], lambda h: 2 * f(W, x, h)[0]]
    return jnp.sum(lax.switch(jnp.asarray(2), branches, h) ** 2)


def while_small(f: Any, W: Any, x: Any, h: Any) -> Any:
    return lax.while_loop(lambda c: c[1] < 3, lambda c: (f(W, x, c[0])[0], c[1] + 1), (h, 0))[0]


def fori(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jnp.sum(lax.fori_loop(0, 3, lambda _, c: f(W, x, c)[0], h) ** 2)


def mapped(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jnp.sum(lax.map(lambda h: f(W, x, h)[0], batch(h)) ** 2)


def checkpointed(f: Any, W: Any, x: Any, h: Any, **settings: Any) -> Any:
    return jnp.sum(jax.checkpoint(lambda h: jnp.sin(f(W, x, jnp.cos(h))[0]), **settings)(h) ** 2)


def named(f: Any, W: Any, x: Any, h: Any) -> Any:
    from jax.ad_checkpoint import checkpoint_name

    policy = jax.checkpoint_policies.save_only_these_names("states")
    return jnp.sum(
        jax.checkpoint(lambda h: jnp.sin(checkpoint_name(f(W, x, jnp.cos(h))[0], "states")), policy=policy)(h)
    )


def inside(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jnp.sum(jax.jit(f)(W, x, h)[1] ** 2)


def with_aux(f: Any, W: Any, x: Any, h: Any) -> Any:
    last, every = f(W, x, h)
    return jnp.sum(last**2), every


def donated(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jax.jit(f, donate_argnums=2)(W, x, h + 0)


def in_tree(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jax.grad(lambda p: loss(f)(p["layer"][0], x, p["layer"][1]))({"layer": (W, h)})


def with_rule(f: Any, W: Any, x: Any, h: Any) -> Any:
    """Inside a function that has a derivative of its own."""
    scaled = jax.custom_vjp(lambda h: loss(f)(W, x, h))

    def forward(h: Any) -> Any:
        return jax.vjp(lambda h: loss(f)(W, x, h), h)

    scaled.defvjp(forward, lambda pull, g: (2.0 * pull(g)[0],))
    return jax.grad(scaled)(h)


def with_tangent_rule(f: Any, W: Any, x: Any, h: Any) -> Any:
    scaled = jax.custom_jvp(lambda h: loss(f)(W, x, h))
    scaled.defjvps(lambda t, _, h: 3.0 * jax.jvp(lambda h: loss(f)(W, x, h), (h,), (t,))[1])
    return jax.grad(scaled)(h)


def without_jit(f: Any, W: Any, x: Any, h: Any) -> Any:
    with jax.disable_jit():
        return jax.grad(loss(f), ALL)(W, x, h)


def for_all(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jnp.vectorize(lambda h: f(W, x, h)[0], signature="(n)->(n)")(batch(batch(h)))


def ahead_of_time(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jax.jit(jax.grad(loss(f))).lower(W, x, h).compile()(W, x, h)


def hvp(f: Any, W: Any, x: Any, h: Any) -> Any:
    return jax.jvp(jax.grad(loss(f), ALL), (W, x, h), (W, x, h))[1]


def linearized(f: Any, *args: Any) -> Any:
    value, along = jax.linearize(f, *args)
    return value, along(*args), along(*times(args, 0.3))


def transposed(f: Any, *args: Any) -> Any:
    value, along = jax.linearize(f, *args)
    return jax.linear_transpose(along, *args)(value)


def transposed_pullback(f: Any, *args: Any) -> Any:
    value, pull = jax.vjp(f, *args)
    return jax.linear_transpose(pull, value)(args)


def pulled(f: Any, *args: Any) -> Any:
    value, pull = jax.vjp(f, *args)
    return value, pull(value), pull(times(value, 0.5))


def over(outer: Any, inner: Any) -> Check:
    return lambda f, *args: outer(inner(loss(f), ALL), ALL)(*args)


def at(k: int) -> tuple[Any, ...]:
    return tuple(0 if place == k else None for place in ALL)


CHECKS: dict[str, Check] = {
    "call": lambda f, *args: f(*args),
    "jit": lambda f, *args: jax.jit(f)(*args),
    "jit, arguments by name": lambda f, W, x, h: jax.jit(lambda h: f(W, x, h))(h=h),
    "lower, compile": ahead_of_time,
    "disable_jit": without_jit,
    "grad": lambda f, *args: jax.grad(loss(f), ALL)(*args),
    "jit of grad": lambda f, *args: jax.jit(jax.grad(loss(f), ALL))(*args),
    "grad by one argument": lambda f, *args: [jax.grad(loss(f), k)(*args) for k in ALL],
    "grad of jit": lambda f, *args: jax.grad(partial(inside, f), ALL)(*args),
    "grad with has_aux": lambda f, *args: jax.grad(partial(with_aux, f), has_aux=True)(*args),
    "grad of a tree": in_tree,
    "value_and_grad": lambda f, *args: jax.jit(jax.value_and_grad(loss(f), ALL))(*args),
    "vjp, twice": pulled,
    "jacrev": lambda f, *args: jax.jacrev(f, ALL)(*args),
    "jvp": lambda f, *args: jax.jvp(f, args, times(args, 0.3)),
    "jvp by one argument": lambda f, W, x, h: jax.jvp(lambda h: f(W, x, h), (h,), (x[0],)),
    "jit of jvp": lambda f, *args: jax.jit(lambda *a: jax.jvp(f, a, times(a, 0.3)))(*args),
    "jacfwd": lambda f, *args: jax.jacfwd(f, ALL)(*args),
    "linearize": linearized,
    "linear_transpose of linearize": transposed,
    "linear_transpose of vjp": transposed_pullback,
    "hessian": lambda f, *args: jax.hessian(loss(f), ALL)(*args),
    "jacrev of jacrev": over(jax.jacrev, jax.jacrev),
    "jacrev of jacfwd": over(jax.jacrev, jax.jacfwd),
    "jacfwd of jacfwd": over(jax.jacfwd, jax.jacfwd),
    "hessian times vector": hvp,
    "vmap": lambda f, W, x, h: jax.vmap(f, at(2))(W, x, batch(h)),
    "vmap, other axes": lambda f, W, x, h: jax.vmap(f, (None, 2, None), -1)(W, jnp.moveaxis(batch(x), 0, 2), h),
    "vmap of vmap": lambda f, W, x, h: jax.vmap(jax.vmap(f, at(1)), at(2))(W, batch(x), batch(h)),
    "vmap of grad": lambda f, W, x, h: jax.vmap(jax.grad(loss(f), ALL), at(1))(W, batch(x), h),
    "grad of vmap": lambda f, W, x, h: jax.grad(lambda W: jnp.sum(jax.vmap(loss(f), at(1))(W, batch(x), h)))(W),
    "vmap of jvp": lambda f, W, x, h: jax.vmap(lambda h: jax.jvp(lambda h: f(W, x, h), (h,), (h,)))(batch(h)),
    "jvp of vmap": lambda f, W, x, h: jax.jvp(jax.vmap(lambda h: f(W, x, h)), (batch(h),), (batch(h),)),
    "hessian of vmap": lambda f, W, x, h: jax.hessian(lambda h: jnp.sum(jax.vmap(loss(f), at(2))(W, x, h)))(batch(h)),
    "jnp.vectorize": for_all,
    "scan": repeated,
    "grad of scan": lambda f, *args: jax.jit(jax.grad(partial(repeated, f), ALL))(*args),
    "jvp of scan": lambda f, *args: jax.jvp(partial(repeated, f), args, args),
    "grad of cond": lambda f, *args: jax.jit(jax.grad(partial(chosen, f), ALL))(*args),
    "grad of switch": lambda f, *args: jax.grad(partial(switched, f), ALL)(*args),
    "while_loop": while_small,
    "jvp of while_loop": lambda f, *args: jax.jvp(partial(while_small, f), args, args),
    "grad of fori_loop": lambda f, *args: jax.grad(partial(fori, f), ALL)(*args),
    "grad of map": lambda f, *args: jax.grad(partial(mapped, f), ALL)(*args),
    "grad of checkpoint": lambda f, *args: jax.jit(jax.grad(partial(checkpointed, f), ALL))(*args),
    "checkpoint, nothing saved": lambda f, *args: jax.grad(
        partial(checkpointed, f, policy=jax.checkpoint_policies.nothing_saveable), ALL
    )(*args),
    "checkpoint, all saved": lambda f, *args: jax.grad(
        partial(checkpointed, f, policy=jax.checkpoint_policies.everything_saveable), ALL
    )(*args),
    "checkpoint by name": lambda f, *args: jax.grad(partial(named, f), ALL)(*args),
    "hessian of checkpoint": lambda f, *args: jax.hessian(partial(checkpointed, f), 2)(*args),
    "donated argument": donated,
    "inside custom_vjp": with_rule,
    "inside custom_jvp": with_tangent_rule,
}


CASES = [*((n, "float64") for n in CHECKS), *((n, "float32") for n in (*CHECKS,)[2:])]


@pytest.mark.part(17)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_as_in_jax(name: str, dtype: str) -> None:
    check = CHECKS[name]
    found, expected = (check(f, *arguments(dtype)) for f in (rnn, twin))
    rtol = 1e-11 if dtype == "float64" else 2e-4
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def test_official_check() -> None:
    from jax.test_util import check_grads

    check_grads(rnn, arguments("float64"), order=2, modes=("fwd", "rev"))


def test_constants_of_programs() -> None:
    def scaled(k: Any) -> Any:
        with jax.ensure_compile_time_eval():
            last, _ = rnn(*arguments("float64"))
        return k * last

    np.testing.assert_allclose(jax.jit(scaled)(2.0), 2.0 * twin(*arguments("float64"))[0], rtol=1e-12)


def test_shapes_without_running() -> None:
    found = jax.eval_shape(rnn, *arguments("float32"))
    assert [(v.shape, v.dtype) for v in found] == [((3,), jnp.float32), ((5, 3), jnp.float32)]


def test_nan_is_found_where_asked() -> None:
    W, x, h = arguments("float64")
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jit(rnn)(W, x.at[2].set(np.nan), h)


# -- what is compiled ----------------------------------------------------------------------------------------
def calls(f: Any, *args: Any) -> list[str]:
    """The foreign calls of a program that JAX compiles, by name."""
    import re

    text = jax.jit(f).lower(*args).as_text()
    return sorted(name for name in re.findall(r"custom_call @loopdiff_(\w+?)_[0-9a-f]{12}", text))


FORWARD, REVERSE = "cells_forward", "cells_reverse"
PROGRAMS: dict[str, tuple[Any, list[str]]] = {
    "value": (loss(rnn), ["cells"]),
    "grad": (jax.grad(loss(rnn)), [FORWARD, REVERSE]),
    "value_and_grad": (jax.value_and_grad(loss(rnn), ALL), [FORWARD, REVERSE]),
    "jvp": (lambda *args: jax.jvp(rnn, args, args), ["cells", "cells_pushforward"]),
    "scan": (jax.grad(partial(repeated, rnn)), [FORWARD, REVERSE]),
    "jvp of scan": (lambda *args: jax.jvp(partial(repeated, rnn), args, args), ["cells", "cells_pushforward"]),
    "cond": (jax.grad(partial(chosen, rnn)), [FORWARD, REVERSE]),
    "checkpoint": (jax.grad(partial(checkpointed, rnn)), ["cells", FORWARD, REVERSE]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_more_calls_than_are_needed(name: str) -> None:
    """A tangent alone keeps nothing; what is computed again by `jax.checkpoint` is not computed a third time."""
    function, expected = PROGRAMS[name]
    assert calls(function, *arguments("float64")) == expected


def test_one_reverse_sweep_for_what_needs_a_gradient() -> None:
    """That by `h` alone has no buffer for the gradient by `W`."""
    args = arguments("float64")
    jaxpr = str(jax.make_jaxpr(jax.grad(loss(rnn), 2))(*args))
    assert "= loopdiff_reverse" in jaxpr
    (line,) = (line for line in jaxpr.splitlines() if "= loopdiff_reverse" in line)
    assert line.split("=")[0].count("f64") == 1
