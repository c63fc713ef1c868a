"""Row-wise reductions of machine learning: softmax, attention, perceptrons, mixtures and clustering.

Each kernel was defined by the source its entry names; `S` and `M` are the sizes used for timing.
"""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def softmax(x, out):
    A, B, C, D = x.shape
    for a in range(A):
        for b in range(B):
            for c in range(C):
                m = x[a, b, c, 0]
                for d in range(1, D):
                    m = max(m, x[a, b, c, d])
                s = 0.0
                for d in range(D):
                    e = math.exp(x[a, b, c, d] - m)
                    out[a, b, c, d] = e
                    s += e
                for d in range(D):
                    out[a, b, c, d] = out[a, b, c, d] / s


def softmax_rows(xp, x):
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def attention(Q, K, V, out):
    B, S, D = Q.shape
    sc = 1.0 / math.sqrt(D)
    p = np.empty(S, Q.dtype)
    for b in range(B):
        for i in range(S):
            m = -1e30
            for j in range(S):
                s = 0.0
                for d in range(D):
                    s += Q[b, i, d] * K[b, j, d]
                p[j] = s * sc
                m = max(m, p[j])
            z = 0.0
            for j in range(S):
                p[j] = math.exp(p[j] - m)
                z += p[j]
            for d in range(D):
                out[b, i, d] = 0.0
            for j in range(S):
                for d in range(D):
                    out[b, i, d] += p[j] / z * V[b, j, d]


def mlp_rows(x, W1, W2, W3, y):
    P, I = x.shape
    H = W1.shape[0]
    O = W3.shape[0]
    h1 = np.empty(H, x.dtype)
    h2 = np.empty(H, x.dtype)
    loss = 0.0
    for r in range(P):
        for a in range(H):
            s = 0.0
            for i in range(I):
                s += W1[a, i] * x[r, i]
            h1[a] = max(s, 0.0)
        for a in range(H):
            s = 0.0
            for c in range(H):
                s += W2[a, c] * h1[c]
            h2[a] = max(s, 0.0)
        for o in range(O):
            s = 0.0
            for c in range(H):
                s += W3[o, c] * h2[c]
            e = s - y[r, o]
            loss += e * e
    return loss / (P * O)


def mlp_arguments(r, P=4, I=3, H=5, O=2):
    """Rows on a kink, up to rounding, are drawn again: of many thousand some would have another gradient in float32, or
    where sums are in another order."""
    x = r.uniform(-1, 1, (P, I))
    W1 = r.standard_normal((H, I)) / math.sqrt(I)
    W2 = r.standard_normal((H, H)) / math.sqrt(H)
    W3 = r.standard_normal((O, H)) / math.sqrt(H)
    y = r.uniform(-1, 1, (P, O))
    rest = np.arange(P)
    while rest.size:
        rest = rest[on_a_kink(x[rest], W1, W2)]
        x[rest] = r.uniform(-1, 1, (rest.size, I))
    return dict(x=x, W1=W1, W2=W2, W3=W3, y=y)


def on_a_kink(x, W1, W2):
    """Whether what goes into a `max(s, 0.0)` is zero, up to rounding in float32, for each row."""
    is_near = np.zeros(x.shape[0], bool)
    for W in (W1, W2):
        sums = x @ W.T
        is_near |= (np.abs(sums) < 1e-5 * (np.abs(x) @ np.abs(W).T)).any(1)
        x = np.maximum(sums, 0.0)
    return is_near


def gmm(alpha, mu, q, l, x, gamma, m):
    n, d = x.shape
    K = alpha.shape[0]
    main = np.empty(K, x.dtype)
    xc = np.empty(d, x.dtype)
    tot = 0.0
    for i in range(n):
        mx = -1e300
        for k in range(K):
            sq = 0.0
            sumq = 0.0
            for a in range(d):
                xc[a] = x[i, a] - mu[k, a]
                sumq += q[k, a]
            for a in range(d):
                s = math.exp(q[k, a]) * xc[a]
                for b in range(a):
                    # packed strictly lower triangle, column by column
                    s += l[k, b * (2 * d - b - 1) // 2 + a - b - 1] * xc[b]
                sq += s * s
            main[k] = alpha[k] + sumq - 0.5 * sq
            mx = max(mx, main[k])
        se = 0.0
        for k in range(K):
            se += math.exp(main[k] - mx)
        tot += mx + math.log(se)
    amx = alpha[0]
    for k in range(1, K):
        amx = max(amx, alpha[k])
    ase = 0.0
    for k in range(K):
        ase += math.exp(alpha[k] - amx)
    tot -= n * (amx + math.log(ase))
    for k in range(K):
        fro = 0.0
        for a in range(d):
            e = math.exp(q[k, a])
            fro += e * e
            tot += m * q[k, a]
        for a in range(d * (d - 1) // 2):
            fro += l[k, a] * l[k, a]
        tot -= 0.5 * gamma * gamma * fro
    return tot


def log_sum_exp(xp, x, axis=None):
    m = xp.max(x, axis=axis, keepdims=True)
    return xp.squeeze(m, axis=axis) + xp.log(xp.sum(xp.exp(x - m), axis=axis))


def gmm_oracle(xp, alpha, mu, q, l, x, gamma, m):
    n, d = x.shape
    rows = np.concatenate([np.arange(b + 1, d) for b in range(d)]).astype(int)
    cols = np.concatenate([np.full(d - b - 1, b) for b in range(d)]).astype(int)
    P = np.zeros((d * (d - 1) // 2, d, d))
    P[np.arange(len(rows)), rows, cols] = 1.0
    Q = xp.einsum("kp,pab->kab", l, P) + xp.exp(q)[:, :, None] * np.eye(d)
    z = xp.einsum("kab,nkb->nka", Q, x[:, None, :] - mu[None])
    t = alpha + xp.sum(q, 1) - 0.5 * xp.sum(z * z, 2)
    prior = 0.5 * gamma * gamma * (xp.sum(xp.exp(q) ** 2) + xp.sum(l * l)) - m * xp.sum(q)
    return {"result": xp.sum(log_sum_exp(xp, t, 1)) - n * log_sum_exp(xp, alpha, 0) - prior}


def kmeans_cost(points, cent):
    n, d = points.shape
    K = cent.shape[0]
    tot = 0.0
    for i in range(n):
        best = 1e300
        for k in range(K):
            s = 0.0
            for a in range(d):
                t = points[i, a] - cent[k, a]
                s += t * t
            if s < best:
                best = s
        tot += best
    return tot


ENTRIES = (
    Entry(
        name="softmax",
        function=softmax,
        make=lambda r, N=2, H=2, SM=4: dict(x=r.random((N, H, SM, SM)), out=np.zeros((N, H, SM, SM))),
        wrt=("x",),
        outputs=("out",),
        oracle=lambda xp, x, out: {"out": softmax_rows(xp, x)},
        is_twin=True,
        sizes=dict(S=dict(N=16, H=16, SM=128), M=dict(N=32, H=8, SM=256)),
        notes="NPBench softmax",
    ),
    Entry(
        name="attention",
        function=attention,
        make=lambda r, B=2, S=4, D=3: dict(
            Q=r.standard_normal((B, S, D)),
            K=r.standard_normal((B, S, D)),
            V=r.standard_normal((B, S, D)),
            out=np.zeros((B, S, D)),
        ),
        wrt=("Q", "K", "V"),
        outputs=("out",),
        oracle=lambda xp, Q, K, V, out: {
            "out": softmax_rows(xp, xp.einsum("bid,bjd->bij", Q, K) / math.sqrt(Q.shape[-1])) @ V
        },
        is_twin=True,
        sizes=dict(S=dict(B=16, S=128, D=64), M=dict(B=64, S=512, D=64)),
        notes="Vaswani et al. 2017 eq. 1 (= torch scaled_dot_product_attention)",
    ),
    Entry(
        name="mlp_rows",
        function=mlp_rows,
        make=mlp_arguments,
        wrt=("x", "W1", "W2", "W3"),
        oracle=lambda xp, x, W1, W2, W3, y: {
            "result": xp.mean((xp.maximum(xp.maximum(x @ W1.T, 0) @ W2.T, 0) @ W3.T - y) ** 2)
        },
        is_twin=True,
        sizes=dict(S=dict(P=2**14, I=32, H=64, O=3), M=dict(P=2**16, I=32, H=64, O=3)),
        notes="tiny-cuda-nn FullyFusedMLP, data/config_hash.json shape: no bias, ReLU, 64 wide, 2 hidden, L2",
    ),
    Entry(
        name="gmm",
        function=gmm,
        make=lambda r, n=5, d=3, K=2: dict(
            alpha=r.standard_normal(K),
            mu=r.random((K, d)),
            q=r.standard_normal((K, d)),
            l=r.standard_normal((K, d * (d - 1) // 2)),
            x=r.standard_normal((n, d)),
            gamma=1.0,
            m=0,
        ),
        wrt=("alpha", "mu", "q", "l"),
        oracle=gmm_oracle,
        is_twin=True,
        sizes=dict(S=dict(n=1000, d=10, K=25), M=dict(n=1000, d=32, K=50)),
        notes="ADBench GMM (constants dropped, GradBench's sign of the prior)",
    ),
    Entry(
        name="kmeans_cost",
        function=kmeans_cost,
        make=lambda r, n=8, d=3, K=3: (lambda p: dict(points=p, cent=p[-K:] + 0.01 * r.random((K, d))))(
            r.random((n, d))
        ),
        wrt=("cent",),
        oracle=lambda xp, points, cent: {"result": xp.sum(xp.min(xp.sum((points[:, None] - cent[None]) ** 2, -1), 1))},
        is_twin=True,
        sizes=dict(S=dict(n=1000, d=8, K=10), M=dict(n=10000, d=8, K=100)),
        notes="GradBench kmeans / Futhark SC22 k-means cost (gradient only)",
    ),
)
