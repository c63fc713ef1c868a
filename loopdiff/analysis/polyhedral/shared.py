"""Sets that several LoopSets have in common: those of a compilation differ in a few statements, one pass after another.

A set of instances follows from formulas over dimensions, which have places in it, and over parameters, which are
numbered alike in all LoopSets that share. Two loops of different LoopSets over the same range are one set, and what
follows from it is found once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any

from loopdiff.analysis.polyhedral.translation import isl
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir


@immutable
class Shared:
    """isl's `context`, the numbers of parameters, and what was `made` of objects in it, with these objects: it is known
    by them."""

    context: Any = field(default_factory=isl.Context)
    numbers: dict[ir.Expr, int] = field(default_factory=dict)
    parameters: list[ir.Expr] = field(default_factory=list)
    made: dict[Hashable, tuple[Any, tuple[Any, ...]]] = field(default_factory=dict)

    def number(self, parameter: ir.Expr) -> int:
        """The number of `parameter`, the next one if it has none yet."""
        if parameter not in self.numbers:
            self.numbers[parameter] = len(self.parameters)
            self.parameters.append(parameter)
        return self.numbers[parameter]

    def once(self, key: Hashable, compute: Callable[[], Any], *values: Any) -> Any:
        """What `compute` makes of the objects `values`, and of what `key` says."""
        whole = (key, *map(id, values))
        if whole not in self.made:
            self.made[whole] = (compute(), values)
        return self.made[whole][0]
