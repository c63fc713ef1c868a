"""Text of a LoopSet, used in dumps, documentation and golden files."""

from __future__ import annotations

from dataclasses import replace

from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    Apply,
    ArrayDecl,
    ArrayResult,
    Assign,
    Call,
    Cast,
    Const,
    Dim,
    Exit,
    Expr,
    If,
    Index,
    Jump,
    Let,
    Load,
    Loop,
    LoopSet,
    Pair,
    Param,
    PartOf,
    RankOf,
    Require,
    Result,
    ScalarDecl,
    ScalarResult,
    Select,
    SizeOf,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op

PRECEDENCE = {
    Op.OR: 1, Op.AND: 2, Op.NOT: 3,
    Op.LT: 4, Op.LE: 4, Op.GT: 4, Op.GE: 4, Op.EQ: 4, Op.NE: 4,
    Op.BITOR: 5, Op.BITXOR: 6, Op.BITAND: 7, Op.SHL: 8, Op.SHR: 8,
    Op.ADD: 9, Op.SUB: 9, Op.MUL: 10, Op.DIV: 10, Op.FLOORDIV: 10, Op.MOD: 10,
    Op.NEG: 11, Op.INVERT: 11, Op.POW: 12,
}  # fmt: skip
ATOM = 13


def print_expr(expr: Expr, context: int = 0) -> str:
    """Python-like text; parentheses only where `context` binds tighter."""
    text, level = spell(expr)
    return f"({text})" if level < context else text


def spell(expr: Expr) -> tuple[str, int]:
    match expr:
        case Const(value=value):
            return (f"{value!r}", ATOM if not isinstance(value, bool) and not repr(value).startswith("-") else 11)
        case Index(name=name) | Param(name=name) | Var(name=name):
            return name, ATOM
        case Dim(array=array, axis=axis):
            return f"{array}.shape[{axis}]", ATOM
        case SizeOf(array=array):
            return f"{array}.size", ATOM
        case RankOf(array=array):
            return f"{array}.ndim", ATOM
        case Load(access=access):
            return print_access(access), ATOM
        case Cast(dtype=dtype, value=value):
            return f"{dtype.value}({print_expr(value)})", ATOM
        case Select(cond=cond, then=then, orelse=orelse):
            return f"{print_expr(then, 1)} if {print_expr(cond, 1)} else {print_expr(orelse)}", 0
        case PartOf(part=part, value=value):
            return f"{part}({print_expr(value)})", ATOM
        case Pair(real=real, imag=imag):
            return f"complex({print_expr(real)}, {print_expr(imag)})", ATOM
        case Apply():
            return spell_apply(expr)


def spell_apply(expr: Apply) -> tuple[str, int]:
    op, args = expr.op, expr.args
    level = PRECEDENCE.get(op)
    if level is None or expr.is_strict:
        name = f"strict_{op.name.lower()}" if expr.is_strict else op.value
        return f"{name}({', '.join(print_expr(a) for a in args)})", ATOM
    match op, args:
        case Op.NEG, (a,):
            return f"-{print_expr(a, level)}", level
        case Op.INVERT, (a,):
            return f"~{print_expr(a, level)}", level
        case Op.NOT, (a,):
            return f"not {print_expr(a, level)}", level
        case Op.POW, (a, b):
            return f"{print_expr(a, level + 1)} ** {print_expr(b, level)}", level
        case ((Op.AND | Op.OR), _):
            return f" {op.value} ".join(print_expr(a, level + 1) for a in args), level
        case _, (a, b):
            left = level + 1 if level == PRECEDENCE[Op.LT] else level
            return f"{print_expr(a, left)} {op.value} {print_expr(b, level + 1)}", level
        case _:
            return f"{op.value}({', '.join(print_expr(a) for a in args)})", ATOM


def print_access(access: Access) -> str:
    if not access.subscripts:
        return f"{access.array}[]"
    return f"{access.array}[{', '.join(print_expr(e) for e in access.subscripts)}]"


def print_element(access: Access, ls: LoopSet) -> str:
    """`access` as its user wrote it: without the axis that holds the parts of complex elements."""
    kind = ls.array(access.array).type
    is_part = kind is not None and kind.is_pair
    return print_access(replace(access, subscripts=access.subscripts[:-1]) if is_part else access)


def stmt_lines(stmt: Stmt) -> list[str]:
    match stmt:
        case Let(name=name, value=value):
            return [f"let {name} = {print_expr(value)}"]
        case Assign(target=target, value=value):
            return [f"{print_access(target)} = {print_expr(value)}"]
        case Accumulate(op="add", target=target, value=value):
            return [f"{print_access(target)} += {print_expr(value)}"]
        case Accumulate(op=op, target=target, value=value):
            return [f"{print_access(target)} {op}= {print_expr(value)}"]
        case Loop(index=index, lower=lower, upper=upper, step=step, body=body):
            bounds = ", ".join(print_expr(e) for e in (lower, upper, step))
            return [f"for {index} in range({bounds}):", *indent(body_lines(body))]
        case If(cond=cond, then=then, orelse=orelse):
            lines = [f"if {print_expr(cond)}:", *indent(body_lines(then))]
            return lines + (["else:", *indent(body_lines(orelse))] if orelse else [])
        case Allocate(array=array, fill=fill):
            return [f"allocate {array}" + ("" if fill is None else f" filled with {print_expr(fill)}")]
        case Call():
            return [call_line(stmt)]
        case Exit(cond=cond):
            return [f"exit if {print_expr(cond)}"]
        case Jump(kind=kind):
            return [kind]
        case Require(cond=cond, code=code):
            return [f"require {print_expr(cond)} else {code}: {stmt.said}"]


def call_line(call: Call) -> str:
    function = call.rule.name if call.form == "primal" else f"{call.rule.name}.{call.form}"
    args = ("None" if a is None else print_expr(a) for a in call.args)
    results = ", ".join(print_access(r) for r in call.results)
    return f"{results}{' = ' if results else ''}{function}({', '.join(args)})"


def body_lines(body: tuple[Stmt, ...]) -> list[str]:
    return [line for stmt in body for line in stmt_lines(stmt)] or ["pass"]


def indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def print_stmts(body: tuple[Stmt, ...]) -> str:
    return "\n".join(body_lines(body))


def array_line(decl: ArrayDecl) -> str:
    kind = str(decl.type) if decl.type is not None else "?"
    shape = "" if decl.extents is None else f" extents ({', '.join(print_expr(e) for e in decl.extents)})"
    like = "" if decl.like is None else f" like {decl.like}"
    return f"{decl.role} {decl.name}: {kind}{shape}{like}"


def scalar_line(decl: ScalarDecl) -> str:
    return f"scalar {decl.name}: {decl.type.value if decl.type else '?'}{' (weak)' if decl.is_weak else ''}"


def result_text(result: Result) -> str:
    match result:
        case ScalarResult(value=value):
            return print_expr(value)
        case ArrayResult(array=array):
            return array


def print_loopset(ls: LoopSet) -> str:
    """The whole LoopSet: header, declarations, body, results."""
    lines = [f"loopset {ls.name}({', '.join(ls.params)})"]
    lines += indent([*map(array_line, ls.arrays), *map(scalar_line, ls.scalars)])
    lines += body_lines(ls.body)
    if ls.results:
        texts = [result_text(r) for r in ls.results]
        lines.append("return " + ", ".join(texts) + ("," if ls.returns_tuple and len(texts) == 1 else ""))
    return "\n".join(lines) + "\n"
