"""Functions compiled as parts of others."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.targetconfig import ConfigStack

from .passes import Direct


@global_compiler_lock
def compile_part(context: Any, function: FunctionType, signature: Any) -> Any:
    """`function`, compiled as a part of the one that is being lowered, with its flags: compiled on its own it would be
    optimised and written to machine code twice."""
    flags = ConfigStack().top().copy()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    library = context.codegen().create_library(function.__name__)
    compiler = Direct(
        context.typing_context, context, library, signature.args, signature.return_type, flags, {}
    )  # fmt: skip
    found = compiler.compile_extra(function)
    context.active_code_library.add_linking_library(found.library)
    return found
