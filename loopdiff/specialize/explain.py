"""What was decided for one signature, in the words of the user's program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import INFO, Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import all_statements, nodes_of
from loopdiff.source.words import Text, in_units, in_user_words
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Temporary


@immutable
class Sweep:
    """How a sweep is scheduled, the nanoseconds predicted for it and the seconds it took, where these are known."""

    name: str
    text: str
    predicted: float | None
    measured: float | None

    @property
    def title(self) -> str:
        predicted = "" if self.predicted is None else f", predicted {in_units(self.predicted)}"
        measured = "" if self.measured is None else f", measured {in_units(1e9 * self.measured)}"
        return f"{self.name} sweep{predicted}{measured}:"


def explain(
    spec: Specialization, refusal: str, sweeps: Sequence[Sweep], one_pass: str, temporaries: Sequence[Temporary]
) -> Text:  # fmt: skip
    """The report of `f.explain(*args)`; `refusal` is why no sweeps run, if none do, and `one_pass` how both are
    scheduled as one, if they ever are."""
    lines = [header(spec)]
    if refusal:
        lines.append(f"no call runs (LD345): {refusal}. The sweeps that keep least:")
    for sweep in sweeps:
        if sweep.text:
            lines += [sweep.title, *(f"  {line}" for line in in_user_words(sweep.text, spec.words).splitlines())]
    if one_pass:
        lines.append("`value_and_grad` runs both sweeps in one pass:")
        lines += [f"  {line}" for line in in_user_words(one_pass, spec.words).splitlines()]
    lines.append(f"between the sweeps{total_bytes(temporaries)}:")
    lines += [f"  {t}" for t in temporaries] or ["  nothing is kept"]
    flat = list(flat_values(spec.normal))
    if flat:
        lines.append("values with no derivative:")
        lines += [f"  {text}" for text in flat]
    return Text("\n".join(lines))


def total_bytes(temporaries: Sequence[Temporary]) -> str:
    """How much several temporaries take together, where their shapes are known."""
    sizes = [t.bytes for t in temporaries if t.bytes is not None]
    return f", {sum(sizes)} bytes in all" if len(sizes) > 1 else ""


def header(spec: Specialization) -> str:
    types = spec.types
    shown = ", ".join(f"{n}: {type_text(t)}" for n, t in types.items())
    return f"{spec.normal.name}({shown}), differentiated with respect to {', '.join(spec.wrt_of_caller)}"


def type_text(kind: object) -> str:
    scalar = getattr(kind, "type", None)
    return str(kind) if scalar is None else scalar.value


def flat_values(ls: ir.LoopSet) -> Iterator[str]:
    """Operations that turn floating values into constants, each with its line and the reason."""
    env = type_env(ls)
    seen: set[str] = set()
    for stmt in all_statements(ls.body):
        found = [(e, flat_reason(e, env)) for e in nodes_of(stmt)]
        if isinstance(stmt, ir.Call):
            declared = f"the rule of `{stmt.rule.name}` declares it constant"
            found += [(e, declared) for e in constants(stmt, env)]
        for expr, reason in found:
            loc = expr.loc if expr.loc.line else stmt.loc
            text = f"{loc.in_words}: {print_expr(expr).removesuffix('[]')}: {reason}"
            if reason is not None and text not in seen:
                seen.add(text)
                yield text


def constants(call: ir.Call, env: TypeEnv) -> Iterator[ir.Expr]:
    """Floating arguments of `call` by which its rule declares derivatives zero."""
    for name, arg in zip(call.rule.params, call.args, strict=True):
        if arg is not None and name in call.rule.constant and type_of(arg, env).is_float:
            yield arg


def flat_reason(expr: ir.Expr, env: TypeEnv) -> str | None:
    """Why the floating operands of `expr` get no derivative from it; comparisons go without saying."""
    from loopdiff.ad.partials import zero_reason

    match expr:
        case ir.Cast(dtype=dtype, value=value) if not dtype.is_float and type_of(value, env).is_float:
            return "integers carry no derivative"
        case ir.Apply(op=op, args=args) if not is_logical(op) and any(type_of(a, env).is_float for a in args):
            return zero_reason(op)
        case _:
            return None


def is_logical(op: Op) -> bool:
    return INFO[op].result == "bool"
