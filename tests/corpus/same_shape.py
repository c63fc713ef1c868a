"""Arrays that a loop binds anew by parts, by filters and by windows, and that keep their shape: time steps of periodic
lines, smoothing, windows that move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .entry import Entry


def turned_by_parts(x, w, n):
    for _ in range(n):
        x = 0.9 * np.concatenate((x[1:], x[:1])) + 0.05 * x * np.hstack([x[-1:], x[:-1]])
    return (x * x).sum() + w[0]


def smoothed_in_time(x, w, n):
    r = x * 1.0
    for _ in range(n):
        r = np.tanh(np.convolve(r, w, "same"))
    return (r * r).sum()


def smoothed_by_three(x, w, n):
    for _ in range(n):
        x = np.convolve(x, np.array([0.25, 0.5, 0.25]), "same") * w[1]
    return (x * x).sum()


def within_its_borders(x, w, n):
    for _ in range(n):
        x = np.convolve(np.pad(x, 1, mode="edge"), w, "valid")
    return (x * x).sum()


def new_value_at_the_front(x, w, n):
    for k in range(n):
        x = np.insert(x[:-1], 0, w[k % 3] * x[-1])
    return (x * x).sum()


def filtered_where_large(x, w, n):
    r = x
    for _ in range(n):
        if r.sum() > 0.5:
            r = np.convolve(r, w, "same")
        else:
            r = np.concatenate((r[1:], r[:1])) * 1.2
    return (r * r).sum()


def torus(x, w, n):
    u = np.outer(x, x[:4] + 1.0)
    for _ in range(n):
        p = np.vstack([u[-1:], u, u[:1]])
        p = np.hstack([p[:, -1:], p, p[:, :1]])
        u = u + 0.1 * w[0] * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u)
    return (u * u).sum()


def window_of_rows(x, w, n):
    history = np.outer(w, x)
    for _ in range(n):
        history = np.vstack([history[1:], np.sin(history.sum(axis=0))[None, :]])
    return (history * history).sum()


def flattened_images(x, w, n):
    """The extents of a reshape are products of several, which were "too large" for the checks of `w`."""
    images = np.tanh(np.outer(x, np.outer(w, w)).reshape(x.shape[0], w.shape[0], w.shape[0]))
    flat = images.reshape(x.shape[0], -1)
    total = 0.0
    for k in range(w.shape[0]):
        for i in range(x.shape[0]):
            total += w[k] * flat[i, k * n] ** 2
    return total


def rows_of_a_batch(x, w, n):
    """Rows of a reshaped array are read again and again, in loops and in products: by divisions that took longer than
    all else, before they were copied once."""
    batch = np.sin(np.outer(x, np.outer(w, w)).reshape(x.shape[0], w.shape[0], w.shape[0]))
    rows, flat = batch.reshape(-1, n), batch.ravel()
    total = 0.0
    for i in range(rows.shape[0]):
        for j in range(i):
            distance = 0.0
            for k in range(n):
                distance += (rows[i, k] - rows[j, k]) ** 2
            total += np.exp(-distance) * flat[i + j]
    gram = rows @ rows.T
    return total + (gram * gram).sum()


def tracked_by_loops(x, w, n):
    """What is known of the states is an array of one shape: `x + K @ y` goes on only if `K` has as many rows."""
    m, P, H = x * 1.0, np.outer(x, x) + np.eye(len(x)), np.zeros((2, len(x)))
    for k in range(n):
        H[0, k], H[1, k + 1] = 1.0, 0.5
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.eye(2))
        m = m + K @ (w[:2] - H @ m)
        P = (np.eye(len(m)) - K @ H) @ P
    return (m * m).sum() + np.trace(P)


def entry(function: Callable, is_analytic: bool = True) -> Entry:
    return Entry(
        name=function.__name__,
        function=function,
        make=lambda r: dict(x=r.random(7), w=r.random(3) + 0.2, n=3),
        wrt=("x", "w"),
        is_analytic=is_analytic,
        constructs=("arrays bound in branches and loops",),
        notes="an array that a loop binds anew has the shape that it had, which its formula does not show",
    )


ENTRIES = (
    entry(turned_by_parts),
    entry(smoothed_in_time),
    entry(smoothed_by_three),
    entry(within_its_borders),
    entry(new_value_at_the_front),
    entry(filtered_where_large, is_analytic=False),
    entry(torus),
    entry(window_of_rows),
    entry(flattened_images),
    entry(rows_of_a_batch),
    entry(tracked_by_loops),
)
