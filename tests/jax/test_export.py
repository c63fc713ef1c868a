"""Programs that leave the process: `jax.export`, and JAX's own cache of compiled programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.part(3)

pytest.importorskip("jax")
ROOT = Path(__file__).parents[2]


def ran(*args: str, **environment: str) -> Any:
    """What `exported` prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.jax.exported", *args], cwd=ROOT, capture_output=True, text=True, timeout=300,
        check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expected(count: int) -> Any:
    import jax
    import jax.numpy as jnp

    from tests.jax.rnn import arguments, loss, twin

    W, x, h = arguments("float64")
    xs = jnp.stack([x * k for k in range(1, 1 + count)])
    return jax.grad(lambda W: jnp.sum(jax.vmap(loss(twin), (None, 0, None))(W, xs, h)))(W)


def test_batches_of_any_size() -> None:
    import jax.numpy as jnp

    from tests.jax import exported

    function = exported.exported()
    for count in (1, 2, 5):
        found = function.call(exported.W, jnp.stack([exported.X * k for k in range(1, 1 + count)]))
        np.testing.assert_allclose(found, expected(count), rtol=1e-11)


def test_in_another_process(tmp_path: Path) -> None:
    """Which registers what the program needs, under the same names."""
    pytest.importorskip("flatbuffers")
    ran("write", str(tmp_path / "slope"))
    for count, found in zip((1, 3), ran("run", str(tmp_path / "slope")), strict=True):
        np.testing.assert_allclose(found, expected(count), rtol=1e-11)


def test_programs_that_jax_keeps_on_disk(tmp_path: Path) -> None:
    """A program from JAX's cache finds the foreign calls that it was compiled for."""
    kept = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }
    (found, names), (again, same_names) = (ran("slope", **kept) for _ in range(2))
    for slope in (found, again):
        np.testing.assert_allclose(slope, expected(3), rtol=1e-11)
    assert names == same_names
