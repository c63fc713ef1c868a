"""JAX loop by loop: `lax.fori_loop` or `lax.scan` with `.at[...].set`, as one ports loops without thinking again.

Inner loops without carried values are slices, as in the ports that others have published; loops that carry a value
from one iteration to the next stay loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
from jax import lax
from kernels import Problem

from peers import Gradient
from peers.jax_arrays import weighted_gradient

TITLE = "JAX, loop by loop"
NEEDS = ("jax",)

Outputs = Mapping[str, Any]


def rde_matmul_log1p(A, B, C) -> Outputs:
    def row(m, C):
        return C.at[m].set(A[m] @ B)

    C = lax.fori_loop(0, A.shape[0], row, C)
    return {"C": C, "result": -2.5 * jnp.sum(jnp.log1p(0.25 * (C - 18.0) ** 2))}


def conv2d_bias(x, w, bias, out) -> Outputs:
    K, width = w.shape[0], out.shape[2]

    def column(j, out, i):
        window = lax.dynamic_slice(x, (0, i, j, 0), (x.shape[0], K, K, x.shape[3]))
        value = jnp.einsum("npqc,pqcd->nd", window, w) + bias
        return out.at[:, i, j].set(value)

    def row(i, out):
        return lax.fori_loop(0, width, lambda j, o: column(j, o, i), out)

    return {"out": lax.fori_loop(0, out.shape[1], row, out)}


def jacobi_2d(T, A, B) -> Outputs:
    def mean(X):
        return 0.2 * (X[1:-1, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:] + X[2:, 1:-1] + X[:-2, 1:-1])

    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1].set(mean(A))
        return A.at[1:-1, 1:-1].set(mean(B)), B

    A, B = lax.fori_loop(1, T, step, (A, B))
    return {"A": A, "B": B}


def seidel_2d(T, A) -> Outputs:
    N = A.shape[0]

    def column(j, A, i):
        window = lax.dynamic_slice(A, (i - 1, j - 1), (3, 3))
        return A.at[i, j].set(jnp.sum(window) / 9.0)

    def row(i, A):
        return lax.fori_loop(1, N - 1, lambda j, A: column(j, A, i), A)

    return {"A": lax.fori_loop(0, T - 1, lambda t, A: lax.fori_loop(1, N - 1, row, A), A)}


def fdtd_2d(ex, ey, hz, fict) -> Outputs:
    def step(t, state):
        ex, ey, hz = state
        ey = ey.at[0].set(fict[t])
        ey = ey.at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    ex, ey, hz = lax.fori_loop(0, fict.shape[0], step, (ex, ey, hz))
    return {"ex": ex, "ey": ey, "hz": hz}


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr) -> Outputs:
    K = utens_stage.shape[2]
    cc, dc = jnp.zeros_like(utens_stage), jnp.zeros_like(utens_stage)
    right_hand = dtr * u_pos + utens + utens_stage

    def coefficient(k):
        return 0.125 * (wcon[1:, :, k] + wcon[:-1, :, k])

    c = coefficient(1)
    b = dtr - c
    cc = cc.at[:, :, 0].set(c / b)
    dc = dc.at[:, :, 0].set((right_hand[:, :, 0] - c * (u_stage[:, :, 1] - u_stage[:, :, 0])) / b)

    def eliminate(k, state):
        cc, dc = state
        a, c = -coefficient(k), coefficient(k + 1)
        here = u_stage[:, :, k]
        corr = -a * (u_stage[:, :, k - 1] - here) - c * (u_stage[:, :, k + 1] - here)
        z = 1.0 / (dtr - a - c - cc[:, :, k - 1] * a)
        d = right_hand[:, :, k] + corr
        return cc.at[:, :, k].set(c * z), dc.at[:, :, k].set((d - dc[:, :, k - 1] * a) * z)

    cc, dc = lax.fori_loop(1, K - 1, eliminate, (cc, dc))
    a = -coefficient(K - 1)
    d = right_hand[:, :, K - 1] - a * (u_stage[:, :, K - 2] - u_stage[:, :, K - 1])
    x = (d - dc[:, :, K - 2] * a) / (dtr - a - cc[:, :, K - 2] * a)
    out = utens_stage.at[:, :, K - 1].set(dtr * (x - u_pos[:, :, K - 1]))

    def substitute(n, state):
        x, out = state
        k = K - 2 - n
        x = dc[:, :, k] - cc[:, :, k] * x
        return x, out.at[:, :, k].set(dtr * (x - u_pos[:, :, k]))

    return {"utens_stage": lax.fori_loop(0, K - 1, substitute, (x, out))[1]}


def cholesky(A) -> Outputs:
    N = A.shape[0]
    index = jnp.arange(N)

    def element(j, A, i):
        known = jnp.where(index < j, A[i] * A[j], 0.0)
        return A.at[i, j].set(jnp.where(j < i, (A[i, j] - jnp.sum(known)) / A[j, j], A[i, j]))

    def row(i, A):
        A = lax.fori_loop(0, N, lambda j, A: element(j, A, i), A)
        known = jnp.where(index < i, A[i] ** 2, 0.0)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - jnp.sum(known)))

    return {"A": lax.fori_loop(0, N, row, A)}


def syrk(alpha, beta, C, A) -> Outputs:
    N, M = A.shape
    index = jnp.arange(N)

    def row(i, C):
        C = C.at[i].set(jnp.where(index <= i, beta * C[i], C[i]))

        def term(k, C):
            return C.at[i].add(jnp.where(index <= i, alpha * A[i, k] * A[:, k], 0.0))

        return lax.fori_loop(0, M, term, C)

    return {"C": lax.fori_loop(0, N, row, C)}


def durbin(r, y) -> Outputs:
    n = r.shape[0]
    index = jnp.arange(n)

    def step(k, state):
        y, alpha, beta = state
        beta = (1.0 - alpha * alpha) * beta
        turned = jnp.where(index < k, y[(k - 1 - index) % n], 0.0)
        alpha = -(r[k] + jnp.sum(r * turned)) / beta
        y = jnp.where(index < k, y + alpha * turned, y)
        return y.at[k].set(alpha), alpha, beta

    return {"y": lax.fori_loop(1, n, step, (y.at[0].set(-r[0]), -r[0], jnp.ones((), r.dtype)))[0]}


def nussinov_real(w, table) -> Outputs:
    N = w.shape[0]
    index = jnp.arange(N)

    def element(j, table, i):
        t = jnp.maximum(table[i, j - 1], table[i + 1, j])
        t = jnp.where(i < j - 1, jnp.maximum(t, table[i + 1, j - 1] + w[i, j]), t)
        below = jnp.roll(table[:, j], -1)
        inside = (index > i) & (index < j)
        t = jnp.maximum(t, jnp.max(jnp.where(inside, table[i] + below, -jnp.inf)))
        return table.at[i, j].set(jnp.where(j > i, t, table[i, j]))

    def row(n, table):
        i = N - 2 - n
        return lax.fori_loop(1, N, lambda j, table: element(j, table, i), table)

    table = lax.fori_loop(0, N - 1, row, table)
    return {"table": table, "result": table[0, N - 1]}


FORMS: dict[str, Callable[..., Outputs]] = {
    f.__name__: f
    for f in (
        rde_matmul_log1p,
        conv2d_bias,
        jacobi_2d,
        seidel_2d,
        fdtd_2d,
        vadv,
        cholesky,
        syrk,
        durbin,
        nussinov_real,
    )
}


def gradient(problem: Problem) -> Gradient | None:
    form = FORMS.get(problem.name)
    return None if form is None else weighted_gradient(problem, form)
