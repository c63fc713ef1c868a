"""Replay: repeat the part of a loop iteration that its reverse needs, instead of keeping it for all iterations.

Legal for a loop whose iteration owns the memory concerned (written before read in it, not read after it): the slice
then writes nothing that anyone else sees, and works on one row of buffers however many iterations there are.
"""

from __future__ import annotations

from functools import partial

from loopdiff.ad.facts import Facts, is_open
from loopdiff.ad.regions import Region
from loopdiff.ad.rounded import repeats_exactly
from loopdiff.ad.tape.costs import cycles
from loopdiff.ad.tape.decided import Decided, as_far_as
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At, InPlace
from loopdiff.ad.tape.record import Recorder
from loopdiff.ad.tape.sharing import UNKNOWN_LENGTH
from loopdiff.ad.tape.sweeps import Built
from loopdiff.ir import nodes as ir
from loopdiff.ir.slicing import Names, is_live, keep_live, live_names, names_read
from loopdiff.ir.walk import (
    Path,
    all_statements,
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
from loopdiff.settings.options import SEGMENT_LEVELS, PlanPolicy


def candidates(facts: Facts, policy: PlanPolicy, plain: Built) -> frozenset[Path]:
    """Loops worth replaying: the innermost owners of row buffers (`auto`) or of anything recorded (`recompute`)."""
    tape = plain.tape
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
            if policy in SEGMENT_LEVELS or is_worth_it(facts, plain, path, array):
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


def is_worth_it(facts: Facts, plain: Built, path: Path, array: str) -> bool:
    """Whether recomputing the row buffer `array` in the loop at `path` takes constant work per element, and elements
    do not wait long for each other. It weighs less than what the plan without it does in the loop: what is on the tape,
    but for what is read of other memory, and what is worked out again."""
    loop = facts.sites[path].stmt
    assert isinstance(loop, ir.Loop)
    owned = facts.owners(path)
    live = live_names(loop.body, frozenset({array}), owned)
    sites = [s for s in statements(loop.body) if is_live(s.stmt, live, owned)]
    if not 0 < len(facts.ls.array(array).extents or ()) >= max((len(s.loops) for s in sites), default=0):
        return False
    tape, weight, inside = plain.tape, plain.tape.weights(), len(path)

    def work(at: Path, expr: ir.Expr) -> float:
        lengths = (facts.trip_hull(p) or UNKNOWN_LENGTH for p, _ in facts.loops_around(at))
        return weight(tuple(lengths), None) * cycles(expr) / tuning.KEPT_CYCLES if isinstance(expr, ir.Apply) else 0.0

    again = sum(work((*path, *s.path), e) for s in sites for expr in stmt_exprs(s.stmt) for e in subexprs(expr))
    stores = [s for s in tape.stores if s.scope is None and s.path[:inside] == path and is_made(s.value, owned)]
    kept = (tape.array(name) for name in dict.fromkeys(s.target.array for s in stores))
    spared = sum(weight(a.extents or (), a.type) for a in kept)
    if again >= spared + sum(work(at, expr) for at, expr, _ in plain.made if at[:inside] == path):
        return False
    return not any(waits_long(s, live & owned) for s in all_statements(loop.body))


def is_made(value: ir.Expr, owned: Names) -> bool:
    """Whether `value`, which is recorded, is none that is read of memory other than `owned`."""
    return not isinstance(value, ir.Load) or value.access.array in owned


def waits_long(stmt: ir.Stmt, arrays: Names) -> bool:
    """Whether iterations of a loop wait longer for elements of `arrays` that earlier ones made than memory takes to
    keep them."""
    if not isinstance(stmt, ir.Loop):
        return False
    made = written_arrays(stmt.body) & arrays
    reads = {e.access for s in stmt.body for e in loads_of(s) if e.access.array in made}
    return any(waiting(stmt.body, access) > tuning.REPLAY_LATENCY for access in reads if access.subscripts)


def choose_replays(facts: Facts, policy: PlanPolicy, plain: Built) -> frozenset[Path]:
    """Loops to try to replay, given the plan without replay; empty if that plan keeps nothing they could save."""
    if policy in ("store", "rows") or not plain.tape.arrays:
        return frozenset()
    return candidates(facts, policy, plain)


def slice_of(needed: Needed, loop: ir.Loop, path: Path, reverse: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The statements of one iteration of `loop` that produce what `reverse`, its reverse, reads: in place, or of a
    segment only the recordings.
    """
    facts = needed.facts
    decided = Decided(needed, path, needed.rounded[path]) if path in needed.segmented else None

    def rewrite(expr: ir.Expr, at: Path) -> ir.Expr:
        known = None if decided is None else decided.value(expr, at)
        if known is not None:
            return known
        if isinstance(expr, ir.Load):
            owner = needed.owner_of(expr.access.array, at)
            is_own = owner is not None and owner[: len(path)] == path
            if not is_own and not isinstance(needed.provider(expr.access, At(at)), InPlace):
                return needed.value(expr, At(at))
        return rebuild(expr, tuple(rewrite(e, at) for e in operands(expr)))

    recorder = Recorder(needed.tape, needed.names, path, rewrite)
    if decided is not None:
        recorder.ended = decided.loop
    body = recorder.sweep(loop.body, path)
    if is_open(loop):
        body = as_far_as(facts.passes[loop.index], body, partial(needed.has_passed, loop, path))
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
