"""Whether it is worth a look if both sweeps run together: it takes a sixth of the time of a first gradient to find that
they do not.

Loops of the reverse sweep that hand adjoints from one iteration to the next, as those of recurrences do, never run
beside the loops of the forward sweep that they go back through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import combinations

from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.analysis.privatization import find_privates
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import has_same_range, is_descending, turned_round
from loopdiff.ir.ops import Op, effort
from loopdiff.ir.walk import into_nest, nodes_in, read_arrays, written_arrays
from loopdiff.passes.sweeps.sweep_fusion import Effects, Remembered, go_before, is_plain_loop, is_ragged, walks

NONE: frozenset[ir.Access] = frozenset()
SCALED = (Op.MUL, Op.STRICT_MUL, Op.STRONG_MUL, Op.NEG)


def may_run_together(forward: ir.LoopSet, reverse: ir.LoopSet) -> bool:
    """Whether `in_one_pass` may find something in both sweeps, or an array of theirs is a copy. Where it says no,
    nothing is found, except perhaps in loops that passes between the two rewrite."""
    return has_pair(forward, reverse) or has_shared_walk(forward, reverse) or any(map(has_copy, (forward, reverse)))


def has_pair(forward: ir.LoopSet, reverse: ir.LoopSet) -> bool:
    """Whether a loop reads what one of the forward sweep over the same range leaves, or evaluates functions as that
    does, and may go through it in the same order."""
    own = frozenset(a.name for a in forward.arrays if a.role != "argument" and has_elements(a))
    first = [(k, left_by(p, own)) for k, p in enumerate(forward.body) if is_plain_loop(p) and not is_ragged(p)]

    def follows(loop: ir.Stmt, most: int) -> bool:
        """Whether it comes after one of the forward sweep, of which there are so many before it."""
        if not isinstance(loop, ir.Loop) or not is_plain_loop(loop):
            return False
        upward, read = turned_round(loop) if is_descending(loop) else loop, read_arrays((loop,)) | functions_in(loop)
        return any(k < most and left & read and is_over(forward.body[k], upward) for k, left in first)

    if any(follows(loop, place) for place, loop in enumerate(forward.body)):
        return True
    found = [(k, p) for k, p in enumerate(reverse.body) if follows(p, len(forward.body)) and isinstance(p, ir.Loop)]
    if not found or any(not is_descending(loop) for _, loop in found):
        return bool(found)
    model, dead = build_model(reverse), frozenset(a.name for a in reverse.arrays if a.extents is not None)
    return any(find_privates(model, dead, loop, (place,)) is not None for place, loop in found)


def left_by(loop: ir.Stmt, own: frozenset[str]) -> frozenset[Hashable]:
    """What the loop leaves to others: arrays of those `own`, and values of functions, which may be kept."""
    return (written_arrays((loop,)) & own) | functions_in(loop)


def functions_in(loop: ir.Stmt) -> frozenset[Hashable]:
    """The functions that are evaluated in `loop`."""
    applied = (e.op for e in nodes_in((loop,)) if isinstance(e, ir.Apply))
    return frozenset(op for op in applied if effort(op) == "function")


def is_over(stmt: ir.Stmt, loop: ir.Loop) -> bool:
    return isinstance(stmt, ir.Loop) and has_same_range(stmt, loop)


def has_elements(decl: ir.ArrayDecl) -> bool:
    """Whether it is an array: of flags, too, in place of which there may be indices later."""
    return decl.type is not None and decl.type.rank > 0


def has_shared_walk(forward: ir.LoopSet, reverse: ir.LoopSet) -> bool:
    """Whether two nests of the sweeps that have nothing else to do with each other read the same elements, and may
    stand side by side."""
    arrays = frozenset(a.name for a in (*forward.arrays, *reverse.arrays))
    body, effects = (*forward.body, *reverse.body), Remembered()
    found = [of_arrays(effects.of(s), arrays) for s in body]
    places = walks(body, effects)
    return any(
        found[k].are_apart(found[n])
        and not (found[k].elements or NONE).isdisjoint(found[n].elements or NONE)
        and go_before(found[k], found[k + 1 : n], found[n]) is not None
        for k, n in combinations(places, 2)
    )


def of_arrays(effects: Effects, arrays: frozenset[str]) -> Effects:
    """Without cells and Lets, of which each sweep has its own, perhaps under the same names."""
    return replace(effects, given=effects.given & arrays, known=effects.known & arrays)


def has_copy(ls: ir.LoopSet) -> bool:
    """Whether a nest fills an array of the sweep's own, which nothing else writes, with a number, or with an argument,
    perhaps times the seed."""
    own = {a.name for a in ls.arrays if a.extents is not None}
    copies: set[str] = set()
    for stmt in ls.body:
        nest, body = into_nest((stmt,))
        indices = tuple(ir.Index(p.index) for p in nest)
        made = (s for s in body if isinstance(s, ir.Assign) and indices and s.target.subscripts == indices)
        copies |= {s.target.array for s in made if s.target.array in own and is_given(s.value, ls, own)}
    writers = Counter(a for s in ls.body if isinstance(s, ir.Loop | ir.If) for a in written_arrays((s,)) & copies)
    return any(count == 1 for count in writers.values())


def is_given(value: ir.Expr, ls: ir.LoopSet, own: set[str]) -> bool:
    match value:
        case ir.Const() | ir.Param():
            return True
        case ir.Load(access=ir.Access(array=array)):
            return array in ls.params and array not in own
        case ir.Apply(op=op, args=args) if op in SCALED:
            return all(is_given(a, ls, own) for a in args)
        case _:
            return False
