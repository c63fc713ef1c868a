"""What is inferred of element types is kept only as long as what it follows from is declared so."""

from __future__ import annotations

from loopdiff.frontend.binding.types import SUPPOSED, Inferred, Kind
from loopdiff.ir import nodes as ir


def local(name: str, *values: ir.Expr) -> ir.ArrayDecl:
    return ir.ArrayDecl(name, None, "local", (ir.Const(3),), values=values)


def test_what_is_inferred_holds_for_equal_declarations_alone() -> None:
    """Parsing that goes back declares the same array again; of what it is made of, a comparison does not tell."""
    element = ir.Load(ir.Access("x", (ir.Index("i"),)))
    made = local("y", element)
    known = Inferred((Kind.F64,) * len(SUPPOSED), {"y": made})
    assert known.holds({"y": made})
    assert known.holds({"y": local("y", ir.Load(ir.Access("x", (ir.Index("i"),))))})
    wider = local("y", element, ir.Const(1.5))
    assert wider == made
    assert not known.holds({"y": wider})
    assert not known.holds({})


def test_kinds_go_by_those_of_cells() -> None:
    supposed = Inferred((Kind.WEAK, Kind.F64, Kind.BOOL), {})
    assert supposed.is_supposed
    assert [supposed.where(cells) for cells in SUPPOSED] == [Kind.WEAK, Kind.F64, Kind.BOOL]
    assert not Inferred((Kind.F32,) * len(SUPPOSED), {}).is_supposed
