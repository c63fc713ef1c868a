"""An American put option by a binomial tree (Cox, Ross and Rubinstein, 1979): price, delta and vega."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("spot", "sigma", "rate"))
def put(spot, strike, rate, sigma, years, n):
    h = years / n
    up = np.exp(sigma * np.sqrt(h))
    p = (np.exp(rate * h) - 1.0 / up) / (up - 1.0 / up)
    discount = np.exp(-rate * h)
    value = np.zeros(n + 1)
    for j in range(n + 1):
        value[j] = max(strike - spot * up ** (2 * j - n), 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            held = discount * (p * value[j + 1] + (1.0 - p) * value[j])
            value[j] = max(held, strike - spot * up ** (2 * j - i))
    return value[0]


def main() -> None:
    args = (100.0, 105.0, 0.03, 0.25, 1.0, 500)
    price, g = put.value_and_grad(*args)
    print(f"price {price:.4f}  delta {g.spot:.4f}  vega {g.sigma:.3f}  rho {g.rate:.3f}")
    e = 1e-6
    for place, name in ((0, "spot"), (3, "sigma"), (2, "rate")):
        ends = []
        for s in (e, -e):
            moved = list(args)
            moved[place] += s
            ends.append(put(*moved))
        print(f"{name}: differences agree to {abs((ends[0] - ends[1]) / (2 * e) - getattr(g, name)):.0e}")


if __name__ == "__main__":
    main()
