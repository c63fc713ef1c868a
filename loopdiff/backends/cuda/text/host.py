"""The host's side of a launch plan, as a readable Python function for Numba: it makes arrays and launches kernels.

The text is the same for the GPU and for its emulation but for a few lines, which `Target` spells.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cuda.text.failures import FAILURES
from loopdiff.backends.cuda.text.grids import RAISE_FOUND, RELEASE_ALL, AnyTarget, GridEmitter
from loopdiff.backends.cuda.text.spelling import STATUS
from loopdiff.backends.writer import Writer
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import natural
from loopdiff.ir.types import INT
from loopdiff.ir.walk import returned_arrays, stmt_exprs, touched_arrays
from loopdiff.mapping.launches import HostIf, HostLoop, Launch, OnHost, Step, all_steps


@dataclass(slots=True)
class HostEmitter(GridEmitter[AnyTarget]):
    """Writes the function that runs `plan`: its `text`, and the `kernels` that it launches, in order."""

    text: str = field(init=False)

    def __post_init__(self) -> None:
        GridEmitter.__post_init__(self)
        self.text = self.function()

    # -- values ----------------------------------------------------------------------------------------------
    def expr(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Var(name=name) if name in self.plan.on_device:
                return self.target.peek(f"{name}[0]", name, ["0"])
            case ir.Load(access=access) if access.array in self.plan.on_device:
                return self.target.peek(f"{access.array}[0]", access.array, ["0"])
            case _:
                return ScalarEmitter.expr(self, expr)

    def load(self, access: ir.Access) -> str:
        if access.array in self.cells:
            return access.array
        place = ScalarEmitter.place(self, access)
        text = self.target.peek(place, access.array, [self.expr(s) for s in access.subscripts])
        kind = self.types.arrays[access.array]
        return text if kind.dtype in ("float64", "float32", "int64", "bool") else f"np.int64({text})"

    # -- steps -----------------------------------------------------------------------------------------------
    def steps(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            match step:
                case OnHost(stmt=stmt):
                    self.look_first(stmt_exprs(stmt))
                    self.statement(stmt)
                case Launch():
                    self.launch(step)
                case HostLoop():
                    self.host_loop(step)
                case HostIf(stmt=stmt, then=then, orelse=orelse):
                    self.look_first((stmt.cond,))
                    with self.writer.block(f"if {self.expr(stmt.cond)}:"):
                        self.steps(then)
                    if orelse:
                        with self.writer.block("else:"):
                            self.steps(orelse)

    def host_loop(self, step: HostLoop) -> None:
        loop = step.loop
        self.writer.quote(loop.loc)
        self.look_first((loop.lower, loop.upper, loop.step))
        bounds = ", ".join(map(self.expr, (loop.lower, loop.upper, loop.step)))
        with self.writer.block(f"for {loop.index} in range({bounds}):"):
            self.steps(step.steps)

    def statement(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Require(cond=cond):
                self.refuse_unless(self.expr(cond), f"{stmt.code}: {stmt.said_in_code}", RAISE_FOUND)
            case ir.Allocate(array=array, fill=fill) if array not in self.all_cells:
                if fill is not None:
                    self.fill(array, fill)
            case _:
                ScalarEmitter.statement(self, stmt)

    def fill(self, array: str, value: ir.Expr) -> None:
        lines = self.target.fill(array, self.expr(value))
        if lines is not None:
            self.lines(lines)
            return
        subscripts, indices = self.fresh_subscripts(array)
        self.elementwise(array, indices, (ir.Assign(ir.Access(array, subscripts), value),))

    # -- the function ----------------------------------------------------------------------------------------
    def function(self) -> str:
        """The whole function."""
        with self.writer.block(f"def {self.ls.name}({', '.join(self.ls.params)}):"):
            for array in (n for n in self.ls.params if self.ls.has_array(n)):
                self.lines(self.target.borrow(array))
            self.own_arrays()
            place = len(self.writer.lines)
            self.steps(self.plan.steps)
            self.writer.line(RAISE_FOUND)
            results = []
            for number, result in enumerate(self.ls.results):
                if isinstance(result, ir.ScalarResult):
                    results.append(self.names.fresh(f"result_{number}"))
                    self.writer.line(f"{results[-1]} = {self.expr(result.value)}")
                else:
                    results.append(result.array)
            returned = returned_arrays(self.ls)
            self.lines(self.released(returned))
            for array in (n for n in self.owned if n in returned):
                self.lines(self.target.keep(array))
            if results:
                joined = ", ".join(results) + ("," if self.ls.returns_tuple and len(results) == 1 else "")
                self.writer.line(f"return {joined}")
        lines = self.writer.lines
        if self.has_status:
            status = self.emitter.status
            self.writer = Writer(depth=1)
            self.lines(self.target.allocate(status, f"({self.emitter.checks.size},)", "int64"))
            self.clear(status, INT)
            lines[place:place] = self.writer.lines
        header, *body = (out for line in lines for out in self.in_full(line))
        return "\n".join([header, *(body or ["    pass"])]) + "\n"

    def in_full(self, line: str) -> list[str]:
        """A line, or what it stands for."""
        text = line.lstrip()
        self.writer = Writer(depth=(len(line) - len(text)) // 4)
        if text == RAISE_FOUND:
            self.raise_found()
        elif text == RELEASE_ALL:
            self.lines(self.released(frozenset()))
        else:
            return [line]
        return self.writer.lines

    @property
    def has_status(self) -> bool:
        return any(self.emitter.status in k.params for k in self.kernels)

    def raise_found(self) -> None:
        """Raise what threads found wrong."""
        if not self.has_status:
            return
        status = self.emitter.status
        errors = (*FAILURES, *self.found_checks())
        wrong = [self.names.fresh("wrong") for _ in errors]
        with self.writer.block(f"if {self.target.peek(f'{status}[{STATUS}]', status, [str(STATUS)])} != 0:"):
            for name, (number, _) in zip(wrong, errors, strict=True):
                self.writer.line(f"{name} = {self.target.peek(f'{status}[{number}]', status, [str(number)])}")
            self.lines(self.released(frozenset()))
            for name, (_, error) in zip(wrong, errors, strict=True):
                with self.writer.block(f"if {name} != 0:"):
                    self.writer.line(f"raise {error}")

    def released(self, kept: frozenset[str]) -> list[str]:
        """Lines that give back the function's own arrays, but for those that are `kept`."""
        names = (*self.owned, *([self.emitter.status] if self.has_status else []))
        return [line for n in names if n not in kept for line in self.target.release(n)]

    def found_checks(self) -> list[tuple[int, str]]:
        known = self.emitter.checks.known
        return [(n, f"ArgumentError({f'{code}: {message}'!r})") for (code, message), n in known.items()]

    def own_arrays(self) -> None:
        launches = [s for s in all_steps(self.plan.steps) if isinstance(s, Launch)]
        bodies = (self.ls.body, *(k.body for k in launches))
        used = returned_arrays(self.ls).union(*(touched_arrays(b) for b in bodies))
        of_kernels = {c for k in launches for c in k.cells}
        for decl in self.ls.arrays:
            assert decl.type is not None
            kind = decl.type.element
            if decl.name in self.ls.params:
                continue
            if decl.name in self.plan.on_device:
                self.own(decl.name, "(1,)", kind.value)
                self.clear(decl.name, kind)
            elif decl.name in self.cells - of_kernels:
                self.writer.line(f"{decl.name} = {spell_constant(0, kind)}")
            elif decl.type.rank and decl.name in used:
                shape = ", ".join(self.expr(natural(e)) for e in decl.extents or ())
                self.own(decl.name, f"({shape},)", decl.type.dtype)
        for name in sorted(self.plan.on_device & self.types.lets.keys()):
            self.own(name, "(1,)", self.types.lets[name].value)

    def own(self, name: str, shape: str, dtype: str) -> None:
        self.owned.append(name)
        self.lines(self.target.allocate(name, shape, dtype))
