"""The two walks as a pass of Numba's, and a compiler that tries it first."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any

from llvmlite import ir as llvm
from llvmlite.binding import Linkage
from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import CompilerPass, PassManager, register_pass
from numba.core.errors import NumbaError
from numba.core.lowering import Lower
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import BaseNativeLowering, NoPythonBackend
from numba.core.untyped_passes import ExtractByteCode

from loopdiff.backends.cpu.defects import ScalarCodegen, moves_masked_loads

from .convention import passed
from .expressions import Program
from .library import Wrapper, library_of
from .lower import Lowering
from .registries import load_registries
from .syntax import Unknown, tree_of
from .typed import TypedTree, typed_tree

KEPT = ("func_ir", "typemap", "calltypes", "return_type", "library")
TYPED = "typed"  # in the state of a part that whoever calls it has typed


class CpuLowering(Lowering, Lower):
    """Numba's lowering, of a tree."""

    def init(self) -> None:
        """Parts are called by code beside them that has their arguments at hand, word by word."""
        super().init()
        if not ConfigStack().top().no_cpython_wrapper:
            self.fndesc.argtypes = passed(self.context, self.fndesc.argtypes)

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        module = self.context.create_module("wrapper")
        kind = self.context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        callee = llvm.Function(module, kind, self.fndesc.llvm_func_name)
        given = (self.context, module, callee, self.fndesc, self.env, self.call_helper, release_gil)
        Wrapper(*given).build()
        self.library.add_ir_module(module)

    def create_cfunc_wrapper(self) -> None:
        """Nobody calls generated functions by their addresses, but those that Python does not call; Numba says so to
        whoever tries."""
        if ConfigStack().top().no_cpython_wrapper:
            super().create_cfunc_wrapper()


@register_pass(mutates_CFG=False, analysis_only=False)
class DirectLowering(BaseNativeLowering):
    """Types and lowers a function from its syntax tree. Where it gives up, the state is as it was."""

    _name = "direct_lowering"

    @property
    def lowering_class(self) -> Any:
        return CpuLowering

    def run_pass(self, state: Any) -> Any:
        try:
            return lowered(state, self.lower)
        except Exception as error:
            if isinstance(error, NumbaError) or os.environ.get("LOOPDIFF_STRICT"):
                raise
            # A defect here, or something that another version of Numba changed, which its own passes can do without.
            raise Unknown(f"{type(error).__name__}: {error}") from error

    def lower(self, state: Any) -> Any:
        if state.library is None:
            is_for_all = isinstance(state.pipeline, DirectOnce)
            state.library = library_of(state.targetctx, state.func_id.func_qualname, is_for_all)
        return super().run_pass(state)


def lowered(state: Any, run_pass: Callable[[Any], Any]) -> Any:
    """What a pass that lowers makes of the tree of the function in the state, which is as it was if that fails."""
    kept = {name: state[name] for name in KEPT}
    try:
        program = typed_program(state)
        state.func_ir = program
        state.typemap = {f"arg.{a}": ty for a, ty in zip(program.arg_names, state.args, strict=True)}
        state.calltypes = {}
        state.return_type = program.found.result
        return run_pass(state)
    except Exception:
        state.update(kept)
        raise


def typed_program(state: Any) -> Program:
    """The function in the state, with types. Raises Unknown, or Numba's TypingError."""
    identity: Any = state.func_id
    known = state.get(TYPED)
    if known is not None:
        return Program(identity, known)
    tree = tree_of(identity.func)
    if identity.func.__closure__ or any(isinstance(a, types.Omitted) for a in state.args):
        raise Unknown("a closure, or a default", tree)
    env = dict(zip(identity.arg_names, state.args, strict=True))
    typed = typed_tree(state.typingctx, identity.func.__globals__, tree, env, compile_part)
    if state.return_type not in (None, typed.found.result):
        raise Unknown(f"a result of type {typed.found.result} wanted as {state.return_type}", tree)
    return Program(identity, typed)


@register_pass(mutates_CFG=False, analysis_only=True)
class StartAgain(CompilerPass):
    """Forgets why another pipeline gave up, which Numba would report, reads the bytecode, and keeps clear of defects of
    LLVM."""

    _name = "start_again"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> Any:
        state.status.fail_reason = None
        ExtractByteCode().run_pass(state)
        if moves_masked_loads():
            if state.library is None:
                state.library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
                state.library.enable_object_caching()
            state.library._codegen = ScalarCodegen(state.library._codegen)
        return False


class Direct(Compiler):
    """Numba's compiler, whose own passes, and bytecode, are asked only for what the walks do not know."""

    def __init__(self, *given: Any) -> None:
        load_registries()
        super().__init__(*given)

    def compile_extra(self, func: FunctionType) -> Any:
        state: Any = self.state
        state.func_id = FunctionIdentity.from_function(func)
        state.lifted, state.lifted_from = (), None
        return self._compile_bytecode()

    def define_pipelines(self) -> list[Any]:
        first, second = PassManager("direct"), PassManager("nopython")
        first.add_pass(DirectLowering, "from the syntax tree")
        first.add_pass(NoPythonBackend, "nopython mode backend")
        second.add_pass(StartAgain, "after what only Numba knows")
        for usual in super().define_pipelines():
            second.passes.extend(usual.passes)
        first.finalize()
        second.finalize()
        return [first, second]


class DirectOnce(Direct):
    """For what is compiled once per machine, and called by many programs: LLVM takes the time that it needs."""


@global_compiler_lock
def compile_part(context: Any, function: FunctionType, signature: Any, typed: TypedTree | None = None) -> Any:
    """`function`, compiled as a part of the one that is being lowered, with its flags and into its library: in one of
    its own it would be optimised and written to machine code twice. `typed`: its tree, where it has been typed, for
    several calls: these stay calls, or each would be optimised by itself."""
    flags = ConfigStack().top().copy()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    library = context.active_code_library
    compiler = Direct(
        context.typing_context, context, library, signature.args, signature.return_type, flags, {}
    )  # fmt: skip
    compiler.state[TYPED] = typed
    found = compiler.compile_extra(function)
    compiled = library._final_module.get_function(found.fndesc.llvm_func_name)
    compiled.linkage = Linkage.linkonce_odr  # gone where every call is inlined
    if typed is not None:
        compiled.add_function_attribute("noinline")
    return found
