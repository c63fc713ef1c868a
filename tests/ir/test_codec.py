"""JSON of what is derived: the same value comes back, shared where it was shared, and nothing else does."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pytest

import loopdiff.specialize.interface
import loopdiff.specialize.units
from loopdiff.errors import NOWHERE, Span
from loopdiff.ir import codec, nodes
from loopdiff.ir import nodes as ir
from loopdiff.ir.codec import KNOWN, CodecError, decode, encode
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ArrayType
from loopdiff.rules.definitions import Rule
from loopdiff.specialize.units import kept_plan
from tests.gradients.interpreted import lowered_by_name, sweeps_of

NAMES = ("matmul_loss", "seidel_2d", "spmv_csr", "softmax", "kmeans_cost")


def spans(value: Any, met: list[Span]) -> list[Span]:
    """The places in a value, in order: they are no part of its equality."""
    if isinstance(value, Span):
        met.append(value)
    elif is_dataclass(value):
        for field in fields(value):
            spans(getattr(value, field.name), met)
    elif isinstance(value, tuple):
        for part in value:
            spans(part, met)
    return met


@pytest.mark.parametrize("name", NAMES)
def test_plans_come_back_as_they_were(name: str) -> None:
    normal = lowered_by_name(name)
    plan = kept_plan(sweeps_of(name))
    for value in (normal, plan):
        found = decode(encode(value))
        assert found == value
        assert repr(found) == repr(value)
        assert spans(found, []) == spans(value, [])


@pytest.mark.parametrize(
    "value",
    [
        None, True, 1, 1.0, -0.0, 10**30, "x\ud800\0", b"\0\xff", (), (1, 2.0, None), ((),), frozenset(), float("inf"),
        frozenset((("x", 1), ("y", 0))), {"x": ("x_re", "x_im")}, (Op.ADD, F64), ArrayType("float64", 2, axes=(0, 1)),
        Span("file.py", 3, 4, 5, 6, NOWHERE), ir.Const(-0.0), ir.Const(True), ir.Const(1, F64),
    ],
)  # fmt: skip
def test_values_come_back_with_their_types(value: Any) -> None:
    found = decode(encode(value))
    assert repr(found) == repr(value)
    assert type(found) is type(value)


def test_nan_comes_back() -> None:
    found = decode(encode(ir.Const(float("nan"))))
    assert found == ir.Const(float("nan"))


def test_what_is_shared_stays_shared() -> None:
    """A chain of sums of a value with itself is as long as it is, not as large as written out."""
    expr: nodes.Expr = ir.Index("i")
    for _ in range(60):
        expr = ir.Apply(Op.ADD, (expr, expr))
    found = decode(encode(expr))
    for _ in range(60):
        assert isinstance(found, ir.Apply)
        assert found.args[0] is found.args[1]
        found = found.args[0]
    assert found == ir.Index("i")


def test_what_comes_back_is_frozen() -> None:
    found = decode(encode(ir.Index("i")))
    with pytest.raises(FrozenInstanceError):
        found.name = "j"


@dataclass(frozen=True)
class Stranger:
    value: int


ODD = replace(NOWHERE, line="3")


@pytest.mark.parametrize(
    "value", [Stranger(1), object(), [1], {1, 2}, np.float64(1.0), 1j, len, ir.Const(np.float64(1.0)), ODD]
)
def test_only_what_is_in_the_schema_is_written(value: Any) -> None:
    with pytest.raises(CodecError):
        encode(value)


def test_the_schema_has_every_node() -> None:
    """All classes of the representation but for rules, of which keys are written."""
    classes = [c for c in vars(nodes).values() if isinstance(c, type) and (is_dataclass(c) or issubclass(c, Enum))]
    assert {c.__name__ for c in classes if c is not Rule} <= set(KNOWN)
    assert all(codec.schema(c) for c in KNOWN.values() if is_dataclass(c))


def text(classes: list[str], *items: list[Any], root: Any = None) -> bytes:
    return json.dumps({"classes": classes, "table": items, "root": len(items) - 1 if root is None else root}).encode()


HOSTILE = {
    "no JSON": b"\x80\x05K\x01.",
    "nothing": b"",
    "another JSON": b"[1, 2]",
    "an unknown class": text(["Popen"], [0, "ls"]),
    "a path to a class": text(["os.system"], [0, "ls"]),
    "a field too many": text(["RankOf", "Span"], [-5, 1], [0, "x", 0, 0]),
    "a field too few": text(["Index"], [0, "i"]),
    "another type": text(["Span"], [-5, None], [0, "f", "1", 2, 3, 4, 0]),
    "another node": text(["Cast", "Span"], [-5, None], [1, "f", 1, 2, 3, 4, 0], [0, 1, 1, 1]),
    "a later place": text(["Load"], [0, 1, 1], [-5, None], root=0),
    "a place of itself": text([], [-1, 0]),
    "a place that is no number": text([], [-5, 1], [-1, "0"]),
    "a member of no enumeration": text(["Op"], [-6, 0, "__class__"]),
    "an enumeration with fields": text(["Op"], [0]),
    "an unknown mark": text([], [-99, 1]),
    "an odd mapping": text([], [-5, 1], [-4, 0]),
    "a replaced value": text(["Span"], [-5, 1], [-9, 0, 0]),
    "a rule that nobody knows": text([], [-8, "f-0123"]),
    "no base64": text([], [-7, "*"]),
    "a list as a scalar": text([], [-5, [1]]),
    "parts that are not plain": text([], [-2, [1]]),
    "depth": b"[" * 100_000,
}


@pytest.mark.parametrize("given", HOSTILE.values(), ids=HOSTILE)
def test_other_text_is_refused(given: bytes) -> None:
    with pytest.raises(CodecError):
        decode(given)


def test_types_may_be_written_as_something_else() -> None:
    """As places are that count from the start of a function."""
    value = (
        ir.Param("x", loc=Span("file.py", 12, 0, 12, 1)),
        ir.LoopSet("f", (), (), (), (), loc=Span("file.py", 10, 0, 20, 0)),
    )
    given = encode(value, {Span: lambda s: (s.line - 10, s.column, s.end_line - 10, s.end_column, None)})
    assert b"file.py" not in given
    found = decode(given, {Span: lambda g: Span("moved.py", g[0] + 50, g[1], g[2] + 50, g[3])})
    assert found == value
    assert [(s.file, s.line, s.end_line) for s in spans(found, [])] == [("moved.py", 52, 52), ("moved.py", 50, 60)]


def test_the_schema_is_the_same_where_python_leaves_out_assertions() -> None:
    code = "from loopdiff.ir.codec import KNOWN; print(*KNOWN)"
    found = [subprocess.check_output([sys.executable, *flags, "-c", code], text=True) for flags in ((), ("-O",))]
    assert found[0] == found[1]
    assert "LoopSet" in found[0]


def test_classes_that_programs_are_kept_as_are_known() -> None:
    assert {
        loopdiff.specialize.units.Plan,
        loopdiff.specialize.units.Temporary,
        loopdiff.specialize.interface.Interface,
    } <= set(KNOWN.values())
