"""Separate uses of one variable name get cells of their own, each with its own type and its own lifetime.

A web is a set of assignments that may reach a common read, closed under that relation (Muchnick, Advanced
Compiler Design, 16.3.3). In `for e in range(n): x[e] = 1.0` followed by `e = exp(s)` the name `e` has two
webs, an integer and a float; a sum `s` that two loops begin anew is two cells, each owned by the iterations of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.walk import Path, loads, map_expr, map_stmt_exprs, statements, stmt_exprs, written_access

Reaching = dict[str, frozenset[Path]]
RESULTS: Path = (-1,)


@dataclass(slots=True)
class Webs:
    """Union-find over assignments, by path.

    `leaving` are the assignments that reach the exits of the loop being walked. `read` gives, for a cell read by
    the statement at a path, one assignment of its web. An Allocate reads what the declaration of its array reads.
    """

    cells: frozenset[str]
    declared: Mapping[str, tuple[ir.Expr, ...]]
    parent: dict[Path, Path] = field(default_factory=dict)
    leaving: list[Reaching] = field(default_factory=list)
    read: dict[tuple[Path, str], Path] = field(default_factory=dict)

    def root(self, path: Path) -> Path:
        while (up := self.parent.setdefault(path, path)) != path:
            path = up
        return path

    def unite(self, paths: Iterable[Path]) -> Path | None:
        roots = sorted({self.root(p) for p in paths})
        for other in roots[1:]:
            self.parent[other] = roots[0]
        return roots[0] if roots else None

    # -- reaching assignments --------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...], prefix: Path, reaching: Reaching, offset: int = 0) -> Reaching:
        for position, stmt in enumerate(body, offset):
            reaching = self.statement(stmt, (*prefix, position), reaching)
        return reaching

    def statement(self, stmt: ir.Stmt, path: Path, reaching: Reaching) -> Reaching:
        self.use(stmt_exprs(stmt), path, reaching)
        match stmt:
            case ir.Allocate(array=array):
                self.use(self.declared[array], path, reaching)
                return reaching
            case ir.Assign(target=ir.Access(array=cell)) if cell in self.cells:
                self.unite((path,))
                return {**reaching, cell: frozenset((path,))}
            case ir.Accumulate(target=ir.Access(array=cell)) if cell in self.cells:
                self.unite((path, *reaching.get(cell, ())))
                return {**reaching, cell: frozenset((path,))}
            case ir.Loop(body=body):
                return self.loop(body, path, reaching)
            case ir.Exit():
                self.leaving.append(reaching)
                return reaching
            case ir.If(then=then, orelse=orelse):
                after_then = self.block(then, path, reaching)
                return joined(after_then, self.block(orelse, path, reaching, len(then)))
            case _:
                return reaching

    def loop(self, body: tuple[ir.Stmt, ...], path: Path, reaching: Reaching) -> Reaching:
        """What reaches the end of a loop: from before it, from its last iteration, or from where it is left."""
        outer, self.leaving = self.leaving, []
        while True:
            after = joined(reaching, self.block(body, path, reaching))
            if after == reaching:
                break
            reaching = after
        for early in self.leaving:
            after = joined(after, early)
        self.leaving = outer
        return after

    def use(self, exprs: Iterable[ir.Expr], path: Path, reaching: Reaching) -> None:
        for cell in {load.access.array for e in exprs for load in loads(e)} & self.cells:
            web = self.unite(reaching.get(cell, ()))
            if web is not None:
                self.read[path, cell] = web


def joined(a: Reaching, b: Reaching) -> Reaching:
    if a is b:
        return a
    other = {cell: paths for cell, paths in b.items() if a.get(cell) is not paths}  # few of all that there are
    return {**a, **{cell: a.get(cell, frozenset()) | paths for cell, paths in other.items()}}


def split_webs(ls: ir.LoopSet) -> ir.LoopSet:
    """Surface `ls` with one cell for each web."""
    cells = frozenset(a.name for a in ls.arrays if a.role == "local" and a.extents == ())
    webs = Webs(cells, {a.name: (*(a.extents or ()), *a.values) for a in ls.arrays})
    final = webs.block(ls.body, (), {})
    webs.use((r.value for r in ls.results if isinstance(r, ir.ScalarResult)), RESULTS, final)
    names = web_names(ls, webs)
    renamer = Renamer(webs, names)
    results = tuple(
        ir.ScalarResult(renamer.expr(r.value, RESULTS)) if isinstance(r, ir.ScalarResult) else r for r in ls.results
    )
    added = tuple(replace(ls.array(old), name=new) for (old, _), new in names.items() if new != old)
    places = {s.stmt.array: s.path for s in statements(ls.body) if isinstance(s.stmt, ir.Allocate)}
    stored = stored_values(ls, renamer)
    arrays = tuple(renamer.declaration(a, places[a.name], stored) if a.name in places else a for a in ls.arrays)
    return replace(ls, body=renamer.block(ls.body, ()), arrays=(*arrays, *added), results=results)


def stored_values(ls: ir.LoopSet, renamer: Renamer) -> dict[tuple[str, ir.Expr], list[ir.Expr]]:
    """What the statements that store a value into an array store there, by the array and the value in `ls`: as many
    values as there are webs of what it reads."""
    found: dict[tuple[str, ir.Expr], list[ir.Expr]] = {}
    made = {a.name for a in ls.arrays if a.values}
    for site in statements(ls.body):
        match site.stmt:
            case ir.Assign(target=ir.Access(array=array), value=value) if array in made:
                found.setdefault((array, value), []).append(renamer.expr(value, site.path))
            case _:
                pass
    return found


def web_names(ls: ir.LoopSet, webs: Webs) -> dict[tuple[str, Path], str]:
    """Names by cell and web: the first web in the text keeps the name."""
    supply = NameSupply({a.name for a in ls.arrays} | set(ls.params))
    names: dict[tuple[str, Path], str] = {}
    named: set[str] = set()
    for path, cell in ((s.path, a.array) for s in statements(ls.body) if (a := written_access(s.stmt))):
        if cell not in webs.cells:
            continue
        key = cell, webs.root(path)
        if key not in names:
            names[key] = supply.fresh(cell) if cell in named else cell
            named.add(cell)
    return names


@immutable
class Renamer:
    """Rewrites reads and writes of cells to those of their webs."""

    webs: Webs
    names: Mapping[tuple[str, Path], str]

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path, offset: int = 0) -> tuple[ir.Stmt, ...]:
        return tuple(self.statement(s, (*prefix, k)) for k, s in enumerate(body, offset))

    def statement(self, stmt: ir.Stmt, path: Path) -> ir.Stmt:
        match stmt:
            case ir.Loop(body=body):
                lower, upper, step = (self.expr(e, path) for e in stmt_exprs(stmt))
                return replace(stmt, lower=lower, upper=upper, step=step, body=self.block(body, path))
            case ir.If(cond=cond, then=then, orelse=orelse):
                inner = self.block(then, path), self.block(orelse, path, len(then))
                return replace(stmt, cond=self.expr(cond, path), then=inner[0], orelse=inner[1])
            case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
                name = self.names.get((target.array, self.webs.root(path)), target.array)
                subscripts = tuple(self.expr(e, path) for e in target.subscripts)
                access = ir.Access(name, subscripts, loc=target.loc)
                return replace(stmt, target=access, value=self.expr(value, path))
            case _:
                return map_stmt_exprs(lambda e: self.expr(e, path), stmt)

    def declaration(
        self, decl: ir.ArrayDecl, path: Path, stored: Mapping[tuple[str, ir.Expr], list[ir.Expr]]
    ) -> ir.ArrayDecl:  # fmt: skip
        """`decl` of an array allocated by the statement at `path`; what is `stored` in it may read other webs there."""
        extents = None if decl.extents is None else tuple(self.expr(e, path) for e in decl.extents)
        values = (v for e in decl.values for v in stored.get((decl.name, e)) or [self.expr(e, path)])
        return replace(decl, extents=extents, values=tuple(dict.fromkeys(values)))

    def expr(self, expr: ir.Expr, path: Path) -> ir.Expr:
        return map_expr(lambda e: self.load(e, path) if isinstance(e, ir.Load) else e, expr)

    def load(self, expr: ir.Load, path: Path) -> ir.Load:
        cell = expr.access.array
        web = self.webs.read.get((path, cell))
        if web is None:
            return expr
        return replace(expr, access=replace(expr.access, array=self.names[cell, self.webs.root(web)]))
