"""PyTorch, eager: whole arrays, Python loops over time steps, `autograd.grad` of the weighted outputs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from kernels import Problem

from peers import Gradient, device

TITLE = "PyTorch"
NEEDS = ("torch",)

torch: Any = importlib.import_module("torch")
F: Any = importlib.import_module("torch.nn.functional")

Outputs = Mapping[str, Any]

torch.backends.cudnn.allow_tf32 = False  # convolutions are of TF32 otherwise; products of matrices are not


def known(array: np.ndarray) -> Any:
    """An array that nobody differentiates by, where the others are."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device())


def rde_matmul_log1p(A, B, C) -> Outputs:
    return {"result": -2.5 * torch.log1p(0.25 * (A @ B - 18.0) ** 2).sum()}


def tullio_bmm_rev(A, B, C) -> Outputs:
    return {"C": torch.einsum("ijb,bkj->ikb", A, B)}


def conv2d_bias(x, w, bias, out) -> Outputs:
    found = F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), bias)
    return {"out": found.permute(0, 2, 3, 1)}


def depthwise_separable(x, dw, pw, bias, out) -> Outputs:
    t = F.conv2d(x.permute(0, 3, 1, 2), dw.permute(2, 0, 1)[:, None], padding=1, groups=x.shape[3])
    return {"out": torch.relu(t.permute(0, 2, 3, 1) @ pw + bias)}


def softmax(x, out) -> Outputs:
    return {"out": torch.softmax(x, -1)}


def attention(Q, K, V, out) -> Outputs:
    return {"out": F.scaled_dot_product_attention(Q, K, V)}


def mlp_rows(x, W1, W2, W3, y) -> Outputs:
    h = torch.relu(torch.relu(x @ W1.T) @ W2.T)
    return {"result": ((h @ W3.T - y) ** 2).mean()}


def gmm(alpha, mu, q, l, x, gamma, m) -> Outputs:
    n, d = x.shape
    rows = np.concatenate([np.arange(b + 1, d) for b in range(d)]).astype(int)
    cols = np.concatenate([np.full(d - b - 1, b) for b in range(d)]).astype(int)
    Q = torch.diag_embed(torch.exp(q))
    Q = Q.index_put((slice_of(len(alpha))[:, None], known(rows)[None], known(cols)[None]), l)
    z = torch.einsum("kab,nkb->nka", Q, x[:, None, :] - mu[None])
    t = alpha + q.sum(1) - 0.5 * (z * z).sum(2)
    prior = 0.5 * gamma * gamma * ((torch.exp(q) ** 2).sum() + (l * l).sum()) - m * q.sum()
    return {"result": torch.logsumexp(t, 1).sum() - n * torch.logsumexp(alpha, 0) - prior}


def slice_of(count: int) -> Any:
    return torch.arange(count)


def kmeans_cost(points, cent) -> Outputs:
    return {"result": ((points[:, None] - cent[None]) ** 2).sum(-1).amin(1).sum()}


def with_interior(full, inner):
    return torch.cat([full[:1], torch.cat([full[1:-1, :1], inner, full[1:-1, -1:]], 1), full[-1:]])


def jacobi_2d(T, A, B) -> Outputs:
    def mean(X):
        return 0.2 * (X[1:-1, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:] + X[2:, 1:-1] + X[:-2, 1:-1])

    for _ in range(1, T):
        B = with_interior(B, mean(A))
        A = with_interior(A, mean(B))
    return {"A": A, "B": B}


def seidel_2d(T, A) -> Outputs:
    """Row by row; along a row the recurrence is a product with a triangular matrix of powers of 1/9."""
    n = A.shape[0] - 2
    power = np.arange(n)[:, None] - np.arange(n)[None, :]
    solve = known(np.where(power >= 0, 9.0 ** -(np.maximum(power, 0) + 1.0), 0.0)).to(A.dtype)
    rows = list(A)
    for _ in range(T - 1):
        for i in range(1, n + 1):
            around = rows[i - 1] + rows[i + 1]
            here = rows[i]
            given = around[:-2] + around[1:-1] + around[2:] + here[1:-1] + here[2:]
            given = given + F.pad(here[:1], (0, n - 1))
            rows[i] = torch.cat([here[:1], solve @ given, here[-1:]])
    return {"A": torch.stack(rows)}


def fdtd_2d(ex, ey, hz, fict) -> Outputs:
    for t in range(fict.shape[0]):
        ey = torch.cat([fict[t].expand(1, ey.shape[1]), ey[1:] - 0.5 * (hz[1:] - hz[:-1])])
        ex = torch.cat([ex[:, :1], ex[:, 1:] - 0.5 * (hz[:, 1:] - hz[:, :-1])], 1)
        d = 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
        hz = hz - F.pad(d, (0, 1, 0, 1))
    return {"ex": ex, "ey": ey, "hz": hz}


def hdiff(f, coeff, out) -> Outputs:
    lap = 4.0 * f[1:-1, 1:-1] - (f[2:, 1:-1] + f[:-2, 1:-1] + f[1:-1, 2:] + f[1:-1, :-2])
    rx = lap[1:, 1:-1] - lap[:-1, 1:-1]
    rx = torch.where(rx * (f[2:-1, 2:-2] - f[1:-2, 2:-2]) > 0, 0.0, rx)
    ry = lap[1:-1, 1:] - lap[1:-1, :-1]
    ry = torch.where(ry * (f[2:-2, 2:-1] - f[2:-2, 1:-2]) > 0, 0.0, ry)
    return {"out": f[2:-2, 2:-2] - coeff * (rx[1:] - rx[:-1] + ry[:, 1:] - ry[:, :-1])}


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr) -> Outputs:
    K = u_pos.shape[2]
    w = (0.125 * (wcon[1:] + wcon[:-1])).unbind(2)
    u = u_stage.unbind(2)
    base = (dtr * u_pos + utens + utens_stage).unbind(2)
    c = w[1] / (dtr - w[1])
    d = (base[0] - w[1] * (u[1] - u[0])) / (dtr - w[1])
    kept = [(c, d)]
    for k in range(1, K):
        a = -w[k]
        r = base[k] - a * (u[k - 1] - u[k])
        b = w[k + 1] if k < K - 1 else 0.0
        r = r - b * (u[k + 1] - u[k]) if k < K - 1 else r
        z = 1.0 / (dtr - a - b - c * a)
        c, d = b * z, (r - d * a) * z
        kept.append((c, d))
    x = kept[-1][1]
    found = [x]
    for c, d in reversed(kept[:-1]):
        x = d - c * x
        found.append(x)
    return {"utens_stage": dtr * (torch.stack(found[::-1], 2) - u_pos)}


def cholesky(A) -> Outputs:
    lower = torch.tril(A)
    return {"A": torch.linalg.cholesky(lower + torch.tril(A, -1).T) + torch.triu(A, 1)}


def syrk(alpha, beta, C, A) -> Outputs:
    return {"C": torch.tril(beta * C + alpha * A @ A.T) + torch.triu(C, 1)}


def durbin(r, y) -> Outputs:
    y, alpha, beta = -r[:1], -r[0], 1.0
    for k in range(1, r.shape[0]):
        beta = (1.0 - alpha * alpha) * beta
        turned = y.flip(0)
        alpha = -(r[k] + torch.dot(r[:k], turned)) / beta
        y = torch.cat([y + alpha * turned, alpha[None]])
    return {"y": y}


def nussinov_real(w, table) -> Outputs:
    """Diagonal by diagonal: `spans[s][i]` is the score of the part from i to i + s."""
    N = w.shape[0]
    spans = [table.diagonal(), torch.zeros(N - 1, dtype=w.dtype)]
    for s in range(1, N):
        best = torch.maximum(spans[s - 1][:-1], spans[s - 1][1:])
        if s > 1:
            best = torch.maximum(best, spans[s - 2][1:-1] + w.diagonal(s))
            splits = [spans[a][: N - s] + spans[s - a - 1][a + 1 : a + 1 + N - s] for a in range(1, s)]
            best = torch.maximum(best, torch.stack(splits).amax(0))
        spans[s:] = [best, best]
    return {"result": spans[N - 1][0]}


def spmv_csr(indptr, indices, vals, x, y) -> Outputs:
    rows = known(np.repeat(np.arange(y.shape[0]), np.diff(indptr)))
    return {"y": torch.zeros_like(y).index_add(0, rows, vals * x[known(indices)])}


def weighted_histogram(radius, data, res) -> Outputs:
    nb = res.shape[0]
    lo, hi = radius.min(), radius.max()
    b = ((radius - lo) / (hi - lo) * nb).long().clamp(max=nb - 1)
    count = torch.bincount(b, minlength=nb)
    return {"res": torch.zeros_like(res).index_add(0, b, data) / count.clamp(min=1)}


def hash_grid(x, table, res, out) -> Outputs:
    L, T, _ = table.shape
    found = []
    for l in range(L):
        R = int(res[l])
        pos = x * R
        i = pos.floor().long()
        f = pos - i
        total: Any = 0.0
        for c in range(8):
            d = (c & 1, (c >> 1) & 1, (c >> 2) & 1)
            g = [i[:, a] + d[a] for a in range(3)]
            parts = [f[:, a] if d[a] else 1 - f[:, a] for a in range(3)]
            if (R + 1) ** 3 <= T:
                h = g[0] + (R + 1) * (g[1] + (R + 1) * g[2])
            else:
                h = (g[0] ^ ((g[1] * 2654435761) & 4294967295) ^ ((g[2] * 805459861) & 4294967295)) % T
            total = total + (parts[0] * parts[1] * parts[2])[:, None] * table[l][h]
        found.append(total)
    return {"out": torch.cat(found, 1)}


def bundle_adjustment(cams, X, w, obs, feats, reproj, werr) -> Outputs:
    C = cams[known(obs[:, 0])]
    a = X[known(obs[:, 1])] - C[:, 3:6]
    r = C[:, :3]
    th = torch.sqrt((r * r).sum(1, keepdim=True))
    n = r / th
    turn = n * (n * a).sum(1, keepdim=True) * (1 - torch.cos(th))
    b = a * torch.cos(th) + torch.linalg.cross(n, a) * torch.sin(th) + turn
    uv = b[:, :2] / b[:, 2:]
    rs = (uv * uv).sum(1, keepdim=True)
    uv = uv * (1 + C[:, 9:10] * rs + C[:, 10:11] * rs * rs)
    return {"reproj": w[:, None] * (uv * C[:, 6:7] + C[:, 7:9] - feats), "werr": 1 - w * w}


def lstm_diag(main, extra, state, seq) -> Outputs:
    T, H = seq.shape
    L = main.shape[0] // 2
    cells = [(state[2 * l], state[2 * l + 1]) for l in range(L)]
    inputs, last = seq[:-1] * extra[0], []
    for x in inputs.unbind(0):
        for l in range(L):
            h, c = cells[l]
            g = torch.cat([x, h, x, h]) * main[2 * l] + main[2 * l + 1]
            gates = torch.sigmoid(g[: 3 * H])
            c = c * gates[:H] + gates[H : 2 * H] * torch.tanh(g[3 * H :])
            x = gates[2 * H :] * torch.tanh(c)
            cells[l] = (x, c)
        last.append(x)
    y = torch.stack(last) * extra[1] + extra[2]
    terms = seq[1:] * (y - torch.log(torch.exp(y).sum(1, keepdim=True) + 2.0))
    return {"result": -terms.sum() / ((T - 1) * H)}


def nbody(mass, pos, vel, dt, G, soft, KE, PE) -> Outputs:
    iu, ju = (known(i) for i in np.triu_indices(len(mass), 1))

    def accel(p):
        d = p[None, :, :] - p[:, None, :]
        r2 = (d * d).sum(-1) + soft * soft
        return G * torch.einsum("ijc,ij,j->ic", d, 1.0 / (r2 * torch.sqrt(r2)), mass)

    vel = vel - (mass[:, None] * vel).sum(0) / mass.sum()
    a = accel(pos)
    places, speeds = [pos], [vel]
    for _ in range(KE.shape[0] - 1):
        vel = vel + 0.5 * dt * a
        pos = pos + dt * vel
        a = accel(pos)
        vel = vel + 0.5 * dt * a
        places.append(pos)
        speeds.append(vel)
    p, v = torch.stack(places), torch.stack(speeds)
    d = p[:, iu] - p[:, ju]
    potential = -G * (mass[iu] * mass[ju] / torch.sqrt((d * d).sum(-1))).sum(1)
    return {"KE": 0.5 * (mass[:, None] * v * v).sum((1, 2)), "PE": potential}


FORMS: dict[str, Callable[..., Outputs]] = {
    f.__name__: f
    for f in (
        rde_matmul_log1p,
        tullio_bmm_rev,
        conv2d_bias,
        depthwise_separable,
        softmax,
        attention,
        mlp_rows,
        gmm,
        kmeans_cost,
        jacobi_2d,
        seidel_2d,
        fdtd_2d,
        hdiff,
        vadv,
        cholesky,
        syrk,
        durbin,
        nussinov_real,
        spmv_csr,
        weighted_histogram,
        hash_grid,
        bundle_adjustment,
        lstm_diag,
        nbody,
    )
}


def prepared(problem: Problem, compile_loss: bool) -> Gradient | None:
    """The value and gradients of the weighted outputs."""
    form = FORMS.get(problem.name)
    if form is None:
        return None
    torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))
    torch.set_default_device(device())
    args: dict[str, Any] = {
        k: torch.tensor(v) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v
        for k, v in problem.initial.items()
    }
    active = [args[name].requires_grad_() for name in problem.wrt]
    weight = {k: w if isinstance(w, float) else torch.tensor(w) for k, w in problem.weight.items()}

    def loss() -> Any:
        found = form(**args)
        return sum((w * found[name]).sum() for name, w in weight.items())

    run = torch.compile(loss) if compile_loss else loss

    def call() -> tuple[Any, dict[str, Any]]:
        value = run()
        return value, dict(zip(problem.wrt, torch.autograd.grad(value, active), strict=True))

    return call


def gradient(problem: Problem) -> Gradient | None:
    return prepared(problem, compile_loss=False)
