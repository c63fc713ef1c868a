"""The closed set of scalar operations, with arity and result type."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from loopdiff.immutable import immutable

Effort = Literal["plain", "quotient", "function"]
Result = Literal["same", "float", "int", "bool"]


class Op(Enum):
    """Scalar operations; the value is the spelling used by the printer.

    `strong_mul(a, b)` is `a * b`, and zero where `a` is zero, whatever `b`: how derivatives are multiplied.
    `sloped(v, x, p)` is `v`, and has the slope `p` in `x` besides what `v` has: how a derivative is stated.
    `strict_add`, `strict_sub`, `strict_mul` and `strict_div` are operations of floating numbers that no compiler merges
    with others, so that they give the same bits wherever they are evaluated. `float16` and `bfloat16` round to the
    nearest number of that format (of two, the even one), which they give in the type of the operand: what is stored in
    arrays of these formats. No program spells these.
    """

    __hash__ = object.__hash__  # members are one each: Enum's own hashes their names, in Python

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    FLOORDIV = "//"
    MOD = "%"
    POW = "**"
    NEG = "neg"
    BITAND = "&"
    BITOR = "|"
    BITXOR = "^"
    SHL = "<<"
    SHR = ">>"
    INVERT = "~"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "=="
    NE = "!="
    AND = "and"
    OR = "or"
    NOT = "not"
    MIN = "min"
    MAX = "max"
    ABS = "abs"
    STOP = "stop_gradient"
    SIGN = "sign"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    ROUND = "round"
    SQRT = "sqrt"
    CBRT = "cbrt"
    EXP = "exp"
    EXP2 = "exp2"
    EXPM1 = "expm1"
    LOG = "log"
    LOG2 = "log2"
    LOG10 = "log10"
    LOG1P = "log1p"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    ERF = "erf"
    ERFC = "erfc"
    GAMMA = "gamma"
    LGAMMA = "lgamma"
    DIGAMMA = "digamma"
    TRIGAMMA = "trigamma"
    ATAN2 = "atan2"
    HYPOT = "hypot"
    COPYSIGN = "copysign"
    FMOD = "fmod"
    STRONG_MUL = "strong_mul"
    SLOPED = "sloped"
    STRICT_ADD = "strict_add"
    STRICT_SUB = "strict_sub"
    STRICT_MUL = "strict_mul"
    STRICT_DIV = "strict_div"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    ISNAN = "isnan"
    ISINF = "isinf"
    ISFINITE = "isfinite"

    @property
    def stem(self) -> str:
        """What the names of values are made of that the operation gives."""
        return self.name.lower().removeprefix("strict_")


@immutable
class OpInfo:
    """Arity (None: two or more) and how the result type follows from the argument types.

    `same`: the joined argument type (bool joins to int for arithmetic); `float`: the joined type, integers
    promoted to float64; `int` / `bool`: always that.
    """

    arity: int | None
    result: Result


BINARY_SAME = (Op.ADD, Op.SUB, Op.MUL, Op.FLOORDIV, Op.MOD, Op.POW)
BITWISE = (Op.BITAND, Op.BITOR, Op.BITXOR, Op.SHL, Op.SHR)
COMPARISONS = (Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE)
NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ}
NEGATED_ON_INTEGERS = NEGATED | {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE}
STRICT = (Op.STRICT_ADD, Op.STRICT_SUB, Op.STRICT_MUL, Op.STRICT_DIV)
SUMS = (Op.ADD, Op.SUB, Op.STRICT_ADD, Op.STRICT_SUB)
PRODUCTS = (Op.MUL, Op.STRICT_MUL)
QUOTIENTS = (Op.DIV, Op.STRICT_DIV)
UNARY_SAME = (Op.NEG, Op.ABS, Op.SIGN, Op.STOP)
ROUNDINGS = (Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ROUND)
HALVES = {"float16": Op.FLOAT16, "bfloat16": Op.BFLOAT16}  # what rounds to elements of a type
PLAIN = (*ROUNDINGS, *HALVES.values())  # functions of floating numbers that are an instruction or two
BINARY_FLOAT = (Op.DIV, Op.ATAN2, Op.HYPOT, Op.COPYSIGN, Op.FMOD, Op.STRONG_MUL, Op.STRICT_DIV)
UNARY_FLOAT = (
    Op.SQRT, Op.CBRT, Op.EXP, Op.EXP2, Op.EXPM1, Op.LOG, Op.LOG2, Op.LOG10, Op.LOG1P, Op.SIN, Op.COS, Op.TAN,
    Op.ASIN, Op.ACOS, Op.ATAN, Op.SINH, Op.COSH, Op.TANH, Op.ASINH, Op.ACOSH, Op.ATANH, Op.ERF, Op.ERFC,
    Op.GAMMA, Op.LGAMMA, Op.DIGAMMA, Op.TRIGAMMA,
)  # fmt: skip
# The same code serves scalars and lanes, so that the same bits come out of both.
ONE_IMPLEMENTATION = frozenset((Op.SQRT, Op.DIGAMMA, Op.TRIGAMMA))
# What more than one implementation has: for vectors, and in the C library, which decisions are made by.
FUNCTIONS = frozenset((*UNARY_FLOAT, Op.HYPOT, Op.ATAN2, Op.POW)) - ONE_IMPLEMENTATION
FLOAT_TESTS = (Op.ISNAN, Op.ISINF, Op.ISFINITE)

INFO: dict[Op, OpInfo] = {
    **{op: OpInfo(2, "same") for op in (*BINARY_SAME, *BITWISE, Op.STRICT_ADD, Op.STRICT_SUB, Op.STRICT_MUL)},
    **{op: OpInfo(2, "bool") for op in COMPARISONS},
    **{op: OpInfo(1, "same") for op in (*UNARY_SAME, Op.INVERT)},
    **{op: OpInfo(1, "float") for op in (*ROUNDINGS, *HALVES.values(), *UNARY_FLOAT)},
    **{op: OpInfo(2, "float") for op in BINARY_FLOAT},
    **{op: OpInfo(1, "bool") for op in FLOAT_TESTS},
    Op.AND: OpInfo(None, "bool"),
    Op.OR: OpInfo(None, "bool"),
    Op.NOT: OpInfo(1, "bool"),
    Op.SLOPED: OpInfo(3, "float"),
    Op.MIN: OpInfo(None, "same"),
    Op.MAX: OpInfo(None, "same"),
}


def effort(op: Op) -> Effort:
    """What an operation takes as long as, roughly: a sum or a product, a quotient, or an elementary function."""
    if op in (*QUOTIENTS, Op.SQRT, Op.FLOORDIV, Op.MOD):
        return "quotient"
    is_function = op is Op.POW or (
        INFO[op].result == "float" and op not in (Op.COPYSIGN, Op.STRONG_MUL, Op.SLOPED, *HALVES.values())
    )
    return "function" if is_function else "plain"
