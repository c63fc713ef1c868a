"""Names that generated code uses for itself, which the loops must not."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from loopdiff.backends.cpu import simd
from loopdiff.backends.cpu.scalar_math import HELPERS
from loopdiff.backends.cpu.vector_math import VECTOR_FUNCTIONS
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import supply
from loopdiff.ir.renaming import Renaming, rename_everywhere, renamed
from loopdiff.ir.walk import all_statements

THREADS = ("is_worth", "saving", "share", "run_in_chunks", "run_in_turns", "run_aside", "add_parts", "fill", "cut")
CALLS = ("multiply", "multiply_again", "give_up", "use", "look_out", "make_look", "block_size", "block_end", *THREADS)
BUILTINS = ("ArgumentError", "abs", "bool", "max", "min", "range", "np", "math", "njit", "kept", *CALLS)
RESERVED = frozenset((*simd.__all__, *HELPERS, *(f"v{f}" for f in VECTOR_FUNCTIONS), *BUILTINS))


def avoid_reserved_names(ls: ir.LoopSet, others: AbstractSet[str] = frozenset()) -> ir.LoopSet:
    """`ls` with names replaced that would hide what generated code calls, that of another back end is told in `others`,
    or an index that shares a cell's name."""
    names, reserved = supply(ls), RESERVED | others
    clashing = sorted(n for n in names.taken if n in reserved)
    ls = rename_everywhere(ls, {n: names.fresh(f"{n}_") for n in clashing})
    variables = {a.name for a in ls.arrays} | {s.name for s in all_statements(ls.body) if isinstance(s, ir.Let)}
    indices = sorted({s.index for s in all_statements(ls.body) if isinstance(s, ir.Loop)} & variables)
    new: Renaming = {ir.Index(i): ir.Index(names.fresh(i)) for i in indices}
    name = f"{ls.name}_" if ls.name in reserved else ls.name
    return replace(ls, name=name, body=tuple(renamed(s, new) for s in ls.body))
