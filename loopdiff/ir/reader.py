"""Reads the text of a LoopSet: the inverse of `ir.printer`, for tests of passes and for dumps that are run again.

`print_loopset(read_loopset(text)) == text`, and what is read is what was printed but for what the printer leaves out:
places in the user's file (the message of a check says them), where a surface local has its dtype from, the tape of a
Call, and types of constants. These are weak where types are not known yet, else float64, or float32 where no array and
no argument is float64.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL, F32, F64, INT, ArrayType, ScalarType
from loopdiff.ir.walk import map_expr
from loopdiff.rules.definitions import Rule

CELL, EMPTY = re.compile(r"\b(\w+)\[\]"), r"\1[()]"
HEADER = re.compile(r"loopset (\w+)\((.*)\)")
ARRAY = re.compile(r"(\w+) (\w+): (\?|\w+\[[^]]*\](?: [FA])?)(?: extents \((.*)\))?(?: like (\w+))?$")
ARRAY_TYPE = re.compile(r"(\w+)\[(.*)\](?: ([FA]))?$")
SCALAR = re.compile(r"scalar (\w+): (\?|\w+)( \(weak\))?$")
STORE = re.compile(r"(\w+\[(?:[^=]|[=!<>]=)*?\]) (=|\+=|max=|min=) (.*)$")
CALL = re.compile(r"(?:(.*?) = )?(\w+(?:\.\w+)?)\((.*)\)$")
TYPES = {kind.value: kind for kind in ScalarType}
OPS = {op.value: op for op in Op}
BINARY: dict[type[ast.AST], Op] = {
    ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.Div: Op.DIV, ast.FloorDiv: Op.FLOORDIV, ast.Mod: Op.MOD,
    ast.Pow: Op.POW, ast.BitAnd: Op.BITAND, ast.BitOr: Op.BITOR, ast.BitXor: Op.BITXOR, ast.LShift: Op.SHL,
    ast.RShift: Op.SHR, ast.Lt: Op.LT, ast.LtE: Op.LE, ast.Gt: Op.GT, ast.GtE: Op.GE, ast.Eq: Op.EQ, ast.NotEq: Op.NE,
    ast.And: Op.AND, ast.Or: Op.OR,
}  # fmt: skip
UNARY: dict[type[ast.AST], Op] = {ast.USub: Op.NEG, ast.Not: Op.NOT, ast.Invert: Op.INVERT}
NUMBERS = {"inf": float("inf"), "nan": float("nan")}
Rules = Mapping[str, Rule]


def read_loopset(text: str, rules: Rules | None = None) -> ir.LoopSet:
    """The LoopSet of `text`. Calls of functions with rules need these `rules`, by name.

    Raises ValueError, with the line, for text that the printer does not write.
    """
    lines = Lines(text.rstrip().splitlines() or [""])
    try:
        return read_lines(lines, rules or {})
    except (ValueError, SyntaxError, LookupError) as error:
        said = f"{error} is not known" if isinstance(error, LookupError) else str(error)
        raise ValueError(f"{lines.last}: {said}") from error


def read_lines(lines: Lines, rules: Rules) -> ir.LoopSet:
    """The LoopSet of `lines`, which know where an error is."""
    lines.next = 1
    header = matched(HEADER, lines.lines[0])
    scalars: list[ir.ScalarDecl] = []
    kinds: list[ArrayType | None] = []
    for line in lines.take(4):
        if line.startswith("scalar "):
            scalars.append(scalar(line))
        else:
            kinds.append(array_type(matched(ARRAY, line)[3]))
    names = Names(rules, scalars, constant_types([*(k and k.element for k in kinds), *(s.type for s in scalars)]))
    lines.next = 1
    arrays = tuple(names.array(line) for line in lines.take(4) if not line.startswith("scalar "))
    body = tuple(names.block(lines))
    given = next((line.removeprefix("return ") for line in lines.take(0)), "")
    results = tuple(names.result(e, {a.name for a in arrays}) for e in tuple_of(given.removesuffix(",")))
    if lines.next < len(lines.lines):
        lines.next += 1
        raise ValueError("no line of this block")
    params = tuple(p.strip() for p in header[2].split(",") if p.strip())
    is_tuple = len(results) > 1 or given.endswith(",")
    return ir.LoopSet(header[1], params, arrays, tuple(scalars), body, results, is_tuple)


def constant_types(declared: Sequence[ScalarType | None]) -> Mapping[type, ScalarType]:
    """Types of the constants of a function in which these are `declared`."""
    if None in declared:
        return {}
    return {bool: BOOL, int: INT, float: F32 if F32 in declared and F64 not in declared else F64}


def matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    found = pattern.fullmatch(line.strip())
    if found is None:
        raise ValueError("no line of a LoopSet")
    return found


def scalar(line: str) -> ir.ScalarDecl:
    name, kind, weak = matched(SCALAR, line).groups()
    return ir.ScalarDecl(name, None if kind == "?" else TYPES[kind], weak is not None)


def array_type(text: str) -> ArrayType | None:
    if text == "?":
        return None
    dtype, axes, layout = matched(ARRAY_TYPE, text).groups()
    return ArrayType(dtype, axes.count(",") + bool(axes), layout or "C", is_pair=axes.endswith("2"))  # type: ignore


@dataclass(slots=True)
class Lines:
    """The lines of a text, of which the first `next` have been read."""

    lines: list[str]
    next: int = 0

    @property
    def last(self) -> str:
        """Which line was read last, for messages."""
        return f"line {self.next}: {self.lines[self.next - 1].strip()!r}"

    def take(self, depth: int) -> Iterator[str]:
        """The next lines, as long as they are `depth` spaces in."""
        while (line := self.at(depth)) is not None:
            self.next += 1
            yield line

    def at(self, depth: int) -> str | None:
        """The next line, if it is one of a block that is `depth` spaces in."""
        if self.next == len(self.lines):
            return None
        line = self.lines[self.next]
        return line.strip() if len(line) - len(line.lstrip()) == depth else None


@dataclass(slots=True)
class Names:
    """What names stand for where a line is read."""

    rules: Rules
    scalars: Sequence[ir.ScalarDecl]
    constants: Mapping[type, ScalarType]
    indices: list[str] = field(default_factory=list)
    lets: set[str] = field(default_factory=set)

    def constant(self, value: bool | int | float) -> ir.Const:
        return ir.Const(value, self.constants.get(type(value)))

    # -- declarations ----------------------------------------------------------------------------------------
    def array(self, line: str) -> ir.ArrayDecl:
        role, name, kind, extents, like = matched(ARRAY, line).groups()
        sizes = None if extents is None else tuple(map_expr(outside_of_lets, e) for e in self.exprs(extents))
        return ir.ArrayDecl(name, array_type(kind), role, sizes, like)  # type: ignore[arg-type]

    def result(self, node: ast.expr, arrays: set[str]) -> ir.Result:
        if isinstance(node, ast.Name) and node.id in arrays:
            return ir.ArrayResult(node.id)
        return ir.ScalarResult(self.expr(node))

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, lines: Lines, depth: int = 0) -> Iterator[ir.Stmt]:
        while (line := lines.at(depth)) is not None and line != "else:" and not line.startswith("return "):
            lines.next += 1
            if line != "pass":
                yield self.stmt(line, lines, depth)

    def stmt(self, line: str, lines: Lines, depth: int) -> ir.Stmt:
        word, _, rest = line.partition(" ")
        match word:
            case "let":
                name, _, value = rest.partition(" = ")
                found = ir.Let(name, self.text(value))
                self.lets.add(name)
                return found
            case "for":
                return self.loop(rest, lines, depth)
            case "if":
                return self.branch(rest, lines, depth)
            case "allocate":
                name, _, fill = rest.partition(" filled with ")
                return ir.Allocate(name, self.text(fill) if fill else None)
            case "exit":
                return ir.Exit(self.text(rest.removeprefix("if ")))
            case "break" | "continue" | "return" if not rest:
                return ir.Jump(word)
            case "require":
                cond, _, rest = rest.partition(" else LD")
                code, _, message = rest.partition(": ")
                return ir.Require(self.text(cond), f"LD{code}", message)
            case _:
                return self.store(line)

    def branch(self, rest: str, lines: Lines, depth: int) -> ir.If:
        cond, then = self.text(rest.removesuffix(":")), tuple(self.block(lines, depth + 4))
        if lines.at(depth) != "else:":
            return ir.If(cond, then)
        lines.next += 1
        return ir.If(cond, then, tuple(self.block(lines, depth + 4)))

    def loop(self, rest: str, lines: Lines, depth: int) -> ir.Loop:
        index, _, bounds = rest.removesuffix(":").partition(" in range")
        lower, upper, step = self.exprs(bounds[1:-1])
        self.indices.append(index)
        body = tuple(self.block(lines, depth + 4))
        self.indices.pop()
        return ir.Loop(index, lower, upper, step, body)

    def store(self, line: str) -> ir.Stmt:
        stored = STORE.fullmatch(line)
        if stored is None or stored[3].split("(")[0].partition(".")[0] in self.rules:
            return self.call(line)
        target, value = self.access(stored[1]), self.text(stored[3])
        match stored[2]:
            case "=":
                return ir.Assign(target, value)
            case "+=":
                return ir.Accumulate("add", target, value)
            case "max=":
                return ir.Accumulate("max", target, value)
            case _:
                return ir.Accumulate("min", target, value)

    def call(self, line: str) -> ir.Call:
        results, function, args = matched(CALL, line).groups()
        name, _, form = function.partition(".")
        if name not in self.rules:
            raise ValueError(f"no rule for the function {name}")
        nodes = tuple_of(args)
        values = tuple(None if isinstance(n, ast.Constant) and n.value is None else self.expr(n) for n in nodes)
        targets = tuple(self.access_of(n) for n in tuple_of(results or ""))
        return ir.Call(self.rules[name], form or "primal", values, targets)  # type: ignore[arg-type]

    # -- expressions -----------------------------------------------------------------------------------------
    def text(self, text: str) -> ir.Expr:
        return self.expr(ast.parse(CELL.sub(EMPTY, text), mode="eval").body)

    def exprs(self, text: str) -> list[ir.Expr]:
        return [self.expr(n) for n in tuple_of(text)]

    def access(self, text: str) -> ir.Access:
        return self.access_of(ast.parse(CELL.sub(EMPTY, text), mode="eval").body)

    def access_of(self, node: ast.expr) -> ir.Access:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=elements)):
                return ir.Access(name, tuple(map(self.expr, elements)))
            case ast.Subscript(value=ast.Name(id=name), slice=only):
                return ir.Access(name, (self.expr(only),))
            case _:
                raise ValueError(f"no element of an array: {ast.unparse(node)}")

    def expr(self, node: ast.expr) -> ir.Expr:
        match node:
            case ast.Constant() | ast.Name():
                return self.atom(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand) if adjoins(node, operand):
                found = self.expr(operand)
                return self.constant(-found.value) if isinstance(found, ir.Const) else ir.Apply(Op.NEG, (found,))
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=array), attr="shape"), slice=axis):
                return ir.Dim(array, int(ast.literal_eval(axis)))
            case ast.Attribute(value=ast.Name(id=array), attr="size"):
                return ir.SizeOf(array)
            case ast.Attribute(value=ast.Name(id=array), attr="ndim"):
                return ir.RankOf(array)
            case ast.Subscript():
                return ir.Load(self.access_of(node))
            case ast.IfExp(test=test, body=then, orelse=orelse):
                return ir.Select(self.expr(test), self.expr(then), self.expr(orelse))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.applied(name, tuple(map(self.expr, args)))
            case _:
                return self.operation(node)

    def operation(self, node: ast.expr) -> ir.Expr:
        match node:
            case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
                return ir.Apply(UNARY[type(op)], (self.expr(operand),))
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                return ir.Apply(BINARY[type(op)], (self.expr(left), self.expr(right)))
            case ast.BoolOp(op=op, values=values):
                return ir.Apply(BINARY[type(op)], tuple(map(self.expr, values)))
            case _:
                raise ValueError(f"no expression of a LoopSet: {ast.unparse(node)}")

    def atom(self, node: ast.Constant | ast.Name) -> ir.Expr:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self.constant(value)
            case ast.Name(id=name) if name in self.indices:
                return ir.Index(name)
            case ast.Name(id=name) if any(s.name == name for s in self.scalars):
                return ir.Param(name)
            case ast.Name(id=name):
                return self.constant(NUMBERS[name]) if name in NUMBERS and name not in self.lets else ir.Var(name)
            case _:
                raise ValueError(f"no number of a LoopSet: {ast.unparse(node)}")

    def applied(self, name: str, args: tuple[ir.Expr, ...]) -> ir.Expr:
        if name in TYPES:
            (value,) = args
            return ir.Cast(TYPES[name], value)
        match name:
            case "complex":
                return ir.Pair(args[0], args[1])
            case "real" | "imag" | "conj" | "angle":
                return ir.PartOf(name, args[0])
            case _ if name in OPS:
                return ir.Apply(OPS[name], args)
            case _ if name.startswith("strict_") and name.removeprefix("strict_").upper() in Op.__members__:
                return ir.Apply(Op[name.removeprefix("strict_").upper()], args, is_strict=True)
            case _:
                raise ValueError(f"no operation of a LoopSet: {name}")


def outside_of_lets(expr: ir.Expr) -> ir.Expr:
    """What a name stands for in an extent: an argument, or a number that is counted before the call."""
    return ir.Param(expr.name) if isinstance(expr, ir.Var) else expr


def adjoins(sign: ast.expr, operand: ast.expr) -> bool:
    """Whether no parenthesis stands between a sign and what it is the sign of."""
    return operand.col_offset == sign.col_offset + 1


def tuple_of(text: str) -> list[ast.expr]:
    """The expressions between the commas of `text`."""
    if not text.strip():
        return []
    node = ast.parse(f"({CELL.sub(EMPTY, text)},)", mode="eval").body
    assert isinstance(node, ast.Tuple)
    return node.elts
