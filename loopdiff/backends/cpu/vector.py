"""Vector loops: the statements of a loop body as operations on all lanes at once.

A value is uniform if all lanes share it, else varying. Uniform values stay scalars and are broadcast where they meet a
varying one. Conditions that vary become masks; the last, partial vector is a mask too, so there is no scalar tail.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopdiff.backends.cpu.simd.types import host_width
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Apply,
    Assign,
    Cast,
    Const,
    Expr,
    If,
    Index,
    Let,
    Load,
    Loop,
    Select,
    Stmt,
    Var,
)
from loopdiff.ir.ops import BINARY_SAME, BITWISE, COMPARISONS, Op
from loopdiff.ir.types import F32, F64, ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import statements, stmt_exprs, subexprs, substitute
from loopdiff.transform.strides import is_varying, lane_axis, stride_of, varying_names

if TYPE_CHECKING:
    from loopdiff.backends.cpu.scheduled import ScheduledEmitter

INFIX = frozenset((*COMPARISONS, *BINARY_SAME, *BITWISE, Op.DIV)) - {Op.POW}
NAMED = {
    Op.ABS: "abs_", Op.SIGN: "sign", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.TRUNC: "trunc", Op.ROUND: "rint",
    Op.SQRT: "sqrt", Op.COPYSIGN: "copysign", Op.ISNAN: "isnan", Op.ISINF: "isinf", Op.ISFINITE: "isfinite",
    Op.MAX: "maximum", Op.MIN: "minimum",
}  # fmt: skip
UNROLL = 4
# Sizes of loop bodies, in operations: below the first a single sum is bound by latency, up to the second copies still
# fit in registers (with that many cells of their own), beyond the third a second, unmasked version does not pay.
LIGHT, SHORT, HEAVY = 8, 16, 12
COPIED_CELLS = 4
LARGEST_POWER = 16  # whole exponents up to here are multiplied out


@dataclass(frozen=True, slots=True)
class Lanes:
    """Where a vector stands: `base` is the index of lane 0, `mask` the live lanes (None: all), `cond` the part of the
    mask that comes from conditions; `suffix` tells unrolled copies apart."""

    base: str
    mask: str | None = None
    cond: str | None = None
    suffix: str = ""


@dataclass(slots=True)
class VectorLoopWriter:
    """Writes one loop as vectors of `width` lanes into `emitter`.

    Of the cells that an iteration owns, `private` have a value per lane and `shared` the same one in all lanes.
    """

    emitter: ScheduledEmitter
    loop: Loop
    private: frozenset[str]
    shared: frozenset[str]
    varying: frozenset[str]
    width: int
    sums: dict[int, list[str]]

    @classmethod
    def of(cls, emitter: ScheduledEmitter, loop: Loop, owned: frozenset[str]) -> VectorLoopWriter:
        varying = varying_names(loop)
        return cls(emitter, loop, owned & varying, owned - varying, varying, loop_width(emitter, loop), {})

    # -- the loop --------------------------------------------------------------------------------------------
    def write(self) -> None:
        names, line, block = self.emitter.names, self.emitter.writer.line, self.emitter.writer.block
        index, width = self.loop.index, self.width
        start, end = names.fresh(f"{index}_start"), names.fresh(f"{index}_end")
        line(f"{start} = {self.emitter.expr(self.loop.lower)}")
        line(f"{end} = {self.simd('maximum')}({start}, {self.emitter.expr(self.loop.upper)})")
        promoted = self.promoted()
        copies = self.copies(promoted)
        suffixes = self.suffixes(copies)
        for cell in sorted(self.private):
            for suffix in dict.fromkeys(("", *suffixes)):
                line(f"{cell}{suffix} = {self.splat_constant(0, self.emitter.types.arrays[cell].element)}")
        self.start_sums(promoted, suffixes)
        mask, first = names.fresh("live"), start
        if copies > 1:
            first = names.fresh(f"{index}_many")
            line(f"{first} = {end} - ({end} - {start}) % {copies * width}")
            with block(f"for {index} in range({start}, {first}, {copies * width}):"):
                bases = [f"({index} + {k * width})" if k else index for k in range(copies)]
                self.block(self.loop.body, [Lanes(b, suffix=s) for b, s in zip(bases, suffixes, strict=True)])
        if self.is_heavy():
            with block(f"for {index} in range({first}, {end}, {width}):"):
                line(f"{mask} = {self.simd('tail_mask')}({end} - {index}, {width})")
                self.block(self.loop.body, [Lanes(index, mask)])
        else:
            full = names.fresh(f"{index}_full")
            line(f"{full} = {end} - ({end} - {start}) % {width}")
            with block(f"for {index} in range({first}, {full}, {width}):"):
                self.block(self.loop.body, [Lanes(index)])
            with block(f"if {full} < {end}:"):
                line(f"{mask} = {self.simd('tail_mask')}({end} - {full}, {width})")
                self.block(self.loop.body, [Lanes(full, mask)])
        self.finish_sums(promoted)

    def copies(self, promoted: list[Accumulate]) -> int:
        """How many vectors run side by side, to hide the latency of sums that each depend on the one before."""
        if promoted and not self.private and self.is_light():
            return UNROLL
        chains = [s for s in statements(self.loop.body) if isinstance(s.stmt, Accumulate) and s.loops]
        inside = [s.stmt for s in chains if s.stmt.target.array in self.private]  # type: ignore[union-attr]
        is_simple = not any(isinstance(s.stmt, If) for s in statements(self.loop.body))
        is_short = len(self.operations()) <= SHORT and len(self.private) <= COPIED_CELLS
        return UNROLL if inside and is_simple and is_short and not self.has_calls(inside) else 1

    def suffixes(self, copies: int) -> list[str]:
        """What tells the names of the copies apart; the names are taken from now on."""
        if copies == 1:
            return [""]
        taken, joint = self.emitter.names.taken, "_"
        lets = {s.stmt.name for s in statements(self.loop.body) if isinstance(s.stmt, Let)}
        while any(f"{n}{joint}{k}" in taken for n in lets | self.private for k in range(copies)):
            joint += "_"
        taken.update(f"{n}{joint}{k}" for n in lets | self.private for k in range(copies))
        return [f"{joint}{k}" for k in range(copies)]

    def promoted(self) -> list[Accumulate]:
        """Accumulations into one address for the whole loop: they run in vector accumulators."""
        out: list[Accumulate] = []
        for site in statements(self.loop.body):
            stmt = site.stmt
            if not isinstance(stmt, Accumulate) or any(isinstance(s, Loop) for s in site.enclosing):
                continue
            if stmt.target.array in self.private | self.shared or self.stride(stmt.target) != "uniform":
                continue
            inside = {s.stmt.name for s in statements(self.loop.body) if isinstance(s.stmt, Let)}
            if not any(isinstance(e, Var) and e.name in inside for s in stmt.target.subscripts for e in subexprs(s)):
                out.append(stmt)
        return out

    def operations(self) -> list[Apply]:
        nodes = [e for s in statements(self.loop.body) for x in stmt_exprs(s.stmt) for e in subexprs(x)]
        return [e for e in nodes if isinstance(e, Apply)]

    def has_calls(self, stmts: Iterable[Stmt]) -> bool:
        """Whether `stmts` need more than instructions."""
        nodes = [e for s in stmts for x in stmt_exprs(s) for e in subexprs(x)]
        return any(isinstance(e, Apply) and e.op not in INFIX and e.op not in NAMED for e in nodes)

    def is_light(self) -> bool:
        """Whether the body is so short that latency, not throughput, would bound a single accumulator."""
        body = [s.stmt for s in statements(self.loop.body)]
        is_flat = not any(isinstance(s, Loop | If) for s in body)
        return is_flat and len(self.operations()) <= LIGHT and not self.has_calls(body)

    def is_heavy(self) -> bool:
        """Whether the body is so long that one masked version of it beats a plain and a masked one."""
        body = [s.stmt for s in statements(self.loop.body)]
        return self.has_calls(body) or len(self.operations()) > HEAVY or any(isinstance(s, Loop) for s in body)

    def start_sums(self, promoted: list[Accumulate], suffixes: list[str]) -> None:
        for stmt in promoted:
            array = stmt.target.array
            kind = self.emitter.types.arrays[array].element
            self.sums[id(stmt)] = [self.emitter.names.fresh(f"{array}_lanes") for _ in suffixes]
            for name in self.sums[id(stmt)]:
                self.emitter.writer.line(f"{name} = {self.splat_constant(neutral_value(stmt, kind), kind)}")

    def finish_sums(self, promoted: list[Accumulate]) -> None:
        for stmt in promoted:
            parts = self.sums[id(stmt)]
            if stmt.op == "add":
                whole = " + ".join(parts)
            else:
                whole = parts[0]
                for part in parts[1:]:
                    whole = f"{self.simd(NAMED[Op.MAX if stmt.op == 'max' else Op.MIN])}({whole}, {part})"
            self.add_to_place(stmt, f"{self.simd(f'reduce_{stmt.op}')}({whole})")

    def add_to_place(self, stmt: Accumulate, value: str) -> None:
        """Bring the scalar `value` into the target. An element that no iteration reached may not even exist: a value
        that changes nothing leaves it alone."""
        place, line = self.emitter.place(stmt.target), self.emitter.writer.line
        with ExitStack() as stack:
            if stmt.target.subscripts:
                kind = self.emitter.types.arrays[stmt.target.array].element
                total = self.emitter.names.fresh("total")
                line(f"{total} = {value}")
                neutral = self.emitter.expr(Const(neutral_value(stmt, kind), kind))
                stack.enter_context(self.emitter.writer.block(f"if {total} != {neutral}:"))
                value = total
            if stmt.op == "add":
                line(f"{place} += {value}")
            else:
                self.emitter.imports.add(f"{stmt.op}2")
                line(f"{place} = {stmt.op}2({self.emitter.load(stmt.target)}, {value})")

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, body: tuple[Stmt, ...], copies: list[Lanes]) -> None:
        for stmt in body:
            self.statement(stmt, copies)

    def statement(self, stmt: Stmt, copies: list[Lanes]) -> None:
        """`stmt` for every copy; inner loops are shared by the copies."""
        self.emitter.writer.quote(stmt.loc)
        match stmt:
            case If():
                self.branch(stmt, copies)
            case Loop(index=index, lower=lower, upper=upper, step=step, body=body):
                bounds = ", ".join(self.emitter.expr(e) for e in (lower, upper, step))
                with self.emitter.writer.block(f"for {index} in range({bounds}):"):
                    self.block(body, copies)
            case Let(name=name, value=value) if name not in self.varying:
                self.emitter.writer.line(f"{name} = {self.emitter.expr(value)}")
            case Accumulate(target=Access(array=array)) if array in self.shared:
                self.emitter.statement(stmt)
            case Assign(target=Access(array=array, subscripts=())) if array not in self.private:
                self.emitter.statement(stmt)
            case _:
                for number, lanes in enumerate(copies):
                    self.simple(stmt, lanes, number)

    def simple(self, stmt: Stmt, lanes: Lanes, number: int) -> None:
        match stmt:
            case Let(name=name, value=value):
                self.emitter.writer.line(f"{name}{lanes.suffix} = {self.vector(value, lanes)}")
            case Assign(target=target, value=value):
                self.assign(target, value, lanes)
            case Accumulate():
                self.accumulate(stmt, lanes, number)
            case _:
                raise AssertionError(stmt)

    def assign(self, target: Access, value: Expr, lanes: Lanes) -> None:
        if target.array in self.private:
            name, new = f"{target.array}{lanes.suffix}", self.vector(value, lanes)
            self.emitter.writer.line(f"{name} = {self.where(lanes.cond, new, name)}")
        else:
            self.emitter.writer.line(self.store(target, self.vector(value, lanes), lanes))

    def accumulate(self, stmt: Accumulate, lanes: Lanes, number: int) -> None:
        target, line = stmt.target, self.emitter.writer.line
        value = self.vector(stmt.value, lanes)
        if id(stmt) in self.sums:
            name = self.sums[id(stmt)][number]
            line(f"{name} = {self.where(lanes.mask, self.combined(stmt, name, value), name)}")
        elif target.array in self.private:
            name = f"{target.array}{lanes.suffix}"
            line(f"{name} = {self.where(lanes.cond, self.combined(stmt, name, value), name)}")
        elif self.stride(target) == "uniform":
            kind = self.emitter.types.arrays[target.array].element
            live = self.where(lanes.mask, value, self.splat_constant(neutral_value(stmt, kind), kind))
            self.add_to_place(stmt, f"{self.simd(f'reduce_{stmt.op}')}({live})")
        elif self.stride(target) == "indexed":
            line(self.scatter_add(target, value, lanes))
        else:
            line(self.store(target, self.combined(stmt, self.load(target, lanes), value), lanes))

    def combined(self, stmt: Accumulate, old: str, value: str) -> str:
        if stmt.op == "add":
            return f"{old} + {value}"
        return f"{self.simd(NAMED[Op.MAX if stmt.op == 'max' else Op.MIN])}({old}, {value})"

    def where(self, mask: str | None, value: str, other: str) -> str:
        return value if mask is None else f"{self.simd('select')}({mask}, {value}, {other})"

    def branch(self, stmt: If, copies: list[Lanes]) -> None:
        if not is_varying(stmt.cond, self.varying) and copies[0].cond is None:
            with self.emitter.writer.block(f"if {self.emitter.expr(stmt.cond)}:"):
                self.block(stmt.then, copies)
            if stmt.orelse:
                with self.emitter.writer.block("else:"):
                    self.block(stmt.orelse, copies)
            return
        masks = [self.emitter.names.fresh("mask") for _ in copies]
        for held, lanes in zip(masks, copies, strict=True):
            self.emitter.writer.line(f"{held} = {self.vector(stmt.cond, lanes)}")
        for outcome, body in ((True, stmt.then), (False, stmt.orelse)):
            if body:
                pairs = zip(masks, copies, strict=True)
                self.block(body, [self.narrowed(lanes, m if outcome else f"~{m}") for m, lanes in pairs])

    def narrowed(self, lanes: Lanes, cond: str) -> Lanes:
        """`lanes` under one more condition."""
        both = cond if lanes.cond is None else f"{lanes.cond} & {cond}"
        name = both
        if not both.isidentifier():
            name = self.emitter.names.fresh("mask")
            self.emitter.writer.line(f"{name} = {both}")
        if lanes.mask is None:
            return replace(lanes, mask=name, cond=name)
        live = self.emitter.names.fresh("live")
        self.emitter.writer.line(f"{live} = {lanes.mask} & {name}")
        return replace(lanes, mask=live, cond=name)

    # -- memory ----------------------------------------------------------------------------------------------
    def stride(self, access: Access) -> str:
        return stride_of(access, self.loop.index, self.varying, self.emitter.ls)

    def subscripts(self, access: Access, lanes: Lanes) -> str:
        """The element of lane 0."""
        at: dict[Expr, Expr] = {Index(self.loop.index): Index(lanes.base)}
        texts = [self.emitter.expr(substitute(s, at)) for s in access.subscripts]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def lane_subscripts(self, access: Access, lanes: Lanes) -> str:
        """The elements of all lanes."""
        texts = [self.vector(s, lanes) for s in access.subscripts]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def load(self, access: Access, lanes: Lanes) -> str:
        array, width = access.array, self.width
        kind = "indexed" if self.stride(access) == "uniform" else self.stride(access)
        if kind == "indexed":
            where = self.lane_subscripts(access, lanes)
            if lanes.mask is None:
                return f"{self.simd('gather')}({array}, {where})"
            return f"{self.simd('gather_masked')}({array}, {where}, {lanes.mask})"
        where = self.subscripts(access, lanes)
        if kind == "unit":
            if lanes.mask is None:
                return f"{self.simd('load')}({array}, {where}, {width})"
            return f"{self.simd('load_masked')}({array}, {where}, {lanes.mask})"
        axis, step = self.axis(access)
        if lanes.mask is None:
            return f"{self.simd('load_strided')}({array}, {where}, {axis}, {step}, {width})"
        return f"{self.simd('load_strided_masked')}({array}, {where}, {axis}, {step}, {lanes.mask})"

    def axis(self, access: Access) -> tuple[int, int]:
        found = lane_axis(access, self.loop.index, self.varying)
        assert found is not None
        return found

    def store(self, access: Access, value: str, lanes: Lanes) -> str:
        array = access.array
        kind = "indexed" if self.stride(access) == "uniform" else self.stride(access)
        tail = "" if lanes.mask is None else f", {lanes.mask}"
        masked = "" if lanes.mask is None else "_masked"
        if kind == "indexed":
            return f"{self.simd('scatter' + masked)}({array}, {self.lane_subscripts(access, lanes)}, {value}{tail})"
        where = self.subscripts(access, lanes)
        if kind == "unit":
            return f"{self.simd('store' + masked)}({array}, {where}, {value}{tail})"
        axis, step = self.axis(access)
        return f"{self.simd('store_strided' + masked)}({array}, {where}, {axis}, {step}, {value}{tail})"

    def scatter_add(self, access: Access, value: str, lanes: Lanes) -> str:
        where = self.lane_subscripts(access, lanes)
        if lanes.mask is None:
            return f"{self.simd('scatter_add')}({access.array}, {where}, {value})"
        return f"{self.simd('scatter_add_masked')}({access.array}, {where}, {value}, {lanes.mask})"

    # -- expressions -----------------------------------------------------------------------------------------
    def simd(self, name: str) -> str:
        self.emitter.simd.add(name)
        return name

    def splat_constant(self, value: float, kind: ScalarType) -> str:
        return f"{self.simd('splat')}({self.emitter.expr(Const(value, kind))}, {self.width})"

    def is_vector(self, expr: Expr, lanes: Lanes) -> bool:
        """Whether the text of `expr` is a vector: it varies, or loads under a condition."""
        if is_varying(expr, self.varying):
            return True
        return lanes.cond is not None and any(isinstance(e, Load) and e.access.subscripts for e in subexprs(expr))

    def vector(self, expr: Expr, lanes: Lanes) -> str:
        """`expr` as a vector, broadcast if it is uniform."""
        text = self.expr(expr, lanes)
        return text if self.is_vector(expr, lanes) else f"{self.simd('splat')}({text}, {self.width})"

    def expr(self, expr: Expr, lanes: Lanes) -> str:
        """`expr` as it is, scalar or vector."""
        if not self.is_vector(expr, lanes):
            return self.emitter.expr(expr)
        match expr:
            case Index():
                return f"{self.simd('iota')}({lanes.base}, 1, {self.width})"
            case Var(name=name):
                return f"{name}{lanes.suffix}"
            case Load(access=access):
                return self.load(access, lanes) if access.subscripts else f"{access.array}{lanes.suffix}"
            case Cast(dtype=dtype, value=value):
                return f"{self.simd('cast')}({self.expr(value, lanes)}, {dtype.value!r})"
            case Select(cond=cond, then=then, orelse=orelse):
                return self.choice(cond, then, orelse, lanes)
            case Apply():
                return self.apply(expr, lanes)
            case _:
                raise AssertionError(expr)

    def choice(self, cond: Expr, then: Expr, orelse: Expr, lanes: Lanes) -> str:
        """Both branches are evaluated; what they load is masked by the condition."""
        reads = [any(isinstance(e, Load) and e.access.subscripts for e in subexprs(b)) for b in (then, orelse)]
        test = self.vector(cond, lanes) if any(reads) else self.expr(cond, lanes)
        if any(reads) and not test.isidentifier():
            held = self.emitter.names.fresh("mask")
            self.emitter.writer.line(f"{held} = {test}")
            test = held
        yes = self.vector(then, self.narrowed(lanes, test) if reads[0] else lanes)
        no = self.vector(orelse, self.narrowed(lanes, f"~{test}") if reads[1] else lanes)
        return f"{self.simd('select')}({test}, {yes}, {no})"

    def apply(self, expr: Apply, lanes: Lanes) -> str:
        op = expr.op
        if op in (Op.AND, Op.OR):
            return self.logical(expr, lanes)
        texts = [self.expr(a, lanes) for a in expr.args]
        if op in INFIX:
            return f"({texts[0]} {op.value} {texts[1]})"
        if op is Op.STOP:
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
        self.emitter.functions.add(op.name.lower())
        return f"v{op.name.lower()}({', '.join(texts)})"

    def logical(self, expr: Apply, lanes: Lanes) -> str:
        """`and` / `or` of masks; later operands that load do so only where the earlier ones leave it open."""
        out = self.vector(expr.args[0], lanes)
        for arg in expr.args[1:]:
            inner = lanes
            if any(isinstance(e, Load) and e.access.subscripts for e in subexprs(arg)):
                held = self.emitter.names.fresh("mask")
                self.emitter.writer.line(f"{held} = {out}")
                out = held
                inner = self.narrowed(lanes, held if expr.op is Op.AND else f"~{held}")
            out = f"({out} {'&' if expr.op is Op.AND else '|'} {self.vector(arg, inner)})"
        return out

    def power(self, expr: Apply, texts: list[str]) -> str:
        exponent = expr.args[1]
        if isinstance(exponent, Const):
            value = float(exponent.value)
            if value.is_integer() and abs(value) <= LARGEST_POWER:
                return f"{self.simd('powi')}({texts[0]}, {int(value)})"
            if value == 0.5:
                return f"{self.simd('root')}({texts[0]})"
        self.emitter.functions.add("pow")
        kind = type_of(expr, self.emitter.types)
        if type_of(exponent, self.emitter.types) is not kind:
            texts[1] = f"{self.simd('cast')}({texts[1]}, {kind.value!r})"
        return f"vpow({texts[0]}, {texts[1]})"


def neutral_value(stmt: Accumulate, kind: ScalarType) -> int | float:
    """What leaves an accumulation of `kind` unchanged."""
    if kind.is_float:
        return {"add": 0.0, "max": float("-inf"), "min": float("inf")}[stmt.op]
    return {"add": 0, "max": -(1 << 63), "min": (1 << 63) - 1}[stmt.op]


def loop_width(emitter: ScheduledEmitter, loop: Loop) -> int:
    """Lanes of the loop's vectors: those of the widest floating type it touches."""
    kinds: set[ScalarType] = set()
    for site in statements(loop.body):
        for expr in stmt_exprs(site.stmt):
            kinds |= {type_of(e, emitter.types) for e in subexprs(expr)}
        if isinstance(site.stmt, Assign | Accumulate):
            kinds.add(emitter.types.arrays[site.stmt.target.array].element)
    if F64 in kinds:
        return host_width("float64")
    return host_width("float32") if F32 in kinds else host_width("int64")
