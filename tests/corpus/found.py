"""Programs that random search (`python -m loopdiff fuzz`) found to be wrong once, made small."""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def returned_array_without_derivative(x):
    marks = np.zeros(3)
    marks[1] = 2.0
    return x[0] * x[0], marks


def array_returned_twice(x):
    squares = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        squares[i] = x[i] * x[i]
    return squares, squares[1], squares


ENTRIES = (
    Entry(
        name="array_returned_twice",
        function=array_returned_twice,
        make=lambda r: dict(x=r.random(5)),
        wrt=("x",),
    ),
    Entry(
        name="returned_array_without_derivative",
        function=returned_array_without_derivative,
        make=lambda r: dict(x=r.random(3)),
        wrt=("x",),
        is_analytic=True,
    ),
)
