"""What parsing changes, to try again from."""

from __future__ import annotations

import ast
from typing import Any

from loopdiff.frontend.arrays.values import Quantity
from loopdiff.frontend.parsing.iterations import Heads
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir

COPIED = (
    "arrays", "diagnostics", "following", "fixed", "truths", "turned", "undecided", "ranges", "heads", "active",
    "births", "altered", "lengthened", "copies", "around", "flags", "supposed", "kinds", "unknown", "trips",
    "lists", "grown", "unbounded", "resized", "held", "most",
)  # fmt: skip
COUNTED = ("rejected", "inlined", "site", "versions", "clock", "holding", "printed")


@immutable
class Snapshot:
    """Everything that parsing changes, to try again from."""

    out: list[ir.Stmt]
    length: int
    fields: dict[str, Any]
    loops: list[tuple[int, int, int]]
    whole: dict[str, Any]

    @staticmethod
    def of(state: State) -> Snapshot:
        whole = state.whole
        fields = {
            "bindings": dict(state.bindings), "cells": dict(state.cells),
            "iterated": list(state.iterated), "is_dead": state.is_dead, "returned": state.returned,
        }  # fmt: skip
        shared: dict[str, Any] = {name: getattr(whole, name) for name in (*COPIED, *COUNTED)}
        shared |= {name: shared[name].copy() for name in COPIED}
        shared |= {"names": set(whole.names.taken), "indices": set(whole.indices.taken)}
        loops = [(len(loop.breaks), len(loop.ends), len(loop.ways)) for loop in state.loops]
        return Snapshot(state.out, len(state.out), fields, loops, shared)

    def restore(self, state: State) -> None:
        state.out = self.out
        del state.out[self.length :]
        for name, value in self.fields.items():
            setattr(state, name, value.copy() if isinstance(value, dict | list) else value)
        del state.loops[len(self.loops) :]
        for loop, (breaks, ends, ways) in zip(state.loops, self.loops, strict=True):
            del loop.breaks[breaks:], loop.ends[ends:], loop.ways[ways:]
        whole = state.whole
        whole.names.taken = set(self.whole["names"])
        whole.indices.taken = set(self.whole["indices"])
        for name in COPIED:
            setattr(whole, name, self.whole[name].copy())
        for name in COUNTED:
            setattr(whole, name, self.whole[name])
        for heads in whole.heads:
            keep_buffers(state, heads)


def tried(state: State, node: ast.expr) -> Quantity:
    """The value of `node`, of which nothing is written."""
    before = Snapshot.of(state)
    found = state.quantity(node)
    before.restore(state)
    return found


def keep_buffers(state: State, heads: Heads) -> None:
    """Declare again the arrays that iterations of a loop share; what they are made of is as forgotten as the rest."""
    state.whole.arrays = heads.declared | state.whole.arrays
    state.names.taken |= set(heads.declared)
