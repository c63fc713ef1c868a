"""The schedule of a LoopSet: which loop is the vector, which nests are register tiles, what stays scalar and why.

A schedule is a value apart from the program: it can be printed, and changes speed, never meaning. It is chosen by a
small cost model over memory access patterns; only what the dependences allow is ever considered.
"""

from __future__ import annotations

from dataclasses import dataclass

from loopdiff.analysis.legality import Conflict, carried
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedra import Model
from loopdiff.analysis.polyhedra_events import Event
from loopdiff.ir.nodes import (
    Accumulate,
    Allocate,
    Apply,
    Assign,
    Call,
    Const,
    Exit,
    If,
    Index,
    Load,
    Loop,
    Require,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_access
from loopdiff.ir.types import INT
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import Path, Site, children, statements, stmt_exprs, subexprs
from loopdiff.transform.contractions import Contraction, contraction
from loopdiff.transform.mapping import Mapping, Parallel, ScalarLoop, Serial, Sharing, TiledNest, VectorLoop
from loopdiff.transform.strides import Stride, is_varying, stride_of, varying_names
from loopdiff.transform.tiles import choose_tile

TRIPS = 32.0
LANES = 8
COSTS: dict[Stride, float] = {"uniform": 0.3, "unit": 1.0, "strided": 6.0, "indexed": 8.0}


@dataclass(frozen=True, slots=True)
class Schedule:
    """A mapping for every loop that is reached; loops inside a VectorLoop or TiledNest have none of their own.

    `sharing`: for the outermost of these loops whether they run on several threads, where that was asked.
    """

    mappings: tuple[tuple[Path, Mapping], ...]
    sharing: tuple[tuple[Path, Sharing], ...] = ()

    def of(self, path: Path) -> Mapping | None:
        return next((m for p, m in self.mappings if p == path), None)


def plan(model: Model, *, may_reassociate: bool = True) -> Schedule:
    """The cheapest legal schedule of the model's LoopSet. `may_reassociate`: sums may run in any order."""
    planner = Planner(model, type_env(model.ls), may_reassociate)
    found: list[tuple[Path, Mapping]] = []
    for number, stmt in enumerate(model.ls.body):
        planner.visit(stmt, (number,), found)
    return Schedule(tuple(found))


@dataclass(frozen=True, slots=True)
class Planner:
    model: Model
    types: TypeEnv
    may_reassociate: bool

    def visit(self, stmt: Stmt, path: Path, found: list[tuple[Path, Mapping]]) -> float:
        """Choose mappings below `stmt`; the estimated cost of running it once."""
        match stmt:
            case Loop():
                return self.loop(stmt, path, found)
            case If():
                return sum(self.visit(s, (*path, k), found) for k, s in enumerate(children(stmt)))
            case _:
                return 1.0 + len(list(e for x in stmt_exprs(stmt) for e in subexprs(x) if isinstance(e, Load | Apply)))

    def loop(self, stmt: Loop, path: Path, found: list[tuple[Path, Mapping]]) -> float:
        tile = self.tile(stmt)
        if tile is not None:
            found.append((path, tile))
            return 0.0
        inner: list[tuple[Path, Mapping]] = []
        below = TRIPS * sum(self.visit(s, (*path, k), inner) for k, s in enumerate(stmt.body))
        mapping = self.vector(stmt, path)
        if isinstance(mapping, VectorLoop):
            cost = vector_cost(stmt, self.model, self.types) * TRIPS / LANES
            if cost <= below:
                found.append((path, mapping))
                return cost
            mapping = ScalarLoop("its inner loop makes the better vectors")
        found.append((path, mapping))
        found += inner
        return below

    # -- vector loops ----------------------------------------------------------------------------------------
    def vector(self, stmt: Loop, path: Path) -> VectorLoop | ScalarLoop:
        """Whether the loop's iterations may run in lanes."""
        if not (isinstance(stmt.step, Const) and stmt.step.value == 1):
            return ScalarLoop(self.order(stmt, path))
        obstacle = self.obstacle(stmt)
        if obstacle:
            return ScalarLoop(obstacle)
        private = owned_cells(self.model.ls, path)
        conflict = carried(self.model, path, private, is_strict=not self.may_reassociate)
        if conflict is not None:
            return ScalarLoop(describe(self.model, conflict))
        held = self.held_back(stmt, private)
        if held:
            return ScalarLoop(held)
        varying = varying_names(stmt)
        sums = {
            s.stmt.target.array
            for s in statements(stmt.body)
            if isinstance(s.stmt, Accumulate)
            and stride_of(s.stmt.target, stmt.index, varying, self.model.ls) == "uniform"
        }
        return VectorLoop(tuple(sorted(sums - private)))

    def held_back(self, loop: Loop, private: frozenset[str]) -> str:
        """A cell that some iteration leaves a value in; lanes have no order to say which one."""
        for site in statements(loop.body):
            match site.stmt:
                case Assign(target=target) if not target.subscripts and target.array not in private:
                    return f"`{target.array}` keeps the value of one iteration"
                case _:
                    pass
        return ""

    def order(self, stmt: Loop, path: Path) -> str:
        """Why a loop that does not count up by one was not turned into one that does."""
        is_block = any(isinstance(s, Loop) and s.lower == Index(stmt.index) for s in stmt.body)
        if isinstance(stmt.step, Const) and is_block:
            return f"it goes by blocks of {stmt.step.value} rows, each row with buffers of its own"
        if not (isinstance(stmt.step, Const) and stmt.step.value == -1):
            return "its step is not 1"
        private = owned_cells(self.model.ls, path)
        conflict = carried(self.model, path, private, is_strict=not self.may_reassociate)
        return "it runs backwards" if conflict is None else f"it runs backwards; {describe(self.model, conflict)}"

    def obstacle(self, loop: Loop) -> str:
        """What in the body has no vector form."""
        varying = varying_names(loop)
        for site in statements(loop.body):
            match site.stmt:
                case Require() | Exit() | Allocate() | Call():
                    return scalar_only(site)
                case Loop(lower=lower, upper=upper, step=step, index=index):
                    if any(is_varying(e, varying) for e in (lower, upper, step)):
                        return f"the trip count of its inner loop `{index}` differs between iterations"
                    if any(isinstance(s, If) and is_varying(s.cond, varying) for s in site.enclosing):
                        return f"its inner loop `{index}` depends on a condition"
                case Accumulate(op="max" | "min", target=target):
                    if stride_of(target, loop.index, varying, self.model.ls) == "indexed":
                        return "its maximum goes to computed places"
                case _:
                    pass
            for node in (e for x in stmt_exprs(site.stmt) for e in subexprs(x)):
                if isinstance(node, Apply) and not has_vector_form(node, self.types):
                    return f"`{node.op.value}` on integers may fail and has no vector form"
        return ""

    # -- contractions ----------------------------------------------------------------------------------------
    def tile(self, stmt: Loop) -> TiledNest | None:
        """The tile of a contraction that starts here, if its access patterns suit one."""
        found = contraction(stmt) if self.may_reassociate else None
        if found is None or not is_rectangular(found.loops) or not self.is_uniform(found):
            return None
        return choose_tile(self.model.ls, found)

    def is_uniform(self, found: Contraction) -> bool:
        """Whether the summand never reads what is summed into, and all is of one floating type."""
        array = found.update.target.array
        reads = {e.access.array for e in subexprs(found.summand) if isinstance(e, Load)}
        kind = self.types.arrays[array].element
        return array not in reads and kind.is_float and {self.types.arrays[r].element for r in reads} <= {kind}


def scalar_only(site: Site) -> str:
    """Why the statement at `site`, of the body of a loop, runs in one iteration after the other."""
    match site.stmt:
        case Require():
            return "it checks a condition in each iteration"
        case Exit(loc=loc):
            where = f" ({loc.in_words})" if loc.line else ""
            owner = "it" if len(site.path) == 1 else f"its inner loop `{site.loops[-1].index}`"
            return f"{owner} may end early{where}"
        case Call(rule=rule):
            return f"it calls `{rule.name}`, which is not looked into"
        case _:
            return "it allocates an array"


def is_rectangular(loops: tuple[Loop, ...]) -> bool:
    """Whether the loops' ranges do not depend on each other or on memory, in unit steps."""
    indices = {p.index for p in loops}
    for loop in loops:
        for bound in (loop.lower, loop.upper):
            if any(isinstance(e, Load | Var) or (isinstance(e, Index) and e.name in indices) for e in subexprs(bound)):
                return False
        if not (isinstance(loop.step, Const) and loop.step.value == 1):
            return False
    return True


def has_vector_form(node: Apply, types: TypeEnv) -> bool:
    """False for integer division by what may be zero, integer powers and shifts, which can raise."""
    if node.op in (Op.FLOORDIV, Op.MOD) and type_of(node, types) == INT:
        return isinstance(node.args[1], Const) and node.args[1].value > 0
    if node.op in (Op.POW, Op.SHL, Op.SHR) and type_of(node, types) == INT:
        return isinstance(node.args[1], Const) and node.args[1].value >= 0
    return True


def vector_cost(loop: Loop, model: Model, types: TypeEnv) -> float:
    """Estimated cost of `LANES` iterations of the body, side by side."""
    total, varying = 0.0, varying_names(loop)
    for site in statements(loop.body):
        weight = TRIPS ** len(site.loops)
        accesses = [e.access for x in stmt_exprs(site.stmt) for e in subexprs(x) if isinstance(e, Load)]
        match site.stmt:
            case Assign(target=target) | Accumulate(target=target):
                accesses.append(target)
            case _:
                pass
        operations = sum(1 for x in stmt_exprs(site.stmt) for e in subexprs(x) if isinstance(e, Apply))
        memory = sum(COSTS[stride_of(a, loop.index, varying, model.ls)] for a in accesses)
        total += weight * (1.0 + operations + memory)
    return total


def describe(model: Model, conflict: Conflict) -> str:
    """The dependence in the user's words."""

    def words(event: Event) -> str:
        verb = "writes" if event.is_write else "reads"
        loc = model.sites[event.path].stmt.loc
        place = f"{loc.in_words} " if loc.line else ""
        return f"{place}{verb} {print_access(event.access)}"

    index = model.loop(conflict.carrier).index
    return (
        f"iterations of `{index}` depend on each other through `{conflict.array}`: "
        f"{words(conflict.first)}, {words(conflict.second)} in another iteration"
    )


def explain_schedule(schedule: Schedule, model: Model) -> str:
    """One line per loop: what it became and why."""
    lines: list[str] = []
    sharing = dict(schedule.sharing)
    for path, mapping in sorted(schedule.mappings, key=lambda p: p[0]):
        loop = model.loop(path)
        depth = "  " * len(model.sites[path].loops)
        where = f" ({loop.loc.in_words})" if loop.loc.line else ""
        match mapping:
            case VectorLoop(reductions=reductions):
                sums = f", lanes of {', '.join(f'`{r}`' for r in reductions)} added at the end" if reductions else ""
                text = f"vectorised{sums}"
            case TiledNest(lanes=lanes, rows=rows, columns=columns, sums=sums, is_dot=is_dot):
                held = "dot products" if is_dot else f"vectors along `{lanes}`"
                sides = [rows] if is_dot or columns == lanes else [rows, columns]
                unrolled = "".join(f", `{s}` unrolled" for s in sides if s)
                text = f"register tile of {held}{unrolled}, summed over {', '.join(f'`{s}`' for s in sums)}"
            case ScalarLoop(reason=reason):
                text = f"scalar: {reason}"
        lines.append(f"{depth}for {loop.index}{where}: {text}{explain_sharing(sharing.get(path), text)}")
    return "\n".join(lines)


def explain_sharing(sharing: Sharing | None, known: str) -> str:
    """Whether the loop is shared among threads, and why not unless that is `known`."""
    match sharing:
        case Parallel(index=index, granule=granule, sums=sums, near=near, arrays=arrays, zero=zero):
            size = f"chunks of `{index}`" + (f" by multiples of {granule}" if granule > 1 else "")
            if near:
                size += f", every second one first for {', '.join(f'`{n}`' for n in near)}"
            groups = ((("sums of ", n) for n, _ in sums), (("its own ", n) for n in (*arrays, *zero)))
            own = [f"{what}`{name}`" for group in groups for what, name in group]
            return f"; in parallel, {size}{'; per chunk ' + ', '.join(own) if own else ''}"
        case Serial(reason=reason) if reason not in known:
            return f"; on one thread: {reason}"
        case _:
            return ""
