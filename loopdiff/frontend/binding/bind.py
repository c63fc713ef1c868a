"""A surface LoopSet for the types of a call: a bound LoopSet, every type known, every conversion explicit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.errors import Diagnostic, raise_if
from loopdiff.frontend.binding.derivatives import with_derivatives
from loopdiff.frontend.binding.exactness import with_integers_that_floats_hold
from loopdiff.frontend.binding.large_integers import with_checked_integers
from loopdiff.frontend.binding.narrow_integers import with_narrow_integers
from loopdiff.frontend.binding.shapes import Shapes
from loopdiff.frontend.binding.types import (
    CELL_DTYPE,
    PYTHON_KINDS,
    STRONG,
    Kind,
    Typing,
    coerce,
    join_kinds,
    kind_of_scalar,
    may_be_rounded,
)
from loopdiff.frontend.binding.webs import split_webs
from loopdiff.frontend.capture import ArgumentType, ScalarArgument, number_for_array
from loopdiff.frontend.derivatives import Derivative
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import HALVES, Op
from loopdiff.ir.types import BOOL, INT, ArrayType, ScalarType
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import map_expr, map_stmt_exprs, written_arrays

ACCUMULATED = {"add": Op.ADD, "max": Op.MAX, "min": Op.MIN}


def bind(surface: ir.LoopSet, types: Mapping[str, ArgumentType | ScalarType]) -> ir.LoopSet:
    """`surface` for arguments of `types` (by parameter name), complex numbers still in one piece, with the loops of the
    derivatives that it calls.

    Raises UnsupportedLoopError with every rejection that the types decide (LD2xx).
    """
    arguments = declared_arguments(surface, types)
    raise_if(arguments.diagnostics)
    surface = split_webs(surface)
    shapes = Shapes({a.name: a for a in surface.arrays}, arguments.ranks, written_arrays(surface.body))
    body = shapes.function(surface.body)
    results = tuple(
        ir.ScalarResult(shapes.resolve(r.value)) if isinstance(r, ir.ScalarResult) else r for r in surface.results
    )
    raise_if(shapes.diagnostics)
    binder = Binder(replace(surface, body=body, results=results), arguments, shapes)
    numbers = {n for n, s in arguments.scalars.items() if s.is_weak and s.type in (INT, BOOL)}
    binder.surface, found = with_narrow_integers(binder.surface, binder.dtypes, numbers)
    raise_if(found)
    bound = binder.bind()
    if binder.typing.widens:
        bound = binder.bind_with_exact_integers()
    bound = with_checked_integers(bound)
    raise_if(binder.typing.diagnostics)
    verify(bound, "bind")
    return with_derivatives(bound)


@dataclass(slots=True)
class Arguments:
    """Declarations of the arguments, by their actual types."""

    arrays: dict[str, ir.ArrayDecl] = field(default_factory=dict)
    scalars: dict[str, ir.ScalarDecl] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def ranks(self) -> dict[str, int]:
        return {n: a.type.rank for n, a in self.arrays.items() if a.type is not None}


def declared_arguments(surface: ir.LoopSet, types: Mapping[str, ArgumentType | ScalarType]) -> Arguments:
    arguments = Arguments()
    for name in surface.params:
        loc = surface.array(name).loc if surface.has_array(name) else surface.scalar(name).loc
        match types[name]:
            case ArrayType() as kind:
                arguments.arrays[name] = ir.ArrayDecl(name, replace(kind, axes=()), "argument", loc=loc)
            case kind:
                if surface.has_array(name):
                    arguments.diagnostics.append(number_for_array(name, loc))
                found = kind if isinstance(kind, ScalarArgument) else ScalarArgument(kind)
                arguments.scalars[name] = ir.ScalarDecl(name, found.type, found.is_weak, loc=loc)
    return arguments


class Binder:
    """Finds the types of local variables by repetition until nothing changes, and writes bound statements.

    The type of a local scalar holds all that is assigned to it (`inferred`), that of a local array what it is `made`
    of, or is that of another (`alike`): elements stored later are converted, as in NumPy.
    """

    def __init__(self, surface: ir.LoopSet, arguments: Arguments, shapes: Shapes) -> None:
        self.surface = surface
        self.arguments = arguments
        self.shapes = shapes
        self.inferred: set[str] = set()
        self.made: dict[str, tuple[ir.Expr, ...]] = {}
        self.alike: dict[str, str] = {}
        ranks = dict(arguments.ranks)
        kinds = {n: STRONG[a.type.element] for n, a in arguments.arrays.items() if a.type is not None}
        params = {n: kind_of_scalar(s) for n, s in arguments.scalars.items()}
        self.typing = Typing(kinds, ranks, params)
        self.dtypes: dict[str, str] = {n: a.type.dtype for n, a in arguments.arrays.items() if a.type is not None}
        for decl in surface.arrays:
            if decl.role != "argument":
                self.declare_local(decl)

    def declare_local(self, decl: ir.ArrayDecl) -> None:
        """Rank and, if stated, element type of a local array; others are inferred, starting from BOOL."""
        name = decl.name
        is_allocated = name in self.shapes.extents
        self.typing.ranks[name] = len(self.shapes.extents[name]) if is_allocated else 0  # type: ignore[index]
        source = decl.dtype_like or (decl.like if decl.type is None else None)
        if decl.type is not None:
            self.dtypes[name] = decl.type.dtype
        elif source is not None and source in self.dtypes:
            self.dtypes[name] = self.dtypes[source]
        if name in self.dtypes:
            self.typing.kinds[name] = STRONG[ArrayType(self.dtypes[name], 0).element]
        else:
            if source is not None:
                self.alike[name] = source
            elif decl.values:
                self.made[name] = decl.values
            else:
                self.inferred.add(name)
            self.typing.kinds[name] = Kind.BOOL

    def bind(self) -> ir.LoopSet:
        while True:
            before = dict(self.typing.kinds)
            self.typing.diagnostics.clear()
            for name, values in self.made.items():
                kinds = (self.typing.typed(e)[1] for e in values)
                self.typing.kinds[name] = join_kinds(self.typing.kinds[name], *kinds)
            for name, source in self.alike.items():
                self.typing.kinds[name] = self.typing.kinds[source]
            body = self.block(self.surface.body)
            if self.typing.kinds == before:
                break
        results = tuple(
            ir.ScalarResult(self.typing.typed(r.value)[0]) if isinstance(r, ir.ScalarResult) else r
            for r in self.surface.results
        )
        arrays = (
            *self.arguments.arrays.values(),
            *(self.local(a) for a in self.surface.arrays if self.is_used(a)),
        )
        scalars = tuple(self.arguments.scalars.values())
        bound = replace(self.surface, arrays=arrays, scalars=scalars, body=body, results=results)
        return self.without_local_dims(bound)

    def bind_with_exact_integers(self) -> ir.LoopSet:
        """The same, where integers that become floats may be too large for these."""
        types = {name: kind.storage for name, kind in (self.typing.kinds | dict(self.typing.params)).items()}
        self.surface = with_integers_that_floats_hold(self.surface, types)
        return self.bind()

    def is_used(self, decl: ir.ArrayDecl) -> bool:
        """Local arrays in a branch that the types rule out are never allocated."""
        return decl.role != "argument" and (decl.extents == () or decl.name in self.shapes.extents)

    def local(self, decl: ir.ArrayDecl) -> ir.ArrayDecl:
        name = decl.name
        extents = tuple(self.extent(e, decl) for e in self.shapes.extents.get(name, ()))
        return ir.ArrayDecl(name, ArrayType(self.dtype(name), len(extents)), "local", extents, loc=decl.loc)

    def extent(self, extent: ir.Expr, decl: ir.ArrayDecl) -> ir.Expr:
        value, kind = self.typing.typed(extent)
        if kind > Kind.INT:
            span = extent.loc if extent.loc.line else decl.loc
            return self.typing.refuse("LD211", f"an extent of `{decl.name}` is {kind.described}", span)[0]
        return coerce(value, kind, Kind.INT)

    def without_local_dims(self, ls: ir.LoopSet) -> ir.LoopSet:
        """Negative constant subscripts of local arrays brought in Dims of these; put their extents."""
        extents = {a.name: a.extents for a in ls.arrays if a.role == "local" and a.extents}

        def put(e: ir.Expr) -> ir.Expr:
            return extents[e.array][e.axis] if isinstance(e, ir.Dim) and e.array in extents else e

        def rewrite(e: ir.Expr) -> ir.Expr:
            return map_expr(put, e)

        results = (ir.ScalarResult(rewrite(r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results)
        return replace(ls, body=tuple(map_stmt_exprs(rewrite, s) for s in ls.body), results=tuple(results))

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(self.statement(s) for s in body)

    def statement(self, stmt: ir.Stmt) -> ir.Stmt:
        typing = self.typing
        match stmt:
            case ir.Assign(target=target, value=value):
                access = typing.access(target)
                return replace(stmt, target=access, value=self.stored(target.array, *typing.typed(value), stmt))
            case ir.Accumulate():
                return self.accumulate(stmt)
            case ir.Loop(lower=lower, upper=upper, step=step, body=body):
                bounds = {"lower": self.bound(lower), "upper": self.bound(upper), "step": self.bound(step)}
                return replace(stmt, body=self.block(body), **bounds)
            case ir.If(cond=cond, then=then, orelse=orelse):
                return replace(stmt, cond=typing.truth(cond), then=self.block(then), orelse=self.block(orelse))
            case ir.Require(cond=cond) | ir.Exit(cond=cond):
                return replace(stmt, cond=typing.truth(cond))
            case ir.Call():
                return self.call(stmt)
            case ir.Allocate(array=array, fill=fill) if fill is not None:
                return replace(stmt, fill=self.stored(array, *typing.typed(fill), stmt))
            case _:
                return stmt

    def call(self, stmt: ir.Call) -> ir.Call:
        """Numbers keep their own types, parts of arrays are passed as they are; the rule says what it returns."""
        typing = self.typing
        args: list[ir.Expr | None] = []
        types: dict[str, ArgumentType] = {}
        for name, arg in zip(stmt.rule.params, stmt.args, strict=True):
            if isinstance(arg, ir.Load) and len(arg.access.subscripts) < typing.ranks[arg.access.array]:
                args.append(replace(arg, access=typing.access(arg.access, is_part=True)))
                kind = typing.kinds[arg.access.array]
                types[name] = ArrayType(
                    self.dtype(arg.access.array), typing.ranks[arg.access.array] - len(arg.access.subscripts)
                )
            else:
                assert arg is not None
                value, kind = typing.typed(arg)
                args.append(coerce(value, kind, STRONG[kind.storage]))
                types[name] = ScalarArgument(kind.storage, kind in PYTHON_KINDS)
            found = types[name]
            if isinstance(found, ArrayType) and found.is_half and not isinstance(stmt.rule, Derivative):
                message = f"`{name}` of `{stmt.rule.name}` holds {found.dtype}, and rules get arrays as they are"
                typing.refuse("LD222", message, stmt.loc, "pass a copy: `x.astype(np.float32)`")
            if kind.is_complex:
                message = f"`{name}` of `{stmt.rule.name}` is complex, and rules are of real functions"
                typing.refuse("LD222", message, stmt.loc, "pass the parts `z.real` and `z.imag`")
        if isinstance(stmt.rule, Derivative):
            return self.derivative(replace(stmt, args=tuple(args)), stmt.rule, types)
        for result in stmt.results:
            assert stmt.rule.result is not None
            self.join(result.array, STRONG[ScalarType(stmt.rule.result)])
        return replace(stmt, args=tuple(args), tape=tuple(self.bound(e) for e in stmt.tape))

    def derivative(self, stmt: ir.Call, rule: Derivative, types: Mapping[str, ArgumentType]) -> ir.Call:
        """The call of a derivative with the types of its arguments; axes have one element where the parser saw it."""
        for result, kind in zip(stmt.results, rule.made.numbers, strict=True):
            self.join(result.array, kind)
        found = {
            n: replace(types[n], axes=old.axes) if isinstance(old, ArrayType) else types[n]
            for n, old in rule.types.items()
        }
        return replace(stmt, rule=replace(rule, found=found))

    def dtype(self, array: str) -> str:
        return self.dtypes.get(array) or CELL_DTYPE[self.typing.kinds[array].storage]

    def join(self, array: str, kind: Kind) -> Kind:
        """The kind of `array` after a value of `kind` is stored: only inferred types grow."""
        if array in self.inferred:
            self.typing.kinds[array] = join_kinds(self.typing.kinds[array], kind)
        return self.typing.kinds.get(array, kind)

    def stored(self, array: str, value: ir.Expr, kind: Kind, stmt: ir.Stmt) -> ir.Expr:
        """`value` of `kind` in the type of `array`, which it becomes part of."""
        kept = self.join(array, kind)
        if (array in self.inferred or array in self.made) and may_be_rounded(value, kind, kept):
            self.typing.widens = True
        if kind.is_complex and not kept.is_complex:
            message = f"a complex number is stored in `{array}`, whose elements are {kept.storage.value}"
            return self.typing.refuse("LD221", message, stmt.loc)[0]
        dtype = self.dtypes.get(array)
        is_half_already = isinstance(value, ir.Load) and self.dtypes.get(value.access.array) == dtype
        if dtype not in HALVES or is_half_already:
            return coerce(value, kind, kept)
        return rounded(value, kind, HALVES[dtype])

    def accumulate(self, stmt: ir.Accumulate) -> ir.Stmt:
        """Into integers, booleans and halves, where the sum is converted and not the summand, a plain assignment."""
        value, kind = self.typing.typed(stmt.value)
        target = stmt.target.array
        kept = self.join(target, kind if stmt.op != "add" else join_kinds(kind, Kind.INT))
        is_ordered = stmt.op == "add" or not kept.is_complex
        is_half = self.dtypes.get(target) in HALVES
        if kept is Kind.BOOL or (kept is Kind.INT and kind > Kind.INT) or not is_ordered or is_half:
            changed = ir.Apply(ACCUMULATED[stmt.op], (ir.Load(stmt.target, loc=stmt.loc), stmt.value), loc=stmt.loc)
            return self.statement(ir.Assign(stmt.target, changed, loc=stmt.loc))
        return replace(stmt, target=self.typing.access(stmt.target), value=self.stored(target, value, kind, stmt))

    def bound(self, expr: ir.Expr) -> ir.Expr:
        value, kind = self.typing.typed(expr)
        if kind > Kind.INT:
            return self.typing.refuse("LD205", f"a bound of this loop is {kind.described}", expr.loc)[0]
        return coerce(value, kind, Kind.INT)


def rounded(value: ir.Expr, kind: Kind, rounding: Op) -> ir.Expr:
    """`value` of `kind` as an element of a half holds it, as a float32: rounded once, also from float64."""
    exact = value if kind in (Kind.WEAK, Kind.F64) else coerce(value, kind, Kind.F32)
    loc = value.loc
    return coerce(ir.Apply(rounding, (exact,), loc=loc), kind if exact is value else Kind.F32, Kind.F32)
