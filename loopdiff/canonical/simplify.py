"""Algebraic simplification that changes no bit of any result, infinities and signed zeros included.

Floats: only identities of IEEE arithmetic (`x * 1`, `x - 0`, `-(-x)`, `a + (-b)`, ...) and folding of
correctly rounded operations on constants; `0 * x` and `x + 0.0` stay, they are not `0` and `x` for every x.
Integers: sums of products with constants take a canonical affine form, in the ring of 64-bit integers.
Whatever may raise (integer division, loads out of bounds) is never dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import is_index_arithmetic
from loopdiff.ir.build import may_divide_by_zero
from loopdiff.ir.ops import COMPARISONS, INFO, NEGATED, NEGATED_ON_INTEGERS, PLAIN, Op
from loopdiff.ir.scalar_eval import evaluate
from loopdiff.ir.types import BOOL, F32, F64, INT, ScalarType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import map_body, map_expr, map_stmt_exprs, subexprs

# Correctly rounded on every target, so that folding gives the bits the program would compute.
EXACT = {
    *COMPARISONS, *PLAIN,
    Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, Op.ABS, Op.SQRT, Op.STOP, Op.MIN, Op.MAX, Op.NOT,
}  # fmt: skip
FOLDED_ON_INTEGERS = EXACT | {Op.FLOORDIV, Op.MOD, Op.BITAND, Op.BITOR, Op.BITXOR, Op.INVERT, Op.SIGN}
MAY_RAISE = {Op.FLOORDIV, Op.MOD, Op.POW, Op.SHL, Op.SHR}


def simplify(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with every expression simplified, and statements gone that cannot run or do nothing."""
    env = type_env(ls)

    def expression(expr: ir.Expr) -> ir.Expr:
        return simplify_expr(expr, env)

    arrays = tuple(
        a if a.extents is None else replace(a, extents=tuple(expression(e) for e in a.extents)) for a in ls.arrays
    )
    results = tuple(replace(r, value=expression(r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results)
    body = tuple(map_stmt_exprs(expression, s) for s in ls.body)
    return replace(ls, arrays=arrays, body=map_body(body, simplify_stmt), results=results)


def simplify_stmt(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
    """The statements `stmt` amounts to; its expressions and children are simplified."""
    match stmt:
        case ir.If(cond=ir.Const(value=value), then=then, orelse=orelse):
            return then if value else orelse
        case ir.If(then=(), orelse=()) | ir.Loop(body=()) | ir.Require(cond=ir.Const(value=True)):
            return () if is_pure(stmt_condition(stmt)) else (stmt,)
        case ir.If(cond=cond, then=(), orelse=orelse):
            negation = simplify_expr(ir.Apply(Op.NOT, (cond,), loc=cond.loc))
            return (replace(stmt, cond=negation, then=orelse, orelse=()),)
        case ir.Loop(step=ir.Const(value=0)):  # nobody gets here: what stands before the loop has raised
            return ()
        case ir.Loop(body=body) if cut(body) != body:
            return simplify_stmt(replace(stmt, body=cut(body)))
        case ir.Loop(lower=ir.Const(value=lower), upper=ir.Const(value=upper), step=ir.Const(value=step)):
            return (stmt,) if range(int(lower), int(upper), int(step)) else ()
        case ir.Accumulate(op="add", value=ir.Const() as value) if is_neutral(value):
            return ()
        case _:
            return (stmt,)


def cut(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The body of a loop without exits that are never taken, up to one that always is."""
    out: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.Exit(cond=ir.Const(value=False)):
                pass
            case ir.Exit(cond=ir.Const()):
                return (*out, stmt)
            case _:
                out.append(stmt)
    return tuple(out)


def stmt_condition(stmt: ir.If | ir.Loop | ir.Require) -> tuple[ir.Expr, ...]:
    return (stmt.lower, stmt.upper, stmt.step) if isinstance(stmt, ir.Loop) else (stmt.cond,)


def is_neutral(const: ir.Const) -> bool:
    """Whether adding `const` changes nothing: the integer 0 and the float -0.0, but not 0.0."""
    return const.value == 0 and (const.dtype is INT or has_value(const, -0.0))


def simplify_expr(expr: ir.Expr, env: TypeEnv | None = None) -> ir.Expr:
    """`expr` simplified. Without `env`, types of names are unknown and rules that need them do not apply."""
    return map_expr(lambda e: settle(e, env), expr)


def settle(expr: ir.Expr, env: TypeEnv | None) -> ir.Expr:
    """Apply the rules at the root of `expr`, whose operands are simplified, until none does."""
    while True:
        new = rewrite(expr, env)
        if new is expr:
            return expr
        expr = new


def rewrite(expr: ir.Expr, env: TypeEnv | None) -> ir.Expr:
    match expr:
        case ir.Select():
            return rewrite_select(expr)
        case ir.Cast(dtype=dtype, value=value):
            if isinstance(value, ir.Const):
                return fold_cast(expr, value)
            return value if kind_of(value, env) is dtype else expr
        case ir.Apply():
            folded = fold(expr, env)
            if folded is not expr:
                return folded
            kind = operand_kind(expr, env)
            if expr.op in (Op.AND, Op.OR, Op.NOT):
                return rewrite_logic(expr, env)
            if kind is INT:
                return rewrite_integer(expr)
            return rewrite_float(expr, kind) if kind is not None and kind.is_float else expr
        case _:
            return expr


# -- types ---------------------------------------------------------------------------------------------------
def kind_of(expr: ir.Expr, env: TypeEnv | None) -> ScalarType | None:
    """Type of `expr`; without `env` what its form tells, None if nothing."""
    if env is not None:
        return type_of(expr, env)
    match expr:
        case ir.Const(dtype=dtype) | ir.Cast(dtype=dtype):
            return dtype
        case ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf():
            return INT
        case ir.Select(then=then, orelse=orelse):
            return kind_of(then, env) or kind_of(orelse, env)
        case ir.Apply(op=op):
            return BOOL if INFO[op].result == "bool" else operand_kind(expr, env)
        case _:
            return None


def operand_kind(expr: ir.Apply, env: TypeEnv | None) -> ScalarType | None:
    """The type in which `expr` computes: operands agree, except for the exponent of a power."""
    if expr.op is Op.POW:
        return kind_of(expr.args[0], env)
    return next((k for k in (kind_of(a, env) for a in expr.args) if k is not None), None)


def is_pure(exprs: tuple[ir.Expr, ...]) -> bool:
    """Whether evaluating `exprs` can neither raise nor read outside an array."""
    return not any(
        (isinstance(e, ir.Load) and e.access.subscripts) or (isinstance(e, ir.Apply) and may_have_no_value(e))
        for expr in exprs
        for e in subexprs(expr)
    )


def may_have_no_value(expr: ir.Apply) -> bool:
    """Whether an operation raises for some operands of its type."""
    return may_divide_by_zero(expr) if expr.op in (Op.FLOORDIV, Op.MOD) else expr.op in MAY_RAISE


# -- constants -----------------------------------------------------------------------------------------------
def scalar(const: ir.Const) -> bool | int | float | np.floating:
    match const.dtype:
        case ScalarType.F32:
            return np.float32(const.value)
        case ScalarType.F64:
            return np.float64(const.value)
        case _:
            return int(const.value) if const.dtype is INT else const.value


def constant(value: Any, dtype: ScalarType, like: ir.Expr) -> ir.Const:
    plain = bool(value) if dtype is BOOL else int(value) if dtype is INT else float(value)
    return ir.Const(plain, dtype, loc=like.loc)


def fold(expr: ir.Apply, env: TypeEnv | None) -> ir.Expr:
    """The constant `expr` equals, if all its arguments are constants of one type."""
    consts = [a for a in expr.args if isinstance(a, ir.Const)]
    kinds = {c.dtype for c in consts}
    if len(consts) < len(expr.args) or len(kinds) != 1 or None in kinds:
        return expr
    kind = kinds.pop()
    allowed = EXACT if kind in (F32, F64) else FOLDED_ON_INTEGERS
    divides_by_zero = expr.op in (Op.FLOORDIV, Op.MOD) and consts[1].value == 0
    if expr.op not in allowed or divides_by_zero or (kind is not None and is_promoted(expr.op, kind)):
        return expr
    value = evaluate(expr.op, *(scalar(c) for c in consts))
    result = BOOL if INFO[expr.op].result == "bool" else kind
    if result is None or (result.is_float and not np.isfinite(value)):
        return expr
    return constant(value, result, expr)


def is_promoted(op: Op, kind: ScalarType) -> bool:
    """Whether `op` leaves the type `kind`: float functions of integers, arithmetic on truth values."""
    return not kind.is_float and INFO[op].result != "bool" and (INFO[op].result == "float" or kind is BOOL)


def fold_cast(expr: ir.Cast, value: ir.Const) -> ir.Expr:
    number = scalar(value)
    if value.dtype is None or (expr.dtype is INT and not np.isfinite(number)):
        return expr
    if expr.dtype is BOOL:
        return constant(number != 0, BOOL, expr)
    with np.errstate(over="ignore"):
        rounded = np.float32(number) if expr.dtype is F32 else number
    is_lost = expr.dtype.is_float and not np.isfinite(rounded) and np.isfinite(number)
    return expr if is_lost else constant(rounded, expr.dtype, expr)


def has_value(expr: ir.Expr, value: float) -> bool:
    """Whether `expr` is the number `value`; zeros must have its sign."""
    if not isinstance(expr, ir.Const) or isinstance(expr.value, bool) or expr.value != value:
        return False
    return value != 0 or np.signbit(float(expr.value)) == np.signbit(value)


# -- selection and logic -------------------------------------------------------------------------------------
def rewrite_select(expr: ir.Select) -> ir.Expr:
    match expr.cond:
        case ir.Const(value=value):
            return expr.then if value else expr.orelse
        case ir.Apply(op=Op.NOT, args=(cond,)):
            return replace(expr, cond=cond, then=expr.orelse, orelse=expr.then)
    return expr.then if expr.then == expr.orelse and is_pure((expr.cond,)) else expr


def rewrite_logic(expr: ir.Apply, env: TypeEnv | None) -> ir.Expr:
    if expr.op is Op.NOT:
        return rewrite_not(expr, env)
    neutral = expr.op is Op.AND
    args: list[ir.Expr] = []
    for arg in expr.args:
        for part in arg.args if isinstance(arg, ir.Apply) and arg.op is expr.op else (arg,):
            if isinstance(part, ir.Const) and bool(part.value) is neutral:
                continue
            if part in args:
                continue
            args.append(part)
            if isinstance(part, ir.Const):
                return ir.Const(not neutral, BOOL, loc=expr.loc) if is_pure(tuple(args)) else rebuilt(expr, args)
    if not args:
        return ir.Const(neutral, BOOL, loc=expr.loc)
    is_truth = len(args) == 1 and kind_of(args[0], env) is BOOL
    return args[0] if is_truth else rebuilt(expr, args)


def rebuilt(expr: ir.Apply, args: list[ir.Expr]) -> ir.Expr:
    """`expr` with `args`, itself if they are the same; a single argument stays an operation."""
    is_unchanged = len(args) == len(expr.args) and all(a is b for a, b in zip(args, expr.args, strict=True))
    return expr if is_unchanged or len(args) < 2 else replace(expr, args=tuple(args))


def rewrite_not(expr: ir.Apply, env: TypeEnv | None) -> ir.Expr:
    match expr.args[0]:
        case ir.Apply(op=Op.NOT, args=(inner,)) if kind_of(inner, env) is BOOL:
            return inner
        case ir.Apply(op=op) as compared:
            table = NEGATED_ON_INTEGERS if operand_kind(compared, env) is INT else NEGATED
            return replace(compared, op=table[op]) if op in table else expr
        case _:
            return expr


# -- floats --------------------------------------------------------------------------------------------------
def rewrite_float(expr: ir.Apply, kind: ScalarType) -> ir.Expr:
    match expr.op, expr.args:
        case Op.ADD, (a, b):
            return rewrite_sum(expr, a, b)
        case Op.SUB, (a, b):
            if has_value(b, 0.0):
                return a
            return replace(expr, op=Op.ADD, args=(a, negated(b))) if is_negation(b) else expr
        case ((Op.MUL | Op.DIV), (a, b)):
            return rewrite_product(expr, a, b)
        case Op.NEG, (a,):
            return negated(a) if is_negation(a) else expr
        case Op.ABS, (ir.Apply(op=(Op.ABS | Op.NEG), args=inner),):
            return replace(expr, args=inner)
        case Op.POW, (a, ir.Const(value=0)) if is_pure((a,)):
            return ir.Const(1.0, kind, loc=expr.loc)
        case Op.POW, (a, ir.Const(value=1)):
            return a
        case ((Op.MIN | Op.MAX), _):
            return rewrite_extremum(expr)
        case _:
            return expr


def rewrite_sum(expr: ir.Apply, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    if has_value(b, -0.0):
        return a
    if has_value(a, -0.0):
        return b
    if is_negation(b):
        return replace(expr, op=Op.SUB, args=(a, negated(b)))
    return replace(expr, op=Op.SUB, args=(b, negated(a))) if is_negation(a) else expr


def rewrite_product(expr: ir.Apply, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    if has_value(b, 1.0):
        return a
    if has_value(b, -1.0):
        return ir.Apply(Op.NEG, (a,), loc=expr.loc)
    if expr.op is Op.MUL and has_value(a, 1.0):
        return b
    if expr.op is Op.MUL and has_value(a, -1.0):
        return ir.Apply(Op.NEG, (b,), loc=expr.loc)
    return replace(expr, args=(negated(a), negated(b))) if is_negation(a) and is_negation(b) else expr


def is_negation(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op is Op.NEG


def negated(expr: ir.Expr) -> ir.Expr:
    """What the negation `expr` negates."""
    return expr.args[0] if isinstance(expr, ir.Apply) else expr


def rewrite_extremum(expr: ir.Apply) -> ir.Expr:
    kept: list[ir.Expr] = []
    for arg in expr.args:
        if arg not in kept:
            kept.append(arg)
    return kept[0] if len(kept) == 1 else rebuilt(expr, kept)


# -- integers ------------------------------------------------------------------------------------------------
Terms = dict[ir.Expr, int]


def rewrite_integer(expr: ir.Apply) -> ir.Expr:
    match expr.op, expr.args:
        case ((Op.ADD | Op.SUB | Op.MUL | Op.NEG), _):
            return rewrite_affine(expr)
        case ((Op.FLOORDIV | Op.MOD), (a, ir.Const(value=divisor))) if divisor > 0:
            return rewrite_division(expr, a, int(divisor))
        case ((Op.MIN | Op.MAX), _):
            return rewrite_extremum(expr)
        case op, (a, b) if op in COMPARISONS and is_index_arithmetic(a) and is_index_arithmetic(b):
            terms, rest = affine(ir.Apply(Op.SUB, (a, b)))
            return expr if any(terms.values()) else ir.Const(evaluate(op, rest, 0), BOOL, loc=expr.loc)
        case _:
            return expr


def affine(expr: ir.Expr) -> tuple[Terms, int]:
    """`expr` as a sum of terms with coefficients, in order of appearance, and a constant."""
    match expr:
        case ir.Const(value=value):
            return {}, int(value)
        case ir.Apply(op=Op.NEG, args=(a,)):
            return scaled(affine(a), -1)
        case ir.Apply(op=(Op.ADD | Op.SUB) as op, args=(a, b)):
            terms, rest = affine(a)
            more, other = scaled(affine(b), 1 if op is Op.ADD else -1)
            for term, coefficient in more.items():
                terms[term] = terms.get(term, 0) + coefficient
            return terms, rest + other
        case (
            ir.Apply(op=Op.MUL, args=(ir.Const(value=value), a)) | ir.Apply(op=Op.MUL, args=(a, ir.Const(value=value)))
        ):
            return scaled(affine(a), int(value))
        case _:
            return {expr: 1}, 0


def scaled(form: tuple[Terms, int], factor: int) -> tuple[Terms, int]:
    return {t: c * factor for t, c in form[0].items()}, form[1] * factor


def rewrite_affine(expr: ir.Apply) -> ir.Expr:
    terms, rest = affine(expr)
    if terms == {expr: 1} or not is_pure(tuple(t for t, c in terms.items() if c == 0)):
        return expr
    if max((abs(c) for c in (*terms.values(), rest)), default=0) >= 1 << 62:
        return expr
    new = from_affine(terms, rest)
    return expr if new == expr else replace(new, loc=expr.loc)


def from_affine(terms: Terms, rest: int) -> ir.Expr:
    """The canonical expression: a positive term first, else the constant; the constant last."""
    items = [(t, c) for t, c in terms.items() if c != 0]
    items.sort(key=lambda item: item[1] < 0)
    if not items:
        return ir.Const(rest, INT)
    if items[0][1] < 0 and rest != 0:
        total, rest = ir.Const(rest, INT), 0
    else:
        term, coefficient = items.pop(0)
        total = product(term, coefficient)
    for term, coefficient in items:
        op = Op.ADD if coefficient > 0 else Op.SUB
        total = ir.Apply(op, (total, product(term, abs(coefficient))))
    if rest == 0:
        return total
    return ir.Apply(Op.ADD if rest > 0 else Op.SUB, (total, ir.Const(abs(rest), INT)))


def product(term: ir.Expr, coefficient: int) -> ir.Expr:
    if coefficient == 1:
        return term
    return ir.Apply(Op.NEG, (term,)) if coefficient == -1 else ir.Apply(Op.MUL, (ir.Const(coefficient, INT), term))


def rewrite_division(expr: ir.Apply, a: ir.Expr, divisor: int) -> ir.Expr:
    """x // 1, x % 1, and exact quotients of index arithmetic, which does not overflow."""
    if divisor == 1 and (expr.op is Op.FLOORDIV or is_pure((a,))):
        return a if expr.op is Op.FLOORDIV else ir.Const(0, INT, loc=expr.loc)
    terms, rest = affine(a)
    if not is_index_arithmetic(a) or any(c % divisor for c in terms.values()):
        return expr
    if expr.op is Op.MOD:
        return ir.Const(rest % divisor, INT, loc=expr.loc)
    return replace(from_affine({t: c // divisor for t, c in terms.items()}, rest // divisor), loc=expr.loc)
