"""Types of expressions by NumPy 2's rules, and the explicit conversions they imply.

Python numbers are weak: a Python float takes the width of the float it meets. So the types form a chain
`bool < int < weak float < float32 < float64`, with a complex type above each floating one. The type of an operation,
or of a local variable assigned several times, is the least above what goes in. A weak float on its own is computed in
float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from loopdiff.errors import Diagnostic, Span
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ScalarArgument
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import BITWISE, COMPARISONS, FLOAT_TESTS, INFO, ROUNDINGS, Op
from loopdiff.ir.types import BOOL, C64, C128, F32, F64, INT, ScalarType

LARGEST_INTEGER_POWER = 64
FLOAT32_LIMIT = float.fromhex("0x1.ffffffp+127")  # from here on values round to infinity


class Kind(IntEnum):
    """The types in their order. Of real ones the least above several is `max`; in general it is `join`."""

    BOOL = 0
    INT = 1
    WEAK = 2
    F32 = 3
    F64 = 4
    WEAK_COMPLEX = 10
    C64 = 11
    C128 = 12

    @property
    def storage(self) -> ScalarType:
        """The type that holds values of this kind."""
        return STORAGE[self]

    @property
    def is_complex(self) -> bool:
        return self >= Kind.WEAK_COMPLEX

    @property
    def part(self) -> Kind:
        """The kind of the real and the imaginary part."""
        return Kind(self - COMPLEX_OFFSET) if self.is_complex else self

    @property
    def described(self) -> str:
        return (
            "a boolean" if self is Kind.BOOL else "a complex number" if self.is_complex else "a floating-point number"
        )


COMPLEX_OFFSET = Kind.C64 - Kind.F32
STORAGE = {
    Kind.BOOL: BOOL, Kind.INT: INT, Kind.WEAK: F64, Kind.F32: F32, Kind.F64: F64,
    Kind.WEAK_COMPLEX: C128, Kind.C64: C64, Kind.C128: C128,
}  # fmt: skip
STRONG = {BOOL: Kind.BOOL, INT: Kind.INT, F32: Kind.F32, F64: Kind.F64, C64: Kind.C64, C128: Kind.C128}
PYTHON_KINDS = (Kind.BOOL, Kind.INT, Kind.WEAK, Kind.WEAK_COMPLEX)  # those of Python's numbers
CELL_DTYPE = {
    ScalarType.BOOL: "bool",
    ScalarType.INT: "int64",
    ScalarType.F32: "float32",
    ScalarType.F64: "float64",
    ScalarType.C64: "complex64",
    ScalarType.C128: "complex128",
}
COMPLEX_FUNCTIONS = (
    Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, Op.SQRT, Op.EXP, Op.EXP2, Op.EXPM1, Op.LOG, Op.LOG2, Op.LOG10, Op.LOG1P,
    Op.SIN, Op.COS, Op.TAN, Op.SINH, Op.COSH, Op.TANH, Op.ASIN, Op.ACOS, Op.ATAN, Op.ASINH, Op.ACOSH, Op.ATANH, Op.STOP,
)  # fmt: skip
ORDERED = "compare `abs(z)`, or the parts `z.real` and `z.imag`"
Typed = tuple[ir.Expr, Kind]


SUPPOSED = (
    Kind.WEAK,
    Kind.F64,
    Kind.BOOL,
)  # kinds that cells whose types are not known yet may have, likely ones first


@immutable
class Inferred:
    """The kinds of an array's elements for each of those `SUPPOSED` of the cells in them, as they follow from the
    declarations `decls`."""

    kinds: tuple[Kind, ...]
    decls: Mapping[str, ir.ArrayDecl]

    @property
    def kind(self) -> Kind:
        """The kind that is likely."""
        return self.kinds[0]

    @property
    def is_supposed(self) -> bool:
        """Whether it is another one for other cells."""
        return len(set(self.kinds)) > 1

    def where(self, cells: Kind) -> Kind:
        """The kind for cells of the kind `cells`."""
        return self.kinds[SUPPOSED.index(cells)]

    def holds(self, arrays: Mapping[str, ir.ArrayDecl]) -> bool:
        """Whether the declarations are still what they were; parsing that goes back makes equal ones again."""
        return all(is_declared_so(arrays.get(name), decl) for name, decl in self.decls.items())


def is_declared_so(found: ir.ArrayDecl | None, decl: ir.ArrayDecl) -> bool:
    """Whether `found` says what `decl` does, also of what the array is made of, which is not compared otherwise."""
    return found is decl or (found is not None and found == decl and found.values == decl.values)


@dataclass(slots=True)
class Typing:
    """`kinds` of arrays (cells included) and scalar arguments, `ranks` of arrays; collects rejections. `goes_inside`:
    subscripts have types, too, of which those of elements are independent. `widens`: an integer becomes a float because
    what is chosen instead is one."""

    kinds: dict[str, Kind]
    ranks: Mapping[str, int]
    params: Mapping[str, Kind]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    goes_inside: bool = True
    widens: bool = False

    def refuse(self, code: str, message: str, span: Span, hint: str | None = None) -> Typed:
        found = reject(code, message, span, hint)
        if found not in self.diagnostics:
            self.diagnostics.append(found)
        return ir.Const(0, INT, loc=span), Kind.INT

    # -- expressions -----------------------------------------------------------------------------------------
    def typed(self, expr: ir.Expr) -> Typed:
        """`expr` with every conversion explicit, and its kind."""
        match expr:
            case ir.Const(value=value, dtype=dtype):
                kind = STRONG[dtype] if dtype is not None else literal_kind(value)
                return replace(expr, dtype=kind.storage), kind
            case ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf() | ir.Var():
                return expr, Kind.INT
            case ir.Param(name=name):
                if self.ranks.get(name) == 0:  # an array without axes is a number
                    return ir.Load(ir.Access(name, loc=expr.loc), loc=expr.loc), self.kinds[name]
                return expr, self.params[name]
            case ir.Load(access=access):
                return replace(expr, access=self.access(access)), self.kinds[access.array]
            case ir.Select(cond=cond, then=then, orelse=orelse):
                (a, a_kind), (b, b_kind) = self.typed(then), self.typed(orelse)
                kind = join_kinds(a_kind, b_kind)
                self.note_choice(((a, a_kind), (b, b_kind)), kind)
                return replace(
                    expr, cond=self.truth(cond), then=coerce(a, a_kind, kind), orelse=coerce(b, b_kind, kind)
                ), kind  # fmt: skip
            case ir.Cast():
                return self.cast(expr)
            case ir.PartOf():
                return self.part(expr)
            case ir.Pair():
                return self.pair(expr)
            case ir.Apply():
                return self.apply(expr)

    def access(self, access: ir.Access, is_part: bool = False) -> ir.Access:
        """`access` with integer subscripts; constant negative ones count from the end. `is_part`: of a part of it."""
        if not self.goes_inside:
            return access
        rank = self.ranks.get(access.array)
        if rank is not None and not is_part and len(access.subscripts) != rank:
            self.refuse_rank(access, rank)
        subscripts: list[ir.Expr] = []
        for axis, subscript in enumerate(access.subscripts):
            found, kind = self.typed(subscript)
            if kind is not Kind.INT:
                what = kind.described
                hint = "use `np.where` or `if`" if kind is Kind.BOOL else None
                self.refuse("LD204", f"subscript {axis + 1} of `{access.array}` is {what}", subscript.loc, hint)
            if isinstance(found, ir.Const) and found.value < 0:
                extent = ir.Dim(access.array, axis, loc=found.loc)
                found = ir.Apply(Op.SUB, (extent, ir.Const(-int(found.value), INT, loc=found.loc)), loc=found.loc)
            subscripts.append(found)
        return replace(access, subscripts=tuple(subscripts))

    def refuse_rank(self, access: ir.Access, rank: int) -> None:
        count = len(access.subscripts)
        axes, given = plural(rank, "axis", "axes"), plural(count, "subscript", "subscripts")
        self.refuse("LD203", f"`{access.array}` has {axes}, here it has {given}", access.loc)

    def cast(self, expr: ir.Cast) -> Typed:
        value, kind = self.typed(expr.value)
        if kind.is_complex and expr.dtype.part is expr.dtype and expr.dtype is not BOOL:
            return self.refuse("LD221", "a complex number is converted to a real one", expr.loc)
        match expr.dtype:
            case ScalarType.C64:
                return coerce(value, kind, Kind.C64), Kind.C64
            case ScalarType.C128:
                is_strong = isinstance(expr.value, ir.Cast) and expr.value.dtype is C128
                return coerce(value, kind, Kind.WEAK_COMPLEX), Kind.C128 if is_strong else Kind.WEAK_COMPLEX
            case ScalarType.BOOL:
                return truth(value, kind), Kind.BOOL
            case ScalarType.INT:
                return relocated(coerce(value, kind, Kind.INT), expr.loc), Kind.INT
            case ScalarType.F32:
                return coerce(value, kind, Kind.F32), Kind.F32
            case ScalarType.F64:
                # The parser spells np.float64(x), which is not weak, as two casts.
                is_strong = isinstance(expr.value, ir.Cast) and expr.value.dtype is F64
                return coerce(value, kind, Kind.WEAK), Kind.F64 if is_strong else Kind.WEAK

    def part(self, expr: ir.PartOf) -> Typed:
        """Parts of a real number are itself and zero."""
        value, kind = self.typed(expr.value)
        if kind.is_complex:
            return replace(expr, value=value), kind if expr.part == "conj" else kind.part
        match expr.part:
            case "imag":
                return ir.Const(0 if kind <= Kind.INT else 0.0, kind.storage, loc=expr.loc), kind
            case "angle":
                return self.typed(ir.Apply(Op.ATAN2, (ir.Const(0.0, loc=expr.loc), expr.value), loc=expr.loc))
            case _:
                return value, kind

    def pair(self, expr: ir.Pair) -> Typed:
        """`complex(a, b)`: a Python number, which is weak."""
        parts = [self.typed(e) for e in (expr.real, expr.imag)]
        if any(kind.is_complex for _, kind in parts):
            return self.refuse("LD221", "a part of a complex number is complex itself", expr.loc, "write `a + b * 1j`")
        real, imag = (coerce(e, kind, Kind.WEAK) for e, kind in parts)
        return replace(expr, real=real, imag=imag), Kind.WEAK_COMPLEX

    def truth(self, expr: ir.Expr) -> ir.Expr:
        """`expr` as a condition: numbers are compared with zero."""
        return truth(*self.typed(expr))

    # -- operations ------------------------------------------------------------------------------------------
    def apply(self, expr: ir.Apply) -> Typed:
        op = expr.op
        if op in (Op.AND, Op.OR, Op.NOT):
            return replace(expr, args=tuple(self.truth(a) for a in expr.args)), Kind.BOOL
        args = [self.typed(a) for a in expr.args]
        joined = join_kinds(*(kind for _, kind in args))
        if op is Op.POW:
            return power(expr, *args)
        if op is Op.STOP and joined <= Kind.INT:
            return args[0]
        if joined.is_complex:
            return self.complex_operation(expr, args, joined)
        if op in BITWISE or op is Op.INVERT:
            return self.bitwise(expr, args, joined)
        if op in ROUNDINGS and joined < Kind.WEAK:  # an integer not by way of a float, which holds 53 bits of it
            return args[0] if joined is Kind.INT else (coerce(*args[0], Kind.WEAK), Kind.WEAK)
        if op in COMPARISONS:
            return converted(expr, args, max(joined, Kind.INT)), Kind.BOOL
        if op in FLOAT_TESTS:
            return converted(expr, args, max(joined, Kind.WEAK)), Kind.BOOL
        if joined is Kind.BOOL and op in (Op.ADD, Op.SUB, Op.MUL) and len(args) == 2:
            return self.boolean_arithmetic(expr, args)
        if joined is Kind.BOOL and op is Op.NEG and self.is_numpy_boolean(expr.args[0]):
            message = "`-` of a boolean is a number in Python, and NumPy has none"
            return self.refuse("LD212", message, expr.loc, "write `not a`, `~a` of an array, or `-int(a)`")
        if joined is Kind.BOOL and op in (Op.MIN, Op.MAX):
            return replace(expr, op=Op.AND if op is Op.MIN else Op.OR, args=tuple(a for a, _ in args)), Kind.BOOL
        self.note_choice(args if op in (Op.MIN, Op.MAX) else (), joined)
        kind = max(joined, Kind.WEAK if INFO[op].result == "float" else Kind.INT)
        return converted(expr, args, kind), kind

    def note_choice(self, parts: Sequence[Typed], kind: Kind) -> None:
        self.widens = self.widens or any(may_be_rounded(*part, kind) for part in parts)

    def complex_operation(self, expr: ir.Apply, args: list[Typed], joined: Kind) -> Typed:
        op = expr.op
        if op is Op.ABS:
            return ir.PartOf("abs", args[0][0], loc=expr.loc), joined.part
        if op in (Op.EQ, Op.NE, *FLOAT_TESTS):
            return converted(expr, args, joined), Kind.BOOL
        if op in COMPLEX_FUNCTIONS:
            return converted(expr, args, joined), joined
        hint = ORDERED if op in (*COMPARISONS, Op.MIN, Op.MAX) else None
        return self.refuse("LD220", f"`{op.value}` of a complex number", expr.loc, hint)

    def boolean_arithmetic(self, expr: ir.Apply, args: list[Typed]) -> Typed:
        """A product of two booleans is `and`; NumPy's sum of two is `or`, unlike Python's."""
        if expr.op is Op.MUL:
            return replace(expr, op=Op.AND, args=tuple(a for a, _ in args)), Kind.BOOL
        message = f"`{expr.op.value}` of two booleans is a number in Python and not in NumPy"
        return self.refuse("LD212", message, expr.loc, "convert them: `int(a) + int(b)`")

    def bitwise(self, expr: ir.Apply, args: list[Typed], joined: Kind) -> Typed:
        for (_, kind), arg in zip(args, expr.args, strict=True):
            if kind > Kind.INT:
                message = f"`{expr.op.value}` has a floating-point operand"
                return self.refuse("LD206", message, arg.loc if arg.loc.line else expr.loc)
        if expr.op is Op.INVERT and joined is Kind.BOOL:
            if not self.is_numpy_boolean(expr.args[0]):
                message = "`~` of a boolean is -1 or -2 in Python and the opposite in NumPy"
                return self.refuse("LD212", message, expr.loc, "write `not a`")
            return ir.Apply(Op.NOT, (args[0][0],), loc=expr.loc), Kind.BOOL
        least = Kind.INT if expr.op in (Op.SHL, Op.SHR) else Kind.BOOL
        kind = max(joined, least)
        return converted(expr, args, kind), kind

    def is_numpy_boolean(self, expr: ir.Expr) -> bool:
        """Whether the boolean `expr` is NumPy's by its form: an element, or a comparison of one."""
        match expr:
            case ir.Load(access=access):
                return self.ranks.get(access.array, 0) > 0
            case ir.Apply(op=op, args=args) if op in COMPARISONS or op in BITWISE:
                return any(isinstance(a, ir.Load) and self.ranks.get(a.access.array, 0) > 0 for a in args)
            case _:
                return False


def kind_of_scalar(scalar: ir.ScalarDecl | ScalarArgument) -> Kind:
    """The kind of a scalar argument: a Python number is weak."""
    assert scalar.type is not None
    if scalar.is_weak and (scalar.type.is_float or scalar.type.is_complex):
        return Kind.WEAK_COMPLEX if scalar.type.is_complex else Kind.WEAK
    return STRONG[scalar.type]


def join_kinds(*kinds: Kind) -> Kind:
    """The least kind above all of `kinds`."""
    least = max(kind.part for kind in kinds)
    is_complex = any(kind.is_complex for kind in kinds)
    return Kind(max(least, Kind.WEAK) + COMPLEX_OFFSET) if is_complex else least


def literal_kind(value: bool | int | float) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOL
    return Kind.INT if isinstance(value, int) else Kind.WEAK


def converted(expr: ir.Apply, args: list[Typed], kind: Kind) -> ir.Apply:
    """`expr` on `args`, all converted to `kind`."""
    return replace(expr, args=tuple(coerce(a, k, kind) for a, k in args))


def power(expr: ir.Apply, base: Typed, exponent: Typed) -> Typed:
    """`base ** exponent`: integer exponents stay; an integer to a negative constant power is a float."""
    (x, x_kind), (n, n_kind) = base, exponent
    x_kind_after = join_kinds(x_kind, Kind.INT)
    if isinstance(n, ir.Const) and n_kind is Kind.WEAK and is_small_integer(n.value):
        n, n_kind = ir.Const(int(n.value), INT, loc=n.loc), Kind.INT
        x_kind_after = join_kinds(x_kind, Kind.WEAK)
    if n_kind <= Kind.INT:
        if isinstance(n, ir.Const) and n.value < 0:
            x_kind_after = join_kinds(x_kind_after, Kind.WEAK)
        args = (coerce(x, x_kind, x_kind_after), coerce(n, n_kind, Kind.INT))
        return replace(expr, args=args), x_kind_after
    joined = join_kinds(x_kind, n_kind)
    return converted(expr, [base, exponent], joined), joined


def is_small_integer(value: float) -> bool:
    return abs(value) <= LARGEST_INTEGER_POWER and float(value).is_integer()


def may_be_rounded(value: ir.Expr, kind: Kind, wanted: Kind) -> bool:
    """Whether `value` of `kind` is an integer that the float `wanted` may not hold: what counts is small enough."""
    is_small = isinstance(value, ir.Index | ir.Dim) or (isinstance(value, ir.Const) and abs(value.value) < 1 << 24)
    return kind is Kind.INT and wanted > Kind.INT and not is_small


def truth(value: ir.Expr, kind: Kind) -> ir.Expr:
    """`value` as a BOOL."""
    if kind is Kind.BOOL:
        return value
    if isinstance(value, ir.Const):
        return ir.Const(bool(value.value), BOOL, loc=value.loc)
    zero = ir.Const(0 if kind is Kind.INT else 0.0, kind.part.storage, loc=value.loc)
    return ir.Apply(Op.NE, (value, coerce(zero, kind.part, kind)), loc=value.loc)


def coerce(value: ir.Expr, kind: Kind, wanted: Kind) -> ir.Expr:
    """`value` of `kind` converted to the storage type of `wanted`, which is complex if `kind` is."""
    target = wanted.storage
    if kind.storage is target:
        return value
    if target is BOOL:
        return truth(value, kind)
    match value:
        case ir.Const() if target.is_complex:
            return ir.Pair(coerce(value, kind, wanted.part), ir.Const(0.0, target.part, loc=value.loc), loc=value.loc)
        case ir.Const(value=number) if target is not INT:
            is_beyond = target is F32 and number == number and abs(number) >= FLOAT32_LIMIT
            rounded = math.copysign(math.inf, number) if is_beyond else float(number)
            return ir.Const(rounded, target, loc=value.loc)
        case ir.Const(value=number) if number == number and abs(number) < 1 << 62:
            return ir.Const(int(number), INT, loc=value.loc)
        case ir.Cast(dtype=ScalarType.F64, value=ir.Cast(dtype=dtype) as inner) if dtype is target:
            return inner
        case _:
            return ir.Cast(target, value, loc=value.loc)


def relocated(expr: ir.Expr, span: Span) -> ir.Expr:
    return replace(expr, loc=span) if isinstance(expr, ir.Cast) else expr


def plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
