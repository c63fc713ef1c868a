"""What LLVM is told about loops.

Left alone, it makes four or eight copies of most, behind loops for what is left over: a third of its time, and as much
of the machine code, of programs of many loops. Those of vectors, and what vectors leave over, go no faster by it; short
ones over elements do, by a twentieth, and by a fifth where they choose, and vectors that are masked to the last, which
compute much for each element, by a twenty-fifth.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from llvmlite import ir as llvm

Hint = tuple[str, *tuple[llvm.Constant, ...]]
SCALAR: Hint = ("llvm.loop.vectorize.enable", llvm.Constant(llvm.IntType(1), 0))  # no vectors are made of it
ROLLED: Hint = ("llvm.loop.unroll.runtime.disable",)  # no copies, if nobody knows how often it runs


def tell(branch: Any, hints: Iterable[Hint]) -> None:
    """Say `hints` of the loop that `branch` goes back to the start of."""
    module = branch.parent.parent.module
    said = [module.add_metadata([llvm.MetaDataString(module, name), *given]) for name, *given in hints]
    if said:
        node = llvm.MDValue(module, (), name=str(len(module.metadata)))
        node.operands = (node, *said)
        branch.set_metadata("llvm.loop", node)


def is_masked(body: list[ast.stmt]) -> bool:
    """Whether the body of a loop of vectors begins with the mask of the last one."""
    match body[0]:
        case ast.Assign(value=ast.Call(func=ast.Name(id="tail_mask"))):
            return True
    return False
