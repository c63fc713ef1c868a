"""Reverse mode: one primal LoopSet becomes a forward sweep that records and a reverse sweep that consumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce

from loopdiff.ad.emitter import Emitter
from loopdiff.ad.facts import Facts, gather_facts
from loopdiff.ad.reversal import Reversal
from loopdiff.ad.tape import segments
from loopdiff.ad.tape.counting import counting_loopset, counts_exactly
from loopdiff.ad.tape.demands import copied_at_ends, tape_choices, weight_of_plan
from loopdiff.ad.tape.expansion import expanded_buffers, with_expanded
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At, TapeChoice
from loopdiff.ad.tape.plan import Tape, TapeCounter
from loopdiff.ad.tape.record import Recorder, segment_length
from loopdiff.ad.tape.replay import choose_replays
from loopdiff.ad.tape.sweeps import Built, Sweeps
from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, integer, mul, nested, over_elements, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path, returned_arrays
from loopdiff.model import tuning
from loopdiff.settings.options import SEGMENT_LEVELS, PlanPolicy

SeedNames = tuple[str | None, ...]
Paths = frozenset[Path]


def build_sweeps(ls: ir.LoopSet, wrt: tuple[str, ...], policy: PlanPolicy = "auto") -> Sweeps:
    """Forward and reverse sweeps of the normal LoopSet `ls` with respect to the arguments `wrt`.

    Parameters of `forward`: the arguments, then the workspace (local arrays, tape, adjoints of local arrays); of
    `reverse`: the arguments as `forward` left them, the same workspace, the seeds of the results, one adjoint buffer
    per differentiated or written floating argument array. The policy `rows` is `auto` for sweeps that will run row by
    row: functions are evaluated once. `recompute-3` is `recompute` with three levels of segments. Raises
    DifferentiationError (LD4xx) where a derivative has no rule.
    """
    facts = gather_facts(ls, wrt)
    plain = build(facts, policy)
    replayed = choose_replays(facts, policy, plain)
    plans = {frozenset(): plain} | ({replayed: build(facts, policy, replayed)} if replayed else {})
    if policy in SEGMENT_LEVELS:
        plans = {paths: in_segments(facts, policy, plan, paths) for paths, plan in plans.items()}
    worth = 1.0 if policy in SEGMENT_LEVELS else tuning.REPEATED_MEMORY
    return reduce(lambda one, other: lighter(one, other, worth), plans.values()).sweeps


def in_segments(facts: Facts, policy: PlanPolicy, best: Built, replayed: Paths) -> Built:
    """`best`, which replays the loops `replayed`, with further loops run again in segments where that keeps less."""
    alone = {
        p: build(facts, policy, replayed, frozenset((p,))) for p in segments.candidates(facts, best.tape, replayed)
    }
    segmented: Paths = frozenset()
    for path in sorted(alone, key=lambda p: alone[p].weight):
        if not any(segments.is_nested(path, p) for p in segmented):
            other = build(facts, policy, replayed, segmented | {path}) if segmented else alone[path]
            if lighter(best, other) is other:
                best, segmented = other, segmented | {path}
    return best


def lighter(one: Built, other: Built, worth: float = 1.0) -> Built:
    """`other` if it keeps less than `one`, by more than what is beyond `worth` of its tape, and its extents can be
    had."""
    least = one.weight - (1.0 - worth) * one.tape.weight
    return other if other.weight < least and is_sized(other) else one


def is_sized(built: Built) -> bool:
    """Whether the extent of every tape can be had: a forward sweep that counts does not see the loops of a replay."""
    tape = built.tape
    return all(c in tape.kept_counters for c in tape.counters.values()) or not built.sweeps.count_tapes


def build(facts: Facts, policy: PlanPolicy, replayed: Paths = frozenset(), segmented: Paths = frozenset()) -> Built:
    """The sweeps under one choice of loops whose iterations, or segments, the reverse sweep runs again. What is copied
    whole is not recorded element by element besides.
    """
    plan = partial(planned, facts, policy, replayed, segmented)
    best, needed = plan(TapeChoice())
    ends = copied_at_ends(needed)
    if ends.copies.ends:
        other, with_ends = plan(ends)
        best, needed = (other, with_ends) if lighter(best, other) is other else (best, needed)
    for choice in tape_choices(needed):
        other, _ = plan(choice)
        is_better = is_sized(other) if choice.is_of_values else lighter(best, other) is other
        best = other if is_better else best
    return best


def planned(
    facts: Facts, policy: PlanPolicy, replayed: Paths, segmented: Paths, choice: TapeChoice
) -> tuple[Built, Needed]:  # fmt: skip
    """The sweeps where this is kept, and what they need of the primal."""
    names = supply(facts.ls)
    seed_names = name_seeds(facts, names)
    needed = Needed(facts, policy, replayed, segmented, names, choice)
    reversal = Reversal(facts, needed, names, name_adjoints(facts, names, seed_names))
    body = reverse_body(facts, reversal, seed_names)
    sweeps = partial(assemble, reversal, body, seed_names)
    return Built(needed.tape, weight_of_plan(needed), needed.made, sweeps), needed


def assemble(reversal: Reversal, body: tuple[ir.Stmt, ...], seed_names: SeedNames) -> Sweeps:
    """The sweeps, of whose reverse this is the `body`."""
    facts, needed, names, adjoint_of = reversal.facts, reversal.needed, reversal.names, reversal.adjoint_of
    counters = tuple(needed.tape.counters.values())
    counts = counting_loopset(facts, counters) if counters else None
    is_guarded = counts is not None and not counts_exactly(counts)
    expanded = expanded_buffers(facts, needed.tape, body)
    recorder = Recorder(needed.tape, names, None, is_guarded=is_guarded, left_out=tuple(expanded.values()))
    forward_body = with_expanded(recorder.sweep(facts.ls.body, ()), expanded)
    workspace = workspace_arrays(facts, needed.tape, adjoint_of)
    forward = assemble_forward(facts, needed.tape, forward_body, workspace)
    reverse = assemble_reverse(facts, reversal, body, workspace, seed_names)
    arguments = (a.name for a in facts.ls.arrays if a.role == "argument")
    return Sweeps(
        forward,
        reverse,
        tuple(needed.tape.temporaries),
        seeds=tuple(s for s in seed_names if s is not None),
        buffers={a: adjoint_of[a] for a in arguments if a in adjoint_of},
        counts=None if is_guarded else counts,
        count_names=tuple(c.total for c in counters),
        count_tapes=tuple(c.count for c in counters) if is_guarded else (),
        counted=tuple(f"{c.path} in {c.scope}" for c in counters),
        hindered=segments.hindered(facts, needed.tape) if needed.policy in SEGMENT_LEVELS else (),
        has_segments=any(s.when == "start" for s in needed.tape.stores),
    )


def name_seeds(facts: Facts, names: NameSupply) -> SeedNames:
    """The seed parameter of each result; None for one that is not floating."""
    out: list[str | None] = []
    for position, result in enumerate(facts.ls.results):
        match result:
            case ir.ArrayResult(array=array):
                is_float, name = facts.types.arrays[array].element.is_float, f"{array}_adj"
            case ir.ScalarResult(value=value):
                is_float = type_of(value, facts.types).is_float
                name = f"result_adj_{position}" if facts.ls.returns_tuple else "result_adj"
        out.append(names.fresh(name) if is_float else None)
    return tuple(out)


def name_adjoints(facts: Facts, names: NameSupply, seed_names: SeedNames) -> dict[str, str]:
    """An adjoint name for everything tracked or active; the adjoint of a returned array is its first seed."""
    results = reversed(list(zip(facts.ls.results, seed_names, strict=True)))
    returned = {r.array: s for r, s in results if isinstance(r, ir.ArrayResult) and s is not None}
    tracked = sorted(facts.activity.tracked | facts.activity.active)
    return {n: returned.get(n) or names.fresh(f"{n}_adj") for n in tracked}


def is_cell(decl: ir.ArrayDecl) -> bool:
    return decl.type is not None and decl.type.rank == 0 and decl.role != "argument"


def reverse_body(facts: Facts, reversal: Reversal, seed_names: SeedNames) -> tuple[ir.Stmt, ...]:
    """Start the function's own adjoints at zero, reverse the results, then the statements."""
    ls, adjoint_of = facts.ls, reversal.adjoint_of
    start: list[ir.Stmt] = []
    for decl in ls.arrays:
        assert decl.type is not None
        if decl.name not in adjoint_of or decl.role == "argument" or decl.name in facts.homes:
            continue
        nothing = zero(decl.type.element)
        if is_cell(decl):
            start.append(ir.Assign(ir.Access(adjoint_of[decl.name]), nothing))
        elif decl.name not in returned_arrays(ls):
            start.append(ir.Allocate(adjoint_of[decl.name], nothing))
    for scalar in ls.scalars:
        if scalar.name in adjoint_of and scalar.type is not None:
            start.append(ir.Assign(ir.Access(adjoint_of[scalar.name]), zero(scalar.type)))
    emitter = Emitter(reversal.names)
    for seed, result in zip(seed_names, ls.results, strict=True):
        if isinstance(result, ir.ArrayResult):
            # The array is returned more than once: its adjoint is the sum of the seeds.
            if seed is not None and result.array in adjoint_of and seed != adjoint_of[result.array]:
                start.append(add_array(adjoint_of[result.array], seed, ls.array(result.array), reversal.names))
        elif seed is not None:
            reversal.propagation.through(result.value, ir.Param(seed), At((), (), emitter), emitter)
    return (*start, *reversal.block(ls.body, (), seed=tuple(emitter.out)))


def add_array(target: str, source: str, decl: ir.ArrayDecl, names: NameSupply) -> ir.Stmt:
    """`target += source`, element by element, of two arrays like `decl`."""
    assert decl.type is not None
    loops, place = over_elements([ir.Dim(target, axis) for axis in range(decl.type.rank)], names, "i")
    (nest,) = nested(loops, (ir.Accumulate("add", ir.Access(target, place), ir.Load(ir.Access(source, place))),))
    return nest


def workspace_arrays(facts: Facts, tape: Tape, adjoint_of: Mapping[str, str]) -> tuple[ir.ArrayDecl, ...]:
    """Arrays the caller keeps between the sweeps: locals, tape, counts, adjoints of locals that are not returned."""
    returned = returned_arrays(facts.ls)
    local = [a for a in facts.ls.arrays if a.role == "local" and not is_cell(a)]
    counts = [ir.ArrayDecl(c.count, ArrayType("int64", 1), "tape", (integer(1),)) for c in tape.kept_counters]
    adjoints = [adjoint_array(a, adjoint_of) for a in local if a.name in adjoint_of and a.name not in returned]
    return (*local, *tape.arrays, *counts, *adjoints)


def adjoint_array(decl: ir.ArrayDecl, adjoint_of: Mapping[str, str]) -> ir.ArrayDecl:
    """The adjoint of an array: same shape; of an argument, with the caller's own layout."""
    assert decl.type is not None
    name, kind = adjoint_of[decl.name], decl.type.slope
    return replace(decl, name=name, type=kind, role="adjoint", like=None, dtype_like=None)


def assemble_forward(
    facts: Facts, tape: Tape, body: tuple[ir.Stmt, ...], workspace: tuple[ir.ArrayDecl, ...]
) -> ir.LoopSet:
    """The forward sweep as a function of the arguments and the workspace."""
    ls = facts.ls
    kept = tuple(a for a in ls.arrays if a.role == "argument" or is_cell(a))
    forward = replace(
        ls,
        name=f"{ls.name}_forward",
        params=(*ls.params, *(a.name for a in workspace)),
        arrays=(*kept, *workspace, *base_cells(tape.kept_counters)),
        body=body,
    )
    return simplify(normalize(forward))


def base_cells(counters: Iterable[TapeCounter]) -> tuple[ir.ArrayDecl, ...]:
    """Running positions of counted loops, as scalar cells."""
    return tuple(ir.ArrayDecl(c.base, ArrayType("int64", 0), "local", ()) for c in counters)


def read_count(tape: Tape, counter: TapeCounter) -> Iterator[ir.Stmt]:
    """The position at the end of the forward sweep, or of the longest iteration, which must not be past the end of a
    tape."""
    count = ir.Load(ir.Access(counter.count, (integer(0),)))
    if counter.scope is not None:
        count = mul(count, segment_length(tape, counter.scope, tape.segments[counter.scope].levels))
    room: dict[ir.Expr, ir.Expr] = {tape.room(counter): integer(1)}
    if counter.scope is None and counter.path in tape.segments:
        room[tape.segment_number(counter.path)] = segment_length(tape, counter.path)
    for array in tape.arrays:
        for extent in (array.extents or ())[:1]:
            if extent not in room:
                continue
            fits = compare(Op.LE, count, mul(ir.Dim(array.name, 0), room[extent]))
            yield ir.Require(fits, "LD347", f"the workspace has too little room in `{array.name}`")
    if counter.scope is None:
        yield ir.Assign(ir.Access(counter.base), count)


def assemble_reverse(
    facts: Facts,
    reversal: Reversal,
    body: tuple[ir.Stmt, ...],
    workspace: tuple[ir.ArrayDecl, ...],
    seed_names: SeedNames,
) -> ir.LoopSet:
    """The reverse sweep as a function of the arguments, the workspace, the seeds and the adjoint buffers."""
    ls, adjoint_of, tape = facts.ls, reversal.adjoint_of, reversal.needed.tape
    arguments = [a for a in ls.arrays if a.role == "argument"]
    buffers = tuple(adjoint_array(ls.array(p), adjoint_of) for p in ls.params if p in adjoint_of and ls.has_array(p))
    seeds: list[ir.ArrayDecl | ir.ScalarDecl] = []
    for name, result in zip(seed_names, ls.results, strict=True):
        if name is None:
            continue
        if isinstance(result, ir.ArrayResult):
            seeds.append(adjoint_array(ls.array(result.array), {result.array: name}))
        else:
            seeds.append(ir.ScalarDecl(name, type_of(result.value, facts.types)))
    start = tuple(s for c in tape.kept_counters for s in read_count(tape, c))
    scalars = [s for s in ls.scalars if s.name in facts.activity.wrt]
    reverse = ir.LoopSet(
        name=f"{ls.name}_reverse",
        params=(*ls.params, *(a.name for a in (*workspace, *seeds, *buffers))),
        arrays=(
            *arguments,
            *workspace,
            *(s for s in seeds if isinstance(s, ir.ArrayDecl)),
            *buffers,
            *base_cells(tape.counters.values()),
            *primal_cells(facts, reversal),
            *adjoint_cells(facts, reversal),
        ),
        scalars=(*ls.scalars, *(s for s in seeds if isinstance(s, ir.ScalarDecl))),
        body=(*start, *body),
        results=tuple(ir.ScalarResult(scalar_gradient(s, adjoint_of)) for s in scalars),
        returns_tuple=len(scalars) > 1,
        loc=ls.loc,
    )
    return simplify(normalize(reverse))


def scalar_gradient(decl: ir.ScalarDecl, adjoint_of: Mapping[str, str]) -> ir.Expr:
    assert decl.type is not None
    return ir.Load(ir.Access(adjoint_of[decl.name])) if decl.name in adjoint_of else zero(decl.type)


def primal_cells(facts: Facts, reversal: Reversal) -> tuple[ir.ArrayDecl, ...]:
    """Cells of the primal, for loops that run again to work with."""
    has_scopes = reversal.needed.replayed or reversal.needed.segmented
    return tuple(a for a in facts.ls.arrays if is_cell(a)) if has_scopes else ()


def adjoint_cells(facts: Facts, reversal: Reversal) -> tuple[ir.ArrayDecl, ...]:
    """Scalar adjoints and the reverse sweep's own cells."""
    kinds: dict[str, ScalarType] = dict(reversal.cells)
    for primal, adjoint in reversal.adjoint_of.items():
        if facts.ls.has_array(primal):
            if is_cell(facts.ls.array(primal)):
                kinds[adjoint] = facts.types.arrays[primal].element
        elif primal in facts.types.lets:
            kinds[adjoint] = facts.types.lets[primal]
        else:
            kinds[adjoint] = facts.types.scalars[primal]
    return tuple(ir.ArrayDecl(n, ArrayType(k.value, 0), "adjoint", ()) for n, k in kinds.items())
