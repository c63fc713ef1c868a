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

from loopdiff.jax import wrap  # noqa: E402
from loopdiff.jax.manual import spread  # noqa: E402
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


def main() -> dict[str, Any]:
    value = over_examples(twin, W, XS)
    slope, slopes = jax.grad(lambda W, xs: over_examples(twin, W, xs), (0, 1))(W, XS)
    tangent = jax.jvp(lambda W: over_examples(twin, W, XS), (W,), (W,))[1]
    found: dict[str, Any] = {}
    for is_checked in (True, False):
        for name, f in (("primitives", rnn), ("custom_vjp", plain)):
            case, total = f"{name}, check_vma={is_checked}", sharded_loss(f, is_checked)
            found[f"value, {case}"] = error(jax.jit(total)(W, XS), value)
            found[f"grad, {case}"] = error(jax.jit(jax.grad(total, (0, 1)))(W, XS), (slope, slopes))
            found[f"grad inside, {case}"] = error(jax.jit(gradient_inside(f, is_checked))(W, XS), slope)
        along = jax.jvp(partial(sharded_loss(rnn, is_checked), xs=XS), (W,), (W,))[1]
        found[f"jvp, check_vma={is_checked}"] = error(along, tangent)
    found["collectives of shard_map"] = collectives(jax.grad(sharded_loss(rnn, True), (0, 1)), W, XS)
    everywhere, apart = (NamedSharding(MESH, spec) for spec in (P(), P("d")))
    placed = jax.device_put(W, everywhere), jax.device_put(XS, apart)
    automatic = jax.grad(lambda W, xs: over_examples(rnn, W, xs), (0, 1))
    found["grad, automatic"] = error(jax.jit(automatic)(*placed), (slope, slopes))
    found["collectives, automatic"] = collectives(automatic, *placed)
    found["is sharded, automatic"] = [len(g.addressable_shards[0].data) for g in jax.jit(automatic)(*placed)]

    def each(f: Any) -> Any:
        return jax.vmap(jax.grad(loss(f), (0, 1)), (None, 0, None))

    found["each gradient, automatic"] = error(jax.jit(each(rnn))(*placed, H), each(twin)(W, XS, H))
    found["collectives of each gradient, automatic"] = collectives(each(rnn), *placed, H)

    def along(f: Any, W: Any, xs: Any) -> Any:
        return jax.jvp(lambda xs: jax.vmap(lambda x: f(W, x, H))(xs), (xs,), (xs,))

    found["jvp, automatic"] = error(jax.jit(partial(along, rnn))(*placed), along(twin, W, XS))
    found["collectives of jvp, automatic"] = collectives(partial(along, rnn), *placed)
    return found


if __name__ == "__main__":
    json.dump(main(), sys.stdout)
