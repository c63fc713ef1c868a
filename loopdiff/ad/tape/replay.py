"""Replay: repeat the part of a loop iteration that its reverse needs, instead of keeping it for all iterations.

Legal for a loop whose iteration owns the memory concerned (written before read in it, not read after it): the slice
then writes nothing that anyone else sees, and works on one row of buffers however many iterations there are.
"""

from __future__ import annotations

from loopdiff.ad.facts import Facts, is_open
from loopdiff.ad.regions import Region
from loopdiff.ad.tape.needed import At, Needed
from loopdiff.ad.tape.plan import Tape
from loopdiff.ad.tape.providers import InPlace
from loopdiff.ad.tape.record import Recorder
from loopdiff.ad.tape.sweeps import Built
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.slicing import Names, is_live, keep_live, live_names, names_read
from loopdiff.ir.walk import (
    Path,
    all_statements,
    exits,
    loads_of,
    operands,
    read_arrays,
    rebuild,
    statements,
    stmt_exprs,
    subexprs,
    written_arrays,
)
from loopdiff.model import tuning
from loopdiff.model.latency import waiting
from loopdiff.rules.printing import is_printing
from loopdiff.settings.options import SEGMENT_LEVELS, PlanPolicy


def candidates(facts: Facts, policy: PlanPolicy, tape: Tape) -> frozenset[Path]:
    """Loops worth replaying: the innermost owners of row buffers (`auto`) or of anything recorded (`recompute`)."""
    paths = {s.path for s in tape.stores if s.scope is None}
    loops = {p for path in paths for p, _ in facts.loops_around((*path, 0))}
    found: dict[str, Path] = {}
    for path in sorted(loops, key=len):
        if is_open(facts.sites[path].stmt):
            continue  # an iteration cannot be repeated on its own if it may end half-way
        is_counted = any(c.path[: len(path)] == path and c.path != path for c in tape.counters.values())
        if is_counted or any(spans(r, path) for r in facts.regions) or not repeats_exactly(facts, path):
            continue
        if reads_the_past(facts, path):
            continue
        for array in facts.owners(path):
            if policy in SEGMENT_LEVELS or is_cheap(facts, path, array):
                found[array] = path
    return frozenset(found.values())


def reads_the_past(facts: Facts, path: Path) -> bool:
    """Whether a loop of unknown trip count inside the one at `path` reads what is not its iteration's own and changes.

    Recordings of it have the position that the reverse of that loop finds out, later than a replay would read them.
    """
    counted = [p for p, s in facts.sites.items() if isinstance(s.stmt, ir.Loop) and facts.trip_hull(p) is None]
    within = [p for p in counted if p[: len(path)] == path and p != path]
    return any(
        load.access.array not in facts.owners(path) and facts.is_overwritten(at, load.access, None)
        for loop in within
        for at, site in facts.sites.items()
        if at[: len(loop)] == loop and at != loop
        for load in loads_of(site.stmt)
    )


def spans(region: Region, path: Path) -> bool:
    """Whether the max/min reduction `region` goes on over the iterations of the loop at `path`.

    Its operands, all compared with what the forward sweep found, are then not for one iteration to compute again.
    """
    depth = len(region.block)
    return path[:depth] == region.block and path[depth : depth + 1] != () and path[depth] in region.members


def is_cheap(facts: Facts, path: Path, array: str) -> bool:
    """Whether recomputing the row buffer `array` in the loop at `path` takes constant work per element, and elements
    do not wait long for each other."""
    loop = facts.sites[path].stmt
    assert isinstance(loop, ir.Loop)
    rank = len(facts.ls.array(array).extents or ())
    owned = facts.owners(path)
    live = live_names(loop.body, frozenset({array}), owned)
    sites = [s for s in statements(loop.body) if is_live(s.stmt, live, owned)]
    if not 0 < rank >= max((len(s.loops) for s in sites), default=0):
        return False
    return not any(waits_long(s, live & owned) for s in all_statements(loop.body))


def waits_long(stmt: ir.Stmt, arrays: Names) -> bool:
    """Whether iterations of a loop wait longer for elements of `arrays` that earlier ones made than memory takes to
    keep them."""
    if not isinstance(stmt, ir.Loop):
        return False
    made = written_arrays(stmt.body) & arrays
    reads = {e.access for s in stmt.body for e in loads_of(s) if e.access.array in made}
    return any(waiting(stmt.body, access) > tuning.REPLAY_LATENCY for access in reads if access.subscripts)


def repeats_exactly(facts: Facts, path: Path) -> bool:
    """Whether nothing that decides control flow or an address in the loop at `path` goes through float arithmetic.

    Repeated arithmetic may round differently, so a replay must not let it choose a branch, a trip count or an element.
    When the loop itself ended is known, and is not decided again. What is called is called once; what is printed is
    left out.
    """
    loop = facts.sites[path].stmt
    assert isinstance(loop, ir.Loop)
    sites = list(statements(loop.body))
    if any(isinstance(s.stmt, ir.Call) and not is_printing(s.stmt.rule) for s in sites):
        return False
    inexact: Names = frozenset()
    while True:
        more = inexact | {
            name for s in sites for name, value in definition(s.stmt) if is_inexact(value, inexact, facts)
        }
        if more == inexact:
            break
        inexact = more
    deciders = [e for s in sites if s.stmt not in exits(loop) for e in deciding(s.stmt)]
    return not any(is_inexact(e, inexact, facts) for e in deciders)


def definition(stmt: ir.Stmt) -> list[tuple[str, ir.Expr]]:
    match stmt:
        case ir.Let(name=name, value=value):
            return [(name, value)]
        case ir.Accumulate(op="add", target=target, value=value):
            return [(target.array, ir.Apply(Op.ADD, (ir.Load(target), value)))]
        case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
            return [(target.array, value)]
        case _:
            return []


def deciding(stmt: ir.Stmt) -> list[ir.Expr]:
    """Conditions, loop bounds and subscripts in `stmt` itself."""
    own = list(stmt_exprs(stmt))
    match stmt:
        case ir.Loop() | ir.If() | ir.Exit():
            found = own
        case ir.Assign(target=target) | ir.Accumulate(target=target):
            found = list(target.subscripts)
        case _:
            found = []
    inner = [e for expr in own for e in subexprs(expr)]
    found += [s for e in inner if isinstance(e, ir.Load) for s in e.access.subscripts]
    return found + [e.cond for e in inner if isinstance(e, ir.Select)]


def is_inexact(expr: ir.Expr, inexact: Names, facts: Facts) -> bool:
    """Whether evaluating `expr` again may give another value: float arithmetic, sums, or names that hold such."""
    for node in subexprs(expr):
        match node:
            case ir.Apply() if not facts.repeatable.is_operation(node):
                return True
            case ir.Load(access=ir.Access(array=name)) | ir.Var(name=name) if name in inexact:
                return True
            case ir.Var(name=name) if name in facts.lets:
                stmt = facts.lets[name].stmt
                assert isinstance(stmt, ir.Let)
                if is_inexact(stmt.value, inexact, facts):
                    return True
            case _:
                pass
    return False


def choose_replays(facts: Facts, policy: PlanPolicy, plain: Built) -> frozenset[Path]:
    """Loops to try to replay, given the plan without replay; empty if that plan keeps nothing they could save."""
    if policy in ("store", "rows") or not plain.tape.arrays:
        return frozenset()
    return candidates(facts, policy, plain.tape)


def as_far_as_it_got(needed: Needed, loop: ir.Loop, path: Path, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """`body`, an iteration of `loop` that runs again: what is behind an Exit for the iterations that got past it."""
    passes = needed.facts.passes[loop.index]
    left = list(passes.past)
    rest: tuple[ir.Stmt, ...] = ()
    for stmt in reversed(body):
        if not isinstance(stmt, ir.Exit):
            rest = (stmt, *rest)
        elif (count := left.pop()) != passes.all:
            rest = (ir.If(needed.has_passed(loop, path, count), rest, loc=stmt.loc),)
    return rest


def slice_of(needed: Needed, loop: ir.Loop, path: Path, reverse: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The statements of one iteration of `loop` that produce what `reverse`, its reverse, reads: in place, or of a
    segment only the recordings.
    """
    facts = needed.facts

    def rewrite(expr: ir.Expr, at: Path) -> ir.Expr:
        if isinstance(expr, ir.Load):
            owner = needed.owner_of(expr.access.array, at)
            is_own = owner is not None and owner[: len(path)] == path
            if not is_own and not isinstance(needed.provider(expr.access, At(at)), InPlace):
                return needed.value(expr, At(at))
        return rebuild(expr, tuple(rewrite(e, at) for e in operands(expr)))

    body = Recorder(needed.tape, needed.names, path, rewrite).sweep(loop.body, path)
    if is_open(loop):
        body = as_far_as_it_got(needed, loop, path, body)
    recorded = {n for n, scope in needed.tape.scopes.items() if scope == path}
    writable = needed.own(path) | recorded | {c.base for c in needed.tape.counters.values() if c.scope == path}
    wanted = read_arrays(reverse)
    live = live_names(body, wanted & recorded if path in needed.segmented else wanted, writable)
    kept = keep_live(body, live, writable)
    inside = {s.name for s in all_statements(kept) if isinstance(s, ir.Let)}
    for name in sorted(names_read(kept) - inside):
        if name in facts.lets:
            needed.value(ir.Var(name), At(()))
    return kept
