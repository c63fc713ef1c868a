"""Eight schools (Rubin, 1981): a hierarchical model, sampled by Hamiltonian Monte Carlo along its gradient."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@vectorize_grad
def log_density(q, y, sigma):
    """Schools differ from their mean `mu` by `tau` times standard normal numbers; `mu` and `tau` have broad priors."""
    mu, log_tau, eta = 5.0 * q[0], q[1], q[2:]
    tau = np.exp(log_tau)
    prior = -0.5 * q[0] ** 2 - np.log1p((tau / 5.0) ** 2) + log_tau - 0.5 * (eta**2).sum()
    return prior - 0.5 * (((y - mu - tau * eta) / sigma) ** 2).sum()


def trajectory(q: np.ndarray, p: np.ndarray, h: float, steps: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The leapfrog method: where a body is that starts at `q` with momentum `p`."""
    value, g = log_density.value_and_grad(q, EFFECT, ERROR)
    p = p + 0.5 * h * g.q
    for _ in range(steps):
        q = q + h * p
        value, g = log_density.value_and_grad(q, EFFECT, ERROR)
        p = p + h * g.q
    return q, p - 0.5 * h * g.q, value


def by_quadrature() -> tuple[float, float]:
    """Posterior means of `mu` and `tau`, by sums over a grid: the effects of the schools integrate in closed form."""
    mu, tau = np.meshgrid(np.linspace(-30.0, 40.0, 400), np.linspace(0.005, 80.0, 4000), indexing="ij")
    log_p = -0.5 * (mu / 5.0) ** 2 - np.log1p((tau / 5.0) ** 2)
    for y, s in zip(EFFECT, ERROR, strict=True):
        log_p -= 0.5 * np.log(s**2 + tau**2) + 0.5 * (y - mu) ** 2 / (s**2 + tau**2)
    p = np.exp(log_p - log_p.max())
    return (p * mu).sum() / p.sum(), (p * tau).sum() / p.sum()


def main() -> None:
    rng = np.random.default_rng(0)
    q, kept, accepted = np.zeros(10), [], 0
    value, _ = log_density.value_and_grad(q, EFFECT, ERROR)
    for k in range(4000):
        p = rng.standard_normal(10)
        new_q, new_p, new_value = trajectory(q, p, 0.35 * rng.uniform(0.5, 1.0), 8)
        if np.log(rng.random()) < new_value - value - 0.5 * (new_p @ new_p - p @ p):
            q, value = new_q, new_value
            accepted += 1
        if k >= 1000:
            kept.append((5.0 * q[0], np.exp(q[1])))
    mu, tau = np.mean(kept, axis=0)
    exact_mu, exact_tau = by_quadrature()
    print(f"accepted {accepted / 40:.0f} %")
    print(f"mean effect {mu:.1f} (by quadrature {exact_mu:.2f}), spread of schools {tau:.1f} ({exact_tau:.2f})")


if __name__ == "__main__":
    main()
