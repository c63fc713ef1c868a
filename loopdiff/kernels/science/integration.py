"""Differential equations by explicit Runge-Kutta steps over a function that is given: fixed steps, and adaptive ones.

The reverse sweep goes through the steps that were taken, so derivatives are those of the numbers that come out, and not
of another discretisation.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


def tableau(*rows):
    """For each stage what the slopes before it count, and in the last row what all count for the step."""
    return np.array([[*row, *[0.0] * (len(rows[-1]) - len(row))] for row in rows])


EULER = tableau([], [1.0])
MIDPOINT = tableau([], [1 / 2], [0.0, 1.0])
HEUN = tableau([], [1.0], [1 / 2, 1 / 2])
CLASSIC = tableau([], [1 / 2], [0.0, 1 / 2], [0.0, 0.0, 1.0], [1 / 6, 1 / 3, 1 / 3, 1 / 6])
THREE_EIGHTHS = tableau([], [1 / 3], [-1 / 3, 1.0], [1.0, -1.0, 1.0], [1 / 8, 3 / 8, 3 / 8, 1 / 8])
# The last stage of this one is at the end of the step: it is for the error.
DORMAND_PRINCE = tableau(
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
)
DORMAND_PRINCE_ERRORS = np.array([-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])
METHODS = ("euler", "midpoint", "heun", "classic", "three_eighths", "dormand_prince")


def tableau_of(method):
    if method == "euler":
        return EULER
    if method == "midpoint":
        return MIDPOINT
    if method == "heun":
        return HEUN
    if method == "classic":
        return CLASSIC
    if method == "three_eighths":
        return THREE_EIGHTHS
    return DORMAND_PRINCE


def combined(slopes, factors, count):
    """The sum of `count` slopes by factors; those by zero are left out."""
    total = np.zeros_like(slopes[0])
    for r in range(count):
        if factors[r] != 0.0:
            total += factors[r] * slopes[r]
    return total


def slopes_of_step(function, t, y, h, parameters, factors, slopes):
    """Put slopes at the stages of a step into `slopes`: each at the state that those before it lead to."""
    for s in range(slopes.shape[0]):
        inner = y + h * combined(slopes, factors[s], s)
        slopes[s] = function(t + h * factors[s].sum(), inner, parameters)


@operator
def runge_kutta(state, times, parameters=(), *, function, method="classic"):
    """States at given times of `dy/dt = function(t, y, parameters)`, by one step from each time to the next.

    Args:
        state: An array of floats, at the first time.
        times: `(T,)`, in any order that steps may have.
        parameters: What `function` gets besides: an array, a number, or a tuple or dictionary of these.
        function: Of the time, the state and the parameters; it gives an array like the state. It is written out.
        method: "euler", "midpoint", "heun" (order 2), "classic" (Kutta, 1901, order 4), "three_eighths" (order 4), or
            "dormand_prince" (1980, order 5).

    Returns:
        `(T, ...)`, of which the first is `state`.

    Raises:
        ArgumentError: LD332 where there are no times, `method` is something else, or the state holds integers.
    """
    require_floats(state)
    if times.shape[0] == 0:
        raise ValueError("there must be a time")
    if method not in METHODS:
        raise ValueError("`method` is euler, midpoint, heun, classic, three_eighths or dormand_prince")
    factors = tableau_of(method)
    count = factors.shape[1]
    states = np.empty((times.shape[0], *state.shape), dtype=state.dtype)
    states[0] = state
    y = state.copy()
    for n in range(times.shape[0] - 1):
        h = times[n + 1] - times[n]
        slopes = np.empty((count, *state.shape), dtype=state.dtype)
        slopes_of_step(function, times[n], y, h, parameters, factors, slopes)
        y = y + h * combined(slopes, factors[count], count)
        states[n + 1] = y
    return states


@operator
def adaptive_dormand_prince(state, begin, end, parameters=(), *, function, rtol=1e-6, atol=1e-9, limit=10000):
    """The state at `end` of `dy/dt = function(t, y, parameters)`, by steps as long as the error allows (Dormand and
    Prince, 1980; steps as in Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.4).

    Lengths of steps are constants for the derivative. By `begin` and `end` it is that of the solution: less the slope
    at one, and the slope at the other.

    Args:
        state: An array of floats, at the time `begin`.
        begin, end: Numbers; `end` may be the earlier one.
        parameters, function: As of `runge_kutta`.
        rtol, atol: The error of a step is at most `atol + rtol * abs(y)`, in the mean of squares over the state.
        limit: How many steps there may be, refused ones among them.

    Returns:
        An array like `state`.

    Raises:
        ArgumentError: LD332 where `limit` steps are too few, the error is NaN, or the state holds integers.
    """
    require_floats(state)
    y = state.copy()
    done, h, steps = 0.0, 1.0, 0
    while done < 1.0:
        if steps == limit:
            raise ValueError("more steps than `limit`")
        steps += 1
        h = min(h, 1.0 - done)
        length = h * (end - begin)
        t = begin + done * (end - begin)
        slopes = np.empty((7, *state.shape), dtype=state.dtype)
        slopes_of_step(function, t, y, length, parameters, DORMAND_PRINCE, slopes)
        new = y + length * combined(slopes, DORMAND_PRINCE[6], 6)
        error = length * combined(slopes, DORMAND_PRINCE_ERRORS, 7)
        scaled = error / (atol + rtol * np.maximum(abs(y), abs(new)))
        size = stop_gradient(np.sqrt(np.mean(scaled * scaled)))
        if size != size:
            raise ValueError("the error of a step is NaN")
        if size <= 1.0:
            done += h
            y = new
        h *= min(5.0, max(0.2, 0.9 * max(size, 1e-10) ** -0.2))
    return y
