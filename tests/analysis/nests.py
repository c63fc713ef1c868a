"""Loop nests for the analyses: a small builder, random programs, and their execution traces as the judge."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, INT, ArrayType
from loopdiff.ir.walk import Path

Number = int | float
Iteration = tuple[Path, int, Fraction]


# -- builder -------------------------------------------------------------------------------------------------
def e(value: ir.Expr | int | str) -> ir.Expr:
    """An integer literal, or an index by name (upper case: an integer argument)."""
    if isinstance(value, int):
        return ir.Const(value, INT)
    if isinstance(value, str):
        return ir.Param(value) if value.isupper() else ir.Index(value)
    return value


def op(kind: Op, *args: ir.Expr | int | str) -> ir.Expr:
    return ir.Apply(kind, tuple(e(a) for a in args))


def add(a: ir.Expr | int | str, b: ir.Expr | int | str) -> ir.Expr:
    return op(Op.ADD, a, b)


def sub(a: ir.Expr | int | str, b: ir.Expr | int | str) -> ir.Expr:
    return op(Op.SUB, a, b)


def mul(a: ir.Expr | int | str, b: ir.Expr | int | str) -> ir.Expr:
    return op(Op.MUL, a, b)


def at(array: str, *subscripts: ir.Expr | int | str) -> ir.Access:
    return ir.Access(array, tuple(e(s) for s in subscripts))


def read(array: str, *subscripts: ir.Expr | int | str) -> ir.Expr:
    return ir.Load(at(array, *subscripts))


def real(value: float) -> ir.Expr:
    return ir.Const(float(value), F64)


def total(*parts: ir.Expr) -> ir.Expr:
    out = parts[0]
    for part in parts[1:]:
        out = ir.Apply(Op.ADD, (out, part))
    return out


def loop(
    index: str, lower: ir.Expr | int | str, upper: ir.Expr | int | str, *body: ir.Stmt, step: ir.Expr | int | str = 1
) -> ir.Loop:
    return ir.Loop(index, e(lower), e(upper), e(step), body)


def program(
    *body: ir.Stmt, arrays: Mapping[str, int], local: Mapping[str, tuple[ir.Expr, ...]] | None = None,
    integers: tuple[str, ...] = (), scalars: tuple[str, ...] = ("N", "M"), result: ir.Expr | None = None,
) -> ir.LoopSet:  # fmt: skip
    """A LoopSet: `arrays` are arguments by rank, `local` ones have extents, those in `integers` hold int64."""
    decls = [
        ir.ArrayDecl(n, ArrayType("int64" if n in integers else "float64", rank), "argument")
        for n, rank in arrays.items()
    ]
    decls += [ir.ArrayDecl(n, ArrayType("float64", len(x)), "local", x) for n, x in (local or {}).items()]
    results = () if result is None else (ir.ScalarResult(result),)
    return ir.LoopSet(
        "nest", (*arrays, *scalars), tuple(decls), tuple(ir.ScalarDecl(s, INT) for s in scalars), body, results
    )


# -- execution -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Touch:
    """One executed access: `iterations` holds (loop path, run of the loop, position in it) from outside in.

    The position is index / step, or the number of the iteration if the step is not constant. `combines`: the op of the
    update that it is the read or the write of.
    """

    path: Path
    access: ir.Access
    is_write: bool
    element: tuple[int, ...]
    iterations: tuple[Iteration, ...]
    combines: str | None = None

    def inside(self, scope: Path | None) -> Iteration | None:
        """The iteration of the loop at `scope` it happened in."""
        return next((k for k in self.iterations if k[0] == scope), None)


@dataclass
class Machine:
    """Executes a LoopSet over integers and floats, element by element, and notes what it touches.

    Arrays have no end, but a beginning: what is before it counts only in `strays`.
    """

    ls: ir.LoopSet
    extents: Mapping[str, tuple[int, ...]]
    scalars: Mapping[str, int]
    start: Callable[[str, tuple[int, ...]], Number]
    touches: list[Touch] = field(default_factory=list)
    strays: list[Touch] = field(default_factory=list)
    memory: dict[tuple[str, tuple[int, ...]], Number] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    iterations: tuple[Iteration, ...] = ()
    runs: Any = field(default_factory=count)
    trips: dict[Path, list[range]] = field(default_factory=dict)

    def run(self) -> list[Touch]:
        self.block(self.ls.body, ())
        for result in self.ls.results:
            if isinstance(result, ir.ScalarResult):
                self.value(result.value, ())
        return self.touches

    def by_element(self) -> list[list[Touch]]:
        """Touches of each element, in the order of execution."""
        groups: dict[object, list[Touch]] = {}
        for touch in self.touches:
            groups.setdefault((touch.access.array, touch.element), []).append(touch)
        return list(groups.values())

    def final(self) -> list[tuple[str, tuple[int, ...]]]:
        """Elements the caller can see."""
        returned = [r.array for r in self.ls.results if isinstance(r, ir.ArrayResult)]
        seen = {a.name for a in self.ls.arrays if a.name in self.ls.params} | set(returned)
        return [key for key in self.memory if key[0] in seen and all(k >= 0 for k in key[1])]

    def touch(
        self, path: Path, access: ir.Access, is_write: bool, combines: str | None = None
    ) -> tuple[str, tuple[int, ...]]:
        element = tuple(self.value(s, path) for s in access.subscripts)
        touch = Touch(path, access, is_write, element, self.iterations, combines)
        if all(k >= 0 for k in element):
            self.touches.append(touch)
        if not all(0 <= k < n for k, n in zip(element, self.extents.get(access.array, ()), strict=False)):
            self.strays.append(touch)
        return access.array, element

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path, first: int = 0) -> None:
        for position, stmt in enumerate(body, start=first):
            self.statement(stmt, (*prefix, position))

    def statement(self, stmt: ir.Stmt, path: Path) -> None:
        match stmt:
            case ir.Let(name=name, value=value):
                self.names[name] = self.value(value, path)
            case ir.Assign(target=target, value=value):
                found = self.value(value, path)
                self.memory[self.touch(path, target, True)] = found
            case ir.Accumulate(op=kind, target=target, value=value):
                found = self.value(value, path)
                old = self.load(path, target, kind)
                self.memory[self.touch(path, target, True, kind)] = old + found
            case ir.Loop(index=index, lower=lower, upper=upper, step=step, body=body):
                span = range(*(self.value(x, path) for x in (lower, upper, step)))
                self.trips.setdefault(path, []).append(span)
                run, outer = next(self.runs), self.iterations
                for number, value in enumerate(span):
                    self.names[index] = value
                    at_step = Fraction(value, span.step) if isinstance(step, ir.Const) else Fraction(number)
                    self.iterations = (*outer, (path, run, at_step))
                    self.block(body, path)
                self.iterations = outer
            case ir.If(cond=cond, then=then, orelse=orelse):
                if self.value(cond, path):
                    self.block(then, path)
                else:
                    self.block(orelse, path, len(then))
            case ir.Allocate(array=array):
                shape = [self.value(x, path) for x in self.ls.array(array).extents or ()]
                for k in range(shape[0]):
                    self.memory[self.touch(path, at(array, k), True)] = 0.0
            case _:
                raise AssertionError(stmt)

    def load(self, path: Path, access: ir.Access, combines: str | None = None) -> Number:
        key = self.touch(path, access, False, combines)
        return self.memory.setdefault(key, self.start(*key))

    def value(self, expr: ir.Expr, path: Path) -> Any:
        match expr:
            case ir.Const(value=value):
                return value
            case ir.Index(name=name) | ir.Var(name=name):
                return self.names[name]
            case ir.Param(name=name):
                return self.scalars[name]
            case ir.Dim(array=array, axis=axis):
                return self.extents[array][axis]
            case ir.Load(access=access):
                return self.load(path, access)
            case ir.Select(cond=cond, then=then, orelse=orelse):
                return self.value(then if self.value(cond, path) else orelse, path)
            case ir.Cast(value=value):
                return self.value(value, path)
            case ir.Apply(op=Op.AND, args=args):
                return all(self.value(a, path) for a in args)
            case ir.Apply(op=Op.OR, args=args):
                return any(self.value(a, path) for a in args)
            case ir.Apply(op=kind, args=args):
                return FUNCTIONS[kind](*(self.value(a, path) for a in args))
            case _:
                raise AssertionError(expr)


FUNCTIONS: dict[Op, Callable[..., Any]] = {
    Op.ADD: lambda a, b: a + b, Op.SUB: lambda a, b: a - b, Op.MUL: lambda a, b: a * b, Op.NEG: lambda a: -a,
    Op.FLOORDIV: lambda a, b: a // b, Op.MOD: lambda a, b: a % b, Op.MIN: min, Op.MAX: max, Op.ABS: abs,
    Op.LT: lambda a, b: a < b, Op.LE: lambda a, b: a <= b, Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
    Op.EQ: lambda a, b: a == b, Op.NE: lambda a, b: a != b, Op.NOT: lambda a: not a,
}  # fmt: skip


# -- random programs -----------------------------------------------------------------------------------------
@dataclass
class Writer:
    """Random nests over x (rank 1), a (rank 2) and the cell s; `is_affine`: nothing depends on data."""

    rng: random.Random
    is_affine: bool = True
    indices: int = 0
    lets: int = 0

    def loopset(self) -> ir.LoopSet:
        body = self.block((), 0, self.rng.choice((2, 3)))
        result = self.rng.choice((None, read("s"), read("x", 0)))
        arrays = {"x": 1, "a": 2, "idx": 1}
        scalars = ("N", "M") if self.is_affine else ("N", "M", "S")
        return program(*body, arrays=arrays, local={"s": ()}, integers=("idx",), scalars=scalars, result=result)

    def block(self, scope: tuple[str, ...], depth: int, size: int) -> tuple[ir.Stmt, ...]:
        return tuple(s for _ in range(size) for s in self.statement(scope, depth))

    def statement(self, scope: tuple[str, ...], depth: int) -> tuple[ir.Stmt, ...]:
        kind = self.rng.random()
        size = self.rng.choice((1, 1, 2))
        if depth < 3 and kind < (0.75 if depth == 0 else 0.4):
            return (self.loop(scope, depth, size),)
        if kind > 0.85 and depth > 0:
            orelse = self.block(scope, depth, 1) if self.rng.random() < 0.5 else ()
            return (ir.If(self.condition(scope), self.block(scope, depth, size), orelse),)
        if not self.is_affine and scope and kind > 0.75:
            self.lets += 1
            name = f"v{self.lets}"
            let = ir.Let(name, read("idx", self.index(scope)))
            return (let, ir.Assign(at("x", ir.Var(name)), total(read("x", ir.Var(name)), self.real(scope))))
        target = self.access(scope)
        if self.rng.random() < 0.3:
            return (ir.Accumulate("add", target, self.real(scope)),)
        return (ir.Assign(target, self.real(scope)),)

    def loop(self, scope: tuple[str, ...], depth: int, size: int) -> ir.Loop:
        rng = self.rng
        index = "ijklmnopqrst"[self.indices] if self.indices < 12 else f"i{self.indices}"
        self.indices += 1
        lowers: list[Any] = [0, 0, 1, 2]
        uppers: list[Any] = ["N", "N", "M", sub("N", 1), 3]
        if scope:
            outer = rng.choice(scope)
            lowers += [outer, add(outer, 1)]
            uppers += [outer, add(outer, 2), op(Op.MIN, "N", add(outer, 2))]
        lower, upper, step = rng.choice(lowers), rng.choice(uppers), rng.choice((1, 1, 1, 2, -1, -2))
        if not self.is_affine and rng.random() < 0.3:
            if rng.random() < 0.5:
                upper = read("idx", self.index(scope)) if scope else read("idx", 0)
            else:
                step = "S"
        inner = (*scope, index)
        if isinstance(step, int) and step < 0:
            return loop(index, sub(upper, 1), sub(lower, 1), *self.block(inner, depth + 1, size), step=step)
        return loop(index, lower, upper, *self.block(inner, depth + 1, size), step=step)

    def index(self, scope: tuple[str, ...]) -> ir.Expr:
        """An integer expression, affine in `scope`."""
        rng = self.rng
        if not scope:
            return e(rng.choice((0, 1, sub("N", 1))))
        i, j = rng.choice(scope), rng.choice(scope)
        choices = [i, i, i, i, add(i, 1), sub(i, 1), sub(sub("N", 1), i), mul(2, i), op(Op.FLOORDIV, i, 2),
                   op(Op.MOD, i, 2), add(i, j), sub(i, j), op(Op.MAX, i, 1), 0]  # fmt: skip
        return e(rng.choice(choices))

    def access(self, scope: tuple[str, ...]) -> ir.Access:
        kind = self.rng.random()
        if kind < 0.15:
            return at("s")
        if not self.is_affine and scope and kind < 0.35:
            return at("x", read("idx", self.index(scope)))
        if kind < 0.6:
            return at("x", self.index(scope))
        return at("a", self.index(scope), self.index(scope))

    def condition(self, scope: tuple[str, ...]) -> ir.Expr:
        if not self.is_affine and self.rng.random() < 0.5:
            return ir.Apply(Op.GT, (ir.Load(self.access(scope)), real(0.5)))
        kind = self.rng.choice((Op.LT, Op.GE, Op.EQ, Op.NE))
        cond = ir.Apply(kind, (self.index(scope), self.index(scope)))
        return ir.Apply(Op.AND, (cond, ir.Apply(Op.GT, (e("M"), e(2))))) if self.rng.random() < 0.2 else cond

    def real(self, scope: tuple[str, ...]) -> ir.Expr:
        parts = [ir.Load(self.access(scope)) for _ in range(self.rng.choice((0, 1, 1, 2)))]
        if parts and self.rng.random() < 0.3:
            parts[0] = ir.Select(self.condition(scope), parts[0], real(1))
        return total(*parts) if parts else real(2)


@dataclass
class FlatWriter(Writer):
    """Nests over arrays that are laid out by hand: subscripts of x are numbers of two or three digits, or nearly."""

    def access(self, scope: tuple[str, ...]) -> ir.Access:
        rng = self.rng
        if not scope or rng.random() < 0.2:
            return Writer.access(self, scope)
        i, j, k = (self.digit(scope) for _ in range(3))
        n, m = rng.choice((("N", "M"), ("M", "N"), ("M", "M")))
        two = add(mul(i, m), j)
        choices = [two, two, two, add(mul(m, i), j), sub(mul(add(i, 1), m), j), add(mul(two, n), k),
                   add(add(mul(mul(i, n), m), mul(j, m)), k), add(j, mul(i, sub(m, 1)))]  # fmt: skip
        return at("x", rng.choice(choices))

    def digit(self, scope: tuple[str, ...]) -> ir.Expr:
        i = self.rng.choice(scope)
        return e(self.rng.choice((i, i, i, i, add(i, 1), sub(i, 1), sub(sub("M", 1), i))))


SMALL = tuple((n, m) for n in range(6) for m in (0, 1, 3))
LARGE = (*((n, m) for n in range(10) for m in (0, 2, 4, 5, 6, 8)), (10, 4), (11, 11))


def executions(ls: ir.LoopSet, seed: int, sizes: tuple[tuple[int, int], ...] = SMALL) -> list[Machine]:
    """Runs of `ls` for many values of N and M; arrays are large enough for indirect subscripts."""
    out: list[Machine] = []
    rng = random.Random(seed)
    for n, m in sizes:
        data = {k: rng.randrange(5) for k in range(-30, 60)}
        machine = Machine(
            ls,
            {"x": (5,), "a": (5, 5), "idx": (9,)},
            {"N": n, "M": m, "S": rng.choice((-2, -1, 1, 2))},
            lambda name, where, data=data: data[where[0]] if name == "idx" else (sum(where) % 3) / 2,
        )
        machine.run()
        out.append(machine)
    return out
