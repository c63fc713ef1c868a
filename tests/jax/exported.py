"""What `test_export` runs in processes of its own: `write FILE` exports a gradient, `run FILE` calls it, `slope` prints
it with the names of its foreign calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

jax.config.update("jax_enable_x64", True)

from loopdiff.jax import targets  # noqa: E402
from tests.jax.rnn import arguments, loss, rnn  # noqa: E402

W, X, H = arguments("float64")


def slope(W: Any, xs: Any) -> Any:
    return jax.grad(lambda W: jnp.sum(jax.vmap(loss(rnn), (None, 0, None))(W, xs, H)))(W)


def examples(count: int) -> Any:
    return jnp.stack([X * k for k in range(1, 1 + count)])


def exported() -> Any:
    """The gradient for batches of any size."""
    (size,) = export.symbolic_shape("b")
    given = jax.ShapeDtypeStruct(W.shape, W.dtype), jax.ShapeDtypeStruct((size, *X.shape), X.dtype)
    known = [export.DisabledSafetyCheck.custom_call(n) for n in targets(slope, W, examples(2))]
    return export.export(jax.jit(slope), disabled_checks=known)(*given)


def main(what: str, *rest: str) -> Any:
    match what:
        case "slope":
            return np.asarray(jax.jit(slope)(W, examples(3))).tolist(), targets(slope, W, examples(2))
        case "write":
            Path(rest[0]).write_bytes(exported().serialize())
            return None
        case "run":
            function = export.deserialize(bytearray(Path(rest[0]).read_bytes()))
            targets(slope, W, examples(2))
            return [np.asarray(function.call(W, examples(n))).tolist() for n in (1, 3)]
    raise ValueError(what)


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
