"""Executes a LoopSet in plain Python: the meaning of the IR, the oracle of every pass and backend.

The LoopSet becomes Python source over NumPy scalars (`scalar_eval` says what each operation means), one line
per statement, so a failure quotes the statement. Array elements outside the bounds are refused, negative
subscripts too. Memory that nobody wrote holds NaN (floats) or a large number (integers), so reading it shows.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from loopdiff.errors import ArgumentError, Diagnostic, InternalError
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import is_index_arithmetic
from loopdiff.ir.ops import COMPARISONS, INFO, Op
from loopdiff.ir.scalar_eval import (
    COMPLEX_FUNCTIONS,
    COMPLEX_TESTS,
    INT_FUNCTIONS,
    LAZY_SPELLINGS,
    REAL_FUNCTIONS,
    TEST_FUNCTIONS,
)
from loopdiff.ir.types import BOOL, F64, INT, ScalarType
from loopdiff.ir.typing import TypeEnv, operand_type, part_of, type_env, type_of
from loopdiff.rules.definitions import plain

FLOAT_INFIX = (Op.ADD, Op.SUB, Op.MUL, Op.DIV)
ACCUMULATE_OPS = {"add": Op.ADD, "max": Op.MAX, "min": Op.MIN}
INT_POISON = -(1 << 62)
FILE_NUMBERS = count()
COMPLEX = "LD906: complex numbers are pairs of real ones before they are run"
Program = Callable[[Mapping[str, Any]], tuple[Any, ...]]


# What was run last, by identity, each with its LoopSet, whose id nothing else gets meanwhile.
RECENT: dict[tuple[int, bool, bool], tuple[ir.LoopSet, Program]] = {}
MOST_RECENT = 16


def run(
    ls: ir.LoopSet, args: Mapping[str, Any], *, complex_step: bool = False, allow_negative: bool = False
) -> tuple[Any, ...]:
    """Execute the bound or normal LoopSet `ls` on `args` (by name), arrays in place; return its results.

    `complex_step`: floating arrays must be complex128 and floating scalars may be; every real function is
    continued analytically, so imaginary parts of 1e-30 carry derivatives. `allow_negative`: negative
    subscripts count from the end, as in user code that has not been through `bind`.

    Raises ArgumentError with the code of a `Require` that fails, InternalError (LD904) with the statement
    for a subscript out of bounds and for arguments that do not fit, ZeroDivisionError for integer division
    by zero.
    """
    key = id(ls), complex_step, allow_negative
    found = RECENT.get(key)
    if found is None:
        if len(RECENT) >= MOST_RECENT:
            RECENT.clear()
        found = ls, compile_loopset(ls, complex_step=complex_step, allow_negative=allow_negative)
        RECENT[key] = found
    return found[1](args)


def compile_loopset(ls: ir.LoopSet, *, complex_step: bool = False, allow_negative: bool = False) -> Program:
    """The function that `run` executes."""
    declared = (*(d.type and d.type.element for d in ls.arrays), *(s.type for s in ls.scalars))
    if any(kind is not None and kind.is_complex for kind in declared):
        raise InternalError(COMPLEX)
    writer = Writer(ls, type_env(ls), complex_step, allow_negative)
    writer.write_function()
    text = "\n".join(writer.lines) + "\n"
    file = f"<interpreted {ls.name} {next(FILE_NUMBERS)}>"
    exec(compile(text, file, "exec"), writer.names)
    function = writer.names["interpreted"]

    def program(args: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            with np.errstate(all="ignore"):
                return function(check_arguments(ls, args, complex_step))
        except (IndexError, UnboundLocalError, NameError, TypeError) as error:
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
            raise InternalError(f"LD904: {ls.name}: {error} in `{failed_line(error, text, file)}`") from error

    return program


def failed_line(error: BaseException, text: str, file: str) -> str:
    """The generated line at which `error` left the interpreted function."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return text.splitlines()[line - 1].strip() if line else "argument check"


def check_arguments(ls: ir.LoopSet, args: Mapping[str, Any], complex_step: bool) -> dict[str, Any]:
    """`args` with scalars in their declared types. InternalError unless names, dtypes and ranks fit."""
    if set(args) != set(ls.params):
        raise InternalError(f"LD904: {ls.name} takes {ls.params}, was given {tuple(args)}")
    checked: dict[str, Any] = {}
    for name in ls.params:
        value = args[name]
        if not ls.has_array(name):
            checked[name] = scalar_argument(ls.scalar(name).type, value, complex_step)
            continue
        dtype, rank = storage(ls.array(name), complex_step)
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != rank:
            is_array = isinstance(value, np.ndarray)
            found = f"{value.dtype} of rank {value.ndim}" if is_array else type(value).__name__
            raise InternalError(f"LD904: {ls.name}: `{name}` must be {dtype} of rank {rank}, is {found}")
        checked[name] = value
    return checked


def scalar_argument(kind: ScalarType | None, value: Any, complex_step: bool) -> Any:
    match kind:
        case ScalarType.BOOL:
            return bool(value)
        case ScalarType.INT:
            return int(value)
        case ScalarType.F32 if not complex_step:
            return np.float32(value)
        case ScalarType.F64 if not complex_step:
            return np.float64(value)
        case _:
            return np.complex128(value)


def storage(decl: ir.ArrayDecl, complex_step: bool) -> tuple[np.dtype[Any], int]:
    if decl.type is None:
        raise InternalError(f"LD904: `{decl.name}` has no type: only bound LoopSets can be executed")
    is_complex = complex_step and decl.type.element.is_float
    return np.dtype(np.complex128 if is_complex else decl.type.dtype), decl.type.rank


def poison(array: np.ndarray) -> None:
    """Fill `array` with values nobody should read."""
    if array.dtype.kind in "fcV":  # bfloat16 is none of NumPy's own
        array.fill(np.nan)
    else:
        array.fill(True if array.dtype == np.bool_ else np.iinfo(array.dtype).max // 3)


def allocate(dtype: np.dtype[Any], *extents: int) -> np.ndarray:
    array = np.empty(extents, dtype)
    poison(array)
    return array


def not_negative(subscript: int) -> int:
    if subscript < 0:
        raise IndexError(f"subscript {subscript} is negative")
    return subscript


def require(cond: Any, code: str, message: str, stmt: ir.Require) -> None:
    if not cond:
        raise ArgumentError(Diagnostic(code, message, stmt.loc))


@dataclass(slots=True)
class Writer:
    """Writes the Python function of one LoopSet; `names` are the globals it runs with."""

    ls: ir.LoopSet
    env: TypeEnv
    complex_step: bool
    allow_negative: bool
    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    safe_indices: set[str] = field(default_factory=set)
    helpers: dict[int, str] = field(default_factory=dict)

    # -- naming ----------------------------------------------------------------------------------------------
    def bound(self, stem: str, value: Any) -> str:
        """A global name for `value`."""
        if id(value) not in self.helpers:
            name = f"{stem}_{len(self.names)}"
            self.names[name] = value
            self.helpers[id(value)] = name
        return self.helpers[id(value)]

    def is_cell(self, array: str) -> bool:
        return self.env.arrays[array].rank == 0 and array not in self.ls.params

    # -- the function ----------------------------------------------------------------------------------------
    def write_function(self) -> None:
        self.lines.append("def interpreted(args):")
        for name in self.ls.params:
            self.lines.append(f"    {'a' if self.ls.has_array(name) else 'p'}_{name} = args[{name!r}]")
        for decl in self.ls.arrays:
            if decl.name not in self.ls.params:
                self.lines.append("    " + self.allocation(decl))
        self.write_block(self.ls.body, "    ")
        results = [self.result(r) for r in self.ls.results]
        self.lines.append(f"    return ({''.join(r + ', ' for r in results)})")

    def allocation(self, decl: ir.ArrayDecl) -> str:
        dtype, rank = storage(decl, self.complex_step)
        if rank == 0:
            return f"a_{decl.name} = {self.poison_scalar(self.env.arrays[decl.name].element)}"
        if decl.extents is None:
            raise InternalError(f"LD904: local array `{decl.name}` has no extents")
        extents = ", ".join(self.expr(e) for e in decl.extents)
        return f"a_{decl.name} = {self.bound('allocate', allocate)}({self.bound('dtype', dtype)}, {extents})"

    def poison_scalar(self, kind: ScalarType) -> str:
        if kind.is_float:
            return self.const(ir.Const(float("nan"), kind))
        return "True" if kind is BOOL else str(INT_POISON)

    def result(self, result: ir.ScalarResult | ir.ArrayResult) -> str:
        if isinstance(result, ir.ArrayResult):
            return f"a_{result.array}"
        return self.expr(result.value)

    # -- statements ------------------------------------------------------------------------------------------
    def write_block(self, body: tuple[ir.Stmt, ...], margin: str) -> None:
        for stmt in body:
            self.write_stmt(stmt, margin)
        if not body:
            self.lines.append(margin + "pass")

    def write_stmt(self, stmt: ir.Stmt, margin: str) -> None:
        match stmt:
            case ir.Let(name=name, value=value):
                self.lines.append(f"{margin}v_{name} = {self.expr(value)}")
            case ir.Assign(target=target, value=value):
                text = self.expr(value, self.env.arrays[target.array].element)
                self.lines.append(margin + self.store(target, text))
            case ir.Accumulate(op=op, target=target, value=value):
                combined = ir.Apply(ACCUMULATE_OPS[op], (ir.Load(target), value))
                self.lines.append(margin + self.store(target, self.expr(combined)))
            case ir.Loop(index=index, lower=lower, upper=upper, step=step, body=body):
                bounds = ", ".join(self.expr(e) for e in (lower, upper, step))
                if self.is_safe_loop(lower, upper, step):
                    self.safe_indices.add(index)
                self.lines.append(f"{margin}for i_{index} in range({bounds}):")
                self.write_block(body, margin + "    ")
            case ir.If(cond=cond, then=then, orelse=orelse):
                self.lines.append(f"{margin}if {self.expr(cond)}:")
                self.write_block(then, margin + "    ")
                if orelse:
                    self.lines.append(f"{margin}else:")
                    self.write_block(orelse, margin + "    ")
            case ir.Allocate(array=array, fill=fill):
                self.lines.append(margin + self.fill(array, fill))
            case ir.Call():
                self.write_call(stmt, margin)
            case ir.Exit() | ir.Jump() | ir.Require():
                self.write_jump(stmt, margin)

    def write_jump(self, stmt: ir.Exit | ir.Jump | ir.Require, margin: str) -> None:
        match stmt:
            case ir.Exit(cond=cond):
                self.lines += [f"{margin}if {self.expr(cond)}:", f"{margin}    break"]
            case ir.Jump():
                raise AssertionError(stmt)
            case ir.Require(cond=cond, code=code):
                call = f"{self.bound('require', require)}({self.expr(cond)}, {code!r}, {stmt.said!r}"
                self.lines.append(f"{margin}{call}, {self.bound('stmt', stmt)})")

    def write_call(self, stmt: ir.Call, margin: str) -> None:
        """Run the rule's own function on views of the parts."""
        function = self.bound(stmt.rule.name, plain(stmt.rule.function_of(stmt.form)))
        call = f"{function}({', '.join('None' if a is None else self.argument(a) for a in stmt.args)})"
        places = [self.access(r) for r in stmt.results]
        if not places:
            self.lines.append(margin + call)
            return
        self.lines.append(f"{margin}{', '.join(places)} = {call}")
        for result, place in zip(stmt.results, places, strict=True):
            kind = self.env.arrays[result.array].element
            typed = f"{self.bound('typed', scalar_argument)}({self.bound('kind', kind)}, {place}, {self.complex_step})"
            self.lines.append(f"{margin}{place} = {typed}")

    def argument(self, expr: ir.Expr) -> str:
        """A number, or a part of an array."""
        part = part_of(expr, self.env)
        return self.expr(expr) if part is None else self.access(part)

    def fill(self, array: str, fill: ir.Expr | None) -> str:
        element = self.env.arrays[array].element
        if self.is_cell(array):
            return f"a_{array} = {self.poison_scalar(element) if fill is None else self.expr(fill, element)}"
        if fill is None:
            return f"{self.bound('poison', poison)}(a_{array})"
        return f"a_{array}[...] = {self.expr(fill, element)}"

    def store(self, target: ir.Access, value: str) -> str:
        place = self.access(target)
        kind = self.env.arrays[target.array]
        if self.is_cell(target.array) or kind.element.is_float or kind.keeps_values:
            return f"{place} = {value}"
        return f"{place} = {self.bound('int64', np.int64)}({value}).astype({kind.dtype!r})"

    # -- subscripts ------------------------------------------------------------------------------------------
    def access(self, access: ir.Access) -> str:
        if self.is_cell(access.array):
            return f"a_{access.array}"
        return f"a_{access.array}[{', '.join(self.subscript(e) for e in access.subscripts) or '()'}]"

    def subscript(self, expr: ir.Expr) -> str:
        text = self.expr(expr)
        if self.allow_negative or self.is_not_negative(expr):
            return text
        return f"{self.bound('not_negative', not_negative)}({text})"

    def is_not_negative(self, expr: ir.Expr) -> bool:
        """Whether `expr` is at least 0 by its form alone: then its check can be left out."""
        match expr:
            case ir.Const(value=value):
                return value >= 0
            case ir.Index(name=name):
                return name in self.safe_indices
            case ir.Dim():
                return True
            case ir.Apply(op=(Op.ADD | Op.MUL), args=args):
                return all(self.is_not_negative(a) for a in args)
            case _:
                return False

    def is_safe_loop(self, lower: ir.Expr, upper: ir.Expr, step: ir.Expr) -> bool:
        if not isinstance(step, ir.Const):
            return False
        if step.value > 0:
            return self.is_not_negative(lower)
        return (isinstance(upper, ir.Const) and upper.value >= -1) or self.is_not_negative(upper)

    # -- expressions -----------------------------------------------------------------------------------------
    def expr(self, expr: ir.Expr, wanted: ScalarType | None = None) -> str:
        """Python text of `expr`, converted to `wanted` if it has another type."""
        found = type_of(expr, self.env)
        text = self.spell(expr, found)
        return text if wanted in (None, found) else self.convert(text, found, wanted)

    def spell(self, expr: ir.Expr, kind: ScalarType) -> str:
        match expr:
            case ir.Const():
                return self.const(ir.Const(expr.value, kind))
            case ir.Index(name=name):
                return f"i_{name}"
            case ir.Param(name=name):
                return f"p_{name}"
            case ir.Var(name=name):
                return f"v_{name}"
            case ir.Dim(array=array, axis=axis):
                return f"a_{array}.shape[{axis}]"
            case ir.SizeOf(array=array) | ir.RankOf(array=array):
                return f"a_{array}.{'size' if isinstance(expr, ir.SizeOf) else 'ndim'}"
            case ir.Load(access=access):
                return self.load(access, kind)
            case ir.Cast(dtype=dtype, value=value):
                return self.expr(value, dtype)
            case ir.Select(cond=cond, then=then, orelse=orelse):
                return f"({self.expr(then, kind)} if {self.expr(cond)} else {self.expr(orelse, kind)})"
            case ir.Apply():
                return self.apply(expr, kind)
            case ir.PartOf() | ir.Pair():
                raise InternalError(COMPLEX)

    def load(self, access: ir.Access, kind: ScalarType) -> str:
        """An element: of a half, or of a narrow integer, in the type that is computed with."""
        text, is_cell = self.access(access), self.is_cell(access.array)
        if kind.is_float and not is_cell and not self.complex_step and self.env.arrays[access.array].is_half:
            return f"{self.bound('float32', np.float32)}({text})"
        return text if kind.is_float or is_cell else f"{'bool' if kind is BOOL else 'int'}({text})"

    def const(self, const: ir.Const) -> str:
        match const.dtype:
            case ScalarType.INT:
                return f"({int(const.value)})"
            case ScalarType.BOOL:
                return str(bool(const.value))
            case kind:
                name = f"k_{len(self.names)}"
                self.names[name] = scalar_argument(kind, const.value, self.complex_step)
                return name

    def convert(self, text: str, found: ScalarType, wanted: ScalarType) -> str:
        """Python text of a conversion; float to INT truncates toward zero and looks at the real part."""
        real = f"{text}.real" if self.complex_step and found.is_float else text
        if wanted is BOOL:
            return f"({real} != 0)"
        if wanted is INT:
            return f"int({real})"
        if self.complex_step:
            return text if found.is_float else f"{self.bound('complex128', np.complex128)}({text})"
        return f"{self.bound(wanted.value, np.float64 if wanted is F64 else np.float32)}({text})"

    def apply(self, expr: ir.Apply, kind: ScalarType) -> str:
        op, args = expr.op, expr.args
        if op in LAZY_SPELLINGS:
            return f"({LAZY_SPELLINGS[op].join(self.expr(a, BOOL) for a in args)})"
        operand = operand_type(expr, kind, self.env)
        exponent_stays_int = op is Op.POW and operand.is_float and type_of(args[1], self.env) is INT
        later = None if exponent_stays_int else operand
        texts = [self.expr(args[0], operand), *(self.expr(a, later) for a in args[1:])]
        function = self.function(op, operand)
        if self.is_infix(expr, operand):
            return f"({texts[0]} {op.value} {texts[1]})"
        return f"{self.bound(op.name.lower(), function)}({', '.join(texts)})"

    def is_infix(self, expr: ir.Apply, operand: ScalarType) -> bool:
        """Whether Python's own operator does on these operands what the table says, but faster."""
        if expr.op in COMPARISONS:
            return not (self.complex_step and operand.is_float)
        if operand.is_float:
            return expr.op in FLOAT_INFIX
        return expr.op in (Op.ADD, Op.SUB, Op.MUL) and is_index_arithmetic(expr)

    def function(self, op: Op, operand: ScalarType) -> Callable[..., Any]:
        if INFO[op].result == "bool":
            table = COMPLEX_TESTS if self.complex_step and operand.is_float else TEST_FUNCTIONS
        elif operand.is_float:
            table = COMPLEX_FUNCTIONS if self.complex_step else REAL_FUNCTIONS
        else:
            table = INT_FUNCTIONS
        if op not in table:
            raise InternalError(f"LD904: the interpreter has no case for `{op.value}` on {operand.value}")
        return table[op]
