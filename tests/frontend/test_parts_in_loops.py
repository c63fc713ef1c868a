"""Parts of arrays whose lengths change from iteration to iteration, bound to names, given to helpers, computed with:
they have the room that the ranges of the loops allow."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.ir.printer import print_expr
from loopdiff.source.functions import source_of
from tests.gradients.interpreted import interpreting
from tests.texts import registered

pytestmark = pytest.mark.part(2)
TEXT = """
def helper(v):
    return np.sin(v) * 0.5

def f(x, y, a, p):
    n = len(x)
    t = 0.0
    for i in range(n):
        {body}
    return t
"""
BODIES = {
    "suffix": "u = x[i:]; u += 0.1 * y[:n - i]; t += u[0]",
    "copy of a column": "v = a[i:, i]; u = v.copy(); t += u.sum()",
    "column": "v = a[i:, i]; u = v / 2.0; t += u @ v",
    "softmax of a suffix": "v = x[i:] - x[i]; e = np.exp(v); t += e[-1] / e.sum()",
    "helper in a sum": "t += helper(y[i:]).sum()",
    "helper that is added": "x[i:] += helper(y[i:]); t += x[-1]",
    "helper with a name": "v = helper(y[:i + 1]); t += v @ v",
    "window": "u = x[max(0, i - 2):i + 3] / 2.0; t += u @ u",
    "corner": "b = a[i:, i:] * 2.0; t += (b @ b).sum()",
    "written part of a matrix": "b = a[i:, :n - i] * 2.0; b[0] += 1.0; t += b.sum()",
    "backwards": "a[i + 1:, i + 1:] = 0.5 * a[:i:-1, i:-1]; t += a[i, i]",
    "choice backwards": "y[:n - 1 - i] = np.where(a[n - 1:i:-1, 0] > p, y[i:n - 1], 0.0); t += y[0]",
    "zeros": "w = np.zeros(i + 1); w[0] = 1.0; w[-1] += x[i]; t += w @ x[:i + 1]",
    "zeros of the inner loop": (
        "for j in range(i):; {}w = np.zeros((j + 1, i - j)); {}w[j] = x[i]; {}t += w.sum() * w.size"
    ).replace("{}", "    "),
    "halves": "w = np.zeros(i // 2 + 1); w[-1] = x[i]; t += w.sum() * w.size + (i // 3) * x[0]",
    "remainders": "w = np.zeros(i % 3 + 1); w[i % 3] = x[i]; t += w.sum() * w.size",
    "least of two": "w = np.zeros(min(i, 2)); w[:] = x[i]; t += w.sum() * w.size",
    "window with room": "w = np.zeros(min(i + 3, n) - max(i - 2, 0)); w[:] = x[max(i - 2, 0):i + 3]; t += w @ w",
    "empty": "w = np.empty(n - i); w[:] = x[i:]; w *= y[i:]; t += w @ w",
    "in an expression": "t += (np.ones(i + 1) * x[:i + 1] + np.full(i + 1, p)).sum()",
    "of both loops": "for j in range(i + 1):; {}v = x[j:i + 1]; {}u = v * v; {}t += u @ y[j:i + 1]".replace(
        "{}", "    "
    ),
    "part of a part": "v = x[i:]; w = v[:(n - i) // 2] * p; t += w.sum()",
}


def program(body: str) -> Any:
    lines = "\n        ".join(body.split("; "))
    return registered(TEXT.format(body=lines), f"{__name__} {body}", np=np)


def arguments(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    return {"x": rng.uniform(0.5, 1.5, n), "y": rng.uniform(0.5, 1.5, n), "a": rng.random((n, n)), "p": 0.4}


def fresh(args: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}


@pytest.mark.part(3)
@pytest.mark.parametrize("title", BODIES)
def test_parts_in_loops_have_room(title: str) -> None:
    """In the interpreter, which refuses whatever has no room."""
    plain = program(BODIES[title])
    f = vectorize_grad(wrt=("x", "y", "a"))(plain)
    for n in (5, 1, 9):
        args = arguments(n)
        one, other = fresh(args), fresh(args)
        with interpreting():
            value, gradients = f.value_and_grad(**other)
        assert value == pytest.approx(plain(**one), rel=1e-12)
        for name in ("x", "y", "a"):
            np.testing.assert_allclose(other[name], one[name], rtol=1e-12)
            direction = np.random.default_rng(7).standard_normal(args[name].shape)
            ahead, behind = fresh(args), fresh(args)
            ahead[name] += 1e-6 * direction
            behind[name] -= 1e-6 * direction
            slope = (plain(**ahead) - plain(**behind)) / 2e-6
            assert np.sum(getattr(gradients, name) * direction) == pytest.approx(slope, rel=2e-5, abs=2e-6)


BLOCKS = """
def f(x):
    n, m, t = len(x), 2, 0.0
    while m <= n:
        rows = x.reshape(n // m, m)
        half, rest = np.sin(rows[:, : m // 2]), rows[:, m // 2 :] * 0.7
        rows[:, m // 2 :] = half * rest
        m *= 2
        t += (half * rest).sum() * m + half[-1, 0] + rest.T[0, 0]
    return t
"""
GATES = """
def f(x):
    k, t = int(np.log2(len(x))), 0.0
    for q in range(k):
        v = x.reshape(-1, 2, 2**q)
        low = v[:, 0] * 0.5
        w = np.cos(x.reshape(2 ** (k - q - 1), 2, 2**q))
        u = 1.5 * x.reshape(1 << (k - q - 1), 1 << q, 2)
        v[:, 1] += low * w[:, 0]
        t += low[0, -1] + (w * w).sum() + u[-1, 0, 1] * u.sum()
    m = 1
    while 2 * m <= len(x):
        even = x.reshape(-1, 2, m)[:, 0] + 1.0
        t += (even * even).sum() * m
        m = 2 * m
    return t
"""
CIRCUIT = """
def gate(psi, t, q, n):
    psi = psi.reshape(2**q, 2, 2 ** (n - q - 1))
    out = np.zeros_like(psi)
    out[:, 0] = np.cos(t) * psi[:, 0] - np.sin(t) * psi[:, 1]
    out[:, 1] = np.sin(t) * psi[:, 0] + np.cos(t) * psi[:, 1]
    return out.reshape(-1)

def f(x):
    n = int(np.log2(len(x)))
    psi = np.zeros(1 << n)
    psi[0] = 1.0
    for _ in range(2):
        for q in range(n):
            psi = gate(psi, x[q], q, n)
    half = 0.0
    for q in range(n):
        out = (x * psi).reshape(2**q, 2, -1).copy()
        ones = np.ones((2**q, 2 ** (n - q)), dtype=np.float32)
        ones += np.eye(2**q, 2 ** (n - q))
        half += (ones * x.reshape(2**q, -1)).sum() * ones.size
        half += np.concatenate((out[0, 1:], out[0, :1])).reshape(2 * 2 ** (n - q - 1))[0]
    return (x * x) @ psi + half
"""


@pytest.mark.parametrize("text", [BLOCKS, GATES, CIRCUIT])
def test_blocks_that_are_fewer_the_longer_they_are(text: str) -> None:
    """By NumPy's values and differences of these; blocks that do not fit are an error at the call, as in NumPy."""
    plain = registered(text, f"{__name__} {text}", np=np)
    f = vectorize_grad(plain)
    for n in (8, 2, 1):
        x, direction = np.random.default_rng(n).uniform(0.5, 1.5, n), np.random.default_rng(7).standard_normal(n)
        one, other = x.copy(), x.copy()
        with interpreting():
            value, gradients = f.value_and_grad(other)
        assert value == pytest.approx(plain(one), rel=1e-12)
        np.testing.assert_allclose(other, one, rtol=1e-12)
        slope = (plain(x + 1e-6 * direction) - plain(x - 1e-6 * direction)) / 2e-6
        assert gradients.x @ direction == pytest.approx(slope, rel=2e-5, abs=2e-6)
    if text != CIRCUIT:
        with interpreting(), pytest.raises(ArgumentError, match="LD322"):
            f(np.ones(6))


@pytest.mark.parametrize("text", [BLOCKS, GATES, CIRCUIT])
def test_blocks_take_no_more_room_than_what_they_are_of(text: str) -> None:
    function = registered(text, f"{__name__} {text}", np=np)
    types = argument_types({"x": np.zeros(8)})
    local = [a for a in parse_function(source_of(function), types).arrays if a.role == "local" and a.extents]
    assert len(local) >= 2
    known = {"k": 6, "n": 6, "int64": int, "log2": np.log2, "float64": float}
    for decl in local:
        rooms = [eval(print_expr(e).replace("x.shape[0]", "64").replace("[]", ""), known) for e in decl.extents or ()]
        assert np.prod(rooms) <= 2 * 64, decl


def test_arrays_with_negative_lengths_are_refused_when_they_are_made() -> None:
    f = vectorize_grad(program("w = np.zeros(n - i - 2); t += w.sum() + w.size"))
    with pytest.raises(ArgumentError, match="LD324"):
        f(**arguments(4))
    g = vectorize_grad(program("w = np.zeros(n + 1 - 2 * max(i - 3, 0)); t += w.sum() + w.size"))
    assert g(**arguments(4)) == 20.0


@pytest.mark.parametrize(
    "body",
    ["x = np.concatenate((x[k:], x[:k]))", "x = np.vstack((x[k:, None], x[:k, None]))[:, 0]"],
)
def test_lengths_that_grow_with_each_iteration_end_in_a_refusal(body: str) -> None:
    """Not in formulas that are longer each time: these were parsed for minutes."""
    text = f"def f(x, y, k):\n    for i in range(5):\n        {body}\n    return x.sum()\n"
    with pytest.raises(UnsupportedLoopError, match="LD116: `x` may stand for different arrays"):
        vectorize_grad(registered(text, f"<growing {body}>", np=np))(np.ones(5), np.ones(5), 2)


def term(rng: random.Random, variables: list[str], depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([*variables, *variables, "n", str(rng.randint(0, 4))])
    a, b = (term(rng, variables, depth - 1) for _ in range(2))
    ways = [f"({a} + {b})", f"({a} - {b})", f"min({a}, {b})", f"max({a}, {b})", f"({a} // 2)", f"({a} % 3)", f"2 * {a}"]
    return rng.choice([*ways, f"({a} // max({b}, 1))", f"({a} // (2 + {rng.choice(variables)}))"])


def test_no_length_exceeds_its_room() -> None:
    """Random lengths in random loops, against all that they are for arrays of up to seven elements. Those that
    are negative are refused when the program runs."""
    rng, accepted = random.Random(4), 0
    types = argument_types({"x": np.zeros(3)})
    for case in range(400):
        variables, heads = [], []
        for depth, name in enumerate("ij"[: rng.randint(1, 2)], 1):
            o = rng.choice(variables) if variables else "n"
            ranges = (
                "n",
                f"{o}",
                f"{o}, n",
                f"{o}, -1, -1",
                "0, n, 3",
                f"max({o} - 2, 0), min({o} + 3, n)",
                f"{o} // 2",
            )
            heads.append(f"{'    ' * depth}for {name} in range({rng.choice(ranges)}):")
            variables.append(name)
        length = term(rng, variables, 3)
        inside = "    " * (len(heads) + 1)
        text = ["def f(x):", "    n = len(x)", *heads, f"{inside}w = np.zeros({length})", f"{inside}x[0] += w.sum()"]
        function = registered("\n".join(text), f"{__name__} {case}", np=np)
        (decl,) = (a for a in parse_function(source_of(function), types).arrays if a.name == "w")
        room = print_expr(decl.extents[0]) if decl.extents else ""
        if "[]" in room or not re.search(r"\b[ij]\b", length):
            continue  # refused, or known at entry
        accepted += 1
        lines = ["def f(n, found):", *heads, f"{inside}found.append(({length}, {room.replace('x.shape[0]', 'n')}))"]
        check = registered("\n".join(lines), f"{__name__} {case} room")
        found: list[tuple[int, int]] = []
        for n in range(8):
            check(n, found)
        assert all(size <= most and most >= 0 for size, most in found), (heads, length, room)
    assert accepted > 100
