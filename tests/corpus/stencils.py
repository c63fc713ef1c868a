"""Stencils in space and time, some of them in place.

Each kernel was defined by the source its entry names; `S` and `M` are the sizes used for timing.
"""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def jacobi_2d(T, A, B):
    N = A.shape[0]
    for t in range(1, T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


def with_interior(xp, full, inner):
    """full with its interior replaced by inner, functionally"""
    m = np.zeros(full.shape)
    m[tuple(slice(1, -1) for _ in full.shape)] = 1.0
    return full * (1 - m) + xp.pad(inner, 1) * m


def jacobi_oracle(xp, T, A, B):
    f = lambda X: 0.2 * (X[1:-1, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:] + X[2:, 1:-1] + X[:-2, 1:-1])
    for _ in range(1, T):
        B = with_interior(xp, B, f(A))
        A = with_interior(xp, A, f(B))
    return {"A": A, "B": B}


def seidel_2d(T, A):
    N = A.shape[0]
    for t in range(T - 1):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0


def seidel_oracle(xp, T, A):
    N = A.shape[0]
    a = [[A[i, j] for j in range(N)] for i in range(N)]
    for _ in range(T - 1):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                a[i][j] = sum(a[i + p][j + q] for p in (-1, 0, 1) for q in (-1, 0, 1)) / 9.0
    return {"A": xp.stack([xp.stack(r) for r in a])}


def fdtd_2d(ex, ey, hz, fict):
    T = fict.shape[0]
    NX, NY = ex.shape
    for t in range(T):
        for j in range(NY):
            ey[0, j] = fict[t]
        for i in range(1, NX):
            for j in range(NY):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(NX):
            for j in range(1, NY):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(NX - 1):
            for j in range(NY - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def fdtd_oracle(xp, ex, ey, hz, fict):
    NX, NY = ex.shape
    for t in range(fict.shape[0]):
        ey = xp.concatenate([fict[t] + 0.0 * ey[:1], ey[1:] - 0.5 * (hz[1:] - hz[:-1])])
        ex = xp.concatenate([ex[:, :1], ex[:, 1:] - 0.5 * (hz[:, 1:] - hz[:, :-1])], axis=1)
        d = 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
        hz = hz - xp.pad(d, ((0, 1), (0, 1)))
    return {"ex": ex, "ey": ey, "hz": hz}


def hdiff(f, coeff, out):
    I, J, K = out.shape
    lap = np.empty((I + 2, J + 2, K), f.dtype)
    flx = np.empty((I + 1, J, K), f.dtype)
    fly = np.empty((I, J + 1, K), f.dtype)
    for i in range(I + 2):
        for j in range(J + 2):
            for k in range(K):
                lap[i, j, k] = 4.0 * f[i + 1, j + 1, k] - (
                    f[i + 2, j + 1, k] + f[i, j + 1, k] + f[i + 1, j + 2, k] + f[i + 1, j, k]
                )
    for i in range(I + 1):
        for j in range(J):
            for k in range(K):
                r = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
                if r * (f[i + 2, j + 2, k] - f[i + 1, j + 2, k]) > 0.0:
                    flx[i, j, k] = 0.0
                else:
                    flx[i, j, k] = r
    for i in range(I):
        for j in range(J + 1):
            for k in range(K):
                r = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
                if r * (f[i + 2, j + 2, k] - f[i + 2, j + 1, k]) > 0.0:
                    fly[i, j, k] = 0.0
                else:
                    fly[i, j, k] = r
    for i in range(I):
        for j in range(J):
            for k in range(K):
                out[i, j, k] = f[i + 2, j + 2, k] - coeff[i, j, k] * (
                    flx[i + 1, j, k] - flx[i, j, k] + fly[i, j + 1, k] - fly[i, j, k]
                )


def hdiff_oracle(xp, f, coeff, out):
    lap = 4.0 * f[1:-1, 1:-1] - (f[2:, 1:-1] + f[:-2, 1:-1] + f[1:-1, 2:] + f[1:-1, :-2])
    rx = lap[1:, 1:-1] - lap[:-1, 1:-1]
    rx = xp.where(rx * (f[2:-1, 2:-2] - f[1:-2, 2:-2]) > 0, 0.0, rx)
    ry = lap[1:-1, 1:] - lap[1:-1, :-1]
    ry = xp.where(ry * (f[2:-2, 2:-1] - f[2:-2, 1:-2]) > 0, 0.0, ry)
    return {"out": f[2:-2, 2:-2] - coeff * (rx[1:] - rx[:-1] + ry[:, 1:] - ry[:, :-1])}


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr):
    I, J, K = utens_stage.shape
    cc = np.empty(K, utens_stage.dtype)
    dc = np.empty(K, utens_stage.dtype)
    for i in range(I):
        for j in range(J):
            g1 = 0.25 * (wcon[i + 1, j, 1] + wcon[i, j, 1])
            b = dtr - 0.5 * g1
            cc[0] = 0.5 * g1 / b
            dc[0] = (
                dtr * u_pos[i, j, 0]
                + utens[i, j, 0]
                + utens_stage[i, j, 0]
                - 0.5 * g1 * (u_stage[i, j, 1] - u_stage[i, j, 0])
            ) / b
            for k in range(1, K - 1):
                ga = -0.25 * (wcon[i + 1, j, k] + wcon[i, j, k])
                gc = 0.25 * (wcon[i + 1, j, k + 1] + wcon[i, j, k + 1])
                a = 0.5 * ga
                c = 0.5 * gc
                corr = -a * (u_stage[i, j, k - 1] - u_stage[i, j, k]) - c * (u_stage[i, j, k + 1] - u_stage[i, j, k])
                d = dtr * u_pos[i, j, k] + utens[i, j, k] + utens_stage[i, j, k] + corr
                z = 1.0 / (dtr - a - c - cc[k - 1] * a)
                cc[k] = c * z
                dc[k] = (d - dc[k - 1] * a) * z
            k = K - 1
            ga = -0.25 * (wcon[i + 1, j, k] + wcon[i, j, k])
            a = 0.5 * ga
            d = (
                dtr * u_pos[i, j, k]
                + utens[i, j, k]
                + utens_stage[i, j, k]
                - a * (u_stage[i, j, k - 1] - u_stage[i, j, k])
            )
            x = (d - dc[k - 1] * a) / (dtr - a - cc[k - 1] * a)
            utens_stage[i, j, k] = dtr * (x - u_pos[i, j, k])
            for k in range(K - 2, -1, -1):
                x = dc[k] - cc[k] * x
                utens_stage[i, j, k] = dtr * (x - u_pos[i, j, k])


def vadv_oracle(xp, utens_stage, u_stage, wcon, u_pos, utens, dtr):
    # independent: assemble the tridiagonal matrices and solve densely
    I, J, K = utens_stage.shape
    w = 0.125 * (wcon[1:] + wcon[:-1])  # (I, J, K): half of the averaged wcon
    lo = -w  # sub-diagonal, k >= 1
    up = xp.concatenate([w[:, :, 1:], 0 * w[:, :, :1]], 2)  # super-diagonal, k <= K-2
    lo = lo * (np.arange(K) > 0)
    um = xp.concatenate([u_stage[:, :, :1], u_stage[:, :, :-1]], 2)
    upl = xp.concatenate([u_stage[:, :, 1:], u_stage[:, :, -1:]], 2)
    rhs = dtr * u_pos + utens + utens_stage - lo * (um - u_stage) - up * (upl - u_stage)
    E = np.eye(K)
    D = (dtr - lo - up)[..., None] * E + lo[..., None] * np.eye(K, k=-1) + up[..., None] * np.eye(K, k=1)
    x = xp.linalg.solve(D, rhs[..., None])[..., 0]
    return {"utens_stage": dtr * (x - u_pos)}


ENTRIES = (
    Entry(
        name="jacobi_2d",
        function=jacobi_2d,
        make=lambda r, T=3, N=6: dict(T=T, A=r.random((N, N)), B=r.random((N, N))),
        wrt=("A", "B"),
        outputs=("A", "B"),
        oracle=jacobi_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(T=50, N=150), M=dict(T=80, N=350)),
        notes="PolyBench/NPBench jacobi_2d",
    ),
    Entry(
        name="seidel_2d",
        function=seidel_2d,
        make=lambda r, T=3, N=6: dict(T=T, A=r.random((N, N))),
        wrt=("A",),
        outputs=("A",),
        oracle=seidel_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(T=8, N=50), M=dict(T=15, N=100)),
        notes="PolyBench/NPBench seidel_2d",
    ),
    Entry(
        name="fdtd_2d",
        function=fdtd_2d,
        make=lambda r, T=3, NX=5, NY=6: dict(
            ex=r.random((NX, NY)), ey=r.random((NX, NY)), hz=r.random((NX, NY)), fict=np.arange(float(T))
        ),
        wrt=("ex", "ey", "hz", "fict"),
        outputs=("ex", "ey", "hz"),
        oracle=fdtd_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(T=20, NX=200, NY=220), M=dict(T=60, NX=400, NY=450)),
        notes="PolyBench/NPBench fdtd_2d",
    ),
    Entry(
        name="hdiff",
        function=hdiff,
        make=lambda r, I=3, J=4, K=2: dict(
            f=r.random((I + 4, J + 4, K)), coeff=r.random((I, J, K)), out=np.zeros((I, J, K))
        ),
        wrt=("f", "coeff"),
        outputs=("out",),
        oracle=hdiff_oracle,
        is_twin=True,
        sizes=dict(S=dict(I=64, J=64, K=60), M=dict(I=128, J=128, K=160)),
        notes="COSMO / NPBench hdiff",
    ),
    Entry(
        name="vadv",
        function=vadv,
        make=lambda r, I=2, J=3, K=5: dict(
            utens_stage=r.random((I, J, K)),
            u_stage=r.random((I, J, K)),
            wcon=0.2 * r.random((I + 1, J, K)),
            u_pos=r.random((I, J, K)),
            utens=r.random((I, J, K)),
            dtr=3.0 / 20.0,
        ),
        wrt=("utens_stage", "u_stage", "wcon", "u_pos", "utens"),
        outputs=("utens_stage",),
        oracle=vadv_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(I=60, J=60, K=40), M=dict(I=112, J=112, K=80)),
        notes="COSMO / NPBench vadv, wcon scaled by 0.2 to keep the matrices well conditioned",
    ),
)
