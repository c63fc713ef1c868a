"""Indirect subscripts: sparse rows, histograms, hash tables and observations of shared points.

Each kernel was defined by the source its entry names; `S` and `M` are the sizes used for timing.
"""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def spmv_csr(indptr, indices, vals, x, y):
    for i in range(indptr.shape[0] - 1):
        s = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            s += vals[p] * x[indices[p]]
        y[i] = s


def spmv_oracle(xp, indptr, indices, vals, x, y):
    M = indptr.shape[0] - 1
    rows = np.repeat(np.arange(M), np.diff(indptr))
    S = (rows[None, :] == np.arange(M)[:, None]) * 1.0
    return {"y": S @ (vals * x[indices])}


def csr_args(r, M=5, N=6, nnz=12):
    rows = np.sort(r.integers(0, M, nnz))
    indptr = np.searchsorted(rows, np.arange(M + 1)).astype(np.int64)
    return dict(indptr=indptr, indices=r.integers(0, N, nnz), vals=r.random(nnz), x=r.random(N), y=np.zeros(M))


def weighted_histogram(radius, data, res):
    n = radius.shape[0]
    nb = res.shape[0]
    lo = radius[0]
    hi = radius[0]
    for i in range(1, n):
        lo = min(lo, radius[i])
        hi = max(hi, radius[i])
    cnt = np.zeros(nb, np.float64)
    for b in range(nb):
        res[b] = 0.0
    for i in range(n):
        b = int((radius[i] - lo) / (hi - lo) * nb)
        if b > nb - 1:
            b = nb - 1
        res[b] += data[i]
        cnt[b] += 1.0
    for b in range(nb):
        if cnt[b] > 0.0:
            res[b] = res[b] / cnt[b]


def histogram_oracle(xp, radius, data, res):
    nb = res.shape[0]
    rd = np.asarray(radius)
    cnt, edges = np.histogram(rd, nb)
    b = np.minimum(((rd - rd.min()) / (rd.max() - rd.min()) * nb).astype(int), nb - 1)
    return {"res": ((b[None, :] == np.arange(nb)[:, None]) * 1.0) @ data / np.maximum(cnt, 1)}


def hash_grid(x, table, res, out):
    P = x.shape[0]
    L, T, F = table.shape
    for p in range(P):
        for l in range(L):
            R = res[l]
            px = x[p, 0] * R
            py = x[p, 1] * R
            pz = x[p, 2] * R
            ix = int(math.floor(px))
            iy = int(math.floor(py))
            iz = int(math.floor(pz))
            fx = px - ix
            fy = py - iy
            fz = pz - iz
            for f in range(F):
                out[p, l * F + f] = 0.0
            for c in range(8):
                dx = c & 1
                dy = (c >> 1) & 1
                dz = (c >> 2) & 1
                wt = (dx * fx + (1 - dx) * (1 - fx)) * (dy * fy + (1 - dy) * (1 - fy)) * (dz * fz + (1 - dz) * (1 - fz))
                gx = ix + dx
                gy = iy + dy
                gz = iz + dz
                if (R + 1) * (R + 1) * (R + 1) <= T:
                    h = gx + (R + 1) * (gy + (R + 1) * gz)
                else:
                    h = (gx ^ ((gy * 2654435761) & 4294967295) ^ ((gz * 805459861) & 4294967295)) % T
                for f in range(F):
                    out[p, l * F + f] += wt * table[l, h, f]


def hash_oracle(xp, x, table, res, out):
    L, T, F = table.shape
    o = []
    for l in range(L):
        R = int(res[l])
        pos = x * R
        i = xp.floor(pos).astype(np.int64)
        f = pos - i
        acc = 0.0
        for c in range(8):
            d = np.array([c & 1, (c >> 1) & 1, (c >> 2) & 1])
            g = i + d
            w = xp.prod(xp.where(d == 1, f, 1 - f), axis=1)
            if (R + 1) ** 3 <= T:
                h = g[:, 0] + (R + 1) * (g[:, 1] + (R + 1) * g[:, 2])
            else:
                h = (g[:, 0] ^ ((g[:, 1] * 2654435761) & 4294967295) ^ ((g[:, 2] * 805459861) & 4294967295)) % T
            acc = acc + w[:, None] * table[l][h]
        o.append(acc)
    return {"out": xp.concatenate(o, axis=1)}


def hash_args(r, P=5, L=3, log2T=5, base=2, growth=2.0, F=2):
    res = np.array([int(base * growth**l) for l in range(L)], np.int64)
    return dict(x=r.random((P, 3)), table=r.uniform(-0.1, 0.1, (L, 2**log2T, F)), res=res, out=np.zeros((P, L * F)))


def bundle_adjustment(cams, X, w, obs, feats, reproj, werr):
    P = obs.shape[0]
    for p in range(P):
        c = obs[p, 0]
        k = obs[p, 1]
        r0 = cams[c, 0]
        r1 = cams[c, 1]
        r2 = cams[c, 2]
        a0 = X[k, 0] - cams[c, 3]
        a1 = X[k, 1] - cams[c, 4]
        a2 = X[k, 2] - cams[c, 5]
        th2 = r0 * r0 + r1 * r1 + r2 * r2
        if th2 > 0.0:
            th = math.sqrt(th2)
            ct = math.cos(th)
            st = math.sin(th)
            n0 = r0 / th
            n1 = r1 / th
            n2 = r2 / th
            dt = (n0 * a0 + n1 * a1 + n2 * a2) * (1.0 - ct)
            b0 = a0 * ct + (n1 * a2 - n2 * a1) * st + n0 * dt
            b1 = a1 * ct + (n2 * a0 - n0 * a2) * st + n1 * dt
            b2 = a2 * ct + (n0 * a1 - n1 * a0) * st + n2 * dt
        else:
            b0 = a0 + r1 * a2 - r2 * a1
            b1 = a1 + r2 * a0 - r0 * a2
            b2 = a2 + r0 * a1 - r1 * a0
        u = b0 / b2
        v = b1 / b2
        rs = u * u + v * v
        L = 1.0 + cams[c, 9] * rs + cams[c, 10] * rs * rs
        reproj[p, 0] = w[p] * (u * L * cams[c, 6] + cams[c, 7] - feats[p, 0])
        reproj[p, 1] = w[p] * (v * L * cams[c, 6] + cams[c, 8] - feats[p, 1])
        werr[p] = 1.0 - w[p] * w[p]


def bundle_oracle(xp, cams, X, w, obs, feats, reproj, werr):
    C = cams[obs[:, 0]]
    a = X[obs[:, 1]] - C[:, 3:6]
    r = C[:, :3]
    th = xp.sqrt(xp.sum(r * r, 1, keepdims=True))
    n = r / th
    b = a * xp.cos(th) + xp.cross(n, a) * xp.sin(th) + n * xp.sum(n * a, 1, keepdims=True) * (1 - xp.cos(th))
    uv = b[:, :2] / b[:, 2:]
    rs = xp.sum(uv * uv, 1, keepdims=True)
    uv = uv * (1 + C[:, 9:10] * rs + C[:, 10:11] * rs * rs)
    return {"reproj": w[:, None] * (uv * C[:, 6:7] + C[:, 7:9] - feats), "werr": 1 - w * w}


def bundle_args(r, n=2, m=4, p=6):
    cams = np.concatenate(
        [
            0.5 * r.standard_normal((n, 3)),
            r.standard_normal((n, 3)),
            r.uniform(300, 500, (n, 1)),
            r.standard_normal((n, 2)),
            0.01 * r.standard_normal((n, 2)),
        ],
        1,
    )
    X = r.standard_normal((m, 3)) + np.array([0, 0, 8.0])
    obs = np.stack([r.integers(0, n, p), r.integers(0, m, p)], 1)
    return dict(
        cams=cams,
        X=X,
        w=r.random(p),
        obs=obs,
        feats=100 * r.standard_normal((p, 2)),
        reproj=np.zeros((p, 2)),
        werr=np.zeros(p),
    )


ENTRIES = (
    Entry(
        name="spmv_csr",
        function=spmv_csr,
        make=csr_args,
        wrt=("vals", "x"),
        outputs=("y",),
        oracle=spmv_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(M=4096, N=4096, nnz=8192), M=dict(M=32768, N=32768, nnz=65536)),
        notes="NPBench spmv (CSR)",
    ),
    Entry(
        name="weighted_histogram",
        function=weighted_histogram,
        make=lambda r, N=40, npt=4: dict(radius=r.random(N), data=r.random(N), res=np.zeros(npt)),
        wrt=("data",),
        outputs=("res",),
        oracle=histogram_oracle,
        is_twin=True,
        sizes=dict(S=dict(N=400000, npt=1000), M=dict(N=4000000, npt=1000)),
        notes="NPBench azimint_hist (azimuthal integration)",
    ),
    Entry(
        name="hash_grid",
        function=hash_grid,
        make=hash_args,
        wrt=("table", "x"),
        outputs=("out",),
        oracle=hash_oracle,
        is_twin=True,
        sizes=dict(
            S=dict(P=2**14, L=16, log2T=15, base=16, growth=1.5), M=dict(P=2**16, L=16, log2T=17, base=16, growth=1.5)
        ),
        notes="Instant-NGP multiresolution hash encoding (tiny-cuda-nn HashGrid, coherent-prime hash)",
    ),
    Entry(
        name="bundle_adjustment",
        function=bundle_adjustment,
        make=bundle_args,
        wrt=("cams", "X", "w"),
        outputs=("reproj", "werr"),
        oracle=bundle_oracle,
        is_twin=True,
        sizes=dict(S=dict(n=49, m=7776, p=31843), M=dict(n=88, m=64298, p=383937)),
        notes="ADBench BA (Rodrigues rotation, 2-term radial distortion)",
    ),
)
