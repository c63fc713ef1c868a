"""Traversal and rewriting of LoopSets: three shapes of walk, no visitors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.mentions import NONE, Mentions, all_mentions, keep_names, own_mentions, written_parts
from loopdiff.rules.printing import is_printing

Path = tuple[int, ...]
LEAVES = frozenset((ir.Const, ir.Var, ir.Index, ir.Param, ir.Dim, ir.SizeOf, ir.RankOf))  # without operands


def common_prefix(one: Path, other: Path) -> Path:
    """Where the statement is that two others are in, or are."""
    length = next((k for k, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return one[:length] if length is not None else min(one, other, key=len)


@immutable
class Site:
    """A statement, where it stands, and the Loop and If statements around it (outermost first)."""

    path: Path
    stmt: ir.Stmt
    enclosing: tuple[ir.Stmt, ...]

    @property
    def loops(self) -> tuple[ir.Loop, ...]:
        return tuple(s for s in self.enclosing if isinstance(s, ir.Loop))

    @property
    def is_conditional(self) -> bool:
        """Whether it stands in an If."""
        return any(isinstance(s, ir.If) for s in self.enclosing)


def children(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
    """Statements directly inside `stmt`; an If counts through its two branches."""
    match stmt:
        case ir.Loop(body=body):
            return body
        case ir.If(then=then, orelse=orelse):
            return then + orelse
        case _:
            return ()


def statements(body: tuple[ir.Stmt, ...], prefix: Path = (), enclosing: tuple[ir.Stmt, ...] = ()) -> Iterator[Site]:
    """Every statement below `body` in textual order, parents before children."""
    found: list[Site] = []
    gather_sites(body, prefix, enclosing, found)
    return iter(found)


def gather_sites(
    body: tuple[ir.Stmt, ...], prefix: Path, enclosing: tuple[ir.Stmt, ...], found: list[Site]
) -> None:  # fmt: skip
    for position, stmt in enumerate(body):
        path = (*prefix, position)
        found.append(Site(path, stmt, enclosing))
        inside = children(stmt)
        if inside:
            gather_sites(inside, path, (*enclosing, stmt), found)


def all_statements(body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
    """The statements of `statements`, for those who do not ask where they are."""
    found: list[ir.Stmt] = []
    gather_statements(body, found)
    return found


def gather_statements(body: tuple[ir.Stmt, ...], found: list[ir.Stmt]) -> None:
    for stmt in body:
        found.append(stmt)
        match stmt:
            case ir.Loop(body=inner):
                gather_statements(inner, found)
            case ir.If(then=then, orelse=orelse):
                gather_statements(then, found)
                gather_statements(orelse, found)
            case _:
                pass


def without_children(stmt: ir.Stmt) -> ir.Stmt:
    """`stmt` alone: a Loop or If with empty blocks."""
    match stmt:
        case ir.Loop():
            return replace(stmt, body=())
        case ir.If():
            return replace(stmt, then=(), orelse=())
        case _:
            return stmt


def operands(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """Expressions directly inside `expr` (subscripts for a Load)."""
    match expr:
        case ir.Apply(args=args):
            return args
        case ir.Load(access=access):
            return access.subscripts
        case ir.Const() | ir.Var() | ir.Index() | ir.Param() | ir.Dim() | ir.SizeOf() | ir.RankOf():
            return ()
        case ir.Cast(value=value) | ir.PartOf(value=value):
            return (value,)
        case ir.Select(cond=cond, then=then, orelse=orelse):
            return (cond, then, orelse)
        case ir.Pair(real=real, imag=imag):
            return (real, imag)


def rebuild(expr: ir.Expr, parts: tuple[ir.Expr, ...]) -> ir.Expr:
    """`expr` with its `operands` replaced by `parts`."""
    match expr:
        case ir.Apply(op=op, is_strict=is_strict):
            return ir.Apply(op, parts, loc=expr.loc, is_strict=is_strict)
        case ir.Load(access=access):
            return ir.Load(ir.Access(access.array, parts, loc=access.loc), loc=expr.loc)
        case ir.Select():
            return ir.Select(parts[0], parts[1], parts[2], loc=expr.loc)
        case ir.Cast() | ir.PartOf():
            return replace(expr, value=parts[0])
        case ir.Pair():
            return replace(expr, real=parts[0], imag=parts[1])
        case ir.Const() | ir.Index() | ir.Param() | ir.Var() | ir.Dim() | ir.SizeOf() | ir.RankOf():
            return expr


def map_expr(rewrite: Callable[[ir.Expr], ir.Expr], expr: ir.Expr) -> ir.Expr:
    """`expr` with `rewrite` applied to every node, operands first."""
    if type(expr) in LEAVES:
        return rewrite(expr)
    old = operands(expr)
    new = tuple([map_expr(rewrite, e) for e in old])
    return rewrite(expr if is_same(new, old) else rebuild(expr, new))


def subexprs(expr: ir.Expr) -> Iterator[ir.Expr]:
    """`expr` and everything inside it, operands first."""
    if type(expr) in LEAVES:
        return iter((expr,))
    found: list[ir.Expr] = []
    gather(expr, found)
    return iter(found)


def gather(expr: ir.Expr, found: list[ir.Expr]) -> None:
    # Asked for more often than anything else, mostly of operations, then of elements.
    parts = expr.args if type(expr) is ir.Apply else expr.access.subscripts if type(expr) is ir.Load else operands(expr)
    for part in parts:
        if type(part) in LEAVES:
            found.append(part)
        else:
            gather(part, found)
    found.append(expr)


def indices_in(*exprs: ir.Expr) -> frozenset[str]:
    """The loops whose indices are in `exprs`."""
    return frozenset(e.name for expr in exprs for e in subexprs(expr) if isinstance(e, ir.Index))


def has_values(*exprs: ir.Expr) -> bool:
    """Whether there is more in `exprs` than indices, sizes and arguments: what is in memory, or in Lets."""
    return any(isinstance(e, ir.Load | ir.Var) for expr in exprs for e in subexprs(expr))


def loads(expr: ir.Expr) -> Iterator[ir.Load]:
    """Every Load in `expr`, those inside subscripts included."""
    return (e for e in subexprs(expr) if isinstance(e, ir.Load))


def reads(expr: ir.Expr, access: ir.Access) -> bool:
    """Whether a load in `expr` is spelled like `access`."""
    return any(load.access == access for load in loads(expr))


def loops_in(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Loop]:
    """Loops among statements and inside of them, from outside in."""
    return (s for s in all_statements(body) if isinstance(s, ir.Loop))


def stmt_exprs(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Expressions evaluated by the statement itself: not those of its children, but its target's subscripts."""
    match stmt:
        case ir.Let(value=value):
            return (value,)
        case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
            return (*target.subscripts, value)
        case ir.Loop(lower=lower, upper=upper, step=step):
            return (lower, upper, step)
        case ir.If(cond=cond) | ir.Require(cond=cond) | ir.Exit(cond=cond):
            return (cond,)
        case ir.Allocate(fill=fill):
            return () if fill is None else (fill,)
        case ir.Call(args=args, tape=tape):
            return (*(a for a in args if a is not None), *tape)
        case ir.Jump():
            return ()


def nodes_of(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """All subexpressions of the statement itself."""
    found: list[ir.Expr] = []
    for expr in stmt_exprs(stmt):
        gather(expr, found)
    return iter(found)


def loads_of(stmt: ir.Stmt) -> Iterator[ir.Load]:
    """What the statement itself loads; the target of an Accumulate is not among it."""
    return (e for e in nodes_of(stmt) if isinstance(e, ir.Load))


def nodes_in(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    """All subexpressions of statements and of those inside of them."""
    found: list[ir.Expr] = []
    for stmt in all_statements(body):
        for expr in stmt_exprs(stmt):
            gather(expr, found)
    return iter(found)


def loads_in(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Load]:
    """What statements, and those inside of them, load."""
    return (e for e in nodes_in(body) if isinstance(e, ir.Load))


def is_same(found: Sequence[object], before: Sequence[object]) -> bool:
    """Whether nothing was exchanged: what is kept is compared, and looked through, no more than once."""
    return len(found) == len(before) and all(map(is_, found, before))


def map_own_exprs(rewrite: Callable[[ir.Expr], ir.Expr], stmt: ir.Stmt) -> ir.Stmt:
    """`stmt` with `rewrite` applied to each whole expression that it evaluates itself, not to those of its children."""
    match stmt:
        case ir.Let(value=value):
            found = rewrite(value)
            return stmt if found is value else replace(stmt, value=found)
        case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
            found, place = rewrite(value), tuple(map(rewrite, target.subscripts))
            if is_same(place, target.subscripts):
                return stmt if found is value else replace(stmt, value=found)
            return replace(stmt, target=replace(target, subscripts=place), value=found)
        case ir.Loop(lower=lower, upper=upper, step=step):
            bounds = tuple(map(rewrite, (lower, upper, step)))
            is_kept = is_same(bounds, (lower, upper, step))
            return stmt if is_kept else replace(stmt, lower=bounds[0], upper=bounds[1], step=bounds[2])
        case ir.If(cond=cond) | ir.Require(cond=cond) | ir.Exit(cond=cond):
            found = rewrite(cond)
            return stmt if found is cond else replace(stmt, cond=found)
        case ir.Allocate(fill=fill):
            return stmt if fill is None else replace(stmt, fill=rewrite(fill))
        case ir.Call(args=args, tape=tape):
            new = tuple(None if a is None else rewrite(a) for a in args)
            return replace(stmt, args=new, tape=tuple(rewrite(e) for e in tape))
        case ir.Jump():
            return stmt


def map_stmt_exprs(rewrite: Callable[[ir.Expr], ir.Expr], stmt: ir.Stmt) -> ir.Stmt:
    """`stmt`, its children included, with `rewrite` applied to each whole expression."""
    return map_blocks(lambda body: tuple(map_stmt_exprs(rewrite, s) for s in body), map_own_exprs(rewrite, stmt))


def map_body(body: tuple[ir.Stmt, ...], rewrite: Callable[[ir.Stmt], tuple[ir.Stmt, ...]]) -> tuple[ir.Stmt, ...]:
    """Every statement replaced by the statements `rewrite` gives for it, children first."""
    out: list[ir.Stmt] = []
    for stmt in body:
        out += rewrite(map_blocks(lambda inner: map_body(inner, rewrite), stmt))
    return tuple(out)


def map_sites(
    body: tuple[ir.Stmt, ...],
    rewrite: Callable[[ir.Stmt, Path], tuple[ir.Stmt, ...]],
    prefix: Path = (),
    first: int = 0,
) -> tuple[ir.Stmt, ...]:
    """Every statement replaced by the statements `rewrite` gives for it and its path, children first."""
    out: list[ir.Stmt] = []
    for number, stmt in enumerate(body, start=first):
        path = (*prefix, number)
        out += rewrite(map_blocks_at(lambda b, p, k: map_sites(b, rewrite, p, k), stmt, path), path)
    return tuple(out)


def exchanged(body: tuple[ir.Stmt, ...], found: Mapping[Path, tuple[ir.Stmt, ...]]) -> tuple[ir.Stmt, ...]:
    """`body` with the statements at some paths exchanged for others."""
    return map_sites(body, lambda stmt, path: found.get(path, (stmt,)))


def is_empty(stmt: ir.Stmt) -> bool:
    """Whether `stmt` is a loop or a condition around nothing."""
    return isinstance(stmt, ir.Loop | ir.If) and not children(stmt)


def without(body: tuple[ir.Stmt, ...], is_gone: Callable[[ir.Stmt], bool]) -> tuple[ir.Stmt, ...]:
    """`body` without the statements of which `is_gone` says so, and without what is around nothing else."""
    return map_body(body, lambda s: () if is_empty(s) or is_gone(s) else (s,))


def map_blocks(change: Callable[[tuple[ir.Stmt, ...]], tuple[ir.Stmt, ...]], stmt: ir.Stmt) -> ir.Stmt:
    """`stmt` with the blocks changed that are in it: the body of a loop, the branches of a condition."""
    match stmt:
        case ir.Loop(body=body):
            found = change(body)
            return stmt if is_same(found, body) else replace(stmt, body=found)
        case ir.If(then=then, orelse=orelse):
            first, other = change(then), change(orelse)
            is_kept = is_same(first, then) and is_same(other, orelse)
            return stmt if is_kept else replace(stmt, then=first, orelse=other)
        case _:
            return stmt


def map_blocks_at(
    change: Callable[[tuple[ir.Stmt, ...], Path, int], tuple[ir.Stmt, ...]], stmt: ir.Stmt, path: Path
) -> ir.Stmt:
    """`stmt`, which is at `path`, with the blocks changed that are in it, given their path and the number of their
    first statement there."""
    match stmt:
        case ir.Loop(body=body):
            found = change(body, path, 0)
            return stmt if is_same(found, body) else replace(stmt, body=found)
        case ir.If(then=then, orelse=orelse):
            first, other = change(then, path, 0), change(orelse, path, len(then))
            is_kept = is_same(first, then) and is_same(other, orelse)
            return stmt if is_kept else replace(stmt, then=first, orelse=other)
        case _:
            return stmt


def map_accesses(rewrite: Callable[[ir.Access], ir.Access], stmt: ir.Stmt) -> ir.Stmt:
    """`stmt`, its children included, with `rewrite` applied to every access, those in its subscripts first."""

    def load(expr: ir.Expr) -> ir.Expr:
        return replace(expr, access=rewrite(expr.access)) if isinstance(expr, ir.Load) else expr

    def target(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match stmt:
            case ir.Assign() | ir.Accumulate():
                return (replace(stmt, target=rewrite(stmt.target)),)
            case ir.Call():
                return (replace(stmt, results=tuple(map(rewrite, stmt.results))),)
            case _:
                return (stmt,)

    (found,) = map_body((map_stmt_exprs(lambda e: map_expr(load, e), stmt),), target)
    return found


def substitute(expr: ir.Expr, replacements: Mapping[ir.Expr, ir.Expr]) -> ir.Expr:
    """`expr` with every node equal to a key replaced, the largest nodes first."""
    if expr in replacements:
        return replacements[expr]
    old = operands(expr)
    new = tuple(substitute(e, replacements) for e in old)
    return expr if all(a is b for a, b in zip(old, new, strict=True)) else rebuild(expr, new)


def expressions(ls: ir.LoopSet) -> Iterator[ir.Expr]:
    """Every whole expression of the LoopSet: statements in order, then results."""
    for stmt in all_statements(ls.body):
        yield from stmt_exprs(stmt)
    for result in ls.results:
        if isinstance(result, ir.ScalarResult):
            yield result.value


def exits(loop: ir.Loop) -> tuple[ir.Exit, ...]:
    """The ways to leave `loop` before its range is over."""
    return tuple(s for s in loop.body if isinstance(s, ir.Exit))


def may_stop(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether statements, or those inside of them, may leave a loop or raise."""
    return any(isinstance(s, ir.Exit | ir.Require) for s in all_statements(body))


def written_access(stmt: ir.Stmt) -> ir.Access | None:
    """The target of an Assign or Accumulate."""
    match stmt:
        case ir.Assign(target=target) | ir.Accumulate(target=target):
            return target
        case _:
            return None


def accesses(stmt: ir.Stmt) -> Iterator[ir.Access]:
    """What the statement itself touches: all that it loads, then what it assigns to or accumulates into."""
    yield from (load.access for expr in stmt_exprs(stmt) for load in loads(expr))
    target = written_access(stmt)
    if target is not None:
        yield target


def printed_in(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Arrays through which what is printed in `body` comes in its order."""
    calls = (s for s in all_statements(body) if isinstance(s, ir.Call) and is_printing(s.rule))
    return frozenset(part.array for call in calls for part in written_parts(call))


def names_of(stmt: ir.Stmt) -> Mentions:
    """The names in a statement, and in those inside of it, found once."""
    try:
        return stmt.own_names
    except AttributeError:
        found = all_mentions((own_mentions(stmt, nodes_of(stmt)), *map(names_of, children(stmt))))
        keep_names(stmt, found)
        return found


def read_arrays(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Arrays loaded anywhere in `body`; the target of an Accumulate counts as read."""
    return NONE.union(*(names_of(s).reads for s in body))


def written_arrays(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Arrays assigned, accumulated into, allocated or written by a call anywhere in `body`."""
    return NONE.union(*(names_of(s).writes for s in body))


def lets_in(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Lets that statements make."""
    return NONE.union(*(names_of(s).makes for s in body))


def lets_used(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Lets that statements, and those inside of them, read."""
    return NONE.union(*(names_of(s).uses for s in body))


def defined(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Arrays, cells and Lets that get a value in `body`."""
    return written_arrays(body) | lets_in(body)


def touched_arrays(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Arrays and cells that are read or written in `body`."""
    return read_arrays(body) | written_arrays(body)


def mentioned(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Arrays and cells that are read or written in `body`, and Lets that are made or read there."""
    return NONE.union(*(names for s in body for names in names_of(s)))


def are_independent(first: tuple[ir.Stmt, ...], second: tuple[ir.Stmt, ...]) -> bool:
    """Whether neither of two blocks gives a value to what the other has to do with: they may change places, as far as
    values are concerned."""
    return not (defined(first) & mentioned(second) or defined(second) & mentioned(first))


def seen_params(ls: ir.LoopSet) -> frozenset[str]:
    """Parameters whose contents others look at."""
    return frozenset(ls.params) - {a.name for a in ls.arrays if a.role == "lent"}


def returned_arrays(ls: ir.LoopSet) -> frozenset[str]:
    """Local arrays that are results."""
    return frozenset(r.array for r in ls.results if isinstance(r, ir.ArrayResult))


def result_arrays(ls: ir.LoopSet) -> frozenset[str]:
    """Arrays and cells that results are, or are computed from."""
    read = (e.access.array for r in ls.results if isinstance(r, ir.ScalarResult) for e in loads(r.value))
    return returned_arrays(ls) | frozenset(read)


def into_nest(body: tuple[ir.Stmt, ...]) -> tuple[tuple[ir.Loop, ...], tuple[ir.Stmt, ...]]:
    """The loops each of which is all of `body`, or all of the body of the one before, and what the last one runs."""
    loops: list[ir.Loop] = []
    while len(body) == 1 and isinstance(loop := body[0], ir.Loop):
        loops.append(loop)
        body = loop.body
    return tuple(loops), body


def loops_of(loop: ir.Loop) -> list[ir.Loop]:
    """The loops inside of `loop`."""
    return list(loops_in(loop.body))
