"""Arrays that a function makes for itself, and functions that get them from their caller."""

from __future__ import annotations

from loopdiff.analysis.exposure import exposed_reads
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import accesses, all_statements, loads, read_arrays, returned_arrays, subexprs, written_arrays


def scratch(ls: ir.LoopSet) -> frozenset[str]:
    """Arrays that a function makes for itself."""
    return frozenset(a.name for a in ls.arrays if a.extents is not None and a.role in ("local", "adjoint", "lent"))


def own_arrays(ls: ir.LoopSet, reader: ir.LoopSet | None = None) -> frozenset[str]:
    """Arrays that a function makes for itself and nobody looks at afterwards, `reader` included.

    A tape may be one, where the reverse sweep fills it again.
    """
    own = scratch(ls) - returned_arrays(ls) | frozenset(a.name for a in ls.arrays if a.role == "tape")
    if reader is not None and (read := own & read_arrays(reader.body)):
        own -= {access.array for _, access in exposed_reads(build_model(reader), arrays=read)}
    return own


def private_arrays(ls: ir.LoopSet, reader: ir.LoopSet | None) -> frozenset[str]:
    """Arrays that `ls` makes for itself, and of which nobody reads an element afterwards, nor `reader` any."""
    wanted = returned_arrays(ls) | (frozenset() if reader is None else arrays_read_on(ls, reader))
    values = (r.value for r in ls.results if isinstance(r, ir.ScalarResult))
    return scratch(ls) - wanted - {e.access.array for v in values for e in loads(v)}


def arrays_read_on(ls: ir.LoopSet, reader: ir.LoopSet) -> frozenset[str]:
    """Arrays of `ls` that `reader` reads elements of: parameters in the same place are the same array, whatever `ls`
    calls it by now, as generated code has no variables `max` and `load`."""
    read, pairs = read_arrays(reader.body), [*zip(ls.params, reader.params, strict=False)]
    assert len(pairs) == len(ls.params), "a reverse sweep gets all that the forward sweep gets, and more"
    assert all(own == other or own not in reader.params for own, other in pairs), "in the same places"
    return frozenset(own for own, other in pairs if other in read)


def refilled_tapes(reverse: ir.LoopSet) -> frozenset[str]:
    """Tapes that the reverse sweep fills itself before it reads them."""
    tapes = frozenset(a.name for a in reverse.arrays if a.role == "tape") & written_arrays(reverse.body)
    return tapes - {access.array for _, access in exposed_reads(build_model(reverse), arrays=tapes)} if tapes else tapes


def in_workspace(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with arrays that it makes for itself as parameters after all others, where those say how large they are."""
    used = {a.array for s in all_statements(ls.body) for a in accesses(s)}
    own = scratch(ls) & used - returned_arrays(ls) - frozenset(ls.params)
    arrays = tuple(replace(a, role="lent") if a.name in own and is_sized_outside(a) else a for a in ls.arrays)
    lent = tuple(a for a in arrays if a.role == "lent")
    return with_workspace(replace(ls, arrays=arrays), lent, len(ls.params), ())


def with_given_results(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with the arrays that it returns as parameters after all others, in their order, those that are not yet."""
    returned = dict.fromkeys(r.array for r in ls.results if isinstance(r, ir.ArrayResult))
    names = tuple(n for n in returned if n not in ls.params)
    arrays = tuple(replace(a, role="gradient") if a.name in names else a for a in ls.arrays)
    results = tuple(r for r in ls.results if not (isinstance(r, ir.ArrayResult) and r.array in names))
    return replace(ls, params=(*ls.params, *names), arrays=arrays, results=results)


def is_sized_outside(decl: ir.ArrayDecl) -> bool:
    nodes = [e for extent in decl.extents or () for e in subexprs(extent)]
    return bool(decl.extents) and not any(isinstance(e, ir.Load | ir.Var | ir.Index) for e in nodes)


def with_workspace(
    ls: ir.LoopSet, workspace: tuple[ir.ArrayDecl, ...], place: int, missing: tuple[ir.ArrayDecl, ...]
) -> ir.LoopSet:
    """`ls` with `workspace` as parameters at `place`, those it is `missing` declared."""
    names = (a.name for a in workspace)
    return replace(ls, params=(*ls.params[:place], *names, *ls.params[place:]), arrays=(*ls.arrays, *missing))


def with_shared_workspace(
    forward: ir.LoopSet, reverse: ir.LoopSet, new_forward: ir.LoopSet, new_reverse: ir.LoopSet
) -> tuple[ir.LoopSet, ir.LoopSet]:  # fmt: skip
    """Both sweeps anew, with the arrays that they got as workspace of both, after that of the forward sweep."""
    ours, theirs = new_forward.arrays[len(forward.arrays) :], new_reverse.arrays[len(reverse.arrays) :]
    workspace, place = (*ours, *theirs), len(forward.params)
    new_forward = with_workspace(new_forward, workspace, place, theirs)
    return new_forward, with_workspace(new_reverse, workspace, place, ours)
