"""What becomes of LLVM that the walks write: that it is optimised once, and how it is entered from Python."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import JITCodeLibrary
from numba.core.pythonapi import NativeValue

MANY = 12  # parameters from which on a wrapper takes longer to optimise than all its calls


class Library(JITCodeLibrary):
    """Code that LLVM optimises once. Numba does it three times, each function alone, all of it cheaply, and all of it,
    which is for reference counts in code of many small functions: loops are no faster by it."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        manager, builder = self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes (full optimization)", builder):
            manager.run(self._final_module, builder)


def library_of(context: Any, name: str) -> Library:
    """An empty library, whose machine code can be kept."""
    library = Library(context.codegen(), name)
    library.enable_object_caching()
    return library


class Wrapper(PyCallWrapper):
    """How Python enters a function. With many parameters that is one long block, on which LLVM takes time that grows
    with its square, for a few nanoseconds: it is then written as it is, and takes arrays by one function for each type.
    """

    @property
    def is_long(self) -> bool:
        return len(self.fndesc.argtypes) >= MANY

    def build(self) -> Any:
        wrapper, api = super().build()
        if self.is_long:
            wrapper.attributes.add("noinline")
            wrapper.attributes.add("optnone")
        return wrapper, api

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        if self.is_long:
            plain = api.to_native_value
            api.to_native_value = lambda ty, obj: self.taken(builder, ty, obj) if is_array(ty) else plain(ty, obj)
        super().build_wrapper(api, builder, closure, args, kws)

    def taken(self, builder: Any, ty: types.Type, obj: Any) -> NativeValue:
        """The array that Python has as `obj`."""
        where = cgutils.alloca_once(builder, self.context.get_value_type(ty))
        failed = builder.call(self.taker(builder.module, ty), [obj, where])
        return NativeValue(builder.load(where), is_error=failed)

    def taker(self, module: Any, ty: types.Type) -> Any:
        """The function of `module` that puts an array of Python where it is told, and says whether that failed."""
        name = f"loopdiff.take.{ty}"
        found = module.globals.get(name)
        if found is not None:
            return found
        pointers = [self.context.get_argument_type(types.pyobject), self.context.get_value_type(ty).as_pointer()]
        function = llvm.Function(module, llvm.FunctionType(llvm.IntType(1), pointers), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        builder = llvm.IRBuilder(function.append_basic_block("entry"))
        native = self.context.get_python_api(builder).to_native_value(ty, function.args[0])
        builder.store(native.value, function.args[1])
        builder.ret(native.is_error)
        return function


def is_array(ty: types.Type) -> bool:
    return isinstance(ty, types.Array)
