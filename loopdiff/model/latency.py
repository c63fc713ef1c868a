"""Latency of recurrences: the longest chain of operations from what an iteration gets to what it hands on."""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.model.machine import DIVISION_LATENCY, DIVISIONS, FORWARDING, FREE, FUNCTION_LATENCY, FUNCTIONS, LATENCY


def waiting(body: tuple[ir.Stmt, ...], through: ir.Access) -> float:
    """Cycles from the read `through`, of what an earlier iteration left, to the last write to its array in `body`."""
    chain = Chain(through)
    chain.visit(body)
    return chain.longest


class Chain:
    """Cycles from the read `through` to the values of Lets and cells, and to the array."""

    def __init__(self, through: ir.Access) -> None:
        self.through = through
        self.done: dict[str, float] = {}
        self.longest = 0.0

    def visit(self, body: tuple[ir.Stmt, ...]) -> None:
        for stmt in body:
            match stmt:
                case ir.Let(name=name, value=value):
                    self.keep(name, self.waited(value))
                case ir.Assign(target=target, value=value):
                    self.leave(target, self.waited(value))
                case ir.Accumulate(target=target, value=value):
                    waited = self.waited(value)
                    self.leave(target, None if waited is None else waited + LATENCY)
                case ir.If(then=then, orelse=orelse):
                    self.visit(then)
                    self.visit(orelse)
                case _:
                    pass

    def leave(self, target: ir.Access, waited: float | None) -> None:
        if not target.subscripts:
            self.keep(target.array, waited)
        if waited is not None and target.array == self.through.array:
            self.longest = max(self.longest, waited)

    def keep(self, name: str, waited: float | None) -> None:
        if waited is not None:
            self.done[name] = max(waited, self.done.get(name, 0.0))

    def waited(self, expr: ir.Expr) -> float | None:
        """Cycles from the read to the value of `expr`; None if it does not depend on it."""
        match expr:
            case ir.Load(access=access) if access == self.through:
                return FORWARDING if access.subscripts else 0.0
            case ir.Load(access=ir.Access(array=name, subscripts=())) | ir.Var(name=name):
                return self.done.get(name)
            case ir.Apply(op=op, args=args):
                return after(latency(op), map(self.waited, args))
            case ir.Select(cond=cond, then=then, orelse=orelse):
                return after(1.0, map(self.waited, (cond, then, orelse)))
            case ir.Cast(value=value):
                return after(LATENCY, (self.waited(value),))
            case _:
                return None


def after(cycles: float, parts: Iterable[float | None]) -> float | None:
    """`cycles` after the last of `parts`; None if none of them waits."""
    found = [p for p in parts if p is not None]
    return max(found) + cycles if found else None


def latency(op: Op) -> float:
    if op in FREE:
        return 0.0
    if op in DIVISIONS:
        return DIVISION_LATENCY
    return FUNCTION_LATENCY if op in FUNCTIONS else LATENCY
