"""Scalar code: a LoopSet as one readable Python function of plain loops, for Numba."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.analysis.contractions import terms
from loopdiff.analysis.recurrences import NOTHING, Recurrence
from loopdiff.backends.cpu.scalar_math import helpers_of, spell, spell_cast, spell_constant
from loopdiff.backends.writer import Writer
from loopdiff.canonical.like_terms import Term, signed_sum
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import natural
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import INFO, Op
from loopdiff.ir.types import F64, INT, ArrayType, ScalarType
from loopdiff.ir.typing import TypeEnv, cell_types, join_types, part_of, type_env, type_of
from loopdiff.ir.walk import all_statements
from loopdiff.rules.definitions import Rule, RuleForm

PLAIN_DTYPES = frozenset(("float64", "float32", "int64", "bool"))


@dataclass(slots=True)
class ScalarEmitter:
    """Writes the statements of `ls`.

    `imports` collects what the text needs from `scalar_math`, `calls` the names of functions that rules have.
    `recurrence`: what iterations of the loop being written get from each other.
    """

    ls: ir.LoopSet
    writer: Writer = field(default_factory=Writer)
    imports: set[str] = field(default_factory=set)
    types: TypeEnv = field(init=False)
    decls: dict[str, ir.ArrayDecl] = field(init=False)
    names: NameSupply = field(init=False)
    calls: dict[tuple[Rule, RuleForm], str] = field(default_factory=dict)
    recurrence: Recurrence = NOTHING
    cells: frozenset[str] = field(init=False)
    indices: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.types = type_env(self.ls)
        self.decls = {a.name: a for a in self.ls.arrays}
        self.cells = frozenset(cell_types(self.ls))
        self.names = supply(self.ls)
        self.indices = least_indices(self.ls)

    # -- expressions -----------------------------------------------------------------------------------------
    def expr(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Const(value=value):
                return spell_constant(value, type_of(expr, self.types))
            case ir.Index(name=name) | ir.Param(name=name) | ir.Var(name=name):
                return name
            case ir.Dim(array=array, axis=axis):
                return f"{array}.shape[{axis}]"
            case ir.Load(access=access):
                return self.load(access)
            case ir.Cast(dtype=dtype, value=value):
                return spell_cast(self.expr(value), type_of(value, self.types), dtype)
            case ir.Select(cond=cond, then=then, orelse=orelse):
                return f"({self.expr(then)} if {self.expr(cond)} else {self.expr(orelse)})"
            case ir.Apply(op=Op.ADD | Op.SUB) if self.recurrence is not NOTHING:
                return self.late_sum(expr) or self.apply(expr)
            case ir.Apply():
                return self.apply(expr)
            case _:
                raise AssertionError(expr)

    def operand_kind(self, expr: ir.Apply) -> ScalarType:
        """The type the operation works in."""
        kinds = [type_of(a, self.types) for a in expr.args]
        if expr.op is Op.POW and kinds[0].is_float:
            return kinds[0]
        kind = join_types(kinds)
        return kind if kind.is_float or INFO[expr.op].result != "float" else F64

    def apply(self, expr: ir.Apply) -> str:
        kind = self.operand_kind(expr)
        is_power = expr.op is Op.POW and kind.is_float
        texts: list[str] = []
        for position, arg in enumerate(expr.args):
            found = type_of(arg, self.types)
            keeps = is_power and position == 1 and found is INT
            texts.append(self.expr(arg) if keeps else spell_cast(self.expr(arg), found, kind))
        if is_power:
            written = self.power(expr, texts, kind)
            if written is not None:
                return written
        if expr.op in (Op.FLOORDIV, Op.MOD) and kind is INT and is_positive(expr.args[1]):
            return f"({texts[0]} {expr.op.value} {texts[1]})"
        return self.spelled(expr.op, kind, texts)

    def power(self, expr: ir.Apply, texts: list[str], kind: ScalarType) -> str | None:
        """A power of a floating number that is more than the operator, or less."""
        base, exponent = expr.args
        if expr.is_strict and not (isinstance(exponent, ir.Const) and exponent.value in (0.5, 2)):
            return f"math.pow({texts[0]}, {spell_cast(texts[1], type_of(exponent, self.types), kind)})"
        return literal_power(texts[0], exponent, base, kind) if isinstance(exponent, ir.Const) else None

    def spelled(self, op: Op, kind: ScalarType, texts: list[str]) -> str:
        """The text of an operation on operands of one type."""
        self.imports.update(helpers_of(op, kind))
        return spell(op, kind, texts)

    def late_sum(self, expr: ir.Expr) -> str | None:
        """A sum that waits for another iteration, with what waits added last; None if it is none."""
        parts, kind = terms(expr), type_of(expr, self.types)
        early: list[Term] = []
        late: list[Term] = []
        for is_negative, value in parts:
            (late if self.recurrence.waits(value) else early).append((-1.0 if is_negative else 1.0, value))
        is_plain = len(parts) == 2 and not any(isinstance(e, ir.Var) for _, e in early)
        is_uniform = kind.is_float and all(type_of(e, self.types) == kind for _, e in parts)
        if not late or not early or is_plain or not is_uniform:
            return None
        return self.after(self.expr(signed_sum(early)), self.expr(signed_sum(late)))

    def after(self, early: str, late: str) -> str:
        self.imports.add("after")
        return f"after({early}, {late})"

    def load(self, access: ir.Access) -> str:
        decl = self.decls[access.array]
        assert decl.type is not None
        text = self.place(access)
        if decl.name in self.cells or decl.type.dtype in PLAIN_DTYPES:
            return text
        return f"np.float32({text})" if decl.type.is_half else f"np.int64({text})"

    def place(self, access: ir.Access) -> str:
        if access.array in self.cells:
            return access.array
        return f"{access.array}[{', '.join(map(self.subscript, access.subscripts)) or '()'}]"

    def subscript(self, expr: ir.Expr) -> str:
        """A subscript, which no access has negative, in a form that tells Numba so unless that is plain to see."""
        low = least(expr, self.indices)
        if low is not None and low >= 0:
            return self.expr(expr)
        self.imports.add("at")
        return f"at({self.expr(expr)})"

    def argument(self, expr: ir.Expr | None) -> str:
        """What a called function gets: a number, a part of an array, or nothing."""
        if expr is None:
            return "None"
        part = part_of(expr, self.types)
        if part is None:
            return self.expr(expr)
        return self.place(part) if part.subscripts else part.array

    def called(self, rule: Rule, form: RuleForm) -> str:
        """The name, in the generated module, of the function that `rule` has for `form`."""
        if (rule, form) not in self.calls:
            stem = re.sub(r"\W", "_", rule.name if form == "primal" else f"{rule.name}_{form}")
            self.names.taken.add(self.ls.name)
            self.calls[rule, form] = self.names.fresh(f"rule_{stem}")
        return self.calls[rule, form]

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...]) -> None:
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: ir.Stmt) -> None:
        self.writer.quote(stmt.loc)
        match stmt:
            case ir.Loop():
                self.loop(stmt)
            case ir.If(cond=cond, then=then, orelse=orelse):
                with self.writer.block(f"if {self.expr(cond)}:"):
                    self.block(then)
                if not all(isinstance(s, ir.Allocate) and s.fill is None for s in orelse):
                    with self.writer.block("else:"):
                        self.block(orelse)
            case ir.Exit(cond=cond):
                with self.writer.block(f"if {self.expr(cond)}:"):
                    self.writer.line("break")
            case ir.Call():
                self.call(stmt)
            case ir.Require(cond=cond, code=code):
                with self.writer.block(f"if not {self.expr(cond)}:"):
                    self.writer.line(f"raise ArgumentError({f'{code}: {stmt.said_in_code}'!r})")
            case _:
                self.store(stmt)

    def call(self, stmt: ir.Call) -> None:
        """A call, and what it returns in the types that the rule declares."""
        text = f"{self.called(stmt.rule, stmt.form)}({', '.join(map(self.argument, stmt.args))})"
        kinds = [self.types.arrays[r.array].element for r in stmt.results]
        places = [self.place(r) for r in stmt.results]
        match places:
            case []:
                self.writer.line(text)
            case [place]:
                self.writer.line(f"{place} = {spell_cast(text, F64, kinds[0])}")
            case _:
                self.writer.line(f"{', '.join(places)} = {text}")
                for place, kind in zip(places, kinds, strict=True):
                    if kind is not F64:
                        self.writer.line(f"{place} = {spell_cast(place, F64, kind)}")

    def store(self, stmt: ir.Let | ir.Assign | ir.Accumulate | ir.Allocate | ir.Jump) -> None:
        """A statement that only gives something a value."""
        match stmt:
            case ir.Let(name=name, value=value):
                self.writer.line(f"{name} = {self.expr(value)}")
            case ir.Assign(target=target, value=value):
                self.writer.line(f"{self.place(target)} = {self.expr(value)}")
            case ir.Accumulate(op="add", target=target, value=value) if self.is_made_before(stmt):
                self.writer.line(f"{self.place(target)} = {self.after(self.expr(value), self.load(target))}")
            case ir.Accumulate(op="add", target=target, value=value):
                self.writer.line(f"{self.place(target)} += {self.expr(value)}")
            case ir.Accumulate(op=op, target=target, value=value):
                helper = f"{op}2"
                self.imports.add(helper)
                self.writer.line(f"{self.place(target)} = {helper}({self.load(target)}, {self.expr(value)})")
            case ir.Allocate(array=array, fill=fill):
                if fill is not None:
                    self.writer.line(f"{array}[...] = {self.expr(fill)}")
            case ir.Jump():
                raise AssertionError(stmt)

    def is_made_before(self, stmt: ir.Accumulate) -> bool:
        """Whether what is accumulated has several terms, which can be added up before the target is known."""
        waits, kind = self.recurrence.waits, self.types.arrays[stmt.target.array].element
        is_same = kind.is_float and type_of(stmt.value, self.types) == kind
        return is_same and len(terms(stmt.value)) > 1 and waits(ir.Load(stmt.target)) and not waits(stmt.value)

    def loop(self, stmt: ir.Loop) -> None:
        bounds = [self.expr(stmt.upper)]
        if not (isinstance(stmt.lower, ir.Const) and stmt.lower.value == 0 and is_unit(stmt.step)):
            bounds.insert(0, self.expr(stmt.lower))
        if not is_unit(stmt.step):
            bounds.append(self.expr(stmt.step))
        with self.writer.block(f"for {stmt.index} in range({', '.join(bounds)}):"):
            self.begin_iteration(stmt.index, stmt.body)
            self.block(stmt.body)

    def begin_iteration(self, index: str, body: tuple[ir.Stmt, ...]) -> None:
        """What comes first in each iteration of a loop."""

    def function(self) -> str:
        """The whole function: allocation of its own arrays, body, results."""
        with self.writer.block(f"def {self.ls.name}({', '.join(self.ls.params)}):"):
            self.own_arrays()
            self.begin()
            self.block(self.ls.body)
            results = [self.expr(r.value) if isinstance(r, ir.ScalarResult) else r.array for r in self.ls.results]
            if results:
                joined = ", ".join(results) + ("," if self.ls.returns_tuple and len(results) == 1 else "")
                self.writer.line(f"return {joined}")
        return self.writer.text

    def begin(self) -> None:
        """What comes before the body."""

    def own_arrays(self) -> None:
        for decl in self.ls.arrays:
            assert decl.type is not None
            if decl.name in self.ls.params:
                continue
            if decl.name in self.cells:
                self.writer.line(f"{decl.name} = {spell_constant(0, decl.type.element)}")
            elif decl.type.rank:
                shape = ", ".join(self.expr(natural(e)) for e in decl.extents or ())
                self.writer.line(f"{decl.name} = np.empty(({shape},), {self.dtype(decl.type)})")

    def dtype(self, kind: ArrayType) -> str:
        """The text of the type of elements."""
        if kind.is_half:
            self.imports.add(kind.dtype)
            return kind.dtype
        return "np.bool_" if kind.dtype == "bool" else f"np.{kind.dtype}"


def least_indices(ls: ir.LoopSet) -> dict[str, int]:
    """The least values of indices of loops that count up, where these are plain to see."""
    found: dict[str, int | None] = {}
    for stmt in all_statements(ls.body):
        if isinstance(stmt, ir.Loop):
            index = stmt.index
            low = least(stmt.lower, known(found)) if is_positive(stmt.step) else None
            found[index] = low if found.get(index, low) == low else None
    return known(found)


def known(found: dict[str, int | None]) -> dict[str, int]:
    return {name: low for name, low in found.items() if low is not None}


def least(expr: ir.Expr, indices: Mapping[str, int]) -> int | None:
    """What `expr` is at least, as LLVM sees it too; None if that is not plain."""
    match expr:
        case ir.Const(value=value):
            return int(value)
        case ir.Index(name=name):
            return indices.get(name)
        case ir.Dim():
            return 0
        case ir.Apply(op=Op.ADD | Op.SUB | Op.MUL as op, args=(a, b)):
            left, right = least(a, indices), least(b, indices)
            if left is None or right is None or (op is Op.SUB and not isinstance(b, ir.Const)):
                return None
            if op is Op.MUL:
                return left * right if min(left, right) >= 0 else None
            return left + right if op is Op.ADD else left - right
        case _:
            return None


def is_unit(step: ir.Expr) -> bool:
    return isinstance(step, ir.Const) and step.value == 1


def is_positive(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and expr.value > 0


def literal_power(base: str, exponent: ir.Const, argument: ir.Expr, kind: ScalarType) -> str | None:
    """Small whole powers of something that is cheap to repeat, as products; negative ones, which Numba refuses for
    zero, as quotients."""
    if exponent.dtype is INT and exponent.value < 0:
        return f"({spell_constant(1.0, kind)} / {base} ** {-int(exponent.value)})"
    is_cheap = isinstance(argument, ir.Var | ir.Param | ir.Index) or (
        isinstance(argument, ir.Load) and not argument.access.subscripts
    )
    if float(exponent.value) in (2.0, 3.0) and is_cheap:
        return f"({' * '.join([base] * int(exponent.value))})"
    return None
