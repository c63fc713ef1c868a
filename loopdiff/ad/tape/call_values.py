"""What the reverse sweep needs of calls of functions with rules: parts of arrays as a call got or left them, what it
returned, and what its rule keeps."""

from __future__ import annotations

from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At
from loopdiff.ad.tape.plan import TapeStore, Why
from loopdiff.ad.tape.recordings import Slot
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of
from loopdiff.ir.walk import Path


def part_at_call(needed: Needed, access: ir.Access, path: Path, is_after: bool = False) -> ir.Load:
    """The part of an array that the call at `path` gets, as it was before the call or is after it."""
    facts = needed.facts
    is_lost = facts.is_rewritten if is_after else facts.is_overwritten
    if access.array not in needed.written or not is_lost(path, access, None):
        return ir.Load(needed.exact_access(access, At(path)))
    key = (path, access, is_after)
    if key not in needed.parts:
        decl = facts.ls.array(access.array)
        assert decl.type is not None
        why = Why(access.loc, "needed by a rule, and overwritten")
        extents = extents_of(decl)[len(access.subscripts) :]
        needed.parts[key] = slot = room_of_call(needed, f"{decl.name}_tape", decl.type.dtype, extents, path, why)
        when = "after" if is_after else "before"
        target = needed.element(slot, exactly=False, is_part=True)
        needed.tape.stores.append(TapeStore(None, path, when, target, ir.Load(access, loc=access.loc), whole=True))
    return ir.Load(needed.element(needed.parts[key], is_part=True))


def room_of_call(
    needed: Needed, stem: str, dtype: str, extents: tuple[ir.Expr, ...], path: Path, why: Why
) -> Slot:  # fmt: skip
    """A tape array with a part of these extents for each instance of the call at `path`."""
    loops = needed.tape.loops(path, None)
    shape = (*needed.tape.extents(loops, None), *extents)
    return Slot(needed.tape.declare(stem, dtype, shape, None, why), loops, None)


def kept_by_rule(needed: Needed, call: ir.Call, path: Path) -> ir.Load:
    """What the rule itself keeps of the call at `path`."""
    why = Why(call.loc, "kept by a rule")
    slot = room_of_call(needed, f"{call.rule.name}_tape", "float64", call.tape, path, why)
    needed.tape.kept[path] = needed.element(slot, exactly=False, is_part=True)
    return ir.Load(needed.element(slot, is_part=True))


def result_of_call(needed: Needed, cell: ir.Access, path: Path) -> ir.Load:
    """What the call at `path` returned."""
    slot = needed.slot(ir.Load(cell, loc=needed.facts.sites[path].stmt.loc), path, None)
    target = needed.element(slot, exactly=False)
    needed.tape.stores.append(TapeStore(None, path, "after", target, ir.Load(cell)))
    return ir.Load(needed.element(slot))
