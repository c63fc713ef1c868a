"""Calls of functions with rules: which derivatives they are asked for, and the calls that compute these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from loopdiff.ad.emitter import Emitter
from loopdiff.ad.tape.call_values import kept_by_rule, part_at_call, result_of_call
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At
from loopdiff.analysis.activity import is_active
from loopdiff.errors import DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import cast, compare, extents_of, nested, over_elements, strong_mul, zero
from loopdiff.ir.mentions import written_parts
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ScalarType
from loopdiff.ir.typing import TypeEnv, part_of, type_of
from loopdiff.ir.walk import Path
from loopdiff.rules.definitions import RESULT, TAPE, Rule, RuleForm

Slope = Callable[[ir.Expr], ir.Expr]


def given(call: ir.Call) -> dict[str, ir.Expr]:
    """The arguments of `call` by parameter."""
    pairs = zip(call.rule.names(call.form), call.args, strict=True)
    return {name: arg for name, arg in pairs if arg is not None}


def is_asked(call: ir.Call, form: RuleForm, active: frozenset[str], carriers: Collection[str], types: TypeEnv) -> bool:
    """Whether a derivative goes through `call`, so that the rule's function for `form` has to be called.

    `carriers` are the names that have a tangent or an adjoint. Raises DifferentiationError (LD411) if the rule does
    not state that derivative.
    """
    rule, args = call.rule, given(call)
    targets = (*call.results, *written_parts(call))
    if not any(a.array in carriers for a in targets):
        return False
    sources = {name for name, arg in args.items() if is_active(arg, active, types)}
    if call.form != "primal":
        if sources:
            message = f"`{call.form}` of the rule of `{rule.name}` would have to be differentiated"
            hint = "state `partials` that have rules in turn, or take differences of the gradient"
            raise DifferentiationError(reject("LD411", message, call.loc, hint))
        return False
    asked = sources | {p for p in rule.changed if array_of(args[p]) in carriers}
    for name in rule.params:
        if name in asked and name not in rule.active and name not in rule.constant:
            message = f"the rule of `{rule.name}` states no derivative by `{name}`"
            raise DifferentiationError(reject("LD411", message, call.loc))
    if not asked - rule.constant:
        return False
    if form not in rule.derived and not rule.partials:
        message = f"the rule of `{rule.name}` has no `{form}`"
        raise DifferentiationError(reject("LD411", message, call.loc))
    for name in rule.active if form == "reverse" or rule.partials else ():
        takes_buffer = not rule.partials and f"{name}_adj" in rule.names("reverse")
        if takes_buffer != (part_of(args[name], types) is not None):
            kind = "an array" if takes_buffer else "a number"
            message = f"`{name}` of `{rule.name}` is {kind} for `reverse` of its rule, and not here"
            hint = f"an array's adjoint is `{name}_adj` of `reverse`, that of a number is returned"
            raise DifferentiationError(reject("LD411", message, call.loc, hint))
    return True


def array_of(arg: ir.Expr) -> str:
    assert isinstance(arg, ir.Load)
    return arg.access.array


def constant_parts(call: ir.Call, is_asked: bool) -> Iterable[ir.Access]:
    """Parts that the call gives values without derivatives."""
    args = given(call)
    changed = [p for p in call.rule.params if p in call.rule.changed and call.form == "primal"]
    return (
        a.access for p in changed if isinstance(a := args[p], ir.Load) and (not is_asked or p in call.rule.constant)
    )


def cleared(part: ir.Access, name: str, ls: ir.LoopSet, names: NameSupply) -> ir.Stmt:
    """Zero in the elements of the array `name`, which is like that of `part`, that belong to `part`."""
    decl = ls.array(part.array)
    assert decl.type is not None
    extents = extents_of(decl)[len(part.subscripts) :]
    loops, place = over_elements(extents, names, loc=part.loc)
    target = ir.Access(name, (*part.subscripts, *place))
    (nest,) = nested(loops, (ir.Assign(target, zero(decl.type.element), loc=part.loc),))
    return nest


def unless_zero(seeds: list[ir.Expr], then: Iterable[ir.Stmt], orelse: Iterable[ir.Stmt] = ()) -> list[ir.Stmt]:
    """`then` where one of the `seeds` is not zero: a derivative that is zero contributes nothing, whatever the rule."""
    tests = [compare(Op.NE, s, zero(F64)) for s in seeds]
    cond = tests[0] if len(tests) == 1 else ir.Apply(Op.OR, tuple(tests))
    return [ir.If(cond, tuple(then), tuple(orelse))]


# -- derivatives that are functions of their own ---------------------------------------------------------------
@immutable
class PartialCall:
    """The derivative of `call`, which returns a number of type `kind`, by its parameter `name`."""

    call: ir.Call
    name: str
    kind: ScalarType
    cell: str

    @property
    def rule(self) -> Rule:
        return self.call.rule.partial(self.name)

    @property
    def own_kind(self) -> ScalarType:
        return ScalarType(self.rule.result)

    def statement(self, args: tuple[ir.Expr | None, ...]) -> ir.Call:
        return ir.Call(self.rule, "primal", args, (ir.Access(self.cell),), loc=self.call.loc)

    def scaled(self, bar: ir.Expr, found: ScalarType, wanted: ScalarType) -> ir.Expr:
        """`bar`, of the type `found`, times the derivative; in the type `wanted`."""
        slope = cast(ir.Load(ir.Access(self.cell)), self.own_kind, self.kind)
        return cast(strong_mul(cast(bar, found, self.kind), slope), self.kind, wanted)


def partial_calls(call: ir.Call, types: TypeEnv, active: frozenset[str], names: NameSupply) -> list[PartialCall]:
    """Of the active numbers among the arguments; each with a new cell."""
    args = given(call)
    (result,) = call.results
    kind = types.arrays[result.array].element
    asked = [p for p in call.rule.active if is_active(args[p], active, types)]
    return [PartialCall(call, p, kind, names.fresh(f"{call.rule.name}_by_{p}")) for p in asked]


# -- forward mode --------------------------------------------------------------------------------------------
def tangent_of_call(
    call: ir.Call, types: TypeEnv, tangent_of: Mapping[str, str], slope: Slope, emitter: Emitter, scratch: str
) -> list[ir.Stmt]:
    """The call of the rule's `tangent` in place of `call`; `slope` gives tangents of numbers.

    `scratch` is a cell for the tangent of a result that nobody asks for.
    """
    args, seeds, has_arrays = given(call), list[ir.Expr](), False
    found: dict[str, ir.Expr | None] = dict(args)
    for name in call.rule.active:
        arg, part = args[name], part_of(args[name], types)
        if part is None:
            value = slope(arg) if type_of(arg, types).is_float else zero(F64)
            found[f"{name}_tan"] = held = emitter.hold(value, f"{name}_tan")
            seeds.append(held)
            continue
        tangent = tangent_of.get(part.array)
        found[f"{name}_tan"] = None if tangent is None else ir.Load(ir.Access(tangent, part.subscripts))
        has_arrays |= tangent is not None
    results = tuple(
        r
        for a in call.results
        for r in (a, ir.Access(tangent_of.get(a.array, scratch)))
        if call.rule.has_slope or r == a
    )
    names = call.rule.names("tangent")
    made = ir.Call(call.rule, "tangent", tuple(found[n] for n in names), results, loc=call.loc)
    if has_arrays or not seeds:
        return [made]
    kinds = [types.arrays[r.array].element for r in call.results]
    zeros = [ir.Assign(r, zero(k), loc=call.loc) for r, k in zip(results[1::2], kinds, strict=False)]
    return unless_zero(seeds, (made,), (call, *zeros))


# -- reverse mode --------------------------------------------------------------------------------------------
@immutable
class ReverseCall:
    """The call of the rule's `reverse` for `call`, the statement at `path`."""

    needed: Needed
    adjoint_of: Mapping[str, str]
    call: ir.Call
    path: Path

    @property
    def numbers(self) -> tuple[str, ...]:
        """Active parameters that are numbers: their adjoints are returned."""
        names = self.call.rule.names("reverse")
        return tuple(p for p in self.call.rule.active if f"{p}_adj" not in names)

    def slopes(self, names: NameSupply) -> dict[str, tuple[str, ScalarType]]:
        """A new cell for the adjoint of each of these, and its type."""
        args, types = given(self.call), self.needed.facts.types
        kinds = {p: type_of(args[p], types) for p in self.numbers}
        return {p: (names.fresh(f"{p}_slope"), k if k.is_float else F64) for p, k in kinds.items()}

    def statement(self, slopes: Iterable[str], emitter: Emitter) -> ir.Call:
        """The call; what it needs of the forward sweep is recorded where it is not there any more."""
        rule = self.call.rule
        args = tuple(self.argument(n, emitter) for n in rule.names("reverse"))
        return ir.Call(rule, "reverse", args, tuple(map(ir.Access, slopes)), loc=self.call.loc)

    def again(self, emitter: Emitter) -> tuple[ir.Expr | None, ...]:
        """The arguments of the call itself."""
        return tuple(self.argument(p, emitter) for p in self.call.rule.params)

    def argument(self, name: str, emitter: Emitter) -> ir.Expr | None:
        args, types, needed = given(self.call), self.needed.facts.types, self.needed
        if name in args:
            part = part_of(args[name], types)
            if part is not None:
                return part_at_call(needed, part, self.path)
            return needed.value(args[name], At(self.path, (), emitter))
        if name == TAPE:
            return kept_by_rule(needed, self.call, self.path)
        if name == RESULT:
            return result_of_call(needed, self.call.results[0], self.path)
        if name == f"{RESULT}_adj":
            return self.seed
        part = args[name.removesuffix("_adj").removesuffix("_out")]
        assert isinstance(part, ir.Load)
        if name.endswith("_out"):
            return part_at_call(needed, part.access, self.path, is_after=True)
        adjoint = self.adjoint_of.get(part.access.array)
        return None if adjoint is None else ir.Load(self.adjoint(part.access, adjoint))

    def adjoint(self, part: ir.Access, adjoint: str) -> ir.Access:
        exact = self.needed.exact_access(part, At(self.path))
        return ir.Access(adjoint, exact.subscripts, loc=part.loc)

    @property
    def seed(self) -> ir.Expr:
        """The adjoint of the result."""
        (result,) = self.call.results
        adjoint = self.adjoint_of.get(result.array)
        kind = self.needed.facts.types.arrays[result.array].element
        return zero(kind) if adjoint is None else ir.Load(ir.Access(adjoint))

    @property
    def is_of_numbers(self) -> bool:
        """Whether all that comes in is the adjoint of the result."""
        args = given(self.call)
        changed = (args[p] for p in self.call.rule.changed)
        return bool(self.call.results) and not any(array_of(a) in self.adjoint_of for a in changed)
