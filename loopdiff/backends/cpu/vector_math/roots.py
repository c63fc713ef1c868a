"""cbrt and hypot.

cbrt: with x = 2**(3 q + r) m, the reciprocal root of m from a Chebyshev interpolant (5e-5), made full by one step of
Householder's method (cubic convergence, no division), then one Newton step from a residual that fused
multiply-adds have exactly. hypot: the square root of a sum of squares that can neither overflow nor underflow.
"""

from __future__ import annotations

from .exponential import power_of_two
from .expr import Lanes, fused, multiply_add, polynomial, two_product
from .logarithm import INFINITY, decomposed

RECIPROCAL_ROOT = (
    1.8703346450076235, -1.845190787794786, 1.5369933614023488, -0.6869060714885098, 0.12474055895621648,
)  # fmt: skip
ROOTS_OF_HALF = (0.7937005259840998, 0.6299605249474366)  # 2**(-1/3), 2**(-2/3)
HUGE, TINY = 2.0**500, 2.0**-500


def cbrt(x: Lanes) -> Lanes:
    k, m = decomposed(x.magnitude)
    q = ((k - 1.0) * (1.0 / 3.0)).nearest
    r = k - 3.0 * q
    one, two = r.equals(1.0), r.equals(2.0)
    t = m * two.choose(4.0, one.choose(2.0, m.new(m.of(1.0))))
    z = polynomial(m, RECIPROCAL_ROOT)
    z = z * two.choose(ROOTS_OF_HALF[1], one.choose(ROOTS_OF_HALF[0], m.new(m.of(1.0))))
    error = 1.0 - t * z * (z * z)
    z = multiply_add(z * error, multiply_add(error, 2.0 / 9.0, 1.0 / 3.0), z)
    square = z * z
    y = t * square
    y_square, low = two_product(y, y)
    residual = fused(-y, y_square, t) - y * low
    root = multiply_add(residual * square, 1.0 / 3.0, y) * power_of_two(q.as_integer)
    is_ordinary = (x.magnitude > 0.0) & (x.magnitude < INFINITY)
    return is_ordinary.choose(root.with_sign_of(x), x)


def hypot(x: Lanes, y: Lanes) -> Lanes:
    a, b = x.magnitude, y.magnitude
    is_huge, is_tiny = (a > HUGE) | (b > HUGE), (a < TINY) & (b < TINY)
    one = a.new(a.of(1.0))
    scale = is_huge.choose(2.0**-600, is_tiny.choose(2.0**600, one))
    back = is_huge.choose(2.0**600, is_tiny.choose(2.0**-600, one))
    a, b = a * scale, b * scale
    result = multiply_add(a, a, b * b).intrinsic("sqrt") * back
    return (a.equals(INFINITY) | b.equals(INFINITY)).choose(INFINITY, result)
