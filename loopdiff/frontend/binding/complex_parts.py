"""Complex numbers as pairs of real ones, the last step of binding: what follows is real throughout.

An array of complex elements becomes a real one with one more, last, axis of extent 2, in the same memory; a cell
becomes two cells, a scalar argument two arguments, a scalar result two results. Values that a formula needs more than
once are held in cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from loopdiff.errors import Span
from loopdiff.frontend.binding.complex_arithmetic import FUNCTIONS, Parts, angle, modulus, negated_complex, power
from loopdiff.frontend.binding.types import STRONG, coerce
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import nested, over_elements
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import FLOAT_TESTS, Op
from loopdiff.ir.types import BOOL, INT, ArrayType, Layout, ScalarType
from loopdiff.ir.typing import TypeEnv, type_of
from loopdiff.ir.walk import all_statements, expressions, loads, map_expr, map_stmt_exprs, subexprs

Value = ir.Expr | Parts
SUFFIXES = ("re", "im")


def split_complex(ls: ir.LoopSet) -> ir.LoopSet:
    """The bound `ls` on real numbers alone."""
    return Splitter(ls).loopset() if has_complex(ls) else ls


def has_complex(ls: ir.LoopSet) -> bool:
    kinds = [*(a.type.element for a in ls.arrays if a.type is not None), *(s.type for s in ls.scalars)]
    if any(k is not None and k.is_complex for k in kinds):
        return True
    nodes = (e for whole in expressions(ls) for e in subexprs(whole))
    return any(isinstance(e, ir.Pair | ir.PartOf) or (isinstance(e, ir.Cast) and e.dtype.is_complex) for e in nodes)


class Splitter:
    """Writes the real program. `out` is the block being written; None where no cells may be made."""

    def __init__(self, ls: ir.LoopSet) -> None:
        self.ls = ls
        self.complex_arrays = {a.name for a in ls.arrays if a.type is not None and a.type.element.is_complex}
        indices = (s.index for s in all_statements(ls.body) if isinstance(s, ir.Loop))
        self.names = NameSupply([*(a.name for a in ls.arrays), *(s.name for s in ls.scalars), *indices])
        self.parts: dict[str, tuple[str, str]] = {}
        self.out: list[ir.Stmt] | None = None
        self.span = ls.loc
        self.scalars = [s for old in ls.scalars for s in self.scalar(old)]
        self.kinds: dict[str, ArrayType] = {}
        self.types = TypeEnv(self.kinds, {s.name: s.type for s in self.scalars if s.type is not None}, {})
        self.arrays: dict[str, ir.ArrayDecl] = {}
        for decl in ls.arrays:
            self.declare(decl)

    def loopset(self) -> ir.LoopSet:
        with self.block() as body:
            self.statements(self.ls.body)
            results = [r for old in self.ls.results for r in self.result(old)]
        params = tuple(part for p in self.ls.params for part in self.parts.get(p, (p,)))
        is_tuple = self.ls.returns_tuple or len(results) != len(self.ls.results)
        return replace(
            self.ls, params=params, arrays=tuple(self.arrays.values()), scalars=tuple(self.scalars), body=tuple(body),
            results=tuple(results), returns_tuple=is_tuple,
        )  # fmt: skip

    # -- declarations ----------------------------------------------------------------------------------------
    def declare(self, decl: ir.ArrayDecl) -> None:
        """`decl` over real elements."""
        kind = decl.type
        assert kind is not None
        extents = None if decl.extents is None else tuple(self.entry_value(e) for e in decl.extents)
        dtype = kind.element.part.value
        if not kind.element.is_complex:
            self.add(replace(decl, extents=extents), kind)
        elif decl.role == "local" and kind.rank == 0:
            for name in self.split_name(decl.name):
                self.add(replace(decl, name=name), ArrayType(dtype, 0))
        else:
            extents = None if extents is None else (*extents, ir.Const(2, INT, loc=decl.loc))
            layout: Layout = "C" if kind.layout == "C" else "A"
            self.add(replace(decl, extents=extents), ArrayType(dtype, kind.rank + 1, layout, is_pair=True))

    def add(self, decl: ir.ArrayDecl, kind: ArrayType) -> None:
        self.arrays[decl.name] = replace(decl, type=kind)
        self.kinds[decl.name] = kind

    def scalar(self, decl: ir.ScalarDecl) -> tuple[ir.ScalarDecl, ...]:
        if decl.type is None or not decl.type.is_complex:
            return (decl,)
        return tuple(replace(decl, name=n, type=decl.type.part) for n in self.split_name(decl.name))

    def split_name(self, name: str) -> tuple[str, str]:
        if name not in self.parts:
            re, im = (self.names.fresh(f"{name}_{suffix}") for suffix in SUFFIXES)
            self.parts[name] = re, im
        return self.parts[name]

    # -- blocks and cells ------------------------------------------------------------------------------------
    @contextmanager
    def block(self) -> Iterator[list[ir.Stmt]]:
        outer, new = self.out, list[ir.Stmt]()
        self.out = new
        try:
            yield new
        finally:
            self.out = outer

    def entry_value(self, expr: ir.Expr) -> ir.Expr:
        """The real value of `expr` without statements, for extents."""
        outer, self.out = self.out, None
        try:
            return self.real_value(expr)
        finally:
            self.out = outer

    def hold(self, expr: ir.Expr, stem: str) -> ir.Expr:
        """`expr`, or a cell that holds it, so that repeating it costs nothing."""
        if is_cheap(expr) or self.out is None:
            return expr
        return self.held(expr, stem)

    def held(self, expr: ir.Expr, stem: str) -> ir.Expr:
        assert self.out is not None
        cell = self.new_cell(stem, type_of(expr, self.types))
        self.out.append(ir.Assign(cell, located(expr, self.span), loc=self.span))
        return ir.Load(cell, loc=self.span)

    def new_cell(self, stem: str, dtype: ScalarType) -> ir.Access:
        name = self.names.fresh(stem)
        self.add(ir.ArrayDecl(name, None, "local", (), loc=self.span), ArrayType(dtype.value, 0))
        return ir.Access(name, loc=self.span)

    # -- statements ------------------------------------------------------------------------------------------
    def statements(self, body: tuple[ir.Stmt, ...]) -> None:
        assert self.out is not None
        for stmt in body:
            self.span = stmt.loc
            self.out += self.statement(stmt)

    def inner(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        with self.block() as block:
            self.statements(body)
        return tuple(block)

    def statement(self, stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        """What `stmt` becomes, after what is written to `out`."""
        match stmt:
            case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
                found = self.value(value)
                if isinstance(found, Parts):
                    return self.stores(stmt, found)
                access = replace(target, subscripts=tuple(self.real_value(e) for e in target.subscripts))
                return (replace(stmt, target=access, value=located(found, stmt.loc)),)
            case ir.Loop(lower=lower, upper=upper, step=step, body=body):
                lower, upper, step = (self.real_value(e) for e in (lower, upper, step))
                return (replace(stmt, lower=lower, upper=upper, step=step, body=self.inner(body)),)
            case ir.If(cond=cond, then=then, orelse=orelse):
                cond = self.real_value(cond)
                return (replace(stmt, cond=cond, then=self.inner(then), orelse=self.inner(orelse)),)
            case ir.Require(cond=cond) | ir.Exit(cond=cond):
                return (replace(stmt, cond=self.real_value(cond)),)
            case ir.Allocate(fill=fill) if fill is not None:
                return self.filled(stmt, fill)
            case ir.Call():
                return (map_stmt_exprs(self.real_value, stmt),)
            case _:
                return (stmt,)

    def stores(self, stmt: ir.Assign | ir.Accumulate, value: Parts) -> tuple[ir.Stmt, ...]:
        """Both parts are computed before the first is stored."""
        subscripts = tuple(self.real_value(e) for e in stmt.target.subscripts)
        re, im = self.accesses(replace(stmt.target, subscripts=subscripts))

        def settled(expr: ir.Expr, stem: str) -> ir.Expr:
            is_changed = any(load.access.array == re.array for load in loads(expr))
            return self.held(expr, stem) if is_changed else expr

        im = replace(im, subscripts=tuple(settled(e, "subscript") for e in im.subscripts))
        if stmt.target.subscripts:
            re = replace(re, subscripts=(*im.subscripts[:-1], re.subscripts[-1]))
        parts = value.re, settled(value.im, "new_im")
        return tuple(
            replace(stmt, target=access, value=located(e, stmt.loc)) for access, e in zip((re, im), parts, strict=True)
        )

    def accesses(self, access: ir.Access) -> tuple[ir.Access, ir.Access]:
        """Where the two parts of a complex element or cell are."""
        if access.array in self.parts:
            re, im = self.parts[access.array]
            return replace(access, array=re), replace(access, array=im)
        re, im = (
            replace(access, subscripts=(*access.subscripts, ir.Const(k, INT, loc=access.loc))) for k in (0, 1)
        )  # fmt: skip
        return re, im

    def filled(self, stmt: ir.Allocate, fill: ir.Expr) -> tuple[ir.Stmt, ...]:
        """Zeros as they are; other complex values by loops over the new array."""
        value = self.value(fill)
        if not isinstance(value, Parts):
            return (replace(stmt, fill=located(value, stmt.loc)),)
        if isinstance(value.re, ir.Const) and value.re == value.im:
            return (replace(stmt, fill=located(value.re, stmt.loc)),)
        value = value.held(self.hold, "fill")
        extents = (self.arrays[stmt.array].extents or ())[:-1]
        loops, place = over_elements(extents, self.names, "at", stmt.loc)
        target = ir.Access(stmt.array, place, loc=stmt.loc)
        body = self.stores(ir.Assign(target, fill, loc=stmt.loc), value)
        return (replace(stmt, fill=None), *nested(loops, body))

    def result(self, result: ir.Result) -> tuple[ir.Result, ...]:
        if not isinstance(result, ir.ScalarResult):
            return (result,)
        self.span = result.value.loc
        value = self.value(result.value)
        return tuple(ir.ScalarResult(located(e, result.value.loc)) for e in self.components(value))

    # -- expressions -----------------------------------------------------------------------------------------
    def real_value(self, expr: ir.Expr) -> ir.Expr:
        value = self.value(expr)
        assert not isinstance(value, Parts)
        return located(value, expr.loc)

    def value(self, expr: ir.Expr) -> Value:
        match expr:
            case ir.Param(name=name) if name in self.parts:
                re, im = (replace(expr, name=part) for part in self.parts[name])
                return Parts(re, im, self.types.scalars[re.name])
            case ir.Load(access=access):
                return self.load(expr, access)
            case ir.Cast(dtype=dtype, value=value):
                return self.cast(expr, dtype, value)
            case ir.PartOf():
                return self.part(expr)
            case ir.Pair(real=real, imag=imag):
                re, im = self.real_value(real), self.real_value(imag)
                return Parts(re, im, type_of(re, self.types))
            case ir.Select():
                return self.select(expr)
            case ir.Apply(op=Op.AND | Op.OR):
                return self.connective(expr)
            case ir.Apply():
                return self.operation(expr)
            case _:
                return expr

    def load(self, expr: ir.Load, access: ir.Access) -> Value:
        access = replace(access, subscripts=tuple(self.real_value(e) for e in access.subscripts))
        if access.array not in self.complex_arrays:
            return replace(expr, access=access)
        re, im = self.accesses(access)
        return Parts(replace(expr, access=re), replace(expr, access=im), self.kinds[re.array].element)

    def cast(self, expr: ir.Cast, dtype: ScalarType, inner: ir.Expr) -> Value:
        value = self.value(inner)
        if isinstance(value, Parts):
            re, im = (coerce(e, STRONG[value.type], STRONG[dtype.part]) for e in (value.re, value.im))
            return Parts(re, im, dtype.part)
        if not dtype.is_complex:
            return replace(expr, value=value)
        re = coerce(value, STRONG[type_of(value, self.types)], STRONG[dtype.part])
        return Parts(re, ir.Const(0.0, dtype.part), dtype.part)

    def part(self, expr: ir.PartOf) -> Value:
        value = self.value(expr.value)
        assert isinstance(value, Parts)
        match expr.part:
            case "real":
                return value.re
            case "imag":
                return value.im
            case "conj":
                return value.with_parts(value.re, negated_complex(value.im))
            case "abs":
                return modulus(value)
            case "angle":
                return angle(value)

    def operation(self, expr: ir.Apply) -> Value:
        args = [self.value(a) for a in expr.args]
        if not any(isinstance(a, Parts) for a in args):
            return replace(expr, args=tuple(args))
        z = args[0]
        assert isinstance(z, Parts)
        if expr.op in (Op.EQ, Op.NE):
            return self.equality(expr, args)
        if expr.op in FLOAT_TESTS:
            tests = tuple(ir.Apply(expr.op, (e,), loc=expr.loc) for e in (z.re, z.im))
            return ir.Apply(Op.AND if expr.op is Op.ISFINITE else Op.OR, tests, loc=expr.loc)
        if expr.op is Op.POW:
            return power(self.hold, z, args[1])
        return FUNCTIONS[expr.op](self.hold, *args)

    def equality(self, expr: ir.Apply, args: list[Value]) -> ir.Expr:
        a, b = args
        assert isinstance(a, Parts)
        assert isinstance(b, Parts)
        tests = tuple(ir.Apply(expr.op, pair, loc=expr.loc) for pair in ((a.re, b.re), (a.im, b.im)))
        return ir.Apply(Op.AND if expr.op is Op.EQ else Op.OR, tests, loc=expr.loc)

    # -- what is evaluated only sometimes --------------------------------------------------------------------
    def apart(self, expr: ir.Expr) -> tuple[Value, list[ir.Stmt]]:
        """The value of `expr`, and the statements it takes, which run only where it is evaluated."""
        if self.out is None:
            return self.value(expr), []
        with self.block() as block:
            value = self.value(expr)
        return value, block

    def select(self, expr: ir.Select) -> Value:
        cond = self.real_value(expr.cond)
        (then, before_then), (orelse, before_else) = self.apart(expr.then), self.apart(expr.orelse)
        if not before_then and not before_else:
            if not isinstance(then, Parts) or not isinstance(orelse, Parts):
                return replace(expr, cond=cond, then=then, orelse=orelse)
            cond = self.hold(cond, "choice")
            re = replace(expr, cond=cond, then=then.re, orelse=orelse.re)
            return then.with_parts(re, replace(expr, cond=cond, then=then.im, orelse=orelse.im))
        first, second = self.components(then), self.components(orelse)
        cells = [self.new_cell("chosen", type_of(e, self.types)) for e in first]
        branches = [
            (*block, *(ir.Assign(c, located(e, self.span), loc=self.span) for c, e in zip(cells, values, strict=True)))
            for block, values in ((before_then, first), (before_else, second))
        ]
        assert self.out is not None
        self.out.append(ir.If(cond, *branches, loc=expr.loc))
        found = [ir.Load(c, loc=expr.loc) for c in cells]
        return then.with_parts(*found) if isinstance(then, Parts) else found[0]

    def components(self, value: Value) -> tuple[ir.Expr, ...]:
        return (value.re, value.im) if isinstance(value, Parts) else (value,)

    def connective(self, expr: ir.Apply) -> ir.Expr:
        """`and` and `or` evaluate an operand only if those before it leave the result open."""
        first, *others = expr.args
        left = self.real_value(first)
        right, before = self.apart(others[0] if len(others) == 1 else replace(expr, args=tuple(others)))
        assert not isinstance(right, Parts)
        if not before:
            return ir.Apply(expr.op, (left, right), loc=expr.loc)
        cell = self.new_cell("holds", BOOL)
        evaluated = (*before, ir.Assign(cell, located(right, self.span), loc=self.span))
        decided = (ir.Assign(cell, ir.Const(expr.op is Op.OR, BOOL, loc=self.span), loc=self.span),)
        branches = (evaluated, decided) if expr.op is Op.AND else (decided, evaluated)
        assert self.out is not None
        self.out.append(ir.If(left, *branches, loc=expr.loc))
        return ir.Load(cell, loc=expr.loc)


def is_cheap(expr: ir.Expr) -> bool:
    """Whether repeating `expr` costs nothing: a leaf, or an element at plain subscripts, up to a sign."""
    match expr:
        case ir.Const() | ir.Param() | ir.Index() | ir.Var():
            return True
        case ir.Load(access=access):
            return not any(load.access.subscripts for e in access.subscripts for load in loads(e))
        case ir.Apply(op=Op.NEG, args=(operand,)):
            return is_cheap(operand)
        case _:
            return False


def located(expr: ir.Expr, span: Span) -> ir.Expr:
    """`expr` with everything in it that was made without a place at `span`."""
    return map_expr(lambda e: e if e.loc.line else replace(e, loc=span), expr)
