"""Where generated code looks out for signals: seldom enough that what takes the time is as it was.

    i_size = block_size(0.3 * np.float64(n))              for trip in range(4611686018427387904):
    i_mask = i_size - 1                                       patience -= 2300
    for i in range(m):                                        if patience < 0:
        if i & i_mask == i_mask:                                  patience = look_out()
            look_out()                                        if error < 1e-9:
        for j in range(n):                                        break
            ...                                               ...

So many iterations as take a fraction of a millisecond by the estimate of their work, which is made before the outermost
loop, are between two looks: a power of two. The outermost loop of a nest looks out, and the next one if there are more
inside: what is further inside is over soon, and would pay each time. An innermost loop, and one around short ones, runs
in blocks, which costs its iterations nothing. Nobody knows how often a loop runs that is left by a condition: it counts
its iterations, as tiles do, whose loops begin and end in many ways.

What is short for certain looks nowhere, nor do sweeps over arrays: as large as those may be, it takes a second or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from loopdiff.backends.cpu.emission import LoopEmitter
from loopdiff.backends.cpu.interrupts import BLOCK, PATIENCE, largest_block
from loopdiff.backends.writer import Writer
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, INT
from loopdiff.ir.walk import accesses, all_statements, map_expr, statements, subexprs
from loopdiff.mapping.loops import TiledNest, VectorLoop
from loopdiff.model.polynomials import multiplied_out
from loopdiff.model.work import LANES, Estimate, estimate_of, number, times_work

FEW = 64  # iterations of a loop that counts for nothing
LEAST, LITTLE = 0.05, 10.0  # nanoseconds of an iteration
SHIFTS = frozenset((Op.ADD, Op.SUB, Op.NEG))  # after which a subscript is another one for each index
TICKS = 1000.0  # of patience in a nanosecond
# Iterations of a loop of which nothing is known, and nanoseconds of a function with a rule: with fewer there are few
# looks all the same, and with more they do not come too late.
UNKNOWN, CALLED = 100.0, 1000.0


class Guess(Estimate):
    """An estimate that rather has a look too many than one too late."""

    unknown = UNKNOWN

    def statement(self, stmt: ir.Stmt, speed: float = 1.0) -> ir.Expr:
        return number(CALLED) if isinstance(stmt, ir.Call) else super().statement(stmt, speed)

    def trips(self, loop: ir.Loop) -> ir.Expr:
        return number(UNKNOWN) if is_left(loop) else map_expr(without_limit, super().trips(loop))

    def is_short(self, nest: ir.Loop) -> bool:
        """Whether a nest takes less than a block for certain."""
        inside = all_statements((nest,))
        loops = [s for s in inside if isinstance(s, ir.Loop)]
        if any(is_left(s) or not isinstance(self.span(s), ir.Const) for s in loops):
            return False
        match self.statement(nest):
            case ir.Const(value=work) if not any(isinstance(s, ir.Call) for s in inside):
                return work < BLOCK
            case _:
                return False


def without_limit(expr: ir.Expr) -> ir.Expr:
    """Iterations of a loop that may have fewer than none: those are no concern here."""
    match expr:
        case ir.Apply(op=Op.MAX, args=(ir.Cast(dtype=kind) as trips, ir.Const(value=0.0))) if kind is F64:
            return trips
        case _:
            return expr


@dataclass(slots=True)
class Patience:
    """Writes blocks, counts and looks into `emitter`.

    `name` is the variable that each function counts in. By the index of a loop: `sizes` of its blocks, and of those
    that are around others the `masks` under which an index is at the end of a block, with how far it goes at a time.
    `estimates` of loops are asked for by each loop inside.
    """

    emitter: LoopEmitter
    name: str
    sizes: dict[str, str] = field(default_factory=dict)
    masks: dict[str, tuple[str, int]] = field(default_factory=dict)
    estimates: dict[tuple[int, ...], tuple[tuple[ir.Loop, ...], Guess]] = field(default_factory=dict)

    def line(self, text: str) -> None:
        self.emitter.writer.line(text)

    def begin_function(self, writer: Writer) -> None:
        """Give `writer`, which has written a function, the variable's line if the function counts."""
        if any(f"{self.name} -=" in line for line in writer.lines):
            writer.lines.insert(1, f"    {self.name} = {PATIENCE}")

    def call(self, name: str) -> str:
        self.emitter.looks.add(name)
        return name

    # -- work ------------------------------------------------------------------------------------------------
    def estimate(self, *nests: ir.Loop) -> Guess:
        which = tuple(map(id, nests))
        if which not in self.estimates:
            known = estimate_of(nests, self.emitter.mapping_of)
            self.estimates[which] = nests, Guess(known.chosen, known.known, known.inside)
        return self.estimates[which][1]

    def iteration(self, loop: ir.Loop, estimate: Estimate) -> ir.Expr:
        """Nanoseconds of an iteration."""
        is_vector = isinstance(self.emitter.mapping_of(loop), VectorLoop)
        found = estimate.block(loop.body, LANES if is_vector else 1.0)
        return number(max(float(found.value), LEAST)) if isinstance(found, ir.Const) else found

    # -- blocks ----------------------------------------------------------------------------------------------
    def begin_nest(self, nest: ir.Loop) -> None:
        """How large blocks are, of the loops of a nest that nothing is around."""
        estimate, sites = self.estimate(nest), [s for s in statements((nest,)) if isinstance(s.stmt, ir.Loop)]
        for index in (
            s.stmt.index for s in sites if isinstance(s.stmt, ir.Loop)
        ):  # written before, in another function
            self.sizes.pop(index, None)
            self.masks.pop(index, None)
        if estimate.is_short(nest):
            return
        for site in sites:
            if isinstance(site.stmt, ir.Loop) and self.has_blocks(site.stmt, site.loops):
                index = site.stmt.index
                self.sizes[index] = self.size(index, self.iteration(site.stmt, estimate))

    def size(self, index: str, work: ir.Expr) -> str:
        """So many iterations make a block, as a number or the name of one."""
        if isinstance(work, ir.Const):
            return str(largest_block(float(work.value)))
        name = self.emitter.names.fresh(f"{index}_size")
        self.line(f"{name} = {self.call('block_size')}({self.emitter.expr(multiplied_out(work))})")
        return name

    def has_blocks(self, loop: ir.Loop, around: tuple[ir.Loop, ...]) -> bool:
        """Whether the loop looks out.

        The outermost loop does, and the next one if that is around others; those around that have few iterations do
        not count. Any loop does of which no array says how often it runs, and no loop that sweeps over one.
        """
        mapping, *others = (self.emitter.mapping_of(s) for s in (loop, *around))
        if is_left(loop) or not isinstance(loop.step, ir.Const) or isinstance(mapping, TiledNest):
            return False
        if self.has_few(loop) or any(isinstance(k, TiledNest) for k in others) or self.is_sweep(loop):
            return False
        outer = [p for p in around if not self.has_few(p)]
        if not outer or not goes_along((loop,), all_statements(loop.body)):
            return True
        if len(outer) > 1 or isinstance(mapping, VectorLoop):
            return False
        return self.may_be_long(loop) or isinstance(others[-1], VectorLoop)

    def is_sweep(self, nest: ir.Loop) -> bool:
        """Whether the nest does little for each element of arrays, which are not endless."""
        estimate = self.estimate(nest)
        for site in statements((nest,)):
            if not isinstance(site.stmt, ir.Loop) or is_around_others(site.stmt):
                if isinstance(site.stmt, ir.Call):
                    return False
                continue
            path = (*site.loops, site.stmt)
            work = self.iteration(site.stmt, estimate)
            if any(map(is_left, path)) or not isinstance(work, ir.Const) or work.value > LITTLE:
                return False
            if not goes_along(tuple(p for p in path if not self.has_few(p)), always(site.stmt.body)):
                return False
        return True

    def may_be_long(self, loop: ir.Loop) -> bool:
        """Whether the loop is around others, not all of which are short as a rule."""
        inside = all_statements(loop.body)
        found = [self.emitter.mapping_of(s) for s in inside if isinstance(s, ir.Loop)]
        is_short = [isinstance(k, VectorLoop) and k.may_be_short for k in found]
        return not all(is_short) or any(isinstance(s, ir.Call) for s in inside)

    def has_few(self, loop: ir.Loop) -> bool:
        """Whether the loop has only a few iterations for certain."""
        trips = self.estimate(loop).trips(loop)
        return isinstance(trips, ir.Const) and trips.value <= FEW and not is_left(loop)

    @contextmanager
    def blocks(self, loop: ir.Loop, together: int = 1) -> Iterator[ir.Loop]:
        """An innermost loop, or one around short ones, or a block of it; any other looks at the last places of its
        blocks."""
        size = self.sizes.get(loop.index)
        if size is None:
            yield loop
            return
        assert isinstance(loop.step, ir.Const)
        step = int(loop.step.value) * together
        if is_around_others(loop) and self.may_be_long(loop):
            name, width = self.emitter.names.fresh(f"{loop.index}_mask"), abs(step)
            self.line(f"{name} = {times_step(size, 1 << (width - 1).bit_length())} - 1")
            self.masks[loop.index] = (name, width)
            yield loop
            return
        bounds = (self.emitter.expr(loop.lower), self.emitter.expr(loop.upper))
        with self.range(loop.index, bounds, step) as (start, end):
            yield replace(loop, lower=ir.Index(start), upper=ir.Index(end))

    def begin_iteration(self, index: str, place: str) -> None:
        """At the head of a loop over `index`, which is at `place`."""
        if index in self.masks:
            mask, width = self.masks[index]
            is_last = f"{place} & {mask} == {mask}" if width == 1 else f"{place} & {mask} > {mask} - {width}"
            with self.emitter.writer.block(f"if {is_last}:"):
                self.line(f"{self.call('look_out')}()")

    @contextmanager
    def range(self, index: str, bounds: tuple[str, str], step: int) -> Iterator[tuple[str, str]]:
        """A loop over blocks of that many times `step`, and the names of their bounds."""
        start, end = (self.emitter.names.fresh(f"{index}_{n}") for n in ("block", "end"))
        limit, relation = bounds[1], "<" if step > 0 else ">"
        count = times_step(self.sizes[index], step)
        with self.emitter.writer.block(f"for {start} in range({bounds[0]}, {limit}, {count}):"):
            self.line(f"{end} = {self.call('block_end')}({start}, {count}, {limit})")
            yield start, end
            with self.emitter.writer.block(f"if {end} {relation} {limit}:"):
                self.line(f"{self.call('look_out')}()")

    # -- counts ----------------------------------------------------------------------------------------------
    def begin_counting(self, loop: ir.Loop) -> str:
        """The ticks of an iteration of a loop that counts."""
        work = self.iteration(loop, self.estimate(loop))
        if isinstance(work, ir.Const):
            return str(round(TICKS * float(work.value)))
        return self.ticks(work, f"{loop.index}_ticks")

    def ticks(self, work: ir.Expr, stem: str) -> str:
        """The name of the ticks of so many nanoseconds."""
        name = self.emitter.names.fresh(stem)
        self.line(f"{name} = {self.emitter.expr(ir.Cast(INT, times_work(number(TICKS), multiplied_out(work))))}")
        return name

    def count(self, ticks: str) -> None:
        """Count, and look if it is time."""
        self.line(f"{self.name} -= {ticks}")
        with self.emitter.writer.block(f"if {self.name} < 0:"):
            self.line(f"{self.name} = {self.call('look_out')}()")


@dataclass(slots=True)
class PatientEmitter(LoopEmitter):
    """An emitter whose loops look out for signals."""

    patience: Patience = field(init=False)

    def __post_init__(self) -> None:
        LoopEmitter.__post_init__(self)
        self.patience = Patience(self, self.names.fresh("patience"))


def is_around_others(loop: ir.Loop) -> bool:
    return any(isinstance(s, ir.Loop) for s in all_statements(loop.body))


def goes_along(loops: tuple[ir.Loop, ...], body: Iterable[ir.Stmt]) -> bool:
    """Whether one of the statements accesses an array with an axis for each of the `loops`, whose iterations are
    elements of it then."""
    indices = {p.index for p in loops}
    found = (a for s in body for a in accesses(s))
    return any(indices <= {index for x in a.subscripts for index in along(x, indices)} for a in found)


def always(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """The statements that no condition is around."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, ir.Loop):
            yield from always(stmt.body)


def along(subscript: ir.Expr, indices: set[str]) -> set[str]:
    """The index that an axis goes along: the only one of these in its subscript, which moves with it."""
    inside = {e.name for e in subexprs(subscript) if isinstance(e, ir.Index) and e.name in indices}
    if len(inside) != 1 or any(isinstance(e, ir.Load) for e in subexprs(subscript)):
        return set()
    is_plain = all(e.op in SHIFTS for e in subexprs(subscript) if isinstance(e, ir.Apply))
    return inside if is_plain else set()


def is_left(loop: ir.Loop) -> bool:
    """Whether a condition may end the loop."""
    return any(isinstance(s, ir.Exit) for s in loop.body)


def times_step(size: str, step: int) -> str:
    """So many times that step."""
    if size.isdigit():
        return str(int(size) * step)
    return size if step == 1 else f"-{size}" if step == -1 else f"{size} * {step}"
