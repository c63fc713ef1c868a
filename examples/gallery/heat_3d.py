"""Heat in a block of layers: what each of them conducts, from late temperatures, by Gauss and Newton's method."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def step(u, k, h):
    """An explicit step. Heat flows between neighbours by the mean of what their layers conduct, and stays inside."""
    nx, ny, nz = u.shape
    new = u.copy()
    for x in range(nx):
        for y in range(ny):
            for z in range(nz):
                if x > 0:
                    new[x, y, z] += h * 0.5 * (k[x] + k[x - 1]) * (u[x - 1, y, z] - u[x, y, z])
                if x < nx - 1:
                    new[x, y, z] += h * 0.5 * (k[x] + k[x + 1]) * (u[x + 1, y, z] - u[x, y, z])
                if y > 0:
                    new[x, y, z] += h * k[x] * (u[x, y - 1, z] - u[x, y, z])
                if y < ny - 1:
                    new[x, y, z] += h * k[x] * (u[x, y + 1, z] - u[x, y, z])
                if z > 0:
                    new[x, y, z] += h * k[x] * (u[x, y, z - 1] - u[x, y, z])
                if z < nz - 1:
                    new[x, y, z] += h * k[x] * (u[x, y, z + 1] - u[x, y, z])
    return new


@vectorize_grad(wrt="log_k")
def heated(log_k, start, h, steps):
    k = np.exp(log_k)
    u = start
    for _ in range(steps):
        u = step(u, k, h)
    return u


def sensitivity(log_k: np.ndarray, start: np.ndarray) -> np.ndarray:
    """A row for each temperature, a column for each layer."""
    return heated.jacobian(log_k, start, 0.05, 40).result.log_k.reshape(-1, len(log_k))


def main() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.array([1.0, 1.0, 0.4, 0.4, 0.4, 2.0, 2.0, 2.0, 1.0, 1.0])
    start = 20.0 + 100.0 * (rng.random((10, 12, 12)) < 0.1)
    noise = 0.01
    late = heated(np.log(truth), start, 0.05, 40) + noise * rng.standard_normal(start.shape)
    log_k = np.zeros(10)
    for i in range(6):
        residual = late - heated(log_k, start, 0.05, 40)
        J = sensitivity(log_k, start)
        print(f"step {i}  mean error {np.sqrt((residual**2).mean()):.4f} degrees")
        log_k += np.clip(np.linalg.lstsq(J, residual.ravel(), rcond=None)[0], -0.5, 0.5)
    J = sensitivity(log_k, start)
    errors = noise * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    off = np.abs(log_k - np.log(truth))
    print("conductivities", np.exp(log_k).round(3))
    print(f"off by {100 * off.max():.1f} % at most, {(off / errors).max():.1f} standard errors at most")
    return {"conductivity found": np.exp(log_k), "true": truth}


if __name__ == "__main__":
    main()
