"""Dense contractions: matrix products, batched products and convolutions.

Each kernel was defined by the source its entry names; `S` and `M` are the sizes used for timing.
"""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def rde_matmul_log1p(A, B, C):
    M, K = A.shape
    N = B.shape[1]
    for m in range(M):
        for n in range(N):
            s = 0.0
            for k in range(K):
                s += A[m, k] * B[k, n]
            C[m, n] = s
    t = 0.0
    for m in range(M):
        for n in range(N):
            d = C[m, n] - 18.0
            t += math.log1p(0.25 * d * d)
    return -2.5 * t


def tullio_bmm_rev(A, B, C):
    I, J, N = A.shape
    K = B.shape[1]
    for i in range(I):
        for k in range(K):
            for b in range(N):
                s = 0.0
                for j in range(J):
                    s += A[i, j, b] * B[b, k, j]
                C[i, k, b] = s


def conv2d_bias(x, w, bias, out):
    N, Ho, Wo, Co = out.shape
    K1, K2, Ci = w.shape[0], w.shape[1], w.shape[2]
    for n in range(N):
        for i in range(Ho):
            for j in range(Wo):
                for co in range(Co):
                    out[n, i, j, co] = bias[co]
                for p in range(K1):
                    for q in range(K2):
                        for ci in range(Ci):
                            for co in range(Co):
                                out[n, i, j, co] += x[n, i + p, j + q, ci] * w[p, q, ci, co]


def conv2d_oracle(xp, x, w, bias, out):
    Ho, Wo = out.shape[1:3]
    acc = bias
    for p in range(w.shape[0]):
        for q in range(w.shape[1]):
            acc = acc + xp.einsum("nhwc,cd->nhwd", x[:, p : p + Ho, q : q + Wo, :], w[p, q])
    return {"out": acc}


def depthwise_separable(x, dw, pw, bias, out):
    N, H, W, CI = x.shape
    CO = pw.shape[1]
    t = np.empty(CI, x.dtype)
    for n in range(N):
        for i in range(H):
            for j in range(W):
                for c in range(CI):
                    t[c] = 0.0
                for p in range(3):
                    for q in range(3):
                        ii = i + p - 1
                        jj = j + q - 1
                        if ii >= 0 and ii < H and jj >= 0 and jj < W:
                            for c in range(CI):
                                t[c] += dw[p, q, c] * x[n, ii, jj, c]
                for o in range(CO):
                    s = bias[o]
                    for c in range(CI):
                        s += pw[c, o] * t[c]
                    out[n, i, j, o] = max(s, 0.0)


def depthwise_oracle(xp, x, dw, pw, bias, out):
    H, W = x.shape[1:3]
    xpad = xp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    t = 0.0
    for p in range(3):
        for q in range(3):
            t = t + dw[p, q] * xpad[:, p : p + H, q : q + W, :]
    return {"out": xp.maximum(t @ pw + bias, 0.0)}


ENTRIES = (
    Entry(
        name="rde_matmul_log1p",
        function=rde_matmul_log1p,
        make=lambda r, M=5, K=4, N=6: dict(A=r.random((M, K)), B=r.random((K, N)), C=np.zeros((M, N))),
        wrt=("A", "B"),
        outputs=("C",),
        oracle=lambda xp, A, B, C: {"C": A @ B, "result": -2.5 * xp.sum(xp.log1p(0.25 * (A @ B - 18.0) ** 2))},
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(M=72, K=72, N=72), M=dict(M=256, K=256, N=256)),
        notes="ReverseDiffExpressions.jl issue #2 (chriselrod)",
    ),
    Entry(
        name="tullio_bmm_rev",
        function=tullio_bmm_rev,
        make=lambda r, I=2, J=3, N=4, K=5: dict(
            A=r.standard_normal((I, J, N)), B=r.standard_normal((N, K, J)), C=np.zeros((I, K, N))
        ),
        wrt=("A", "B"),
        outputs=("C",),
        oracle=lambda xp, A, B, C: {"C": xp.einsum("ijb,bkj->ikb", A, B)},
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(I=20, J=30, N=500, K=40), M=dict(I=64, J=64, N=1024, K=64)),
        notes="Tullio.jl README, bmm_rev",
    ),
    Entry(
        name="conv2d_bias",
        function=conv2d_bias,
        make=lambda r, N=2, C_in=2, C_out=3, K=2, H=5, W=6: dict(
            x=r.random((N, H, W, C_in)),
            w=r.random((K, K, C_in, C_out)),
            bias=r.random(C_out),
            out=np.zeros((N, H - K + 1, W - K + 1, C_out)),
        ),
        wrt=("x", "w", "bias"),
        outputs=("out",),
        oracle=conv2d_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(N=8, C_in=3, C_out=16, K=2, H=32, W=32), M=dict(N=8, C_in=3, C_out=8, K=5, H=64, W=64)),
        notes="NPBench conv2d_bias (NHWC, stride 1, valid)",
    ),
    Entry(
        name="depthwise_separable",
        function=depthwise_separable,
        make=lambda r, N=2, H=4, W=5, CI=3, CO=2: dict(
            x=r.standard_normal((N, H, W, CI)),
            dw=r.standard_normal((3, 3, CI)),
            pw=r.standard_normal((CI, CO)),
            bias=r.standard_normal(CO),
            out=np.zeros((N, H, W, CO)),
        ),
        wrt=("x", "dw", "pw", "bias"),
        outputs=("out",),
        oracle=depthwise_oracle,
        is_twin=True,
        sizes=dict(S=dict(N=4, H=112, W=112, CI=32, CO=16), M=dict(N=16, H=112, W=112, CI=32, CO=16)),
        notes="Halide apps/depthwise_separable_conv (2nd layer of MobileNet v2)",
    ),
)
