"""The text of a LoopSet says all of it: what is read from it prints the same, and computes the same."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from loopdiff.ad.forward import build_tangent
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr, print_loopset
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.types import F64, INT
from loopdiff.ir.walk import map_body, statements
from loopdiff.source.functions import source_of
from tests.corpus import ENTRIES, Entry
from tests.gradients.interpreted import in_real_parts, lowered, sweeps_of

# What the printer leaves out: which constants are float32 beside float64 arrays, the tape of a rule, and of rules of
# one name which one it is.
LEFT_OUT = {"mixed_floats", "mixed_widths", "ruled_printing", "ruled_rows", "ruled_until"}


def with_places(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
    return (replace(stmt, message=stmt.said),) if isinstance(stmt, ir.Require) else (stmt,)


@pytest.mark.part(29)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_what_is_printed_reads_back(entry: Entry) -> None:
    """The text does; of bound programs their declarations and results do, too."""
    sweeps = sweeps_of(entry.name)
    surface = parse_function(source_of(entry.function), argument_types(entry.args(0)))
    bound = (lowered(entry), sweeps.forward, sweeps.reverse, build_tangent(lowered(entry), in_real_parts(entry).wrt))
    for ls in (surface, *bound):
        text = print_loopset(ls)
        rules = {s.stmt.rule.name: s.stmt.rule for s in statements(ls.body) if isinstance(s.stmt, ir.Call)}
        found = read_loopset(text, rules)
        assert print_loopset(found) == text
        if ls is not surface and entry.name not in LEFT_OUT:
            assert found == replace(ls, body=map_body(ls.body, with_places))


def neg(expr: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.NEG, (expr,))


TWO, X = ir.Const(2.0, F64), ir.Load(ir.Access("x", (ir.Const(0, INT),)))
SIGNS: dict[str, ir.Expr] = {
    "-2.0": ir.Const(-2.0, F64),
    "-(2.0)": neg(TWO),
    "-(-2.0)": neg(ir.Const(-2.0, F64)),
    "--(2.0)": neg(neg(TWO)),
    "-0.0": ir.Const(-0.0, F64),
    "-(0.0)": neg(ir.Const(0.0, F64)),
    "-inf": ir.Const(-math.inf, F64),
    "-(inf)": neg(ir.Const(math.inf, F64)),
    "-x[0]": neg(X),
    "--x[0]": neg(neg(X)),
    "-2.0 ** x[0]": neg(ir.Apply(Op.POW, (TWO, X))),
    "(-2.0) ** x[0]": ir.Apply(Op.POW, (ir.Const(-2.0, F64), X)),
    "(-(2.0)) ** x[0]": ir.Apply(Op.POW, (neg(TWO), X)),
    "x[0] - -2.0": ir.Apply(Op.SUB, (X, ir.Const(-2.0, F64))),
    "x[0] - -(2.0)": ir.Apply(Op.SUB, (X, neg(TWO))),
    "-2.0 * x[0]": ir.Apply(Op.MUL, (ir.Const(-2.0, F64), X)),
    "-(2.0) * x[0]": ir.Apply(Op.MUL, (neg(TWO), X)),
    "-(2.0 * x[0])": neg(ir.Apply(Op.MUL, (TWO, X))),
}


@pytest.mark.parametrize(("text", "expr"), SIGNS.items(), ids=SIGNS)
def test_a_negative_number_and_a_negation_are_two_things(text: str, expr: ir.Expr) -> None:
    assert print_expr(expr) == text
    ls = read_loopset(f"loopset f(x)\n    argument x: float64[:]\nreturn {text}\n")
    assert ls.results == (ir.ScalarResult(expr),)


TEXT = """
loopset scaled(x, s)
    argument x: float64[:]
    local t: float64[] extents ()
    scalar s: float64
t[] = -inf
for i in range(x.shape[0] - 1, -1, -1):
    let y = 2.0 if not (x[i] < s or isnan(x[i])) else -s ** 2
    if i % 2 == 0 and y != 0.0:
        x[i] = strict_sin(y) - (s - 1.0)
    else:
        x[i] += max(float64(i), -(y + s))
    t[] max= x[i]
return t[], float32(s)
""".strip()


def test_statements_and_expressions() -> None:
    ls = read_loopset(TEXT)
    assert print_loopset(ls) == TEXT + "\n"
    x = np.array([0.5, 3.0, -1.0])
    largest, single = run(ls, {"x": x, "s": 1.5})
    np.testing.assert_allclose(x, [np.sin(-2.25) - 0.5, 3.0 + 1.0, np.sin(-2.25) - 0.5])
    assert (largest, single) == (4.0, 1.5)


@pytest.mark.parametrize(
    "line",
    [
        "y = 1.0",
        "x[0] = sum(x[0])",
        "for i in x:",
        "t[] = f(1.0)",
        "x[0] = y[0:1]",
        "goto 3",
        "x[0] = +x[0]",
        "x[0] = strict_foo(x[0])",
        "x[0] = sin(x[0], key=3)",
        "x[0] = float64(x[0], 3)",
        "for i in range(0, 2, 1):\n  x[i] = 1.0\nx[0] = 2.0",
        "x[0] = 1.0\n  x[0] = 2.0\nx[0] = 3.0",
        "else:",
        "x[0] = x @ x",
        "x[0] = complex(1.0)",
        "break early",
        "if x[0] > 0.0:\n    return 3",
        "return x[0]\nreturn x[0]",
        "return x[0",
    ],
)
def test_other_text_is_refused(line: str) -> None:
    """With the line where reading ends."""
    with pytest.raises(ValueError, match=re.compile(rf"line [3-{2 + len(line.splitlines())}]: '.+': .+")):
        read_loopset(f"loopset f(x)\n    argument x: float64[:]\n{line}\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "line 1"),
        ("loopset f", "line 1"),
        ("loopset f(x)\n    argument x: float128[:]\n", "line 2"),
        ("loopset f(x)\n    argument x: float64\n", "line 2"),
        ("loopset f(x)\n    scalar n: int64\n    tape x: float64[:] extents (n +)\n", "line 3"),
        ("loopset f(x)\n    scalar n: int32\n", "line 2"),
        ("loopset f(x)\n  argument x: float64[:]\n", "line 2"),
    ],
)
def test_other_declarations_are_refused(text: str, line: str) -> None:
    with pytest.raises(ValueError, match=rf"{line}: '.*': .+"):
        read_loopset(text)
