"""Elements that iterations hand on stay in registers (Callahan, Carr and Kennedy, "Improving register allocation for
subscripted variables", PLDI 1990).

    for j in range(n - 2, 0, -1):            if n > 2:
        b = x[j] / 3                             here = x[n - 2]
        x[j - 1] += b               becomes      for j in range(n - 2, 0, -1):
        x[j] = b                                     next = x[j - 1]
                                                     b = here / 3
                                                     next += b
                                                     here = b
                                                     x[j] = here
                                                     here = next
                                                 x[0] = here

What is stored to memory and loaded in the next iteration takes longer than an addition, and of many stores to an
element one remains. The operations are the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from loopdiff.analysis.polyhedral.terms import guarded_loads
from loopdiff.analysis.strides import stride_of
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import Sum, linear
from loopdiff.ir.build import compare, is_constant, is_unit_step, shifted
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    Path,
    all_statements,
    exchanged,
    loads,
    loads_in,
    loads_of,
    map_accesses,
    statements,
    stmt_exprs,
    subexprs,
    substitute,
    written_access,
    written_arrays,
)
from loopdiff.mapping.loops import Parallel, ScalarLoop, Schedule, VectorLoop
from loopdiff.model import tuning
from loopdiff.passes.loops.sum_registers import SumHolder, sums_in

Row = tuple[int, ...]


@immutable
class Use:
    """An access to the element of a `row` that the loop reaches so many iterations later, or earlier if negative.

    `is_start`: it gives the element a value, whatever it held.
    """

    access: ir.Access
    row: Row
    reach: int
    is_write: bool
    is_start: bool
    is_conditional: bool


@immutable
class Window:
    """The cells of a row's elements by reach, as iterations begin: what comes next has the greatest."""

    array: str
    loop: ir.Loop
    uses: tuple[Use, ...]
    cells: Mapping[int, ir.Access]

    @property
    def written(self) -> list[int]:
        return [u.reach for u in self.uses if u.is_write]

    @property
    def is_started(self) -> bool:
        """Whether iterations give the element that comes next a value, whatever it held."""
        return next(u for u in self.uses if u.reach == max(self.cells)).is_start

    def element(self, reach: int, index: ir.Expr | None = None) -> ir.Access:
        """The element, at another `index` than that of the loop if there is one."""
        access, here = next(u.access for u in self.uses if u.reach == reach), ir.Index(self.loop.index)
        if index is None:
            return access
        return replace(access, subscripts=tuple(at_index(s, here, index) for s in access.subscripts))

    def before(self) -> list[ir.Stmt]:
        """What the first iteration finds."""
        *earlier, _ = sorted(self.cells)
        return [ir.Assign(self.cells[k], ir.Load(self.element(k, self.loop.lower))) for k in earlier]

    def begin(self) -> list[ir.Stmt]:
        """What an iteration is the first one to look at."""
        newest = max(self.cells)
        return [] if self.is_started else [ir.Assign(self.cells[newest], ir.Load(self.element(newest)))]

    def end(self, now: Mapping[int, ir.Access]) -> list[ir.Stmt]:
        """What an iteration is the last one to write, and all others one further. `now`: cells as iterations end."""
        done = [min(self.written)] if self.written else []
        store: list[ir.Stmt] = [ir.Assign(self.element(k), ir.Load(now[k])) for k in done]
        return store + [ir.Assign(self.cells[k], ir.Load(now[n])) for k, n in pairwise(sorted(self.cells))]

    def after(self) -> list[ir.Stmt]:
        """What waits to be stored when the last iteration has ended: later ones would have written it once more."""
        last = shifted(self.loop.upper, -1 if is_constant(self.loop.step, 1) else 1)
        left = range(min(self.written) + 1, max(self.written) + 1) if self.written else ()
        return [ir.Assign(self.element(k, last), ir.Load(self.cells[k - 1])) for k in left]


def hold_in_registers(ls: ir.LoopSet, schedule: Schedule) -> ir.LoopSet:
    """`ls` with elements in cells that iterations of its innermost loops hand on, where they run in order. Statements
    keep their paths, but those inside of such loops."""
    loops = {s.path: s.stmt for s in statements(ls.body) if isinstance(s.stmt, ir.Loop)}
    mappings = dict(schedule.mappings)
    cut = {index for shared in schedule.shared.values() for index in shared.cut}
    vectors = {path: loop.index for path, loop in loops.items() if isinstance(mappings.get(path), VectorLoop)}
    chosen: dict[Path, str | None] = {}
    for path, loop in loops.items():
        lanes = next((vectors[p] for p in around(path) if p in vectors), None)
        is_in_order = isinstance(mappings.get(path), ScalarLoop) or (path not in mappings and lanes is not None)
        if is_in_order and is_plain(loop) and loop.index not in cut and is_on_one_thread(path, schedule):
            chosen[path] = lanes
    if not chosen:
        return ls
    holder = Holder(ls, type_env(ls), supply(ls), [])
    held = {path: holder.held(loops[path], lanes) for path, lanes in chosen.items()}
    found = {path: (new,) for path, new in held.items() if new is not None}
    if not found:
        return ls
    return replace(ls, body=exchanged(ls.body, found), arrays=(*ls.arrays, *holder.cells))


def around(path: Path) -> Iterator[Path]:
    """The paths of what is around the statement at `path`."""
    return (path[:k] for k in range(1, len(path)))


def is_on_one_thread(path: Path, schedule: Schedule) -> bool:
    """Whether iterations of the loop at `path` all run on one thread, and its statements together: chunks of a loop
    that is cut run some of them at other times than the others, which would part them from their cells."""
    shared = schedule.shared
    return path not in shared and not any(p in shared and is_cut(shared[p]) for p in around(path))


def is_cut(shared: Parallel) -> bool:
    """Whether chunks of a loop run some of its statements apart."""
    return bool(shared.early or shared.late)


def is_plain(loop: ir.Loop) -> bool:
    """Whether the loop goes by one, and does nothing but give values."""
    kinds = (ir.Let, ir.Assign, ir.Accumulate, ir.If)
    is_flat = all(isinstance(s, kinds) for s in all_statements(loop.body))
    written = written_arrays(loop.body)
    bounds = (e.access.array for bound in (loop.lower, loop.upper) for e in loads(bound))
    return is_flat and is_unit_step(loop) and not written.intersection(bounds)


@immutable
class Holder:
    ls: ir.LoopSet
    types: TypeEnv
    names: NameSupply
    cells: list[ir.ArrayDecl]

    def held(self, loop: ir.Loop, lanes: str | None) -> ir.Stmt | None:
        """The loop with elements that its iterations hand on in cells; None if there are none."""
        written = written_arrays(loop.body)
        apart = frozenset[str]() if lanes is None else self.apart(loop, lanes)
        windows = [w for array in sorted(written | apart) for w in self.windows(loop, array, lanes, array in apart)]
        if not windows:
            return self.with_sums(loop) if lanes is None else None
        inside = self.inside(loop, windows)
        first = [s for w in windows for s in w.before()]
        last = [s for w in windows for s in w.after()]
        some = compare(Op.LT if is_constant(loop.step, 1) else Op.GT, loop.lower, loop.upper)
        return ir.If(some, (*first, replace(loop, body=inside), *last), loc=loop.loc)

    def with_sums(self, loop: ir.Loop) -> ir.Stmt | None:
        """The loop, which has none inside, with elements in cells that all of its iterations add to."""
        sums = SumHolder(self.ls, self.names, self.cells)
        return sums.held(loop, {target: () for target, _ in sums_in(loop, self.ls)})

    def inside(self, loop: ir.Loop, windows: Sequence[Window]) -> tuple[ir.Stmt, ...]:
        """An iteration with its elements in cells. One that gets a new value gets a new cell: what it held before came
        from memory, and sums need not wait for it."""
        now = [dict(w.cells) for w in windows]
        places = {u.access: (n, u.reach) for n, w in enumerate(windows) for u in w.uses}

        def place(access: ir.Access) -> ir.Access:
            found = places.get(access)
            return access if found is None else now[found[0]][found[1]]

        out = [s for w in windows for s in w.begin()]
        for stmt in loop.body:
            new = map_accesses(place, stmt)
            if isinstance(new, ir.Assign) and isinstance(stmt, ir.Assign) and stmt.target in places:
                number, reach = places[stmt.target]
                window = windows[number]
                if not (window.is_started and reach == max(window.cells)):
                    now[number][reach] = self.cell(window.array)
                new = replace(new, target=now[number][reach])
            out.append(new)
        return tuple(out + [s for w, found in zip(windows, now, strict=True) for s in w.end(found)])

    def apart(self, loop: ir.Loop, lanes: str) -> frozenset[str]:
        """Arrays whose elements lanes load one by one."""
        loaded = {e.access for e in loads_in(loop.body)}
        return frozenset(a.array for a in loaded if stride_of(a, lanes, frozenset((lanes,)), self.ls) == "strided")

    def windows(self, loop: ir.Loop, array: str, lanes: str | None, is_apart: bool) -> Iterator[Window]:
        """Rows of `array` whose elements several accesses of `loop` use, if no others can be the same elements. Those
        that it only reads are worth it where lanes load them one by one."""
        kind = self.types.arrays[array]
        values = [
            s.value
            for s in all_statements(loop.body)
            if isinstance(s, ir.Assign | ir.Accumulate) and s.target.array == array
        ]
        if not (kind.rank and kind.element.is_float) or any(type_of(v, self.types) != kind.element for v in values):
            return
        rows: dict[Row, list[Use]] = {}
        for use in uses_of(loop, array, lanes):
            rows.setdefault(use.row, []).append(use)
        for uses in rows.values():
            if pays(uses) and (is_apart or any(u.is_write for u in uses)):
                yield Window(array, loop, tuple(uses), {k: self.cell(array) for k in sorted({u.reach for u in uses})})

    def cell(self, array: str) -> ir.Access:
        name = self.names.fresh(f"{array}_at")
        self.cells.append(ir.ArrayDecl(name, ArrayType(self.types.arrays[array].dtype, 0), "local", ()))
        return ir.Access(name, ())


def at_index(subscript: ir.Expr, here: ir.Index, there: ir.Expr) -> ir.Expr:
    """`subscript` with another index."""
    terms, constant = linear(subscript)
    return shifted(there, constant) if terms == {here: 1} else substitute(subscript, {here: there})


def uses_of(loop: ir.Loop, array: str, lanes: str | None) -> list[Use]:
    """All accesses of `loop` to `array`, in order; none where they are not all in rows side by side along the loop, or
    where `lanes` write to the rows of each other."""
    sites = list(statements(loop.body))
    changing = written_arrays(loop.body) | {s.stmt.name for s in sites if isinstance(s.stmt, ir.Let)}
    found = [
        (access, site, is_write) for site in sites for access, is_write in touched(site.stmt) if access.array == array
    ]
    forms = [[linear(s) for s in access.subscripts] for access, _, _ in found]
    if not forms:
        return []
    terms = [t for t, _ in forms[0]]
    axes = [k for k, t in enumerate(terms) if t.get(ir.Index(loop.index)) == 1]
    if len(axes) != 1 or any([t for t, _ in f] != terms for f in forms) or is_moving(terms, loop, changing):
        return []
    (axis,) = axes
    is_own = lanes is None or (
        any(tells_lanes_apart(t, lanes) and is_same_row(forms, k) for k, t in enumerate(terms) if k != axis)
        and ir.Index(lanes) not in terms[axis]
    )
    if array in changing and not is_own:
        return []
    direction = 1 if is_constant(loop.step, 1) else -1
    uses = []
    for (access, site, is_write), form in zip(found, forms, strict=True):
        offsets = [c for _, c in form]
        row = tuple(0 if k == axis else c for k, c in enumerate(offsets))
        is_sure = not site.is_conditional and (is_write or access in sure_loads(site.stmt))
        is_start = is_sure and is_write and isinstance(site.stmt, ir.Assign)
        uses.append(Use(access, row, direction * offsets[axis], is_write, is_start, not is_sure))
    return uses


def is_same_row(forms: Sequence[Sequence[tuple[Sum, int]]], axis: int) -> bool:
    """Whether subscripts of the same terms are the same along `axis`: others are those of another lane."""
    return len({form[axis][1] for form in forms}) == 1


def tells_lanes_apart(terms: Sum, lanes: str) -> bool:
    """Whether a subscript is another one in each of the lanes, as nothing but their index differs between them."""
    others = [e for term in terms if term != ir.Index(lanes) for e in subexprs(term)]
    return ir.Index(lanes) in terms and not any(isinstance(e, ir.Load | ir.Var) or e == ir.Index(lanes) for e in others)


def touched(stmt: ir.Stmt) -> Iterator[tuple[ir.Access, bool]]:
    """What the statement itself accesses, in order, and whether it writes there."""
    target = written_access(stmt)
    yield from ((e.access, False) for e in loads_of(stmt))
    if target is not None:
        yield target, True


def sure_loads(stmt: ir.Stmt) -> set[ir.Access]:
    """What the statement loads whatever it computes."""
    return {load.access for expr in stmt_exprs(stmt) for load, guards in guarded_loads(expr) if not guards}


def is_moving(terms: Sequence[Sum], loop: ir.Loop, changing: Collection[str]) -> bool:
    """Whether subscripts have more that differs between iterations than multiples of the index, which is in one."""
    index = ir.Index(loop.index)
    if sum(index in t for t in terms) != 1:
        return True
    inside = [e for t in terms for term in t if term != index for e in subexprs(term)]
    return any(
        e == index
        or (isinstance(e, ir.Var) and e.name in changing)
        or (isinstance(e, ir.Load) and e.access.array in changing)
        for e in inside
    )


def pays(uses: Sequence[Use]) -> bool:
    """Whether an element is used again after it was written, or read, and all that are in between are surely there."""
    reaches = {u.reach for u in uses}
    written = [u.reach for u in uses if u.is_write]
    is_used_again = max(written, default=max(reaches)) > min(reaches) or len(written) > len(set(written))
    is_whole = len(reaches) == max(reaches) - min(reaches) + 1 <= tuning.ROW_REGISTERS
    return is_used_again and is_whole and reaches == {u.reach for u in uses if not u.is_conditional}
