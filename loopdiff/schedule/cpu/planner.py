"""The schedule of a LoopSet: which loop is the vector, which nests are register tiles, what stays scalar and why.

A schedule is a value apart from the program: it can be printed, and changes speed, never meaning. It is chosen by a
small cost model over memory access patterns; only what the dependences allow is ever considered.
"""

from __future__ import annotations

from loopdiff.analysis.contractions import Contraction, contraction, is_uniform
from loopdiff.analysis.legality import AnyOrder, Conflict, describe_conflict, interrupted, violation
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.strides import is_varying, stride_of, varying_names
from loopdiff.errors import ScheduleError
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    Path,
    Site,
    all_statements,
    children,
    indices_in,
    loads_in,
    loads_of,
    nodes_of,
    statements,
    subexprs,
)
from loopdiff.mapping.lane_blocks import is_block_loop
from loopdiff.mapping.loops import Mapping, ScalarLoop, Schedule, TiledNest, VectorLoop
from loopdiff.model import tuning
from loopdiff.model.cost import OFTEN, CostModel
from loopdiff.model.edges import edges_of
from loopdiff.model.machine import DIVISIONS, FUNCTIONS, Machine
from loopdiff.model.register_tiles import choose_tile
from loopdiff.model.trip_counts import Extents, Ranges, TripCounter, is_row_of_elements
from loopdiff.schedule.cpu.unroll_and_jam import rows_together
from loopdiff.schedule.refusals import refuse_dependence, refuse_form, refuse_unblocked, refuse_unknown
from loopdiff.settings.requests import NOTHING, Requests, Wish

DEFAULT = Machine()
REQUESTED = "as requested"
INNER_IS_REQUESTED = "what is inside it was requested"
# Iterations depend on the sum of those before, and yet no two of them meet: no check lets a call come this far.
NEVER_RUNS = "what is checked before never holds"
INNER_IS_BETTER = "its inner loop makes the better vectors"
EDGE_OF_LONG = "it goes along an edge of arrays, where vectors gain little and make a long program longer"
SCALAR_IS_BETTER = "one iteration after the other takes less time than lanes of far apart elements"


def plan(
    model: Model, *, may_reassociate: bool = True, machine: Machine = DEFAULT, requests: Requests = NOTHING
) -> Schedule:  # fmt: skip
    """The schedule of the model's LoopSet that is fastest on `machine`, as the cost model sees it, for any arguments.

    `may_reassociate`: sums may run in any order. Raises ScheduleError for `requests` that cannot be granted: LD501 if a
    dependence forbids it, LD502 for a loop that is not there, LD503 for a mapping that has no form for the loop.
    """
    refuse_unknown(model.ls, requests)
    refuse_unblocked(model.ls, requests)
    planner = Planner.of(model, may_reassociate=may_reassociate, machine=machine, requests=requests)
    found: list[tuple[Path, Mapping]] = []
    planner.below(model.ls.body, (), {}, found)
    return Schedule(tuple(found))


@immutable
class Planner:
    model: Model
    types: TypeEnv
    costs: CostModel
    may_reassociate: bool
    requests: Requests
    edges: frozenset[Path]

    @classmethod
    def of(
        cls, model: Model, *, may_reassociate: bool = True, machine: Machine = DEFAULT, requests: Requests = NOTHING
    ) -> Planner:  # fmt: skip
        types = type_env(model.ls)
        costs = CostModel(model.ls, types, machine, TripCounter.of(model.ls, Extents()))
        return cls(model, types, costs, may_reassociate, requests, edges_of(model.ls))

    def below(
        self, body: tuple[ir.Stmt, ...], path: Path, ranges: Ranges, found: list[tuple[Path, Mapping]]
    ) -> float:  # fmt: skip
        """Choose mappings of the loops in `body`; the nanoseconds of running them once."""
        total = 0.0
        for number, stmt in enumerate(body):
            match stmt:
                case ir.Loop():
                    total += self.loop(stmt, (*path, number), ranges, found)
                case ir.If():
                    total += OFTEN * self.below(children(stmt), (*path, number), ranges, found)
                case _:
                    pass
        return total

    def loop(self, stmt: ir.Loop, path: Path, ranges: Ranges, found: list[tuple[Path, Mapping]]) -> float:
        wish = self.wish(stmt)
        inside = {self.wish(s) for s in all_statements(stmt.body) if isinstance(s, ir.Loop)} - {None}
        tile = None if {wish, *inside} & {"vector", "scalar"} else self.tile(stmt)
        if tile is not None:
            found.append((path, tile[1]))
            return self.costs.tile(*tile, ranges)
        inner: list[tuple[Path, Mapping]] = []
        _, span = self.costs.counter.trips(stmt, ranges)
        below = self.below(stmt.body, path, {**ranges, stmt.index: span}, inner)
        apart, together = self.costs.scalar(stmt, below, None, ranges), self.costs.vector(stmt, ranges)
        if wish == "tile":
            raise refuse_form(
                stmt, "a register tile", "it does not begin a sum of products that has one", self.requests
            )
        mapping = self.scalar_only(stmt, path)
        if mapping is None and wish is None and together > apart:
            mapping = ScalarLoop(INNER_IS_BETTER if inner else SCALAR_IS_BETTER)
        if mapping is None and wish is None and apart < tuning.EDGE_GAIN * together and path in self.edges:
            mapping = ScalarLoop(EDGE_OF_LONG)
        if wish == "scalar" or (wish is None and inside & {"vector", "tile"}):
            mapping = ScalarLoop(
                REQUESTED if wish else INNER_IS_REQUESTED, None if mapping is None else mapping.through
            )
        if mapping is None:
            mapping = self.vector(stmt, path)
        if wish == "vector" and isinstance(mapping, ScalarLoop):
            raise self.refused(stmt, path, mapping)
        if isinstance(mapping, VectorLoop):
            found.append((path, mapping))
            return together
        found += [(path, replace(mapping, together=self.rows_at_once(path, inner))), *inner]
        return self.costs.scalar(stmt, below, mapping.through, ranges)

    def rows_at_once(self, path: Path, inner: list[tuple[Path, Mapping]]) -> int:
        """How many iterations of the loop at `path` go through the vector loops in them at once."""
        registers = self.costs.machine.registers
        return rows_together(self.model, path, inner, registers, self.may_reassociate) if inner else 1

    def wish(self, loop: ir.Loop) -> Wish | None:
        return self.requests.wish(loop.index, loop.loc.line)

    def refused(self, stmt: ir.Loop, path: Path, mapping: ScalarLoop) -> ScheduleError:
        """Why a loop that is wanted as a vector has to be scalar."""
        private = owned_cells(self.model, path)
        conflict = violation(self.model, AnyOrder(path, private), is_strict=not self.may_reassociate)
        if conflict is None:
            return refuse_form(stmt, "a vector", mapping.reason, self.requests)
        return refuse_dependence(self.model, stmt, conflict, self.requests)

    # -- vector loops ----------------------------------------------------------------------------------------
    def scalar_only(self, stmt: ir.Loop, path: Path) -> ScalarLoop | None:
        """The loop as a scalar one if it is plain to see that it has to be: by its step, or what is in its body."""
        if not is_constant(stmt.step, 1):
            return self.in_order(stmt, path)
        obstacle = self.obstacle(stmt)
        return ScalarLoop(obstacle) if obstacle else None

    def vector(self, stmt: ir.Loop, path: Path) -> VectorLoop | ScalarLoop:
        """Whether the dependences let the loop's iterations run in lanes."""
        private = owned_cells(self.model, path)
        conflict = violation(self.model, AnyOrder(path, private), is_strict=not self.may_reassociate)
        if conflict is not None:
            return ScalarLoop(describe_conflict(self.model, path, conflict), seen(conflict))
        held = self.held_back(stmt, private)
        if held:
            return ScalarLoop(held)
        varying = varying_names(stmt)
        sums = {
            s.target
            for s in all_statements(stmt.body)
            if isinstance(s, ir.Accumulate)
            and stride_of(s.target, stmt.index, varying, self.model.ls) == "uniform"
            and s.target.array not in private
        }
        seen_inside = {e.access.array for e in loads_in(stmt.body)}
        reductions = {target.array for target in sums}
        if any(self.model.ls.array(name).extents == () for name in reductions & seen_inside):
            return ScalarLoop(NEVER_RUNS)
        conflict = interrupted(self.model, path, sums, is_strict=not self.may_reassociate)
        if conflict is not None:
            return ScalarLoop(f"in one iteration it sums into `{conflict.array}` and goes on with the sum")
        may_be_short = self.may_be_short(stmt, self.model.sites[path].loops)
        few = tuning.FEW_SUMMED if reductions else tuning.FEW
        return VectorLoop(tuple(sorted(reductions)), may_be_short, few if is_row_at_place(stmt) else 0)

    def may_be_short(self, loop: ir.Loop, around: tuple[ir.Loop, ...]) -> bool:
        """Whether `loop`, innermost and of fast instructions, is longer or shorter in iterations of loops around it."""
        inside = all_statements(loop.body)
        nodes = [e for s in inside for e in nodes_of(s)]
        is_slow = any(isinstance(e, ir.Apply) and (e.op in FUNCTIONS or e.op in DIVISIONS) for e in nodes)
        if is_slow or any(isinstance(s, ir.Loop) for s in inside):
            return False
        moving = {ir.Index(p.index) for p in around if isinstance(p.step, ir.Const) and p.step.value in (1, -1)}
        by_index = any(e in moving for b in (loop.lower, loop.upper) for e in subexprs(b))
        return by_index or is_row_of_elements(loop, self.costs.counter.lets)

    def held_back(self, loop: ir.Loop, private: frozenset[str]) -> str:
        """A cell that some iteration leaves a value in; lanes have no order to say which one."""
        for stmt in all_statements(loop.body):
            match stmt:
                case ir.Assign(target=target) if not target.subscripts and target.array not in private:
                    return f"`{target.array}` keeps the value of one iteration"
                case _:
                    pass
        return ""

    def in_order(self, stmt: ir.Loop, path: Path) -> ScalarLoop:
        """Why a loop that does not count up by one was not turned into one that does."""
        if isinstance(stmt.step, ir.Const) and is_block_loop(stmt):
            return ScalarLoop(f"it goes by blocks of {stmt.step.value} rows")
        if not (isinstance(stmt.step, ir.Const) and stmt.step.value == -1):
            return ScalarLoop("its step is not 1")
        private = owned_cells(self.model, path)
        conflict = violation(self.model, AnyOrder(path, private), is_strict=not self.may_reassociate)
        if conflict is None:
            return ScalarLoop("it runs backwards")
        return ScalarLoop(f"it runs backwards; {describe_conflict(self.model, path, conflict)}", seen(conflict))

    def obstacle(self, loop: ir.Loop) -> str:
        """What in the body has no vector form."""
        varying = varying_names(loop)
        for site in statements(loop.body):
            match site.stmt:
                case ir.Require() | ir.Exit() | ir.Allocate() | ir.Call():
                    return scalar_only(site)
                case ir.Loop(lower=lower, upper=upper, step=step, index=index):
                    if any(is_varying(e, varying) for e in (lower, upper, step)):
                        return f"the trip count of its inner loop `{index}` differs between iterations"
                    if any(isinstance(s, ir.If) and is_varying(s.cond, varying) for s in site.enclosing):
                        return f"its inner loop `{index}` depends on a condition"
                case ir.Accumulate(op="max" | "min", target=target):
                    if stride_of(target, loop.index, varying, self.model.ls) == "indexed":
                        return "its maximum goes to computed places"
                case _:
                    pass
            for node in nodes_of(site.stmt):
                if isinstance(node, ir.Apply) and not has_vector_form(node, self.types):
                    return f"`{node.op.value}` on integers may fail and has no vector form"
        return ""

    # -- contractions ----------------------------------------------------------------------------------------
    def tile(self, stmt: ir.Loop) -> tuple[Contraction, TiledNest] | None:
        """The contraction that starts here and its tile, if its access patterns suit one."""
        found = contraction(stmt) if self.may_reassociate else None
        if found is None or not is_uniform(found, self.types):
            return None
        tile = choose_tile(self.model.ls, found)
        return None if tile is None else (found, tile)


def is_row_at_place(loop: ir.Loop) -> bool:
    """Whether `loop` adds something to rows of an array whose number is computed, or elements of such rows to others:
    features of what is looked up are few."""
    adds = [s for s in loop.body if isinstance(s, ir.Accumulate)]
    places = [a for s in adds for a in (s.target, *(load.access for load in loads_of(s)))]
    return any(
        isinstance(e, ir.Var) or (isinstance(e, ir.Load) and bool(e.access.subscripts))
        for a in places
        for s in a.subscripts
        if loop.index not in indices_in(s)
        for e in subexprs(s)
    )


def scalar_only(site: Site) -> str:
    """Why the statement at `site`, of the body of a loop, runs in one iteration after the other."""
    match site.stmt:
        case ir.Require():
            return "it checks a condition in each iteration"
        case ir.Exit(loc=loc):
            where = f" ({loc.in_words})" if loc.line else ""
            owner = "it" if len(site.path) == 1 else f"its inner loop `{site.loops[-1].index}`"
            return f"{owner} may end early{where}"
        case ir.Call(rule=rule):
            return f"it calls `{rule.name}`, which is not looked into"
        case _:
            return "it allocates an array"


def has_vector_form(node: ir.Apply, types: TypeEnv) -> bool:
    """False for integer division by what may be zero, integer powers and shifts, which can raise."""
    if node.op in (Op.FLOORDIV, Op.MOD) and type_of(node, types) == INT:
        return isinstance(node.args[1], ir.Const) and node.args[1].value > 0
    if node.op in (Op.POW, Op.SHL, Op.SHR) and type_of(node, types) == INT:
        return isinstance(node.args[1], ir.Const) and node.args[1].value >= 0
    return True


def seen(conflict: Conflict) -> ir.Access | None:
    """The read of a conflict, which sees what another iteration left."""
    return next((e.access for e in (conflict.first, conflict.second) if not e.is_write), None)
