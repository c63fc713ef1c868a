"""Complex arrays and scalars: arithmetic, functions, branches, precision, and the parts of numbers."""

from __future__ import annotations

import cmath

import numpy as np

from tests.corpus.entry import Entry

TURN = 0.6 - 0.8j
NARROW = np.complex64(0.5 + 0.25j)


def fourier(x, y):
    n = x.shape[0]
    for k in range(n):
        s = 0j
        for j in range(n):
            s += x[j] * np.exp(-2j * np.pi * j * k / n)
        y[k] = s


def resonances(z, w, y):
    for i in range(z.shape[0]):
        q = np.sqrt(z[i]) * np.exp(w[i]) + np.log(z[i]) / np.log1p(w[i]) - np.expm1(0.1 * z[i])
        q += np.sin(w[i]) * np.cosh(z[i]) - np.tan(w[i]) * np.tanh(z[i]) + np.cos(w[i]) / np.sinh(z[i])
        q -= np.log2(w[i]) + np.log10(z[i]) * np.exp2(w[i]) - np.reciprocal(z[i]) * np.square(w[i])
        y[i] = q * np.angle(z[i]) + np.conj(z[i]) * np.abs(w[i]) + np.conjugate(w[i]) * np.real(z[i]) + np.imag(q)


def resonances_oracle(xp, z, w, y):
    q = xp.sqrt(z) * xp.exp(w) + xp.log(z) / xp.log1p(w) - xp.expm1(0.1 * z)
    q = q + xp.sin(w) * xp.cosh(z) - xp.tan(w) * xp.tanh(z) + xp.cos(w) / xp.sinh(z)
    q = q - (xp.log(w) / np.log(2.0) + xp.log(z) / np.log(10.0) * xp.exp(np.log(2.0) * w) - w * w / z)
    return {"y": q * xp.angle(z) + xp.conj(z) * xp.abs(w) + xp.conj(w) * xp.real(z) + xp.imag(q)}


def complex_powers(z, w, p, n):
    e = 0.0
    t = 1 + 0j
    for i in range(z.shape[0]):
        t = t * z[i] ** 2 - z[i] ** -3 / w + z[i] ** 1.5 * z[i] ** (n + i)
        e += abs(z[i] ** p * 2.0**w) ** 2 + abs(t + z[i] ** w)
    return t, e


def complex_powers_oracle(xp, z, w, p, n):
    t, e = 1 + 0j, 0.0
    for i in range(z.shape[0]):
        t = t * z[i] * z[i] - 1.0 / (z[i] * z[i] * z[i]) / w + xp.exp((1.5 + n + i) * xp.log(z[i]))
        powers = xp.exp(p * xp.log(z[i]) + w * np.log(2.0))
        e = e + xp.abs(powers) ** 2 + xp.abs(t + xp.exp(w * xp.log(z[i])))
    return {"result": (t, e)}


def resolvents(A, B, z):
    """Green's functions of a matrix at complex energies, and what they make of columns and of a vector."""
    total = np.zeros(B.shape, dtype=np.complex128)
    weight = 0.0
    for k in range(z.shape[0]):
        shifted = z[k] * np.eye(A.shape[0]) - A
        total += z[k] * np.linalg.solve(shifted, B) + np.linalg.solve(shifted, B[:, 0])[:, None]
        weight += np.abs(np.linalg.inv(shifted)).sum()
    return total, weight


def resolvents_oracle(xp, A, B, z):
    total, weight = 0.0, 0.0
    for k in range(z.shape[0]):
        shifted = z[k] * xp.eye(A.shape[0]) - A
        total = total + z[k] * xp.linalg.solve(shifted, B + 0j) + xp.linalg.solve(shifted, B[:, :1] + 0j)
        weight = weight + xp.sum(xp.abs(xp.linalg.inv(shifted)))
    return {"result": (total, weight)}


def analytic_signal(x, a, b):
    """A recursive complex filter: a local array, conjugates, a real sum of it."""
    n = x.shape[0]
    y = np.zeros(n, dtype=np.complex128)
    g = np.full((n, 2), TURN)
    for t in range(1, n):
        y[t] = a * y[t - 1] + b * x[t] - 0.3 * y[t - 1].conjugate() * g[t, t % 2]
        g[t - 1, 0] = y[t] / (g[t, 1] + x[t] * 1j)
    e = 0.0
    for t in range(n):
        e += y[t].real ** 2 + y[t].imag ** 2 + abs(g[t, 0])
    return y, e


def analytic_signal_oracle(xp, x, a, b):
    y, g, rest = [0j * a], [], TURN + 0 * a
    for t in range(1, x.shape[0]):
        y.append(a * y[-1] + b * x[t] - 0.3 * xp.conj(y[-1]) * TURN)
        g.append(y[-1] / (TURN + x[t] * 1j))
    ys, gs = xp.stack(y), xp.stack([*g, rest])
    return {"result": (ys, xp.sum(xp.abs(ys) ** 2) + xp.sum(xp.abs(gs)))}


def escapes(c, bound):
    """Iterations of z * z + c that leave a disc: each point has its own number of them."""
    s = 0.0
    for i in range(c.shape[0]):
        z = 0j
        k = 0
        while abs(z) < bound and k < 9:
            z = z * z + c[i]
            k += 1
        s += abs(z) * k
    return s


def mixed_widths(x, z, w, s):
    """complex64 stays what it is beside Python numbers, and widens where that is written."""
    wide = np.complex128(0.0)
    narrow = NARROW
    for i in range(z.shape[0]):
        narrow = narrow * z[i] + 2j * x[i] - s
        wide += z[i] * np.complex128(w[i, 1]) + np.complex64(w[i, 0]) * 0.5
        w[i, 0] = narrow + w[i, 0] * 1j
        z[i] *= 1.5 - 1j
        z[i] /= w[i, 1] + 2.0
    return narrow, wide


def halvings(x):
    """A helper that takes statements."""
    count = 0
    while x > 0.2 and count < 5:
        x *= 0.5
        count += 1
    return count


def parts_and_branches(x, z, y):
    """Parts, comparisons, conditions and lazily evaluated operands."""
    f = 1.0
    for i in range(z.shape[0]):
        q = complex(x[i], z.imag[i]) if z.real[i] > 0.0 else z[i] * z[i] / (y[i] + 3.0)
        if q == y[i] or (abs(q * y[i]) > 1.0 and (q * q * y[i]).real > 0.0):
            q = -q
        elif q != 0 and not np.isnan(q):
            q -= TURN * cmath.exp(x[i] + 0j) + complex(x[i])
        if abs(q) > 0.1 and halvings(abs(z[i])) > 2:
            q *= 0.5
        a, q = q, q + y[i].conj()
        f *= 1.0 + 0.1 * abs(a)
        y[i] = y[i] * a + cmath.sqrt(-1.0 - x[i] * x[i]) * cmath.phase(q) if q else 1j
    return f


def cmath_functions(x, z, y):
    for i in range(z.shape[0]):
        t = cmath.log(z[i]) + cmath.log10(z[i]) + cmath.sin(z[i]) * cmath.cos(x[i]) - cmath.tan(z[i])
        t += cmath.sinh(z[i]) + cmath.cosh(x[i]) * cmath.tanh(z[i])
        t += cmath.asin(0.3 * z[i]) - cmath.acos(0.2 * z[i]) * cmath.atan(z[i] + 0.5)
        t += cmath.asinh(z[i]) * cmath.acosh(z[i] + 2.0) + cmath.atanh(0.4 * z[i])
        if cmath.isfinite(t) and not cmath.isinf(t) and not cmath.isnan(t):
            y[i] += t


def whole_spectra(A, z, m):
    """Whole-array expressions of complex numbers: parts, conjugates, products, sums, masks."""
    B = A[:, 1:] * z[None, 1:].conj() + 1j * A.real[:, :-1]
    y = np.dot(A, z) - np.where(m, z[:3], 2.0 * z[:3] ** 2)
    z[::2] *= np.exp(1j * np.angle(z[::2]))
    A[0] = z / (np.abs(z) + 1.0)
    return y, np.sum(np.abs(B) ** 2) + B.imag.sum(), np.mean(B), np.prod(z[1:3])


def whole_spectra_oracle(xp, A, z, m):
    B = A[:, 1:] * xp.conj(z)[None, 1:] + 1j * A.real[:, :-1]
    y = xp.dot(A, z) - xp.where(m, z[:3], 2.0 * z[:3] ** 2)
    turned = z * xp.where(np.arange(len(z)) % 2 == 0, xp.exp(1j * xp.angle(z)), 1.0)
    first = turned / (xp.abs(turned) + 1.0)
    energy = xp.sum(xp.abs(B) ** 2) + xp.sum(B.imag)
    result = y, energy, xp.mean(B), turned[1] * turned[2]
    return {"result": result, "z": turned, "A": xp.concatenate([first[None], A[1:]])}


def near_one(rng, n, dtype=np.complex128):
    """Numbers of the right half plane."""
    return (rng.uniform(0.4, 1.5, n) + 1j * rng.uniform(-0.8, 0.8, n)).astype(dtype)


def anywhere(rng, n, dtype=np.complex128):
    return (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)


def evolved(H, psi, h):
    for _ in range(3):
        psi = psi - 1j * h * ((H + H.conj().T) @ psi)
    return np.sum(np.abs(H @ psi) ** 2)


def evolved_oracle(xp, H, psi, h):
    step = xp.eye(H.shape[0]) - 1j * h * (H + H.conj().T)
    found = H @ step @ step @ step @ psi
    return {"result": xp.sum(found.real**2 + found.imag**2)}


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="fourier",
        function=fourier,
        make=lambda rng, n=7: {"x": anywhere(rng, n), "y": np.zeros(n, complex)},
        wrt=("x",),
        outputs=("y",),
        oracle=lambda xp, x, y: {"y": xp.fft.fft(x)},
        is_twin=True,
        constructs=("complex numbers",),
    ),
    Entry(
        name="resonances",
        function=resonances,
        make=lambda rng, n=5: {"z": near_one(rng, n), "w": near_one(rng, 2 * n)[::2], "y": np.zeros(n, complex)},
        wrt=("z", "w"),
        outputs=("y",),
        oracle=resonances_oracle,
        is_twin=True,
        constructs=("functions of complex numbers", "parts of complex numbers"),
    ),
    Entry(
        name="complex_powers",
        function=complex_powers,
        make=lambda rng, n=4: {"z": near_one(rng, n), "w": complex(near_one(rng, 1)[0]), "p": 2.5, "n": -2},
        wrt=("z", "w", "p"),
        oracle=complex_powers_oracle,
        is_twin=True,
        constructs=("functions of complex numbers",),
    ),
    Entry(
        name="resolvents",
        function=resolvents,
        make=lambda rng, n=4: {
            "A": 0.3 * anywhere(rng, (n, n)),
            "B": rng.standard_normal((n, 2)),
            "z": 2j + near_one(rng, 3),
        },
        wrt=("A", "B", "z"),
        oracle=resolvents_oracle,
        is_twin=True,
        constructs=("np.linalg.solve, inv, det, slogdet, cholesky, matrix_power", "complex numbers"),
    ),
    Entry(
        name="analytic_signal",
        function=analytic_signal,
        make=lambda rng, n=6: {"x": rng.standard_normal(n), "a": complex(0.6 * near_one(rng, 1)[0]), "b": 0.7 - 0.2j},
        wrt=("x", "a", "b"),
        oracle=analytic_signal_oracle,
        is_twin=True,
        constructs=("complex numbers", "parts of complex numbers"),
    ),
    Entry(
        name="escapes",
        function=escapes,
        make=lambda rng, n=6: {"c": 0.6 * anywhere(rng, n), "bound": 2.0},
        wrt=("c",),
    ),
    Entry(
        name="mixed_widths",
        function=mixed_widths,
        make=lambda rng, n=4: {
            "x": rng.standard_normal(n).astype(np.float32),
            "z": near_one(rng, n, np.complex64),
            "w": np.asfortranarray(near_one(rng, (n, 3), np.complex64)),
            "s": np.complex64(0.3 - 0.1j),
        },
        wrt=("x", "z", "w", "s"),
        outputs=("z", "w"),
    ),
    Entry(
        name="parts_and_branches",
        function=parts_and_branches,
        make=lambda rng, n=8: {"x": rng.standard_normal(n), "z": anywhere(rng, n), "y": anywhere(rng, n)},
        wrt=("x", "z", "y"),
        outputs=("y",),
        constructs=("parts of complex numbers",),
    ),
    Entry(
        name="whole_spectra",
        function=whole_spectra,
        make=lambda rng, n=4: {"A": anywhere(rng, (3, n)), "z": near_one(rng, n), "m": rng.random(3) > 0.5},
        wrt=("A", "z"),
        outputs=("A", "z"),
        oracle=whole_spectra_oracle,
        is_twin=True,
        constructs=("complex numbers",),
    ),
    Entry(
        name="cmath_functions",
        function=cmath_functions,
        make=lambda rng, n=4: {"x": rng.uniform(0.5, 1.5, n), "z": near_one(rng, n), "y": anywhere(rng, n)},
        wrt=("x", "z", "y"),
        outputs=("y",),
    ),
    Entry(
        name="evolved",
        function=evolved,
        make=lambda rng, n=3: {"H": anywhere(rng, (n, n)), "psi": near_one(rng, n), "h": 0.1},
        wrt=("H", "psi", "h"),
        oracle=evolved_oracle,
        is_twin=True,
        constructs=("complex numbers",),
    ),
)
