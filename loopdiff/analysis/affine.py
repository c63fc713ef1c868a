"""The affine view of a LoopSet, as integer sets: the one module that imports islpy.

A statement's domain is the set of values of the loop indices around it, parametric in dimensions and integer
arguments. What is not affine (data-dependent bounds and conditions, indirect subscripts) is left out of the
constraints: sets then over-approximate, and whatever needs certainty asks `Domain.is_exact` first.

Sets are written in isl's own notation and parsed; a `Model` owns its isl context, so models of different threads do
not meet. Reference: Verdoolaege, "isl: An Integer Set Library for the Polyhedral Model" (ICMS 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import islpy as isl

from loopdiff.ir.build import add, floordiv, integer, mul, sub
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    Apply,
    Assign,
    Const,
    Dim,
    Expr,
    If,
    Index,
    Load,
    Loop,
    LoopSet,
    Param,
    ScalarResult,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, Site, loads, statements, stmt_exprs, subexprs

COMPARE = {Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">=", Op.EQ: "=", Op.NE: "!="}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}


@dataclass(frozen=True, slots=True)
class Domain:
    """Indices around a statement, outermost first, and constraints on them in isl notation.

    Constraints mention indices by the names that `Model.variables` gives. `is_exact`: every listed iteration runs.
    """

    loops: tuple[Path, ...]
    constraints: tuple[str, ...]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """One access of a statement instance to an array. `is_update`: it reads and writes by `+=`, `max=` or `min=`."""

    site: Site
    access: Access
    is_write: bool
    is_whole: bool = False
    update: str | None = None


@dataclass(slots=True)
class Model:
    """`ls` with its domains and references. Queries build sets on demand; results are not stored here."""

    ls: LoopSet
    context: isl.Context = field(default_factory=isl.Context, repr=False)
    sites: dict[Path, Site] = field(init=False)
    domains: dict[Path, Domain] = field(init=False)
    references: dict[str, list[Reference]] = field(init=False)
    names: dict[Expr, str] = field(init=False)

    def __post_init__(self) -> None:
        self.sites = {s.path: s for s in statements(self.ls.body)}
        self.names = self.parameters()
        self.domains = {path: self.domain_of(path) for path in self.sites}
        self.references = {}
        for reference in all_references(self.ls):
            self.references.setdefault(reference.access.array, []).append(reference)

    # -- names -----------------------------------------------------------------------------------------------
    def parameters(self) -> dict[Expr, str]:
        """isl parameter of every dimension and integer argument in `ls`."""
        found: dict[Expr, str] = {}
        for site in self.sites.values():
            for expr in stmt_exprs(site.stmt):
                for node in subexprs(expr):
                    self.add_parameter(node, found)
        for decl in self.ls.arrays:
            if decl.type is not None and decl.role == "argument":
                for axis in range(decl.type.rank):
                    self.add_parameter(Dim(decl.name, axis), found)
        return found

    def add_parameter(self, node: Expr, found: dict[Expr, str]) -> None:
        match node:
            case Dim(array=array, axis=axis):
                found.setdefault(node, f"n_{array}_{axis}")
            case Param(name=name) if self.ls.scalar(name).type == INT:
                found.setdefault(node, f"p_{name}")
            case _:
                pass

    def loops_of(self, path: Path) -> tuple[Path, ...]:
        """Paths of the loops around the statement at `path`."""
        return tuple(path[:d] for d in range(1, len(path)) if isinstance(self.sites[path[:d]].stmt, Loop))

    def loop(self, path: Path) -> Loop:
        stmt = self.sites[path].stmt
        assert isinstance(stmt, Loop)
        return stmt

    # -- affine expressions ----------------------------------------------------------------------------------
    def affine(self, expr: Expr, tag: str) -> str | None:
        """`expr` in isl notation, indices carrying `tag`; None if it is not affine."""
        match expr:
            case Const(value=value) if isinstance(value, int):
                return str(int(value))
            case Index(name=name):
                return f"{name}_{tag}"
            case Dim() | Param():
                return self.names.get(expr)
            case Apply(op=Op.NEG, args=(a,)):
                inner = self.affine(a, tag)
                return None if inner is None else f"(-({inner}))"
            case Apply(op=Op.ADD | Op.SUB as op, args=(a, b)):
                left, right = self.affine(a, tag), self.affine(b, tag)
                return None if left is None or right is None else f"({left} {op.value} ({right}))"
            case Apply(op=Op.MUL, args=(a, b)):
                factor, other = (a, b) if isinstance(a, Const) else (b, a)
                inner = self.affine(other, tag)
                is_scaled = isinstance(factor, Const) and isinstance(factor.value, int)
                return f"({int(factor.value)}*({inner}))" if is_scaled and inner is not None else None  # type: ignore[union-attr]
            case Apply(op=Op.FLOORDIV | Op.MOD as op, args=(a, Const(value=value))) if int(value) > 0:
                inner = self.affine(a, tag)
                if inner is None:
                    return None
                return f"floor(({inner})/{int(value)})" if op is Op.FLOORDIV else f"(({inner}) mod {int(value)})"
            case _:
                return None

    def bound(self, expr: Expr, tag: str, relation: str, variable: str) -> list[str] | None:
        """Constraints `variable relation expr`, with min/max in `expr` taken apart where that is a conjunction."""
        match expr:
            case Apply(op=Op.MAX, args=args) if relation == ">=":
                parts = [self.bound(a, tag, relation, variable) for a in args]
            case Apply(op=Op.MIN, args=args) if relation in ("<", "<="):
                parts = [self.bound(a, tag, relation, variable) for a in args]
            case _:
                text = self.affine(expr, tag)
                return None if text is None else [f"{variable} {relation} {text}"]
        return None if any(p is None for p in parts) else [c for p in parts if p is not None for c in p]

    def condition(self, expr: Expr, tag: str, outcome: bool) -> str | None:
        """`expr == outcome` in isl notation; None if it is not affine."""
        match expr:
            case Apply(op=op, args=(a, b)) if op in COMPARE:
                left, right = self.affine(a, tag), self.affine(b, tag)
                if left is None or right is None:
                    return None
                relation = COMPARE[op] if outcome else NEGATED[COMPARE[op]]
                return f"({left} {relation} {right})"
            case Apply(op=Op.AND | Op.OR as op, args=args):
                parts = [self.condition(a, tag, outcome) for a in args]
                if any(p is None for p in parts):
                    return None
                is_conjunction = (op is Op.AND) == outcome
                return "(" + (" and " if is_conjunction else " or ").join(p for p in parts if p) + ")"
            case Apply(op=Op.NOT, args=(a,)):
                return self.condition(a, tag, not outcome)
            case _:
                return None

    # -- domains ---------------------------------------------------------------------------------------------
    def domain_of(self, path: Path) -> Domain:
        """Constraints with tag `@`, to be replaced by the tag of a query."""
        constraints: list[str] = []
        is_exact = True
        for depth in range(1, len(path)):
            stmt = self.sites[path[:depth]].stmt
            match stmt:
                case Loop():
                    found = self.range_constraints(stmt)
                    constraints += self.partial_range(stmt) if found is None else []
                case If(cond=cond, then=then):
                    text = self.condition(cond, "@", path[depth] < len(then))
                    found = None if text is None else [text]
                case _:
                    found = []
            if found is None:
                is_exact = False
            else:
                constraints += found
        return Domain(self.loops_of(path), tuple(constraints), is_exact)

    def range_constraints(self, loop: Loop) -> list[str] | None:
        """Constraints of range(lower, upper, step); None unless they are exact."""
        index = f"{loop.index}_@"
        if not isinstance(loop.step, Const):
            return None
        step = int(loop.step.value)
        start = self.bound(loop.lower, "@", ">=" if step > 0 else "<=", index)
        stop = self.bound(loop.upper, "@", "<" if step > 0 else ">", index)
        if start is None or stop is None:
            return None
        if abs(step) == 1:
            return [*start, *stop]
        origin = self.affine(loop.lower, "@")
        return None if origin is None else [*start, *stop, f"(({index} - ({origin})) mod {abs(step)} = 0)"]

    def partial_range(self, loop: Loop) -> list[str]:
        """What is known of an index whose range is not affine: the affine one of its two bounds."""
        if not isinstance(loop.step, Const) or int(loop.step.value) != 1:
            return []
        index = f"{loop.index}_@"
        found = [self.bound(loop.lower, "@", ">=", index), self.bound(loop.upper, "@", "<", index)]
        return [c for part in found if part is not None for c in part]

    def constraints(self, path: Path, tag: str) -> list[str]:
        return [c.replace("@", tag) for c in self.domains[path].constraints]

    def variables(self, path: Path, tag: str) -> list[str]:
        return [f"{self.loop(p).index}_{tag}" for p in self.domains[path].loops]

    # -- sets ------------------------------------------------------------------------------------------------
    def make_set(self, variables: Sequence[str], constraints: Sequence[str]) -> isl.Set:
        """The set { [variables] : constraints } for non-negative dimensions."""
        parameters = ", ".join(self.names.values())
        positive = [f"{n} >= 0" for e, n in self.names.items() if isinstance(e, Dim)]
        body = " and ".join([*positive, *constraints]) or "true"
        return isl.Set.read_from_str(self.context, f"[{parameters}] -> {{ [{', '.join(variables)}] : {body} }}")

    def same_address(self, a: Access, tag_a: str, b: Access, tag_b: str) -> list[str]:
        """Constraints that `a` and `b` are one element, as far as their subscripts are affine."""
        out: list[str] = []
        for left, right in zip(a.subscripts, b.subscripts, strict=True):
            x, y = self.affine(left, tag_a), self.affine(right, tag_b)
            if x is not None and y is not None:
                out.append(f"{x} = {y}")
        return out


def build_model(ls: LoopSet) -> Model:
    """The affine view of the bound or normal LoopSet `ls`."""
    return Model(ls)


def trip_hull(model: Model, path: Path) -> Expr | None:
    """An upper bound, in dimensions and arguments, on the trip count of the loop at `path`; None if data decide it.

    Exact for a rectangular loop. For one whose bounds depend on outer indices it is the extent of the index values
    over all of them. May be negative where the loop is empty.
    """
    loop = model.loop(path)
    if not isinstance(loop.step, Const) or not all(is_affine_bound(model, e) for e in (loop.lower, loop.upper)):
        return None
    size = int(loop.step.value)
    if is_parametric(loop.lower) and is_parametric(loop.upper):
        distance = sub(loop.upper, loop.lower) if size > 0 else sub(loop.lower, loop.upper)
        return floordiv(add(distance, integer(abs(size) - 1)), integer(abs(size)))
    highest, lowest = index_extreme(model, path, is_largest=True), index_extreme(model, path, is_largest=False)
    return None if highest is None or lowest is None else add(sub(highest, lowest), integer(1))


def is_affine_bound(model: Model, expr: Expr) -> bool:
    return model.affine(expr, "x") is not None


def index_extreme(model: Model, path: Path, is_largest: bool) -> Expr | None:
    """The largest (smallest) index value of the loop at `path` over all its iterations; None if it has no bound."""
    inner = (*path, 0)
    variables, last = model.variables(inner, "x"), len(model.variables(inner, "x")) - 1
    domain = model.make_set(variables, model.constraints(inner, "x"))
    values = domain.project_out(isl.dim_type.set, 0, last)
    extreme = values.dim_max(0) if is_largest else values.dim_min(0)
    pieces: list[Expr] = []
    for _, affine in extreme.get_pieces():
        expr = from_affine(model, affine)
        if expr is None:
            return None
        pieces.append(expr)
    if not pieces:
        return integer(0)
    unique = tuple(dict.fromkeys(pieces))
    return unique[0] if len(unique) == 1 else Apply(Op.MAX if is_largest else Op.MIN, unique)


def from_affine(model: Model, affine: isl.Aff) -> Expr | None:
    """An isl affine function of the parameters as an expression; None if it divides."""
    if affine.dim(isl.dim_type.div) > 0 or affine.get_denominator_val().to_python() != 1:
        return None
    by_name = {name: expr for expr, name in model.names.items()}
    out: Expr = integer(affine.get_constant_val().to_python())
    for position in range(affine.dim(isl.dim_type.param)):
        factor = affine.get_coefficient_val(isl.dim_type.param, position).to_python()
        if factor:
            name = affine.get_dim_name(isl.dim_type.param, position)
            out = plus_multiple(out, factor, by_name[name])
    return out


def plus_multiple(total: Expr, factor: int, term: Expr) -> Expr:
    """total + factor * term, written with as few operations as possible."""
    if factor > 0:
        scaled = mul(integer(factor), term)
        is_offset = isinstance(total, Const) and total.value < 0
        return sub(scaled, integer(-int(total.value))) if is_offset else add(scaled, total)  # type: ignore[union-attr]
    return sub(total, mul(integer(-factor), term))


def all_references(ls: LoopSet) -> Iterator[Reference]:
    """Every read and write, in textual order; reads of a statement come before its write."""
    for site in statements(ls.body):
        for expr in stmt_exprs(site.stmt):
            for load in loads(expr):
                yield Reference(site, load.access, is_write=False)
        match site.stmt:
            case Assign(target=target):
                yield Reference(site, target, is_write=True)
            case Accumulate(op=op, target=target):
                yield Reference(site, target, is_write=False, update=op)
                yield Reference(site, target, is_write=True, update=op)
            case Allocate(array=array):
                yield Reference(site, Access(array), is_write=True, is_whole=True)
            case _:
                pass


def result_reads(ls: LoopSet) -> frozenset[str]:
    """Arrays and cells that the results read."""
    values = [r.value for r in ls.results if isinstance(r, ScalarResult)]
    scalars = {e.access.array for v in values for e in loads(v)}
    return frozenset(scalars | {r.array for r in ls.results if not isinstance(r, ScalarResult)})


def is_parametric(expr: Expr) -> bool:
    """Whether `expr` is made of constants, dimensions and arguments only."""
    return not any(isinstance(e, Index | Load | Var) for e in subexprs(expr))


def exclusive(a: Path, b: Path, sites: dict[Path, Site]) -> bool:
    """Whether the statements lie in different branches of one If, and so never run in the same iteration."""
    for depth in range(min(len(a), len(b))):
        if a[depth] != b[depth]:
            parent: Stmt | None = sites[a[:depth]].stmt if depth else None
            if not isinstance(parent, If):
                return False
            return (a[depth] < len(parent.then)) != (b[depth] < len(parent.then))
    return False
