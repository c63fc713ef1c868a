"""Several devices: what `test_sharded` runs in a process of its own, whose host has four."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_enable_x64", True)

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.jax import targets, wrap  # noqa: E402
from loopdiff.jax.manual import spread  # noqa: E402
from loopdiff.jax.partitioning import CAN_PARTITION  # noqa: E402
from tests.jax.rnn import arguments, cells, loss, rnn, twin  # noqa: E402

MESH = Mesh(np.array(jax.devices()), ("d",))
W, X, H = arguments("float64")
XS = jnp.stack([X * k for k in range(1, 9)])
plain = wrap(cells, outputs={"y": lambda W, x, h: x.shape}, via="custom_vjp")
shard_map: Any = jax.shard_map


def over_examples(f: Any, W: Any, xs: Any) -> Any:
    return jnp.sum(jax.vmap(lambda x: loss(f)(W, x, H))(xs))


def sharded_loss(f: Any, is_checked: bool) -> Callable[..., Any]:
    """Examples on devices; the sum over them inside."""

    @partial(shard_map, mesh=MESH, in_specs=(P(), P("d")), out_specs=P(), check_vma=is_checked)
    def total(W: Any, xs: Any) -> Any:
        return jax.lax.psum(over_examples(f, W, xs), "d")

    return lambda W, xs: total(W, xs)


def gradient_inside(f: Any, is_checked: bool) -> Callable[..., Any]:
    """The gradient of each device's part, summed by hand."""

    @partial(shard_map, mesh=MESH, in_specs=(P(), P("d")), out_specs=P(), check_vma=is_checked)
    def step(W: Any, xs: Any) -> Any:
        own = spread(W, ("d",)) if is_checked else W
        return jax.lax.psum(jax.grad(lambda W: over_examples(f, W, xs))(own), "d")

    return step


def collectives(f: Any, *args: Any) -> dict[str, int]:
    text = jax.jit(f).lower(*args).compile().as_text()
    found = re.findall(r"\b(all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?=\(|-start\()", text)
    return dict(Counter(found))


def error(one: Any, other: Any) -> float:
    each = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in each)


# -- loops that are independent, of functions that nobody batches ----------------------------------------------
@vectorize_grad
def squares(A, b, v):
    total = 0.0
    for i in range(A.shape[0]):
        p = 0.0
        for j in range(A.shape[1]):
            p += A[i, j] * np.exp(v[j])
        total += (p - b[i]) ** 2
    return total / A.shape[0]


@vectorize_grad
def trajectories(b, steps):
    z = b.copy()
    for _ in range(steps):
        for i in range(b.shape[0]):
            z[i] += 0.1 * np.sin(b[i] * z[i])
    return z


@vectorize_grad
def matrices(A, B):
    return A @ np.tanh(B)


@vectorize_grad
def differences(b):
    d = np.zeros(b.shape[0])
    for i in range(1, b.shape[0]):
        d[i] = b[i] * b[i - 1]
    return d


def squares_twin(A: Any, b: Any, v: Any) -> Any:
    return jnp.mean((A @ jnp.exp(v) - b) ** 2)


def trajectories_twin(b: Any, steps: int) -> Any:
    z = b
    for _ in range(steps):
        z = z + 0.1 * jnp.sin(b * z)
    return z


def gradient_of(f: Any, *fixed: Any) -> Callable[..., Any]:
    """By all arguments, where outputs weigh differently."""

    def value(*args: Any) -> Any:
        found = f(*args, *fixed)
        return jnp.sum(jnp.sin(found + jnp.arange(found.size).reshape(found.shape)))

    return lambda *args: jax.grad(value, tuple(range(len(args))))(*args)


def independent() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    A, B, b, v = (jnp.asarray(rng.standard_normal(shape)) for shape in ((8, 4), (4, 8), 8, 4))
    grid = Mesh(np.array(jax.devices()).reshape(2, 2), ("p", "q"))
    f, t, m, d = map(wrap, (squares, trajectories, matrices, differences))

    def placed(*pairs: Any) -> list[Any]:
        return [jax.device_put(value, NamedSharding(mesh, P(*spec))) for value, mesh, spec in pairs]

    rows = placed((A, MESH, "d"), (b, MESH, "d"), (v, MESH, ""))
    cases = {
        "squares": (f, squares_twin, rows),
        "gradient of squares": (gradient_of(f), gradient_of(squares_twin), rows),
        "tangent of squares": (lambda *a: jax.jvp(f, a, a), lambda *a: jax.jvp(squares_twin, a, a), rows),
        "hessian of squares": (jax.hessian(f, 2), jax.hessian(squares_twin, 2), rows),
        "trajectories": (lambda b: t(b, 5), lambda b: trajectories_twin(b, 5), rows[1:2]),
        "gradient of trajectories": (gradient_of(t, 5), gradient_of(trajectories_twin, 5), rows[1:2]),
        "rows and columns": (m, lambda A, B: A @ jnp.tanh(B), placed((A, grid, "p"), (B, grid, (None, "q")))),
        "gradient by rows and columns": (gradient_of(m), gradient_of(lambda A, B: A @ jnp.tanh(B)),
                                         placed((A, grid, "p"), (B, grid, (None, "q")))),
        "summed index": (m, lambda A, B: A @ jnp.tanh(B), placed((A, MESH, (None, "d")), (B, MESH, "d"))),
        "neighbours": (d, lambda b: jnp.concatenate([jnp.zeros(1), b[1:] * b[:-1]]), rows[1:2]),
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, (own, twin_of, args) in cases.items():
        found[name] = error(jax.jit(own)(*args), twin_of(*(np.asarray(a) for a in args)))
        found[f"collectives, {name}"] = collectives(own, *args)
    return found


def beyond() -> dict[str, Any]:
    """What XLA may not partition by our rules: under a `shard_map` over one of two axes, and in an export."""
    if not CAN_PARTITION:  # the XLA of JAX 0.6 ends the process under part of a mesh
        return {}
    rng = np.random.default_rng(5)
    grid = Mesh(np.array(jax.devices()).reshape(2, 2), ("p", "q"))
    A, b, v = (jnp.asarray(rng.standard_normal(shape)) for shape in ((8, 4), 8, 4))
    f = wrap(squares)
    found: dict[str, Any] = {}
    for is_checked in (True, False):

        @partial(shard_map, mesh=grid, in_specs=(P("p"), P("p"), P()), out_specs=P(), check_vma=is_checked,
                 axis_names={"p"})  # fmt: skip
        def mean(A: Any, b: Any, v: Any) -> Any:
            return jax.lax.pmean(f(A, b, v), "p")

        found[f"one of two axes, check_vma={is_checked}"] = error(jax.jit(mean)(A, b, v), squares_twin(A, b, v))
    rows = [jax.device_put(a, NamedSharding(MESH, P("d") if len(a) == 8 else P())) for a in (A, b, v)]
    checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in targets(f, *rows)]
    exported = jax.export.export(jax.jit(f), disabled_checks=checks)(*rows)
    again = jax.export.deserialize(exported.serialize())
    found["exported for devices"] = error(again.call(*rows), squares_twin(A, b, v))
    return found


def explicit() -> dict[str, Any]:
    """Shardings that are parts of types: JAX has that mode since 0.7."""
    if not hasattr(jax, "set_mesh"):
        return {}
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    rng = np.random.default_rng(4)
    A, b, v = (rng.standard_normal(shape) for shape in ((8, 4), 8, 4))
    f, t = map(wrap, (squares, trajectories))
    cases = {
        "explicit value": (f, squares_twin, (A, b, v)),
        "explicit gradient": (gradient_of(f), gradient_of(squares_twin), (A, b, v)),
        "explicit trajectories": (gradient_of(t, 5), gradient_of(trajectories_twin, 5), (b,)),
    }
    found: dict[str, Any] = {}
    with jax.set_mesh(mesh):
        for name, (own, twin_of, args) in cases.items():
            placed = [jax.device_put(a, P("d") if len(a) == 8 else P()) for a in args]
            results = jax.jit(own)(*placed)
            found[name] = error(results, jax.jit(twin_of)(*placed))
    return found


def by_hand(is_checked: bool) -> dict[str, Any]:
    """Under `shard_map`."""
    value = over_examples(twin, W, XS)
    slope, slopes = jax.grad(lambda W, xs: over_examples(twin, W, xs), (0, 1))(W, XS)
    found: dict[str, Any] = {}
    for name, f in (("primitives", rnn), ("custom_vjp", plain)):
        case, total = f"{name}, check_vma={is_checked}", sharded_loss(f, is_checked)
        found[f"value, {case}"] = error(jax.jit(total)(W, XS), value)
        found[f"grad, {case}"] = error(jax.jit(jax.grad(total, (0, 1)))(W, XS), (slope, slopes))
        found[f"grad inside, {case}"] = error(jax.jit(gradient_inside(f, is_checked))(W, XS), slope)
    along = jax.jvp(partial(sharded_loss(rnn, is_checked), xs=XS), (W,), (W,))[1]
    tangent = jax.jvp(lambda W: over_examples(twin, W, XS), (W,), (W,))[1]
    found[f"jvp, check_vma={is_checked}"] = error(along, tangent)
    if is_checked:
        found["collectives of shard_map"] = collectives(jax.grad(sharded_loss(rnn, True), (0, 1)), W, XS)
    return found


def automatic() -> dict[str, Any]:
    """By where the arguments are."""
    slopes_of_twin = jax.grad(lambda W, xs: over_examples(twin, W, xs), (0, 1))(W, XS)
    found: dict[str, Any] = {}
    everywhere, apart = (NamedSharding(MESH, spec) for spec in (P(), P("d")))
    placed = jax.device_put(W, everywhere), jax.device_put(XS, apart)
    slopes = jax.grad(lambda W, xs: over_examples(rnn, W, xs), (0, 1))
    found["grad, automatic"] = error(jax.jit(slopes)(*placed), slopes_of_twin)
    found["collectives, automatic"] = collectives(slopes, *placed)
    found["is sharded, automatic"] = [len(g.addressable_shards[0].data) for g in jax.jit(slopes)(*placed)]

    def each(f: Any) -> Any:
        return jax.vmap(jax.grad(loss(f), (0, 1)), (None, 0, None))

    found["each gradient, automatic"] = error(jax.jit(each(rnn))(*placed, H), each(twin)(W, XS, H))
    found["collectives of each gradient, automatic"] = collectives(each(rnn), *placed, H)

    def along(f: Any, W: Any, xs: Any) -> Any:
        return jax.jvp(lambda xs: jax.vmap(lambda x: f(W, x, H))(xs), (xs,), (xs,))

    found["jvp, automatic"] = error(jax.jit(partial(along, rnn))(*placed), along(twin, W, XS))
    found["collectives of jvp, automatic"] = collectives(partial(along, rnn), *placed)
    return found


GROUPS: dict[str, Callable[[], dict[str, Any]]] = {
    "checked": partial(by_hand, True),
    "unchecked": partial(by_hand, False),
    "automatic": automatic,
    "independent": independent,
    "beyond": beyond,
    "explicit": explicit,
}

if __name__ == "__main__":
    json.dump(GROUPS[sys.argv[1]](), sys.stdout)
