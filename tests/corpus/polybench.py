"""Programs of PolyBench and NPBench beyond the suite."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def symm(alpha, beta, C, A, B):
    M, N = C.shape
    for i in range(M):
        for j in range(N):
            C[i, j] *= beta
    for i in range(M):
        for j in range(N):
            s = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                s += B[k, j] * A[i, k]
            C[i, j] += alpha * B[i, j] * A[i, i] + alpha * s


def symm_oracle(xp, alpha, beta, C, A, B):
    return {"C": beta * C + alpha * (xp.tril(A) + xp.tril(A, -1).T) @ B}


def covariance(float_n, data):
    M = data.shape[1]
    data -= np.mean(data, axis=0)
    cov = np.zeros((M, M), data.dtype)
    for i in range(M):
        cov[i:M, i] = cov[i, i:M] = data[:, i] @ data[:, i:M] / (float_n - 1.0)
    return cov


def covariance_oracle(xp, float_n, data):
    centred = data - xp.mean(data, axis=0)
    return {"result": centred.T @ centred / (float_n - 1.0), "data": centred}


ENTRIES = (
    Entry(
        name="symm",
        function=symm,
        make=lambda r, M=4, N=3: dict(alpha=1.5, beta=1.2, C=r.random((M, N)), A=r.random((M, M)), B=r.random((M, N))),
        wrt=("C", "A", "B"),
        outputs=("C",),
        oracle=symm_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(M=40, N=50), M=dict(M=120, N=150)),
        notes="PolyBench/NPBench symm (only the lower part of A is read)",
    ),
    Entry(
        name="covariance",
        function=covariance,
        make=lambda r, M=4, N=5: dict(float_n=float(N), data=r.random((N, M))),
        wrt=("data",),
        outputs=("data",),
        oracle=covariance_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(M=500, N=600), M=dict(M=1400, N=1800)),
        notes="NPBench covariance",
    ),
)
