"""Deconvolution: an image without its blur and noise, by total variation (Rudin, Osher and Fatemi, 1992)."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def blur(image, kernel):
    """Each pixel of the result is a mean of those around it, where these are all in the image."""
    size = kernel.shape[0]
    n, m = image.shape[0] - size + 1, image.shape[1] - size + 1
    out = np.zeros((n, m))
    for i in range(size):
        for j in range(size):
            out += kernel[i, j] * image[i : i + n, j : j + m]
    return out


def total_variation(image):
    across = np.diff(image, axis=1)[:-1]
    down = np.diff(image, axis=0)[:, :-1]
    return np.sqrt(across**2 + down**2 + 1e-6).sum()


@vectorize_grad(wrt="image")
def objective(image, kernel, observed, weight):
    residual = blur(image, kernel) - observed
    return 0.5 * (residual**2).sum() + weight * total_variation(image)


def main() -> dict[str, np.ndarray]:
    n, r = 56, 4
    y, x = np.mgrid[:n, :n]
    truth = 0.2 + 0.6 * ((x > 12) & (x < 26) & (y > 14) & (y < 42)) + 0.7 * ((x - 39) ** 2 + (y - 30) ** 2 < 70)
    t = np.arange(-r, r + 1)
    kernel = np.exp(-0.5 * (t[:, None] ** 2 + t[None, :] ** 2) / 2.0**2)
    kernel /= kernel.sum()
    observed = blur(truth, kernel) + 0.01 * np.random.default_rng(0).standard_normal((n - 2 * r, n - 2 * r))
    image = np.pad(observed, r, mode="edge")
    inside = slice(2 * r, -2 * r)
    before = np.sqrt(((image - truth)[inside, inside] ** 2).mean())
    ahead, speed = image.copy(), 1.0
    for k in range(151):  # accelerated gradient descent (Nesterov, 1983)
        value, g = objective.value_and_grad(ahead, kernel, observed, 0.002)
        new = ahead - 0.5 * g.image
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed**2))
        ahead = new + (speed - 1.0) / faster * (new - image)
        image, speed = new, faster
        if k % 50 == 0:
            print(f"step {k:3d}  objective {value:.3f}")
    after = np.sqrt(((image - truth)[inside, inside] ** 2).mean())
    print(f"error of the blurred image {before:.3f}, of the restored one {after:.3f}")
    return {"true": truth, "observed": observed, "restored": image}


if __name__ == "__main__":
    main()
