"""Traversal and rewriting of LoopSets: three shapes of walk, no visitors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    Apply,
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
    ScalarResult,
    Select,
    SizeOf,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A statement, where it stands, and the Loop and If statements around it (outermost first)."""

    path: Path
    stmt: Stmt
    enclosing: tuple[Stmt, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(s for s in self.enclosing if isinstance(s, Loop))

    @property
    def is_conditional(self) -> bool:
        """Whether it stands in an If."""
        return any(isinstance(s, If) for s in self.enclosing)


def children(stmt: Stmt) -> tuple[Stmt, ...]:
    """Statements directly inside `stmt`; an If counts through its two branches."""
    match stmt:
        case Loop(body=body):
            return body
        case If(then=then, orelse=orelse):
            return then + orelse
        case _:
            return ()


def statements(body: tuple[Stmt, ...], prefix: Path = (), enclosing: tuple[Stmt, ...] = ()) -> Iterator[Site]:
    """Every statement below `body` in textual order, parents before children."""
    for position, stmt in enumerate(body):
        path = (*prefix, position)
        yield Site(path, stmt, enclosing)
        yield from statements(children(stmt), path, (*enclosing, stmt))


def without_children(stmt: Stmt) -> Stmt:
    """`stmt` alone: a Loop or If with empty blocks."""
    match stmt:
        case Loop():
            return replace(stmt, body=())
        case If():
            return replace(stmt, then=(), orelse=())
        case _:
            return stmt


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Expressions directly inside `expr` (subscripts for a Load)."""
    match expr:
        case Apply(args=args):
            return args
        case Load(access=access):
            return access.subscripts
        case Const() | Var() | Index() | Param() | Dim() | SizeOf() | RankOf():
            return ()
        case Cast(value=value) | PartOf(value=value):
            return (value,)
        case Select(cond=cond, then=then, orelse=orelse):
            return (cond, then, orelse)
        case Pair(real=real, imag=imag):
            return (real, imag)


def rebuild(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """`expr` with its `operands` replaced by `parts`."""
    match expr:
        case Load(access=access):
            return replace(expr, access=replace(access, subscripts=parts))
        case Apply():
            return replace(expr, args=parts)
        case Select():
            return replace(expr, cond=parts[0], then=parts[1], orelse=parts[2])
        case Cast() | PartOf():
            return replace(expr, value=parts[0])
        case Pair():
            return replace(expr, real=parts[0], imag=parts[1])
        case Const() | Index() | Param() | Var() | Dim() | SizeOf() | RankOf():
            return expr


def map_expr(rewrite: Callable[[Expr], Expr], expr: Expr) -> Expr:
    """`expr` with `rewrite` applied to every node, operands first."""
    old = operands(expr)
    if not old:
        return rewrite(expr)
    new = tuple(map_expr(rewrite, e) for e in old)
    same = all(a is b for a, b in zip(old, new, strict=True))
    return rewrite(expr if same else rebuild(expr, new))


def subexprs(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything inside it, operands first."""
    found: list[Expr] = []
    gather(expr, found)
    return iter(found)


def gather(expr: Expr, found: list[Expr]) -> None:
    for part in operands(expr):
        gather(part, found)
    found.append(expr)


def loads(expr: Expr) -> Iterator[Load]:
    """Every Load in `expr`, those inside subscripts included."""
    return (e for e in subexprs(expr) if isinstance(e, Load))


def reads(expr: Expr, access: Access) -> bool:
    """Whether a load in `expr` is spelled like `access`."""
    return any(load.access == access for load in loads(expr))


def lets_in(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Lets that statements make."""
    return frozenset(s.stmt.name for s in statements(body) if isinstance(s.stmt, Let))


def stmt_exprs(stmt: Stmt) -> tuple[Expr, ...]:
    """Expressions evaluated by the statement itself: not those of its children, but its target's subscripts."""
    match stmt:
        case Let(value=value):
            return (value,)
        case Assign(target=target, value=value) | Accumulate(target=target, value=value):
            return (*target.subscripts, value)
        case Loop(lower=lower, upper=upper, step=step):
            return (lower, upper, step)
        case If(cond=cond) | Require(cond=cond) | Exit(cond=cond):
            return (cond,)
        case Allocate(fill=fill):
            return () if fill is None else (fill,)
        case Call(args=args, tape=tape):
            return (*(a for a in args if a is not None), *tape)
        case Jump():
            return ()


def map_stmt_exprs(rewrite: Callable[[Expr], Expr], stmt: Stmt) -> Stmt:
    """`stmt`, its children included, with `rewrite` applied to each whole expression."""
    match stmt:
        case Let(value=value):
            return replace(stmt, value=rewrite(value))
        case Assign(target=target, value=value) | Accumulate(target=target, value=value):
            subscripts = tuple(rewrite(e) for e in target.subscripts)
            return replace(stmt, target=replace(target, subscripts=subscripts), value=rewrite(value))
        case Loop(lower=lower, upper=upper, step=step, body=body):
            return replace(
                stmt, lower=rewrite(lower), upper=rewrite(upper), step=rewrite(step),
                body=tuple(map_stmt_exprs(rewrite, s) for s in body),
            )  # fmt: skip
        case If(cond=cond, then=then, orelse=orelse):
            return replace(
                stmt, cond=rewrite(cond),
                then=tuple(map_stmt_exprs(rewrite, s) for s in then),
                orelse=tuple(map_stmt_exprs(rewrite, s) for s in orelse),
            )  # fmt: skip
        case Require(cond=cond) | Exit(cond=cond):
            return replace(stmt, cond=rewrite(cond))
        case Allocate(fill=fill):
            return stmt if fill is None else replace(stmt, fill=rewrite(fill))
        case Call(args=args, tape=tape):
            new = tuple(None if a is None else rewrite(a) for a in args)
            return replace(stmt, args=new, tape=tuple(rewrite(e) for e in tape))
        case Jump():
            return stmt


def map_body(body: tuple[Stmt, ...], rewrite: Callable[[Stmt], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """Every statement replaced by the statements `rewrite` gives for it, children first."""
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Loop(body=inner):
                out += rewrite(replace(stmt, body=map_body(inner, rewrite)))
            case If(then=then, orelse=orelse):
                out += rewrite(replace(stmt, then=map_body(then, rewrite), orelse=map_body(orelse, rewrite)))
            case _:
                out += rewrite(stmt)
    return tuple(out)


def map_accesses(rewrite: Callable[[Access], Access], stmt: Stmt) -> Stmt:
    """`stmt`, its children included, with `rewrite` applied to every access, those in its subscripts first."""

    def load(expr: Expr) -> Expr:
        return replace(expr, access=rewrite(expr.access)) if isinstance(expr, Load) else expr

    def target(stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Assign() | Accumulate():
                return (replace(stmt, target=rewrite(stmt.target)),)
            case Call():
                return (replace(stmt, results=tuple(map(rewrite, stmt.results))),)
            case _:
                return (stmt,)

    (found,) = map_body((map_stmt_exprs(lambda e: map_expr(load, e), stmt),), target)
    return found


def substitute(expr: Expr, replacements: Mapping[Expr, Expr]) -> Expr:
    """`expr` with every node equal to a key replaced, the largest nodes first."""
    if expr in replacements:
        return replacements[expr]
    old = operands(expr)
    new = tuple(substitute(e, replacements) for e in old)
    return expr if all(a is b for a, b in zip(old, new, strict=True)) else rebuild(expr, new)


def expressions(ls: LoopSet) -> Iterator[Expr]:
    """Every whole expression of the LoopSet: statements in order, then results."""
    for site in statements(ls.body):
        yield from stmt_exprs(site.stmt)
    for result in ls.results:
        if isinstance(result, ScalarResult):
            yield result.value


def exits(loop: Loop) -> tuple[Exit, ...]:
    """The ways to leave `loop` before its range is over."""
    return tuple(s for s in loop.body if isinstance(s, Exit))


def written_access(stmt: Stmt) -> Access | None:
    """The target of an Assign or Accumulate."""
    match stmt:
        case Assign(target=target) | Accumulate(target=target):
            return target
        case _:
            return None


def accesses(stmt: Stmt) -> Iterator[Access]:
    """What the statement itself touches: all that it loads, then what it assigns to or accumulates into."""
    yield from (load.access for expr in stmt_exprs(stmt) for load in loads(expr))
    target = written_access(stmt)
    if target is not None:
        yield target


def written_parts(call: Call) -> tuple[Access, ...]:
    """The parts of arrays that the called function writes."""
    written = call.rule.written(call.form)
    given = zip(call.rule.names(call.form), call.args, strict=True)
    return tuple(arg.access for name, arg in given if name in written and isinstance(arg, Load))


def written_arrays(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Arrays assigned, accumulated into, allocated or written by a call anywhere in `body`."""
    names: set[str] = set()
    for site in statements(body):
        match site.stmt:
            case Assign(target=target) | Accumulate(target=target):
                names.add(target.array)
            case Allocate(array=array):
                names.add(array)
            case Call() as call:
                names.update(a.array for a in (*call.results, *written_parts(call)))
            case _:
                pass
    return frozenset(names)


def read_arrays(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Arrays loaded anywhere in `body`; the target of an Accumulate counts as read."""
    names: set[str] = set()
    for site in statements(body):
        for expr in stmt_exprs(site.stmt):
            names |= {e.access.array for e in loads(expr)}
        if isinstance(site.stmt, Accumulate):
            names.add(site.stmt.target.array)
    return frozenset(names)


def seen_params(ls: LoopSet) -> frozenset[str]:
    """Parameters whose contents others look at."""
    return frozenset(ls.params) - {a.name for a in ls.arrays if a.role == "lent"}


def returned_arrays(ls: LoopSet) -> frozenset[str]:
    """Local arrays that are results."""
    return frozenset(r.array for r in ls.results if isinstance(r, ArrayResult))


def result_arrays(ls: LoopSet) -> frozenset[str]:
    """Arrays and cells that results are, or are computed from."""
    read = (e.access.array for r in ls.results if isinstance(r, ScalarResult) for e in loads(r.value))
    return returned_arrays(ls) | frozenset(read)


def is_index_arithmetic(expr: Expr) -> bool:
    """Whether `expr` combines indices, extents and small constants by +, - and * only: it cannot overflow."""
    return all(
        isinstance(e, Index | Dim | SizeOf)
        or (isinstance(e, Apply) and e.op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG))
        or (isinstance(e, Const) and abs(e.value) < 1 << 16)
        for e in subexprs(expr)
    )


def loops_of(loop: Loop) -> list[Loop]:
    """The loops inside of `loop`."""
    return [s.stmt for s in statements(loop.body) if isinstance(s.stmt, Loop)]
