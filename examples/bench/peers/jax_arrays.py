"""JAX as its users write it: whole arrays, `lax.scan` over time, `segment_sum` for scatters; compiled by XLA.

The oracle of the corpus is taken where it is such a program already. The others have a form of their own here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from kernels import Problem

from peers import Gradient, device
from tests.gradients import harness

TITLE = "JAX"
NEEDS = ("jax",)

Outputs = Mapping[str, Any]

if device() == "cuda":  # where products of float32 are those of TF32 otherwise, of ten bits
    jax.config.update("jax_default_matmul_precision", "highest")


def conv2d_bias(x, w, bias, out) -> Outputs:
    layout = ("NHWC", "HWIO", "NHWC")
    return {"out": bias + lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=layout)}


def jacobi_2d(T, A, B) -> Outputs:
    def mean(X):
        return 0.2 * (X[1:-1, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:] + X[2:, 1:-1] + X[:-2, 1:-1])

    def step(state, _):
        A, B = state
        B = B.at[1:-1, 1:-1].set(mean(A))
        return (A.at[1:-1, 1:-1].set(mean(B)), B), None

    (A, B), _ = lax.scan(step, (A, B), length=T - 1)
    return {"A": A, "B": B}


def seidel_2d(T, A) -> Outputs:
    """Row by row; along a row the recurrence is a product with a triangular matrix of powers of 1/9."""
    n = A.shape[0] - 2
    power = np.arange(n)[:, None] - np.arange(n)[None, :]
    solve = jnp.asarray(np.where(power >= 0, 9.0 ** -(np.maximum(power, 0) + 1.0), 0.0).astype(A.dtype))

    def row(above, rows):
        here, below = rows
        known = above[:-2] + above[1:-1] + above[2:] + here[1:-1] + here[2:] + below[:-2] + below[1:-1] + below[2:]
        inner = solve @ known.at[0].add(here[0])
        new = here.at[1:-1].set(inner)
        return new, new

    def step(A, _):
        _, inner = lax.scan(row, A[0], (A[1:-1], A[2:]))
        return A.at[1:-1].set(inner), None

    return {"A": lax.scan(step, A, length=T - 1)[0]}


def fdtd_2d(ex, ey, hz, fict) -> Outputs:
    def step(state, f):
        ex, ey, hz = state
        ey = ey.at[0].set(f).at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    (ex, ey, hz), _ = lax.scan(step, (ex, ey, hz), fict)
    return {"ex": ex, "ey": ey, "hz": hz}


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr) -> Outputs:
    """The recurrences of the tridiagonal solver over levels, all columns at once."""
    w = jnp.moveaxis(0.125 * (wcon[1:] + wcon[:-1]), 2, 0)
    u = jnp.moveaxis(u_stage, 2, 0)
    base = jnp.moveaxis(dtr * u_pos + utens + utens_stage, 2, 0)
    lo = jnp.concatenate([jnp.zeros_like(w[:1]), -w[1:]])
    up = jnp.concatenate([w[1:], jnp.zeros_like(w[:1])])
    um = jnp.concatenate([u[:1], u[:-1]])
    upl = jnp.concatenate([u[1:], u[-1:]])
    rhs = base - lo * (um - u) - up * (upl - u)
    zero = jnp.zeros_like(w[0])

    def eliminate(carry, level):
        c, d = carry
        a, b, r = level
        z = 1.0 / (dtr - a - b - c * a)
        new = (b * z, (r - d * a) * z)
        return new, new

    def substitute(x, level):
        c, d = level
        x = d - c * x
        return x, x

    _, (cc, dc) = lax.scan(eliminate, (zero, zero), (lo, up, rhs))
    _, x = lax.scan(substitute, zero, (cc, dc), reverse=True)
    return {"utens_stage": dtr * (jnp.moveaxis(x, 0, 2) - u_pos)}


def durbin(r, y) -> Outputs:
    n = r.shape[0]
    index = jnp.arange(n)

    def step(state, k):
        y, alpha, beta = state
        beta = (1.0 - alpha * alpha) * beta
        turned = jnp.where(index < k, jnp.roll(y[::-1], k, axis=0), 0.0)
        alpha = -(r[k] + jnp.dot(r, turned)) / beta
        y = jnp.where(index < k, y + alpha * turned, y).at[k].set(alpha)
        return (y, alpha, beta), None

    start = (jnp.zeros(n).at[0].set(-r[0]), -r[0], jnp.ones((), r.dtype))
    (y, _, _), _ = lax.scan(step, start, jnp.arange(1, n))
    return {"y": y}


def nussinov_real(w, table) -> Outputs:
    """Diagonal by diagonal, each of them at once."""
    N = w.shape[0]
    t = table
    for span in range(1, N):
        i = np.arange(N - span)
        j = i + span
        best = jnp.maximum(t[i, j - 1], t[i + 1, j])
        if span > 1:
            best = jnp.maximum(best, t[i + 1, j - 1] + w[i, j])
            k = i[:, None] + np.arange(1, span)[None, :]
            best = jnp.maximum(best, jnp.max(t[i[:, None], k] + t[k + 1, j[:, None]], axis=1))
        t = t.at[i, j].set(best)
    return {"table": t, "result": t[0, N - 1]}


def spmv_csr(indptr, indices, vals, x, y) -> Outputs:
    rows = np.repeat(np.arange(y.shape[0]), np.diff(indptr))
    sums = jax.ops.segment_sum(vals * x[indices], rows, y.shape[0], indices_are_sorted=True)
    return {"y": sums}


def weighted_histogram(radius, data, res) -> Outputs:
    nb = res.shape[0]
    lo, hi = jnp.min(radius), jnp.max(radius)
    b = jnp.minimum(((radius - lo) / (hi - lo) * nb).astype(jnp.int32), nb - 1)
    count = jnp.bincount(b, length=nb)
    return {"res": jax.ops.segment_sum(data, b, nb) / jnp.maximum(count, 1)}


def lstm_diag(main, extra, state, seq) -> Outputs:
    T, H = seq.shape
    L = main.shape[0] // 2

    def step(carry, inputs):
        now, after = inputs
        x, new = now * extra[0], []
        for l in range(L):
            h, c = carry[l]
            g = jnp.concatenate([x, h, x, h]) * main[2 * l] + main[2 * l + 1]
            gates = jax.nn.sigmoid(g[: 3 * H])
            c = c * gates[:H] + gates[H : 2 * H] * jnp.tanh(g[3 * H :])
            x = gates[2 * H :] * jnp.tanh(c)
            new.append((x, c))
        y = x * extra[1] + extra[2]
        return tuple(new), jnp.sum(after * (y - jnp.log(jnp.sum(jnp.exp(y)) + 2.0)))

    start = tuple((state[2 * l], state[2 * l + 1]) for l in range(L))
    _, terms = lax.scan(step, start, (seq[:-1], seq[1:]))
    return {"result": -jnp.sum(terms) / ((T - 1) * H)}


def nbody(mass, pos, vel, dt, G, soft, KE, PE) -> Outputs:
    iu, ju = np.triu_indices(mass.shape[0], 1)

    def accel(p):
        d = p[None, :, :] - p[:, None, :]
        r2 = jnp.sum(d * d, -1) + soft * soft
        return G * jnp.einsum("ijc,ij,j->ic", d, 1.0 / (r2 * jnp.sqrt(r2)), mass)

    def energy(p, v):
        d = p[iu] - p[ju]
        kinetic = 0.5 * jnp.sum(mass[:, None] * v * v)
        return kinetic, -G * jnp.sum(mass[iu] * mass[ju] / jnp.sqrt(jnp.sum(d * d, -1)))

    def step(state, _):
        pos, vel, a = state
        vel = vel + 0.5 * dt * a
        pos = pos + dt * vel
        a = accel(pos)
        vel = vel + 0.5 * dt * a
        return (pos, vel, a), energy(pos, vel)

    vel = vel - jnp.sum(mass[:, None] * vel, 0) / jnp.sum(mass)
    first = energy(pos, vel)
    (pos, vel, _), later = lax.scan(step, (pos, vel, accel(pos)), length=KE.shape[0] - 1)
    ke, pe = (jnp.concatenate([f[None], rest]) for f, rest in zip(first, later, strict=True))
    return {"pos": pos, "vel": vel, "KE": ke, "PE": pe}


FORMS: dict[str, Callable[..., Outputs]] = {
    f.__name__: f
    for f in (
        conv2d_bias,
        jacobi_2d,
        seidel_2d,
        fdtd_2d,
        vadv,
        durbin,
        nussinov_real,
        spmv_csr,
        weighted_histogram,
        lstm_diag,
        nbody,
    )
}


def form_of(problem: Problem) -> Callable[..., Outputs]:
    return FORMS.get(problem.name) or partial(oracle, problem)


def oracle(problem: Problem, **args: Any) -> Outputs:
    return harness.oracle_outputs(problem.kernel.entry, args, jnp)


def compiled(problem: Problem, form: Callable[..., Outputs], is_timed: bool) -> Callable[..., Any]:
    """The compiled value and gradient of the weighted outputs of `form`, a function of the differentiated arrays.

    Floating arrays and weights are arguments of the compiled function if it is to be timed, so that nothing is folded
    away; subscripts, sizes and Python numbers are constants of it.
    """
    first = problem.initial
    floating = {k for k, v in first.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}
    moving = floating if is_timed else set(problem.wrt)
    fixed = {k: v for k, v in first.items() if k not in moving}

    def loss(active: dict[str, Any], others: dict[str, Any], weight: dict[str, Any]) -> Any:
        found = form(**{k: {**active, **others, **fixed}[k] for k in first})
        return sum(jnp.sum(w * found[name]) for name, w in weight.items())

    step = jax.jit(jax.value_and_grad(loss))
    others = {k: jnp.asarray(first[k]) for k in moving if k not in problem.wrt}
    weight = {k: jnp.asarray(w, dtype=problem.dtype) for k, w in problem.weight.items()}
    return lambda active: jax.block_until_ready(step(active, others, weight))


def weighted_gradient(problem: Problem, form: Callable[..., Outputs], is_timed: bool = True) -> Gradient:
    step = compiled(problem, form, is_timed)
    active = {k: jnp.asarray(problem.initial[k]) for k in problem.wrt}
    return lambda: step(active)


def gradient(problem: Problem) -> Gradient | None:
    return weighted_gradient(problem, form_of(problem))


def reference(problem: Problem) -> dict[str, np.ndarray]:
    """The gradient that all others are compared with."""
    return arrays(weighted_gradient(problem, form_of(problem))()[1])


def disturbed(problem: Problem) -> dict[str, np.ndarray]:
    """The same for arguments that are off by about one unit in the last place: how far rounding errors may carry."""
    rng = np.random.default_rng(3)
    unit = float(np.finfo(problem.dtype).eps)
    moved = {k: v * (1 + unit * rng.choice([-1, 1], v.shape)).astype(v.dtype) for k, v in problem.initial.items()
             if k in problem.wrt}  # fmt: skip
    step = compiled(problem, form_of(problem), is_timed=True)
    return arrays(step({k: jnp.asarray(v) for k, v in moved.items()})[1])


def oracle_gradient(problem: Problem) -> dict[str, np.ndarray]:
    """The reference from the oracle of the corpus."""
    return arrays(weighted_gradient(problem, partial(oracle, problem), is_timed=False)()[1])


def arrays(found: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in found.items()}
