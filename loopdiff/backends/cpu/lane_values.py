"""What the statements of a vector loop read and compute, on all lanes at once.

A value is uniform if all lanes share it, else varying. Uniform values stay scalars and are broadcast where they meet a
varying one. Conditions that vary become masks.
"""

from __future__ import annotations

from dataclasses import dataclass

from loopdiff.analysis.strides import close_step, is_varying, memory_axis, stride_of
from loopdiff.backends.cpu.patience import PatientEmitter
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import BINARY_SAME, BITWISE, COMPARISONS, HALVES, STRICT, Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import exits, has_values, subexprs, substitute, written_access
from loopdiff.mapping.lane_blocks import LaneBlock, lane_block
from loopdiff.schedule.cpu.scalar_replacement import sure_loads

INFIX = frozenset((*COMPARISONS, *BINARY_SAME, *BITWISE, Op.DIV)) - {Op.POW}
NAMED = {
    Op.ABS: "abs_", Op.SIGN: "sign", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.TRUNC: "trunc", Op.ROUND: "rint",
    Op.SQRT: "sqrt", Op.COPYSIGN: "copysign", Op.ISNAN: "isnan", Op.ISINF: "isinf", Op.ISFINITE: "isfinite",
    Op.MAX: "maximum", Op.MIN: "minimum", **{op: op.value for op in STRICT},
    **{op: f"to_{name}" for name, op in HALVES.items()},
}  # fmt: skip
CHOICES = (Op.AND, Op.OR)
LARGEST_POWER = 16  # whole exponents up to here are multiplied out


@immutable
class Lanes:
    """Where a vector stands: `base` is the index of lane 0, `there` the lanes that the loop has (None: all), `live`
    those under conditions, `cond` what these say alone; `suffix` tells unrolled copies apart."""

    base: str
    there: str | None = None
    live: str | None = None
    cond: str | None = None
    suffix: str = ""

    @property
    def mask(self) -> str | None:
        return self.there if self.live is None else self.live


@dataclass(slots=True)
class LaneValues:
    """Writes expressions in the body of `loop` as vectors of `width` lanes, between which `varying` names differ. Every
    iteration reaches the elements `sure`."""

    emitter: PatientEmitter
    loop: ir.Loop
    varying: frozenset[str]
    width: int
    sure: frozenset[ir.Access]

    @property
    def lane_block(self) -> LaneBlock | None:
        return lane_block(self.loop)

    def has_all_lanes(self, access: ir.Access) -> bool:
        """Whether lanes beyond the end have elements of their own, so that no mask is needed (nor a store that a load
        soon after would have to wait for: masked stores are not forwarded)."""
        block = self.lane_block
        return block is not None and block.size % self.width == 0 and block.holds(access, self.emitter.ls)

    def narrowed(self, lanes: Lanes, cond: str) -> Lanes:
        """`lanes` under one more condition."""
        both = cond if lanes.cond is None else f"{lanes.cond} & {cond}"
        name = both
        if not both.isidentifier():
            name = self.emitter.names.fresh("mask")
            self.emitter.writer.line(f"{name} = {both}")
        if lanes.mask is None:
            return replace(lanes, live=name, cond=name)
        live = self.emitter.names.fresh("live")
        self.emitter.writer.line(f"{live} = {lanes.mask} & {name}")
        return replace(lanes, live=live, cond=name)

    # -- memory ----------------------------------------------------------------------------------------------
    def stride(self, access: ir.Access) -> str:
        return stride_of(access, self.loop.index, self.varying, self.emitter.ls)

    def is_close(self, access: ir.Access) -> bool:
        """Whether a few whole vectors hold the lanes among others."""
        return close_step(access, self.loop.index, self.varying, self.emitter.ls) > 0

    def subscripts(self, access: ir.Access, lanes: Lanes) -> str:
        """The element of lane 0."""
        at: dict[ir.Expr, ir.Expr] = {ir.Index(self.loop.index): ir.Index(lanes.base)}
        texts = [self.emitter.expr(substitute(s, at)) for s in access.subscripts]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def lane_subscripts(self, access: ir.Access, lanes: Lanes) -> str:
        """The elements of all lanes."""
        texts = [self.vector(s, lanes) for s in access.subscripts]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def load(self, access: ir.Access, lanes: Lanes) -> str:
        """What is loaded whatever conditions say has one mask, and is one value, under all of them."""
        array, width = access.array, self.width
        kind = self.stride(access)
        if access in self.sure:
            lanes = replace(lanes, live=None, cond=None)
        if kind == "uniform" and lanes.mask is not None and not any(element_loads(s) for s in access.subscripts):
            return f"{self.simd('load_splat_masked')}({array}, {self.subscripts(access, lanes)}, {lanes.mask})"
        if kind in ("uniform", "indexed"):
            where = self.lane_subscripts(access, lanes)
            if lanes.mask is None:
                return f"{self.simd('gather')}({array}, {where})"
            return f"{self.simd('gather_masked')}({array}, {where}, {lanes.mask})"
        where = self.subscripts(access, lanes)
        if kind == "unit":
            if lanes.mask is None or self.has_all_lanes(access):
                return f"{self.simd('load')}({array}, {where}, {width})"
            return f"{self.simd('load_masked')}({array}, {where}, {lanes.mask})"
        axis, step = self.axis(access)
        if lanes.mask is None:
            return f"{self.simd('load_strided')}({array}, {where}, {axis}, {step}, {width})"
        return f"{self.simd('load_strided_masked')}({array}, {where}, {axis}, {step}, {lanes.mask})"

    def axis(self, access: ir.Access) -> tuple[int, int]:
        found = memory_axis(access, self.loop.index, self.varying, self.emitter.ls)
        assert found is not None
        return found

    def store(self, access: ir.Access, value: str, lanes: Lanes) -> str:
        array, mask = access.array, lanes.mask
        kind = "indexed" if self.stride(access) == "uniform" else self.stride(access)
        if kind == "unit" and self.has_all_lanes(access):
            mask = lanes.cond
        tail, masked = ("", "") if mask is None else (f", {mask}", "_masked")
        if kind == "indexed":
            return f"{self.simd('scatter' + masked)}({array}, {self.lane_subscripts(access, lanes)}, {value}{tail})"
        where = self.subscripts(access, lanes)
        if kind == "unit":
            return f"{self.simd('store' + masked)}({array}, {where}, {value}{tail})"
        axis, step = self.axis(access)
        return f"{self.simd('store_strided' + masked)}({array}, {where}, {axis}, {step}, {value}{tail})"

    def scatter_add(self, access: ir.Access, value: str, lanes: Lanes) -> str:
        where = self.lane_subscripts(access, lanes)
        if lanes.mask is None:
            return f"{self.simd('scatter_add')}({access.array}, {where}, {value})"
        return f"{self.simd('scatter_add_masked')}({access.array}, {where}, {value}, {lanes.mask})"

    # -- expressions -----------------------------------------------------------------------------------------
    def simd(self, name: str) -> str:
        self.emitter.simd.add(name)
        return name

    def splat_constant(self, value: float, kind: ScalarType) -> str:
        return f"{self.simd('splat')}({self.emitter.expr(ir.Const(value, kind))}, {self.width})"

    def is_vector(self, expr: ir.Expr, lanes: Lanes) -> bool:
        """Whether the text of `expr` is a vector: it varies, or loads under a condition."""
        if is_varying(expr, self.varying):
            return True
        return lanes.cond is not None and any(isinstance(e, ir.Load) and e.access.subscripts for e in subexprs(expr))

    def vector(self, expr: ir.Expr, lanes: Lanes) -> str:
        """`expr` as a vector, broadcast if it is uniform."""
        text = self.expr(expr, lanes)
        return text if self.is_vector(expr, lanes) else f"{self.simd('splat')}({text}, {self.width})"

    def expr(self, expr: ir.Expr, lanes: Lanes) -> str:
        """`expr` as it is, scalar or vector."""
        if not self.is_vector(expr, lanes):
            return self.emitter.expr(expr)
        match expr:
            case ir.Index():
                return f"{self.simd('iota')}({lanes.base}, 1, {self.width})"
            case ir.Var(name=name):
                return f"{name}{lanes.suffix}"
            case ir.Load(access=access):
                return self.load(access, lanes) if access.subscripts else f"{access.array}{lanes.suffix}"
            case ir.Cast(dtype=dtype, value=value):
                return f"{self.simd('cast')}({self.expr(value, lanes)}, {dtype.value!r})"
            case ir.Select(cond=cond, then=then, orelse=orelse):
                return self.choice(cond, then, orelse, lanes)
            case ir.Apply():
                return self.apply(expr, lanes)
            case _:
                raise AssertionError(expr)

    def choice(self, cond: ir.Expr, then: ir.Expr, orelse: ir.Expr, lanes: Lanes) -> str:
        """Both branches are evaluated; what they load is masked by the condition."""
        reads = [any(e.access not in self.sure for e in element_loads(b)) for b in (then, orelse)]
        test = self.vector(cond, lanes) if any(reads) else self.expr(cond, lanes)
        if any(reads) and not test.isidentifier():
            held = self.emitter.names.fresh("mask")
            self.emitter.writer.line(f"{held} = {test}")
            test = held
        yes = self.vector(then, self.narrowed(lanes, test) if reads[0] else lanes)
        no = self.vector(orelse, self.narrowed(lanes, f"~{test}") if reads[1] else lanes)
        return f"{self.simd('select')}({test}, {yes}, {no})"

    def apply(self, expr: ir.Apply, lanes: Lanes) -> str:
        op = expr.op
        if op in CHOICES:
            return self.logical(expr, lanes)
        texts = self.decided(expr, lanes) or [self.expr(a, lanes) for a in expr.args]
        if op in INFIX:
            return f"({texts[0]} {op.value} {texts[1]})"
        if op in (Op.STOP, Op.SLOPED):
            return texts[0]
        if op is Op.NEG:
            return f"(-{texts[0]})"
        if op in (Op.NOT, Op.INVERT):
            return f"(~{texts[0]})"
        if op is Op.POW:
            return self.power(expr, texts)
        if op in NAMED:
            folded = texts[0]
            rest = texts[1:]
            if not rest:
                return f"{self.simd(NAMED[op])}({folded})"
            for text in rest:
                folded = f"{self.simd(NAMED[op])}({folded}, {text})"
            return folded
        return self.called(expr, texts)

    def decided(self, expr: ir.Apply, lanes: Lanes) -> list[str] | None:
        """Both sides of a comparison of an exact distance with a number, where it is exact close to that number."""
        if expr.op not in COMPARISONS:
            return None
        for exact, bound in (expr.args, expr.args[::-1]):
            if (
                isinstance(exact, ir.Apply)
                and exact.op is Op.HYPOT
                and exact.is_strict
                and isinstance(bound, ir.Const | ir.Param | ir.Var)
                and self.is_vector(exact, lanes)
                and type_of(exact, self.emitter.types) is type_of(bound, self.emitter.types)
            ):
                self.emitter.functions.add("decided_hypot")
                number = self.expr(bound, lanes)
                sides = [f"vdecided_hypot({', '.join(self.expr(a, lanes) for a in exact.args)}, {number})", number]
                return sides if exact is expr.args[0] else sides[::-1]
        return None

    def called(self, expr: ir.Apply, texts: list[str]) -> str:
        """A call of a function that is no operator of vectors."""
        name = f"{'strict_' if expr.is_strict else ''}{expr.op.name.lower()}"
        self.emitter.functions.add(name)
        return f"v{name}({', '.join(texts)})"

    def logical(self, expr: ir.Apply, lanes: Lanes) -> str:
        """`and` / `or` of masks; later operands load only where the earlier ones leave it open, unless the first one
        has loaded the same."""
        first = expr.args[0]
        out = self.vector(first, lanes)
        has_choice = any(
            isinstance(e, ir.Select) or (isinstance(e, ir.Apply) and e.op in CHOICES) for e in subexprs(first)
        )
        known = set[ir.Load]() if has_choice else element_loads(first)
        for arg in expr.args[1:]:
            inner = lanes
            if any(e.access not in self.sure for e in element_loads(arg) - known):
                held = self.emitter.names.fresh("mask")
                self.emitter.writer.line(f"{held} = {out}")
                out = held
                inner = self.narrowed(lanes, held if expr.op is Op.AND else f"~{held}")
            out = f"({out} {'&' if expr.op is Op.AND else '|'} {self.vector(arg, inner)})"
        return out

    def power(self, expr: ir.Apply, texts: list[str]) -> str:
        exponent = expr.args[1]
        if isinstance(exponent, ir.Const):
            value = float(exponent.value)
            if value == 2.0 or (not expr.is_strict and value.is_integer() and abs(value) <= LARGEST_POWER):
                return f"{self.simd('powi')}({texts[0]}, {int(value)})"
            if value == 0.5:
                return f"{self.simd('root')}({texts[0]})"
        kind = type_of(expr, self.emitter.types)
        if type_of(exponent, self.emitter.types) is not kind:
            texts[1] = f"{self.simd('cast')}({texts[1]}, {kind.value!r})"
        return self.called(expr, texts)


def element_loads(expr: ir.Expr) -> set[ir.Load]:
    return {e for e in subexprs(expr) if isinstance(e, ir.Load) and e.access.subscripts}


def sure_accesses(loop: ir.Loop) -> frozenset[ir.Access]:
    """The elements that each iteration reaches whatever it computes, in places that its index alone says."""
    if exits(loop):
        return frozenset()
    written = (w for s in loop.body if (w := written_access(s)) is not None)
    found = {*written, *(access for stmt in loop.body for access in sure_loads(stmt))}
    return frozenset(a for a in found if a.subscripts and not has_values(*a.subscripts))
