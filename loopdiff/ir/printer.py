"""Text of a LoopSet, used in dumps, documentation and golden files.

`-2.0` is a negative number, `-(2.0)` the negation of a number.
"""

from __future__ import annotations

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op

PRECEDENCE = {
    Op.OR: 1, Op.AND: 2, Op.NOT: 3,
    Op.LT: 4, Op.LE: 4, Op.GT: 4, Op.GE: 4, Op.EQ: 4, Op.NE: 4,
    Op.BITOR: 5, Op.BITXOR: 6, Op.BITAND: 7, Op.SHL: 8, Op.SHR: 8,
    Op.ADD: 9, Op.SUB: 9, Op.MUL: 10, Op.DIV: 10, Op.FLOORDIV: 10, Op.MOD: 10,
    Op.NEG: 11, Op.INVERT: 11, Op.POW: 12,
}  # fmt: skip
ATOM = 13


def print_expr(expr: ir.Expr, context: int = 0) -> str:
    """Python-like text; parentheses only where `context` binds tighter."""
    text, level = spell(expr)
    return f"({text})" if level < context else text


def spell(expr: ir.Expr) -> tuple[str, int]:
    match expr:
        case ir.Const(value=value):
            return (f"{value!r}", ATOM if not isinstance(value, bool) and not repr(value).startswith("-") else 11)
        case ir.Index(name=name) | ir.Param(name=name) | ir.Var(name=name):
            return name, ATOM
        case ir.Dim(array=array, axis=axis):
            return f"{array}.shape[{axis}]", ATOM
        case ir.SizeOf(array=array):
            return f"{array}.size", ATOM
        case ir.RankOf(array=array):
            return f"{array}.ndim", ATOM
        case ir.Load(access=access):
            return print_access(access), ATOM
        case ir.Cast(dtype=dtype, value=value):
            return f"{dtype.value}({print_expr(value)})", ATOM
        case ir.Select(cond=cond, then=then, orelse=orelse):
            return f"{print_expr(then, 1)} if {print_expr(cond, 1)} else {print_expr(orelse)}", 0
        case ir.PartOf(part=part, value=value):
            return f"{part}({print_expr(value)})", ATOM
        case ir.Pair(real=real, imag=imag):
            return f"complex({print_expr(real)}, {print_expr(imag)})", ATOM
        case ir.Apply():
            return spell_apply(expr)


def spell_apply(expr: ir.Apply) -> tuple[str, int]:
    op, args = expr.op, expr.args
    level = PRECEDENCE.get(op)
    if level is None or expr.is_strict:
        name = f"strict_{op.name.lower()}" if expr.is_strict else op.value
        return f"{name}({', '.join(print_expr(a) for a in args)})", ATOM
    match op, args:
        case Op.NEG, (ir.Const() as a,):
            return f"-({print_expr(a)})", level
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


def print_access(access: ir.Access) -> str:
    if not access.subscripts:
        return f"{access.array}[]"
    return f"{access.array}[{', '.join(print_expr(e) for e in access.subscripts)}]"


def print_element(access: ir.Access, ls: ir.LoopSet) -> str:
    """`access` as its user wrote it: without the axis that holds the parts of complex elements."""
    kind = ls.array(access.array).type
    is_part = kind is not None and kind.is_pair
    return print_access(replace(access, subscripts=access.subscripts[:-1]) if is_part else access)


def stmt_lines(stmt: ir.Stmt) -> list[str]:
    match stmt:
        case ir.Let(name=name, value=value):
            return [f"let {name} = {print_expr(value)}"]
        case ir.Assign(target=target, value=value):
            return [f"{print_access(target)} = {print_expr(value)}"]
        case ir.Accumulate(op="add", target=target, value=value):
            return [f"{print_access(target)} += {print_expr(value)}"]
        case ir.Accumulate(op=op, target=target, value=value):
            return [f"{print_access(target)} {op}= {print_expr(value)}"]
        case ir.Loop(index=index, lower=lower, upper=upper, step=step, body=body):
            bounds = ", ".join(print_expr(e) for e in (lower, upper, step))
            return [f"for {index} in range({bounds}):", *indent(body_lines(body))]
        case ir.If(cond=cond, then=then, orelse=orelse):
            lines = [f"if {print_expr(cond)}:", *indent(body_lines(then))]
            return lines + (["else:", *indent(body_lines(orelse))] if orelse else [])
        case ir.Allocate(array=array, fill=fill):
            return [f"allocate {array}" + ("" if fill is None else f" filled with {print_expr(fill)}")]
        case ir.Call():
            return [call_line(stmt)]
        case ir.Exit(cond=cond):
            return [f"exit if {print_expr(cond)}"]
        case ir.Jump(kind=kind):
            return [kind]
        case ir.Require(cond=cond, code=code):
            return [f"require {print_expr(cond)} else {code}: {stmt.said}"]


def call_line(call: ir.Call) -> str:
    function = call.rule.name if call.form == "primal" else f"{call.rule.name}.{call.form}"
    args = ("None" if a is None else print_expr(a) for a in call.args)
    results = ", ".join(print_access(r) for r in call.results)
    return f"{results}{' = ' if results else ''}{function}({', '.join(args)})"


def body_lines(body: tuple[ir.Stmt, ...]) -> list[str]:
    return [line for stmt in body for line in stmt_lines(stmt)] or ["pass"]


def indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def print_stmts(body: tuple[ir.Stmt, ...]) -> str:
    return "\n".join(body_lines(body))


def array_line(decl: ir.ArrayDecl) -> str:
    kind = str(decl.type) if decl.type is not None else "?"
    shape = "" if decl.extents is None else f" extents ({', '.join(print_expr(e) for e in decl.extents)})"
    like = "" if decl.like is None else f" like {decl.like}"
    return f"{decl.role} {decl.name}: {kind}{shape}{like}"


def scalar_line(decl: ir.ScalarDecl) -> str:
    return f"scalar {decl.name}: {decl.type.value if decl.type else '?'}{' (weak)' if decl.is_weak else ''}"


def result_text(result: ir.Result) -> str:
    match result:
        case ir.ScalarResult(value=value):
            return print_expr(value)
        case ir.ArrayResult(array=array):
            return array


def print_loopset(ls: ir.LoopSet) -> str:
    """The whole LoopSet: header, declarations, body, results."""
    lines = [f"loopset {ls.name}({', '.join(ls.params)})"]
    lines += indent([*map(array_line, ls.arrays), *map(scalar_line, ls.scalars)])
    lines += body_lines(ls.body)
    if ls.results:
        texts = [result_text(r) for r in ls.results]
        lines.append("return " + ", ".join(texts) + ("," if ls.returns_tuple and len(texts) == 1 else ""))
    return "\n".join(lines) + "\n"
