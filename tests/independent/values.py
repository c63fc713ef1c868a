"""Compare functions of the language table with NumPy over ranks, axes and options, and what they give after
their operand is changed: `python -m tests.independent.values`, some minutes."""

from __future__ import annotations

import copy
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from loopdiff import LoopdiffError, vectorize_grad
from tests.gradients.interpreted import interpreting

from .calls import CALLS
from .oracle import function_of, plain_function

RNG = np.random.default_rng(3)
GIVEN: dict[str, Any] = {
    "v": RNG.uniform(-1.5, 1.5, 5),
    "w": RNG.uniform(-1.5, 1.5, 5),
    "A": RNG.uniform(-1.5, 1.5, (3, 4)),
    "P": RNG.uniform(-1.5, 1.5, (5, 5)),
    "Q": RNG.uniform(-1.5, 1.5, (5, 5)) + 3.0 * np.eye(5),
    "T": RNG.uniform(-1.5, 1.5, (2, 3, 4)),
    "D": RNG.uniform(-1.5, 1.5, (2, 3, 4, 2)),
    "s": 0.7,
}
AXES = ("-3", "-2", "-1", "0", "1", "2", "(0, 1)", "(-1, 0)", "None")
ALONG = """
sum prod max min mean std var argmax argmin median ptp average nansum nanmean any all count_nonzero cumsum cumprod diff
sort argsort flip gradient trapezoid linalg.norm
"""
ALONG_CALLS = [f"np.{name}(X, axis=K)" for name in ALONG.split()] + [
    "np.roll(X, 1, axis=K)",
    "np.roll(X, -2, axis=K)",
    "np.repeat(X, 2, axis=K)",
    "np.concatenate((X, X), axis=K)",
    "np.stack((X, X), axis=K)",
    "np.linalg.norm(X, 1, axis=K)",
    "np.linalg.norm(X, 0, axis=K)",
    "np.linalg.norm(X, -np.inf, axis=K)",
    "X.sum(axis=K, keepdims=True)",
    "np.diff(X, n=2, axis=K)",
    "np.expand_dims(X, K)",
]
WHOLE = """
flipud fliplr rot90 diagonal diag trace triu tril ravel transpose cumsum ediff1d median sort argsort gradient trapezoid
linalg.norm linalg.det linalg.inv cov asarray array copy real conj nan_to_num
"""
VIEWS = [f"np.{name}(X)" for name in WHOLE.split()] + [
    "np.asarray(X, dtype=np.float64)",
    'np.einsum("ij->ji", X)',
    'np.einsum("ii->i", X)',
    "X.diagonal()",
    "X.real",
    "X.conj()",
    "X.reshape(-1)",
    "X.T",
    "np.linalg.matrix_power(X, 1)",
]


def programs() -> Iterator[str]:
    """Functions of names in `GIVEN` that return an array or a number."""
    for array, call, axis in itertools.product("vATD", ALONG_CALLS, AXES):
        yield f"return ({call.replace('X', array).replace('K', axis)}) * 1"
    for array, name in itertools.product("vATD", WHOLE.split()):
        yield f"return np.{name}({array}) * 1"
    for call in itertools.chain(*itertools.chain(*CALLS.values())):
        yield f"L, c = 5, 0.4\n    return ({call}) * 1"
    for array, call in itertools.product("vP", VIEWS):
        made = f"z = {array} * 1.0\n    r = {call.replace('X', 'z')}"
        yield f"{made}\n    z[0] = 3.0\n    return r * 1.0"


def differs(body: str) -> str:
    """How the result of a function differs from that of NumPy, if it does and neither refuses it."""
    names = [name for name in GIVEN if re.search(rf"(?<![\w.]){name}(?!\w)", body)]
    source = f"def f({', '.join(names)}):\n    {body}\n"
    args = {name: GIVEN[name] for name in names}
    try:
        wanted = np.asarray(plain_function(source)(**copy.deepcopy(args)))
    except Exception:
        return ""
    try:
        with interpreting():
            got = np.asarray(vectorize_grad(function_of(source, {"np": np}))(**copy.deepcopy(args)))
    except LoopdiffError:
        return ""
    except Exception as error:
        return repr(error)
    is_same = got.shape == wanted.shape and np.allclose(got.astype(float), wanted.astype(float), equal_nan=True)
    return "" if is_same else f"{got.tolist()}, NumPy {wanted.tolist()}"


def main() -> None:
    warnings.simplefilter("ignore")
    for body in dict.fromkeys(programs()):
        difference = differs(body)
        if difference:
            print(f"{body}\n    gives {difference[:200]}", flush=True)


if __name__ == "__main__":
    main()
