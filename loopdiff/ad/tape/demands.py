"""What the reverse sweep asks of the primal, as a graph of which a minimum cut says what is kept.

    asked for:   exp(a[i] * b[i]),  a[i]            a, b overwritten;  -> is "made of"

    exp(..)  ->  a * b  ->  a[i]  ->  a version of a, that other reads see, too
                        ->  b[i]

Each of these may be kept: a value where a statement evaluates it, a read where it reads, a version of an array in a
copy, a local array by leaving it to the reverse sweep. Or it is worked out again, which takes time, and what it is made
of. Both weigh in bytes: a number on the tape is worth the time that it takes to write and read it. The choice that
weighs least is a minimum cut, of one graph for all of them (Picard, "Maximal closure of a graph and applications to
combinatorial problems", 1976).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from loopdiff.ad.tape.costs import cycles_again
from loopdiff.ad.tape.cut import Cut, minimum_cut
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import (
    ON_TAPE,
    At,
    AtUse,
    InPlace,
    Itself,
    LoadedFrom,
    Made,
    Named,
    OnTape,
    Stored,
    TapeChoice,
)
from loopdiff.ad.tape.plan import Scope
from loopdiff.ad.tape.recordings import Recorded, Slot
from loopdiff.ad.tape.sharing import (
    Weights,
    chosen_between,
    grouped,
    is_lost,
    lengths_around,
    only_name,
    reads_of,
    recorded_operations,
    share_spared,
    weight_of_version,
)
from loopdiff.ad.tape.versions import ArrayVersion, Copies, Read, Versions, versions_read
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path
from loopdiff.model import tuning

Parts = tuple[frozenset[int], float]  # the nodes that a value is made of, and in how many cycles
Edges = dict[int, dict[int, float]]
SINK = 0  # what is there for nothing
NOTHING: Parts = (frozenset(), 0.0)
Values = frozenset[Recorded]


def weight_of_plan(needed: Needed) -> float:
    """What is on the tape, and the local arrays that go to the reverse sweep."""
    weight, found = needed.tape.weights(), (needed.facts.ls.array(name) for name in needed.left)
    return needed.tape.weight + sum(tuning.HANDED_ON * weight(a.extents or (), a.type) for a in found)


def copied_at_ends(needed: Needed) -> TapeChoice:
    """Copies at the ends of iterations that are made anyway, where others could read them that `needed` records."""
    made = [key for key in needed.snapshots if key[1]]
    lets = ((at.path, stmt.value) for stmt, at in map(needed.let, needed.recorded_lets))
    recorded = [*lets, *((path, value) for path, value, _ in needed.recorded.slots)] if made else []
    arrays = {access.array for path, value in recorded for _, access in reads_of(needed, path, value)}
    return TapeChoice(copies=Copies(frozenset(key for key in made if key[0] in arrays), {}))


def tape_choices(needed: Needed) -> Iterator[TapeChoice]:
    """What could be kept in place of what `needed` found to be recorded if reads alone are: values; and copies of
    versions, with the values that are to be kept then."""
    demands = Demands(needed)
    demands.gather()
    found = minimum_cut(demands.graph, demands.sources, SINK)
    values = demands.kept_values(found)
    if values:
        yield TapeChoice(values, needed.choice.copies)
    versions = demands.versions()
    copies = demands.add_copies(versions)
    if copies:
        lighter = minimum_cut(demands.graph, demands.sources, SINK)
        made = {read: version for read, version in versions.items() if copies[version] not in lighter.beyond}
        if made and found.weight - lighter.weight > tuning.LIGHTER_BY * needed.tape.weight:
            yield TapeChoice(demands.kept_values(lighter), replace(needed.choice.copies, versions=made))


@dataclass(slots=True)
class Demands:
    """The graph: nodes are numbers. What may be kept has two, one where it is asked for, and the next one where it is
    worked out; the edge between them weighs what it does to keep it.

    `values` are what statements evaluate, by the first node. `lost` are reads that find nothing in place, and
    `copied_reads`, by the second node, those that have to find copies if something is not to be kept, with its weight.
    `spared` is what need not be recorded exactly if a Let is kept.
    """

    needed: Needed
    weight: Weights = field(init=False)
    graph: Edges = field(default_factory=lambda: {SINK: {}})
    numbers: dict[Hashable, int] = field(default_factory=dict)
    sources: dict[int, None] = field(default_factory=dict)
    values: dict[int, Recorded] = field(default_factory=dict)
    copied_reads: dict[int, tuple[frozenset[Read], float]] = field(default_factory=dict)
    found: dict[Recorded, Parts] = field(default_factory=dict)
    lost: dict[Read, None] = field(default_factory=dict)
    spared: dict[str, float] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weight = self.needed.tape.weights()

    # -- what is chosen --------------------------------------------------------------------------------------
    def kept_values(self, cut: Cut) -> Values:
        """Those that are asked for, and not worked out."""
        known = self.values.items()
        return frozenset(key for node, key in known if node not in cut.beyond and node + 1 in cut.beyond)

    def versions(self) -> Versions:
        """The versions that reads which are lost could find."""
        reads = sorted(self.lost, key=lambda read: (read[0], str(read[1])))
        scopes = (self.needed.owner_of(access.array, path) for path, access in reads)
        return versions_read(self.needed.facts, zip(reads, scopes, strict=True))

    def add_copies(self, versions: Versions) -> dict[ArrayVersion, int]:
        """The nodes of copies of `versions`, of which everything is made then whose reads all find one."""
        nodes: dict[ArrayVersion, int] = {}
        for group in grouped(self.needed, set(versions.values())):
            node = self.numbered(("version", group[0]))
            self.graph[node][SINK] = weight_of_version(self.needed, group[0], self.weight)
            nodes |= dict.fromkeys(group, node)
        for node, (reads, weight) in self.copied_reads.items():
            if reads <= versions.keys():
                self.graph[node] = {SINK: (1.0 - share_spared(reads)) * weight}
                self.graph[node] |= {nodes[versions[read]]: inf for read in reads}
        return nodes

    # -- the graph -------------------------------------------------------------------------------------------
    def gather(self) -> None:
        """What is asked for: values up to rounding, what has to be recorded as it was, and copies at ends."""
        needed = self.needed
        for slot, _, value in recorded_operations(needed):
            for name in only_name(value):
                self.spared[name] = self.spared.get(name, 0.0) + self.weight_of_slot(slot)
        for path, expr, guards in needed.asked:
            self.ask_for(self.parts(expr, At(path, guards)))
        for path, expr, guards in needed.exactly:
            if isinstance(expr, ir.Load):
                self.ask_for(self.parts(expr, At(path, guards)))
        for slot, path, value in recorded_operations(needed):
            self.keep_or_copy(slot, (read for read in reads_of(needed, path, value) if is_lost(needed, read)))
        for slot, reads in chosen_between(needed):
            self.keep_or_copy(slot, reads)
        while self.pending:
            self.restore(self.pending.pop())

    def restore(self, name: str) -> None:
        """The edges of a Let, which shares what it is made of with what its own statement asks for."""
        stmt, at = self.needed.let(name)
        nodes, cycles = self.parts(stmt.value, at)
        weight = self.weight_at(at.path, stmt.value, None)
        self.graph[self.numbers["let", name]] = {SINK: cycles / tuning.KEPT_CYCLES * weight} | dict.fromkeys(nodes, inf)

    def ask_for(self, parts: Parts) -> None:
        self.sources |= dict.fromkeys(parts[0])

    def keep_or_copy(self, slot: Slot, reads: Iterable[Read]) -> None:
        """Ask for what is in `slot`, which is to be kept unless all of its `reads` find versions."""
        lost = frozenset(reads)
        if lost:
            self.ask_for(self.kept_or_copied(slot, lost, self.weight_of_slot(slot)))

    def weight_of_slot(self, slot: Slot) -> float:
        array = self.needed.tape.array(slot.name)
        return self.weight(array.extents or (), array.type)

    def parts(self, expr: ir.Expr, at: At) -> Parts:
        """What the reverse sweep asks for to have `expr`, as `Needed.value` finds it."""
        key = at.path, expr, at.guards
        if key not in self.found:
            self.found[key] = self.parts_found(expr, at)
        return self.found[key]

    def parts_found(self, expr: ir.Expr, at: At) -> Parts:
        match self.needed.origin(expr, at):
            case Named(name=name):
                return self.parts_of_let(name)
            case LoadedFrom(load=load, provider=AtUse()):
                return self.parts_of_read(load, at)
            case LoadedFrom(load=load, provider=InPlace()):
                return self.left_there(load.access.array)
            case Stored(target=target):
                return self.left_there(target.array)
            case Made(parts=parts):
                return self.parts_of_result(expr, at, parts)
            case Itself() | OnTape() | LoadedFrom():
                return NOTHING  # it is there, or on the tape, whatever is chosen

    def parts_of_let(self, name: str) -> Parts:
        stmt, at = self.needed.let(name)
        is_exact = (at.path, ir.Var(name), ()) in self.needed.exactly
        if self.needed.origin_of_let(name) is ON_TAPE and (is_exact or not isinstance(stmt.value, ir.Load)):
            return NOTHING  # it is on the tape, whatever is chosen
        self.pending += () if ("let", name) in self.numbers else (name,)
        return frozenset({self.numbered(("let", name))}), 0.0

    def parts_of_result(self, expr: ir.Expr, at: At, inside: tuple[tuple[ir.Expr, At], ...]) -> Parts:
        """Cheap values of what is there have no nodes: their cycles count where something is made of them."""
        needed = self.needed
        found = [self.parts(part, place) for part, place in inside]
        nodes = frozenset[int]().union(*(inner for inner, _ in found))
        is_number = needed.is_number_of(expr, at)
        cycles = sum(more for _, more in found) + (cycles_again(expr, needed.policy) if is_number else 0.0)
        if not is_number or (not nodes and cycles <= tuning.KEPT_CYCLES):
            return nodes, cycles
        key, weight = (at.path, expr, at.guards), self.weight_at(at.path, expr, needed.scope_of(at.path))
        node = self.numbered(("value", *key))
        self.values[node] = key
        more_to_keep = 0.0 if needed.slot_of(expr, at) else tuning.RECORDED_VALUE * weight
        spared = self.spared.get(needed.name_of(expr, at) or "", 0.0)
        self.graph[node] = {node + 1: max(more_to_keep - spared, 0.0)}
        self.graph[node + 1] = {SINK: cycles / tuning.KEPT_CYCLES * weight} | dict.fromkeys(nodes, inf)
        return frozenset({node}), 0.0

    def parts_of_read(self, load: ir.Load, at: At) -> Parts:
        """A read of what is lost is recorded, but where there are copies; others in its block see the same."""
        needed, access = self.needed, load.access
        weight = self.weight_at(at.path, load, needed.owner_of(access.array, at.path))
        key = needed.slot_of(load, at) or (at.path, load, at.guards)
        return self.kept_or_copied(key, frozenset({(at.path, access)}), weight)

    def kept_or_copied(self, key: Hashable, reads: frozenset[Read], weight: float) -> Parts:
        """What is in a slot, unless all of its `reads` find copies."""
        self.lost |= dict.fromkeys(reads)
        node = self.numbered(key)
        known, _ = self.copied_reads.get(node + 1, (reads, weight))
        self.copied_reads[node + 1] = known | reads, weight
        self.graph[node], self.graph[node + 1] = {node + 1: weight}, {SINK: inf}
        return frozenset({node}), 0.0

    def left_there(self, array: str) -> Parts:
        """Local arrays that one nest leaves to others are there anyway, but where nests run row by row."""
        if array not in self.needed.handed_on:
            return NOTHING
        decl, node = self.needed.facts.ls.array(array), self.numbered(("array", array))
        self.graph[node] = {SINK: tuning.HANDED_ON * self.weight(decl.extents or (), decl.type)}
        return frozenset({node}), 0.0

    def numbered(self, key: Hashable) -> int:
        """The first of the two nodes for `key`."""
        if key not in self.numbers:
            node = self.numbers[key] = 2 * len(self.numbers) + 1
            self.graph[node], self.graph[node + 1] = {}, {}
        return self.numbers[key]

    def weight_at(self, path: Path, expr: ir.Expr, scope: Scope) -> float:
        """What a number like `expr` weighs for each iteration of the loops around the statement at `path`."""
        kind: ScalarType = type_of(expr, self.needed.facts.types)
        return self.weight(lengths_around(self.needed, path, scope), ArrayType(kind.value, 0))
