"""Compare what loopdiff makes of a dressed program with what the oracle says of the arguments that are in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdiff import vectorize_grad

from .. import oracle
from ..check import SETTINGS, Outcome, Wrong, failure, same, threads
from ..expected import Expected, fresh, is_real
from ..oracle import Args
from ..structures import RECORDS, leaves, mapped, outline
from .dress import Dressed


@dataclass
class Session:
    """A dressed program under loopdiff's decorator: the object whose method is called stays, with other attributes."""

    program: Dressed
    names: dict[str, Any]
    owner: Any = None

    def target(self, args: Args) -> Any:
        """What is called for these arguments."""
        if not self.program.held:
            return self.names["entry"]
        made = self.names["Holder"](*(args[n] for n in self.program.held))
        if self.owner is None:
            self.owner = made
        else:
            vars(self.owner).update(vars(made))
        return self.owner.entry

    def given(self, args: Args) -> tuple[list[Any], Args]:
        """The arguments by position and by name."""
        by_position = [args[n] for n in (*self.program.direct, *self.program.rest)]
        return by_position, {n: args[n] for n in self.program.named}


def loaded(program: Dressed, settings: dict[str, Any]) -> Session:
    def decorate(function: Any = None, /, **own: Any) -> Any:
        made = vectorize_grad(**settings, **own)
        return made if function is None else made(function)

    names = {"__name__": "__main__", "np": np, "math": math, "vectorize_grad": decorate, **RECORDS}
    oracle.function_of(program.source, names)
    return Session(program, names)


def check_dressed(session: Session, want: Expected, parts: frozenset[str]) -> None:
    """What each method gives, of one call."""
    for part in ("value", "grad", "vjp", "jvp"):
        if part in parts:
            args = fresh(want.args)
            by_position, by_name = session.given(args)
            if part == "jvp" and (by_name or want.written or session.program.rest):
                continue
            CHECKS[part](session, want, session.target(args), by_position, by_name)
            for name, final in want.finals.items():
                same(f"{part}, final {name}", args[name], final, want.tolerance)


def require_result(stage: str, found: Any, want: Expected) -> None:
    if outline(found) != outline(want.plain):
        raise Wrong(stage, f"got {found!r}, expected {want.plain!r}")
    for got, wanted in zip(oracle.items(found), want.values, strict=True):
        same(stage, got, wanted, want.tolerance)


def check_value(session: Session, want: Expected, target: Any, args: list[Any], named: Args) -> None:
    require_result("value", target(*args, **named), want)


def check_gradients(session: Session, want: Expected, target: Any, args: list[Any], named: Args) -> None:
    program = session.program
    seeds = [1.0, *(None for _ in want.values[1:])]
    wanted = want.run.pull(seeds, {})
    if want.written:
        value, gradients = target.value_and_grad(*args, **named)
        require_result("value_and_grad value", value, want)
        require_gradients("value_and_grad", program, gradients, wanted, want)
        return
    for method in ("value_and_grad", "grad"):
        found = getattr(target, method)(*args, **named)
        if method == "value_and_grad":
            require_result("value_and_grad value", found[0], want)
            found = found[1]
        elif program.has_aux:
            found, beside = found
            others = want.plain[1:]
            require_beside(beside, others[0] if len(others) == 1 else tuple(others), want)
        require_gradients(method, program, found, wanted, want)


def require_beside(found: Any, wanted: Any, want: Expected) -> None:
    if outline(found) != outline(wanted):
        raise Wrong("beside", f"got {found!r}, expected {wanted!r}")
    for got, other in zip(oracle.items(found), oracle.items(wanted), strict=True):
        same("beside", got, other, want.tolerance)


def require_gradients(stage: str, program: Dressed, found: Any, wanted: Args, want: Expected) -> None:
    """The gradients by the chosen leaves, in the order of `wrt`, and None in place of others."""
    if program.fields is not None and found._fields != program.fields:
        raise Wrong(stage, f"gradients by {found._fields}, not by {program.fields}")
    if program.fields is None and not want.written:
        order = [
            n for n in (*program.direct, "rest", "options") if n in {program.place(n)[0] for n, _ in program.chosen}
        ]
        if list(found._fields) != order:
            raise Wrong(stage, f"gradients by {found._fields}, not by {order}")
    for name in want.args:
        root, _ = program.place(name)
        if not hasattr(found, root):
            if any(n == name for n, _ in program.chosen) and not want.written:
                raise Wrong(stage, f"no gradient by {name}")
            continue
        held = gradient_of(program, getattr(found, root), name)
        expected = dict(leaves(wanted[name])) if name in wanted else {}
        for path, got in leaves(held):
            if (name, path) not in program.chosen:
                if got is not None:
                    raise Wrong(f"{stage} d/d{name}{path}", f"got {got!r}, though nobody asked for it")
            elif not (got is None and want.written):
                same(f"{stage} d/d{name}{path}", got, expected[path], want.tolerance)


def gradient_of(program: Dressed, held: Any, name: str) -> Any:
    """What a field of gradients holds for an argument of the old program."""
    if name in program.held:
        return getattr(held, name)
    if name in program.rest:
        return held[program.rest.index(name)]
    return held[name] if name in program.named else held


def along(program: Dressed, want: Expected) -> Args:
    """Directions for the chosen leaves, by argument of the old program."""
    found: Args = {}
    for name, tangent in want.tangents.items():
        at = iter([path for path, _ in leaves(tangent)])
        found[name] = mapped(
            lambda leaf, at=at, name=name: leaf if (name, next(at)) in program.chosen else None, tangent
        )
    return found


def check_vjp(session: Session, want: Expected, target: Any, args: list[Any], named: Args) -> None:
    """Reverse mode, of all that is returned."""
    result, pullback = target.vjp(*args, **named)
    require_result("vjp value", result, want)
    if want.written:
        return
    seeds = iter([w if is_real(w) else None for w in want.seeds])
    gradients = pullback(mapped(lambda _: next(seeds), want.plain))
    require_gradients("vjp", session.program, gradients, want.run.pull(want.seeds, {}), want)


def check_jvp(session: Session, want: Expected, target: Any, args: list[Any], named: Args) -> None:
    """Forward mode along the leaves that are chosen."""
    program = session.program
    directions = along(program, want)
    moved = {n: d for n, d in directions.items() if any(leaf is not None for _, leaf in leaves(d))}
    given = {n: d for n, d in moved.items() if n in program.direct}
    if any(n in program.held for n in moved):
        made = object.__new__(type(session.owner))
        for name in vars(session.owner):
            nothing = mapped(lambda _: None, getattr(session.owner, name))
            setattr(made, name, moved.get(name, nothing))
        given["self"] = made
    result, tangents = target.jvp(tuple(args), given)
    require_result("jvp value", result, want)
    source = want.source
    all_of = {n: directions.get(n) for n in want.tangents}
    zero = {n: mapped(lambda d, v: zero_like(v) if d is None else d, all_of[n], want.args[n]) for n in all_of}
    pushed = oracle.items(oracle.dual(source, want.args, zero).result)
    got = oracle.items(tangents[0])
    for tangent, number, value in zip(got, pushed, oracle.items(want.plain), strict=True):
        if np.asarray(value).dtype.kind == "f":
            same("jvp result", tangent, oracle.floats(number, oracle.tangent), want.tolerance)


def zero_like(value: Any) -> Any:
    return np.zeros(np.shape(value)) if np.ndim(value) else 0.0


CHECKS = {"value": check_value, "grad": check_gradients, "vjp": check_vjp, "jvp": check_jvp}


def try_dressed(program: Dressed, wants: list[Expected], setting: str, parts: frozenset[str]) -> Outcome:
    """What becomes of a dressed program under a setting, all arguments one after the other."""
    case = 0
    try:
        with np.errstate(all="ignore"), threads(setting):
            session = loaded(program, SETTINGS[setting])
            while case < len(wants):
                check_dressed(session, wants[case], parts)
                case += 1
    except Exception as error:
        return failure(error, wants, setting, case)
    return Outcome("ok", setting)
