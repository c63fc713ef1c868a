"""What LLVM is told of the arrays of a kernel: that no two of them overlap, and which ones nobody writes meanwhile.

Calls refuse arguments that overlap one that is written, and arrays of a function's own are apart. Without that, what
follows a store could not be read before it: threads would wait for memory once for each iteration of a loop. Elements
that nobody writes come through the cache for constants where there are stores, as in CUDA C++ those of pointers to
constants that are `__restrict__`.

That is so of kernels, which get each array once, and not of the functions that they call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from llvmlite import ir as llvm
from numba.core import types

from loopdiff.immutable import immutable
from loopdiff.source.nodes import syntax_nodes


@immutable
class Arrays:
    """Parameters of a kernel that are arrays, and used for nothing but their elements and their shapes: those `read`
    only, and those `written`."""

    read: frozenset[str]
    written: frozenset[str]

    @classmethod
    def of(cls, tree: ast.FunctionDef, kinds: Mapping[str, types.Type]) -> Arrays:
        arrays = {name for name, ty in kinds.items() if isinstance(ty, types.Array)}
        owners = [n for n in syntax_nodes(tree) if isinstance(n, ast.Subscript | ast.Attribute)]
        plain = {id(n.value) for n in owners}
        names = [n for n in syntax_nodes(tree) if isinstance(n, ast.Name)]
        arrays -= {n.id for n in names if id(n) not in plain}
        stored = {
            n.value.id
            for n in owners
            if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
        }
        return cls(frozenset(arrays - stored), frozenset(arrays & stored))


class Marks:
    """The metadata of a module's loads and stores of `arrays`: llvm.org/docs/LangRef.html, `alias.scope`, `noalias` and
    `invariant.load`."""

    def __init__(self, module: llvm.Module, arrays: Arrays) -> None:
        names = sorted(arrays.read | arrays.written)
        domain = module.add_metadata([llvm.MetaDataString(module, "arrays of a kernel")])
        scopes = {n: module.add_metadata([llvm.MetaDataString(module, n), domain]) for n in names}
        self.own = {n: module.add_metadata([scopes[n]]) for n in names}
        self.others = {n: module.add_metadata([scopes[m] for m in names if m != n]) for n in names}
        self.constant = dict.fromkeys(arrays.read, module.add_metadata([]))

    def mark(self, array: str, instructions: Iterable[Any], *, among_stores: bool) -> None:
        """Say of the loads and stores among `instructions` that they are of elements of `array`.

        Those of a loop that stores nothing need not come before any store, and leave the cache for constants alone.
        """
        known = {"alias.scope": self.own, "noalias": self.others}
        if among_stores:
            known["invariant.load"] = self.constant
        for instruction in instructions:
            if isinstance(instruction, llvm.LoadInstr | llvm.StoreInstr):
                for name, nodes in known.items():
                    if array in nodes:
                        instruction.set_metadata(name, nodes[array])
