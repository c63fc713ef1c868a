"""Functions that the tests of this folder share: each is compiled once for all of them."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad
def weighted_square(x, w, y, scale):
    s = 0.0
    for i in range(x.shape[0]):
        y[i] = w[i] * x[i] * x[i]
        s += scale * y[i]
    return s


@vectorize_grad
def grow(y, steps):
    for _ in range(steps):
        for i in range(y.shape[0]):
            y[i] = y[i] * y[i]


@vectorize_grad
def halves_and_count(x, limit):
    half = np.empty(x.shape[0])
    count = 0
    total = 0.0
    for i in range(x.shape[0]):
        half[i] = 0.5 * x[i] * x[i]
        if x[i] > limit:
            count += 1
            total += half[i]
    return half, count, total


@vectorize_grad
def running(x, n):
    v = 1.0
    for i in range(n):
        for _ in range(i):
            v = np.sin(v) * x[i]
    return v


def plain_sum(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


total = vectorize_grad(plain_sum)


@vectorize_grad
def gathered(x, idx, y):
    for i in range(idx.shape[0]):
        y[i] = x[idx[i]] * x[idx[i]]


@vectorize_grad
def shifted(x, y, n):
    for i in range(n):
        y[i] = x[i] * x[i + 1]


@vectorize_grad
def built_in_place(x, steps, y):
    k = 0
    for i in range(steps.shape[0]):
        k += steps[i]
        y[k] += x[i] * x[i]


@vectorize_grad
def recurrence(x, a):
    for i in range(1, x.shape[0]):
        x[i] = a[i] * x[i] * x[i - 1]


@vectorize_grad
def grouped(starts, x):
    s = 0.0
    for i in range(starts.shape[0] - 1):
        product = 1.0
        for k in range(starts[i], starts[i + 1]):
            product = product * np.sin(x[k]) + product * product
        s += product
    return s


@vectorize_grad
def every(x, step):
    assert x.shape[0] > 0
    s = 0.0
    for i in range(0, x.shape[0], step):
        s += x[i] * x[i]
    return s


@vectorize_grad(tape="store")
def names_of_builtins(max, self, int64, n):
    result = 0.0
    buf = np.zeros(n)
    for i in range(max.shape[0] - 1):
        self[i] = max[i] * int64
        for j in range(n):
            buf[j] = np.sin(buf[j]) + self[i]
    for j in range(n):
        result += buf[j] * buf[j]
    return result


@vectorize_grad
def by_name_only(x, /, y, *, scale=2.0):
    return scale * x * y
