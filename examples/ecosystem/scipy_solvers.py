"""SciPy: a surface of least area, a population fitted by its residuals, and stiff conduction with its Jacobian."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, minimize

import loopdiff.scipy
from loopdiff import vectorize_grad


@vectorize_grad(wrt="inside")
def area(inside, width):
    """Of a soap film between two rings of radius 1: `inside` are its radii between them."""
    n, total, before = inside.shape[0], 0.0, 1.0
    for i in range(n + 1):
        after = inside[i] if i < n else 1.0
        total += np.pi * (before + after) * np.sqrt((width / (n + 1)) ** 2 + (after - before) ** 2)
        before = after
    return total


@vectorize_grad(wrt="p")
def misses(p, counted):
    """Ricker's population: `p` are growth, crowding and the first count."""
    miss, size = np.zeros(counted.shape[0]), p[2]
    for year in range(counted.shape[0]):
        miss[year] = size - counted[year]
        size = size * np.exp(p[0] - p[1] * size)
    return miss


@vectorize_grad
def conduction(t, y, rate):
    """Heat along a rod whose ends are kept at 0."""
    n, slope = y.shape[0], np.zeros(y.shape[0])
    for i in range(n):
        left = y[i - 1] if i > 0 else 0.0
        right = y[i + 1] if i < n - 1 else 0.0
        slope[i] = rate * (left - 2.0 * y[i] + right)
    return slope


def main() -> None:
    film = minimize(loopdiff.scipy.value_and_grad(area, 1.0), np.ones(99), jac=True, method="L-BFGS-B", tol=1e-12)
    neck = film.x.min()
    assert abs(neck * np.cosh(0.5 / neck) - 1.0) < 1e-4  # a catenary
    print(f"minimize: the neck of the film is {neck:.4f}, area {film.fun:.4f}")

    truth = np.array([1.2, 0.05, 3.0])
    r = loopdiff.scipy.residuals(misses, misses(truth, np.zeros(20)))
    fit = least_squares(r, [0.8, 0.03, 5.0], jac=r.jac, xtol=1e-14)  # pyright: ignore[reportArgumentType]
    assert np.allclose(fit.x, truth, rtol=1e-8)
    print(f"least_squares: growth, crowding and first count {fit.x.round(6)} after {fit.nfev} evaluations")

    field, wave = loopdiff.scipy.vector_field(conduction, 1e4), np.sin(np.pi * np.arange(1, 100) / 100)
    end = solve_ivp(field, (0.0, 0.1), wave, "BDF", jac=field.jac, rtol=1e-8, atol=1e-10)
    expected = wave * np.exp(-0.1 * 1e4 * (2.0 * np.sin(np.pi / 200)) ** 2)
    assert np.allclose(end.y[:, -1], expected, atol=1e-6)
    print(f"solve_ivp: off by {abs(end.y[:, -1] - expected).max():.0e} after {end.t.size} steps")


if __name__ == "__main__":
    main()
