"""Recurrences over time steps.

Each kernel was defined by the source its entry names; `S` and `M` are the sizes used for timing.
"""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def lstm_diag(main, extra, state, seq):
    T, H = seq.shape
    L = main.shape[0] // 2
    hid = np.empty((L, H), seq.dtype)
    cell = np.empty((L, H), seq.dtype)
    x = np.empty(H, seq.dtype)
    for l in range(L):
        for h in range(H):
            hid[l, h] = state[2 * l, h]
            cell[l, h] = state[2 * l + 1, h]
    tot = 0.0
    for t in range(T - 1):
        for h in range(H):
            x[h] = seq[t, h] * extra[0, h]
        for l in range(L):
            for h in range(H):
                fg = 1.0 / (1.0 + math.exp(-(x[h] * main[2 * l, h] + main[2 * l + 1, h])))
                ig = 1.0 / (1.0 + math.exp(-(hid[l, h] * main[2 * l, H + h] + main[2 * l + 1, H + h])))
                og = 1.0 / (1.0 + math.exp(-(x[h] * main[2 * l, 2 * H + h] + main[2 * l + 1, 2 * H + h])))
                ch = math.tanh(hid[l, h] * main[2 * l, 3 * H + h] + main[2 * l + 1, 3 * H + h])
                cell[l, h] = cell[l, h] * fg + ig * ch
                hid[l, h] = og * math.tanh(cell[l, h])
                x[h] = hid[l, h]
        se = 2.0
        for h in range(H):
            x[h] = x[h] * extra[1, h] + extra[2, h]
            se += math.exp(x[h])
        ls = math.log(se)
        for h in range(H):
            tot += seq[t + 1, h] * (x[h] - ls)
    return -tot / ((T - 1) * H)


def lstm_oracle(xp, main, extra, state, seq):
    T, H = seq.shape
    L = main.shape[0] // 2
    sg = lambda z: 1.0 / (1.0 + xp.exp(-z))
    st = [(state[2 * l], state[2 * l + 1]) for l in range(L)]
    tot = 0.0
    for t in range(T - 1):
        x = seq[t] * extra[0]
        for l in range(L):
            h, c = st[l]
            g = xp.concatenate([x, h, x, h]) * main[2 * l] + main[2 * l + 1]
            c = c * sg(g[:H]) + sg(g[H : 2 * H]) * xp.tanh(g[3 * H :])
            h = sg(g[2 * H : 3 * H]) * xp.tanh(c)
            st[l] = (h, c)
            x = h
        y = x * extra[1] + extra[2]
        tot = tot + xp.sum(seq[t + 1] * (y - xp.log(xp.sum(xp.exp(y)) + 2.0)))
    return {"result": -tot / ((T - 1) * H)}


def nbody(mass, pos, vel, dt, G, soft, KE, PE):
    N = mass.shape[0]
    Nt = KE.shape[0] - 1
    acc = np.zeros((N, 3), pos.dtype)
    msum = 0.0
    for i in range(N):
        msum += mass[i]
    for c in range(3):
        p = 0.0
        for i in range(N):
            p += mass[i] * vel[i, c]
        for i in range(N):
            vel[i, c] = vel[i, c] - p / msum
    for t in range(Nt + 1):
        if t > 0:
            for i in range(N):
                for c in range(3):
                    vel[i, c] += 0.5 * dt * acc[i, c]
                    pos[i, c] += dt * vel[i, c]
        for i in range(N):
            ax = 0.0
            ay = 0.0
            az = 0.0
            for j in range(N):
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + soft * soft
                w = G * mass[j] / (r2 * math.sqrt(r2))
                ax += w * dx
                ay += w * dy
                az += w * dz
            acc[i, 0] = ax
            acc[i, 1] = ay
            acc[i, 2] = az
        if t > 0:
            for i in range(N):
                for c in range(3):
                    vel[i, c] += 0.5 * dt * acc[i, c]
        ke = 0.0
        pe = 0.0
        for i in range(N):
            ke += 0.5 * mass[i] * (vel[i, 0] * vel[i, 0] + vel[i, 1] * vel[i, 1] + vel[i, 2] * vel[i, 2])
            for j in range(i + 1, N):
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                pe -= G * mass[i] * mass[j] / math.sqrt(dx * dx + dy * dy + dz * dz)
        KE[t] = ke
        PE[t] = pe


def nbody_oracle(xp, mass, pos, vel, dt, G, soft, KE, PE):
    N, Nt = mass.shape[0], KE.shape[0] - 1
    iu, ju = np.triu_indices(N, 1)

    def accel(p):
        d = p[None, :, :] - p[:, None, :]
        r2 = xp.sum(d * d, -1) + soft * soft
        return G * xp.einsum("ijc,ij,j->ic", d, r2**-1.5, mass)

    def energy(p, v):
        d = p[iu] - p[ju]
        return 0.5 * xp.sum(mass[:, None] * v * v), -G * xp.sum(mass[iu] * mass[ju] / xp.sqrt(xp.sum(d * d, -1)))

    vel = vel - xp.sum(mass[:, None] * vel, 0) / xp.sum(mass)
    a = accel(pos)
    ke, pe = zip(*[energy(pos, vel)])
    ke, pe = list(ke), list(pe)
    for _ in range(Nt):
        vel = vel + 0.5 * dt * a
        pos = pos + dt * vel
        a = accel(pos)
        vel = vel + 0.5 * dt * a
        e = energy(pos, vel)
        ke.append(e[0])
        pe.append(e[1])
    return {"pos": pos, "vel": vel, "KE": xp.stack(ke), "PE": xp.stack(pe)}


ENTRIES = (
    Entry(
        name="lstm_diag",
        function=lstm_diag,
        make=lambda r, L=2, T=4, H=3: dict(
            main=r.random((2 * L, 4 * H)),
            extra=r.random((3, H)),
            state=r.random((2 * L, H)),
            seq=r.integers(0, 2, (T, H)).astype(np.float64),
        ),
        wrt=("main", "extra"),
        oracle=lstm_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(L=2, T=1024, H=14), M=dict(L=4, T=4096, H=14)),
        notes="ADBench LSTM (diagonal weights; H = bits per character)",
    ),
    Entry(
        name="nbody",
        function=nbody,
        make=lambda r, N=4, Nt=3, step=0.05: dict(
            mass=np.full(N, 20.0 / N),
            pos=r.random((N, 3)),
            vel=r.random((N, 3)),
            dt=step,
            G=1.0,
            soft=0.1,
            KE=np.zeros(Nt + 1),
            PE=np.zeros(Nt + 1),
        ),
        wrt=("mass", "pos", "vel"),
        outputs=("KE", "PE", "pos", "vel"),
        oracle=nbody_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(N=25, Nt=40, step=0.05), M=dict(N=50, Nt=250, step=0.004)),
        notes="NPBench nbody (P. Mocz); M ends at t = 1, not 5, where bodies have met and gradients are noise of 1e20",
    ),
)
