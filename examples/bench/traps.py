"""Traps of docs/silent_errors.md, tried on whoever is installed: what each of them answers, and what is true.

    python examples/bench/traps.py

Every answer is computed by the peer here and now, at its default settings, and compared with plain Python or with a
closed form. A peer that has no way to say a program is left out of that row.
"""

# pyright: reportInvalidTypeForm=false, reportMissingImports=false, reportFunctionMemberAccess=false
# Annotations of kernels are values here: Warp and Taichi read the types of their arguments from them.
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

from report import table  # noqa: E402

from loopdiff import vectorize_grad  # noqa: E402

Answers = Mapping[str, Any]

BRANCH, LOOP, OVERWRITE = "bound again in a branch", "bound again in a loop", "overwritten under a condition"
DECIDE, SEED = "comparisons decided otherwise, of 1,999", "NaN of outputs that were not seeded, of 3"
STALE = "cached code of a function that was edited"
MOVED = "elements read before a store that come from after it, of 72"

V = np.array([0.5, 1.7, -0.3])
TURNS = 3
GRID = np.arange(1, 2000) * 0.1
EXTREMES = np.array([1e200, 0.0, 0.5])
TRUTH: Answers = {
    BRANCH: -2.0 + 0.0 * V,
    LOOP: (TURNS + 1) * V**TURNS,
    OVERWRITE: np.array([64 * V[0] ** 3 * V[1] ** 4, 64 * V[0] ** 4 * V[1] ** 3]),
    DECIDE: 0,
    SEED: 0,
    STALE: 6.0,
    MOVED: 0,
}


def above(x: Any) -> Any:
    return x + 0.2 - 0.3 > x - 0.1


def decided_otherwise(found: Any) -> int:
    return int((np.asarray(found).astype(bool) != above(GRID)).sum())


def not_numbers(gradient: Any) -> int:
    return int(np.isnan(np.asarray(gradient)).sum())


def chosen(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        is_positive = y[i] > 0.0
        found = 0.0
        if is_positive:
            found = x[i]
        x[i] = 7.0
        y[i] = found if is_positive else y[i] * 2.0


def read_late(compiled: Callable[[Any, Any], Any]) -> int:
    """How many elements a compiled `chosen` gets wrong."""
    x, y = np.linspace(-1.0, 1.0, 72), np.cos(np.arange(72.0))
    expected = np.where(y > 0.0, x, 2.0 * y)
    compiled(x, y)
    return int((y != expected).sum())


# -- one function for each of them ----------------------------------------------------------------------------------
def loopdiff() -> Answers:
    def branch(v, n):
        X = 2.0 * v
        if n == 3:
            X = -X
        return X.sum()

    def loop(v, n):
        X = v
        for _ in range(n):
            X = X * v
        return X.sum()

    def overwrite(v, n):
        X = np.zeros(1)
        X[0] = 2.0 * v[0] * v[1]
        if n == 3:
            X[0] = X[0] * X[0]
        return X[0] * X[0]

    def decide(x, out):
        for i in range(x.shape[0]):
            out[i] = 1.0 if x[i] + 0.2 - 0.3 > x[i] - 0.1 else 0.0

    def seeded(x, y, z):
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i] * x[i] + np.sin(x[i]) + np.sqrt(x[i])
            z[i] = 2.0 * x[i]

    out = np.zeros(GRID.size)
    vectorize_grad(decide)(GRID, out)
    _, pullback = vectorize_grad(seeded).vjp(EXTREMES, np.zeros(3), np.zeros(3))
    return {
        BRANCH: vectorize_grad(branch).grad(V, 3).v,
        LOOP: vectorize_grad(loop).grad(V, TURNS).v,
        OVERWRITE: vectorize_grad(overwrite).grad(V, 3).v[:2],
        DECIDE: decided_otherwise(out),
        SEED: not_numbers(pullback(z=np.ones(3)).x),
        STALE: after_an_edit("from loopdiff import vectorize_grad as compiled", "vectorize_grad"),
        MOVED: read_late(vectorize_grad(chosen)),
    }


def numba() -> Answers:
    from numba import njit

    return {
        DECIDE: decided_otherwise(njit(fastmath=True)(above)(GRID)),
        STALE: after_an_edit("from numba import njit\ncompiled = njit(cache=True)", "njit"),
        MOVED: read_late(njit(chosen)),
    }


def jax() -> Answers:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    _, pullback = jax.vjp(lambda x: (x * x * x + jnp.sin(x) + jnp.sqrt(x), 2.0 * x), jnp.asarray(EXTREMES))
    return {
        BRANCH: jax.grad(lambda v: (-(2.0 * v)).sum())(jnp.asarray(V)),
        LOOP: jax.grad(lambda v: jax.lax.fori_loop(0, TURNS, lambda _, X: X * v, v).sum())(jnp.asarray(V)),
        DECIDE: decided_otherwise(jax.jit(above)(jnp.asarray(GRID))),
        SEED: not_numbers(pullback((jnp.zeros(3), jnp.ones(3)))[0]),
    }


def torch() -> Answers:
    import torch

    def gradient(function: Callable[[Any], Any], at: np.ndarray) -> Any:
        x = torch.tensor(at, requires_grad=True)
        function(x).backward()
        return x.grad

    def loop(v):
        X = v
        for _ in range(TURNS):
            X = X * v
        return X.sum()

    x = torch.tensor(EXTREMES, requires_grad=True)
    zeros, ones = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    torch.autograd.backward([x * x * x + torch.sin(x) + torch.sqrt(x), 2.0 * x], [zeros, ones])
    return {
        BRANCH: gradient(lambda v: (-(2.0 * v)).sum(), V),
        LOOP: gradient(loop, V),
        DECIDE: decided_otherwise(torch.compile(above)(torch.tensor(GRID))),
        SEED: not_numbers(x.grad),
    }


def warp() -> Answers:
    import warp as wp

    wp.config.quiet = True
    f64 = wp.float64

    @wp.kernel
    def branch(x: wp.array(dtype=wp.vec3d), n: int, out: wp.array(dtype=wp.float64)):
        X = f64(2.0) * x[0]
        if n == 3:
            X = -X
        out[0] = X[0] + X[1] + X[2]

    @wp.kernel
    def loop(x: wp.array(dtype=wp.vec3d), n: int, out: wp.array(dtype=wp.float64)):
        v = x[0]
        X = v
        for _ in range(n):
            X = wp.cw_mul(X, v)
        out[0] = X[0] + X[1] + X[2]

    @wp.kernel
    def decide(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
        v = x[wp.tid()]
        if v + f64(0.2) - f64(0.3) > v - f64(0.1):
            out[wp.tid()] = f64(1.0)

    @wp.kernel
    def seeded(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64)):
        v = x[wp.tid()]
        y[wp.tid()] = v * v * v + wp.sin(v) + wp.sqrt(v)
        z[wp.tid()] = f64(2.0) * v

    def numbers(values: Any) -> Any:
        return wp.array(values, dtype=wp.float64, requires_grad=True)

    def gradient(kernel: Any, n: int) -> Any:
        x, out = wp.array(V[None], dtype=wp.vec3d, requires_grad=True), numbers(np.zeros(1))
        with wp.Tape() as tape:
            wp.launch(kernel, 1, [x, n], [out])
        out.grad.fill_(1.0)
        tape.backward()
        return x.grad.numpy()[0]

    out = numbers(np.zeros(GRID.size))
    wp.launch(decide, GRID.size, [numbers(GRID)], [out])
    x, y, z = numbers(EXTREMES), numbers(np.zeros(3)), numbers(np.zeros(3))
    with wp.Tape() as tape:
        wp.launch(seeded, 3, [x], [y, z])
    z.grad.fill_(1.0)
    tape.backward()
    return {
        BRANCH: gradient(branch, 3),
        LOOP: gradient(loop, TURNS),
        DECIDE: decided_otherwise(out.numpy()),
        SEED: not_numbers(x.grad.numpy()),
    }


def taichi() -> Answers:
    import taichi as ti

    ti.init(arch=ti.cpu, default_fp=ti.f64, log_level=ti.ERROR)
    x, X, out = (ti.field(ti.f64, shape, needs_grad=True) for shape in (3, 1, ()))
    a, y, z = (ti.field(ti.f64, 3, needs_grad=True) for _ in range(3))
    grid, above_ = ti.field(ti.f64, GRID.size), ti.field(ti.i32, GRID.size)
    turns = ti.field(ti.i32, ())

    @ti.kernel
    def branch():
        for _ in range(1):
            v = ti.Vector([x[0], x[1], x[2]])
            Y = 2.0 * v
            if turns[None] == 3:
                Y = -Y
            out[None] += Y.sum()

    @ti.kernel
    def loop():
        for _ in range(1):
            v = ti.Vector([x[0], x[1], x[2]])
            Y = v
            for _i in range(turns[None]):
                Y = Y * v
            out[None] += Y.sum()

    @ti.kernel
    def overwrite():
        for _ in range(1):
            X[0] = 2.0 * x[0] * x[1]
            if turns[None] == 3:
                X[0] = X[0] * X[0]
            out[None] += X[0] * X[0]

    @ti.kernel
    def decide():
        for i in range(grid.shape[0]):
            above_[i] = grid[i] + 0.2 - 0.3 > grid[i] - 0.1

    @ti.kernel
    def seeded():
        for i in range(3):
            y[i] = a[i] * a[i] * a[i] + ti.sin(a[i]) + ti.sqrt(a[i])
            z[i] = 2.0 * a[i]

    def gradient(kernel: Any) -> Any:
        out[None] = 0.0
        kernel()
        x.grad.fill(0.0)
        X.grad.fill(0.0)
        out.grad[None] = 1.0
        kernel.grad()
        return x.grad.to_numpy()

    x.from_numpy(V)
    a.from_numpy(EXTREMES)
    grid.from_numpy(GRID)
    turns[None] = TURNS
    decide()
    seeded()
    z.grad.fill(1.0)
    seeded.grad()
    return {
        BRANCH: gradient(branch),
        LOOP: gradient(loop),
        OVERWRITE: gradient(overwrite)[:2],
        DECIDE: decided_otherwise(above_.to_numpy()),
        SEED: not_numbers(a.grad.to_numpy()),
    }


def after_an_edit(compiler: str, decorator: str) -> float:
    """What a process finds for h(1) + 1 after another kept the program on disk and h was made 5 times v, not 2."""
    outer = "compiled" if decorator != "njit" else "njit(cache=True)"
    inner = "" if decorator != "njit" else "@njit\n"
    with tempfile.TemporaryDirectory() as folder:
        helper, main = Path(folder, "helper.py"), Path(folder, "main.py")
        imports = "from numba import njit\n" if inner else ""
        main.write_text(
            f"{compiler}\nfrom helper import h\n\n\n@{outer}\ndef f(v):\n    return h(v) + 1.0\n\n\nprint(f(1.0))\n"
        )
        printed = ""
        # Of unequal lengths: Python tells new text from old bytecode by its size and the second it was written in.
        for factor in ("2.0", "5.00"):
            helper.write_text(f"{imports}\n\n{inner}def h(v):\n    return {factor} * v\n")
            command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{folder!r}, {str(ROOT)!r}]; import main"]
            printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
    return float(printed)


# -- the table --------------------------------------------------------------------------------------------------------
PEERS = (loopdiff, jax, torch, warp, taichi, numba)
TITLES = {"jax": "JAX", "torch": "PyTorch", "warp": "Warp", "taichi": "Taichi", "numba": "Numba (`fastmath=True`)"}


def verdict(found: Any, truth: Any) -> str:
    found, truth = (np.round(np.asarray(a, dtype=float), 4) for a in (found, truth))
    if np.allclose(found, truth, rtol=1e-3):
        return "right" if found.size > 1 else f"{found:g}"
    return f"**{' '.join(f'{v:.4g}' for v in np.atleast_1d(found))}**"


def rows(peers: tuple[Callable[[], Answers], ...] = PEERS) -> list[list[str]]:
    found = {p.__name__: p() for p in peers if importlib.util.find_spec(p.__name__)}
    out = [["", "true", *(TITLES.get(name, name) for name in found)]]
    for title, truth in TRUTH.items():
        cells = [verdict(answers[title], truth) if title in answers else "" for answers in found.values()]
        out.append([title, " ".join(f"{v:.4g}" for v in np.atleast_1d(truth)), *cells])
    return out


if __name__ == "__main__":
    header, *lines = rows()
    print(table(header, lines, left=2))
