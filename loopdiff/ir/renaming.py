"""Fresh names: for the loops and Lets of copied statements, and for whole LoopSets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.walk import all_statements, map_body, map_expr, map_stmt_exprs, substitute

Renaming = dict[ir.Expr, ir.Expr]


def renamed_block(body: tuple[ir.Stmt, ...], names: NameSupply) -> tuple[ir.Stmt, ...]:
    """`body` with its loop indices and Lets under fresh names."""
    new: Renaming = {}
    for stmt in all_statements(body):
        match stmt:
            case ir.Loop(index=index):
                new[ir.Index(index)] = ir.Index(names.fresh(index))
            case ir.Let(name=name):
                new[ir.Var(name)] = ir.Var(names.fresh(name))
            case _:
                pass
    return tuple(renamed(s, new) for s in body)


def renamed(stmt: ir.Stmt, new: Renaming) -> ir.Stmt:
    """`stmt` with indices and Lets replaced as `new` says, definitions included."""

    def defined(s: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match s:
            case ir.Let(name=name) if ir.Var(name) in new:
                to = new[ir.Var(name)]
                assert isinstance(to, ir.Var)
                return (replace(s, name=to.name),)
            case ir.Loop(index=index) if ir.Index(index) in new:
                to = new[ir.Index(index)]
                assert isinstance(to, ir.Index)
                return (replace(s, index=to.name),)
            case _:
                return (s,)

    (found,) = map_body((map_stmt_exprs(lambda e: substitute(e, new), stmt),), defined)
    return found


def body_at(loop: ir.Loop, index: ir.Expr) -> tuple[ir.Stmt, ...]:
    """What `loop` does in iteration `index`."""
    return tuple(renamed(s, {ir.Index(loop.index): index}) for s in loop.body)


def renamed_names(body: tuple[ir.Stmt, ...], new: Mapping[str, str]) -> tuple[ir.Stmt, ...]:
    """`body` with arrays, arguments, Lets and indices called `new[name]` where that is given."""

    def name(old: str) -> str:
        return new.get(old, old)

    renamed = (map_stmt_exprs(lambda e: with_new_names(e, new), s) for s in body)
    return map_body(tuple(renamed), lambda s: (with_names(s, name),))


def with_new_names(expr: ir.Expr, new: Mapping[str, str]) -> ir.Expr:
    def name(old: str) -> str:
        return new.get(old, old)

    def leaf(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Var() | ir.Index() | ir.Param():
                return replace(e, name=name(e.name))
            case ir.Dim(array=array):
                return replace(e, array=name(array))
            case ir.Load(access=access):
                return replace(e, access=replace(access, array=name(access.array)))
            case _:
                return e

    return map_expr(leaf, expr)


def rename_everywhere(ls: ir.LoopSet, new: Mapping[str, str]) -> ir.LoopSet:
    """`ls` with arrays, arguments, Lets and indices called `new[name]` where that is given."""

    def name(old: str) -> str:
        return new.get(old, old)

    def expr(e: ir.Expr) -> ir.Expr:
        return with_new_names(e, new)

    def extents(decl: ir.ArrayDecl) -> tuple[ir.Expr, ...] | None:
        return None if decl.extents is None else tuple(expr(e) for e in decl.extents)

    def result(r: ir.Result) -> ir.Result:
        return ir.ScalarResult(expr(r.value)) if isinstance(r, ir.ScalarResult) else ir.ArrayResult(name(r.array))

    return replace(
        ls,
        params=tuple(name(p) for p in ls.params),
        arrays=tuple(replace(a, name=name(a.name), extents=extents(a)) for a in ls.arrays),
        scalars=tuple(replace(s, name=name(s.name)) for s in ls.scalars),
        body=renamed_names(ls.body, new),
        results=tuple(result(r) for r in ls.results),
    )


def with_names(stmt: ir.Stmt, name: Callable[[str], str]) -> ir.Stmt:
    """`stmt` with the names it defines or writes translated, not those in its expressions."""
    match stmt:
        case ir.Let():
            return replace(stmt, name=name(stmt.name))
        case ir.Loop():
            return replace(stmt, index=name(stmt.index))
        case ir.Assign(target=target) | ir.Accumulate(target=target):
            return replace(stmt, target=replace(target, array=name(target.array)))
        case ir.Allocate(array=array):
            return replace(stmt, array=name(array))
        case ir.Call(results=results):
            return replace(stmt, results=tuple(replace(r, array=name(r.array)) for r in results))
        case _:
            return stmt
