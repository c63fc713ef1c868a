"""What becomes of LLVM that the walks write: how often it is optimised, and how it is entered from Python."""

from __future__ import annotations

from typing import Any

from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import JITCodeLibrary

LARGE = 6000  # LLVM's instructions as they are written
MANY = 12  # parameters from which on a wrapper takes longer to optimise than all its calls


class Library(JITCodeLibrary):
    """Code that Numba optimises three times, each function alone, all of it cheaply, and all of it, or once, the last
    way, where it is `LARGE`: that takes a quarter less, and some loops take 4 % longer then."""

    size = 0

    @property
    def is_large(self) -> bool:
        return self.size >= LARGE

    def add_ir_module(self, ir_module: Any) -> None:
        self.size += sum(len(block.instructions) for f in ir_module.functions for block in f.blocks)
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: Any) -> None:
        if self.is_large:
            ll_module.data_layout = self._codegen._data_layout
        else:
            super()._optimize_functions(ll_module)

    def _optimize_final_module(self) -> None:
        if self.is_large:
            manager, builder = self._codegen._module_pass_manager()
            with self._recorded_timings.record("Module passes (full optimization)", builder):
                manager.run(self._final_module, builder)
        else:
            super()._optimize_final_module()


def library_of(context: Any, name: str) -> Library:
    """An empty library, whose machine code can be kept."""
    library = Library(context.codegen(), name)
    library.enable_object_caching()
    return library


class Wrapper(PyCallWrapper):
    """How Python enters a function. With many parameters that is one long block, on which LLVM takes time that grows
    with its square, for a few nanoseconds: it is then written as it is."""

    def build(self) -> Any:
        wrapper, api = super().build()
        if len(self.fndesc.argtypes) >= MANY:
            wrapper.attributes.add("noinline")
            wrapper.attributes.add("optnone")
        return wrapper, api
