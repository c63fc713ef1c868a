"""What becomes of LLVM that the walks write: that it is optimised once, and how it is entered from Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import JITCodeLibrary

from loopdiff.backends.python_objects import DATA, EXTENTS, ITEMS, STRIDES, WORD, is_as_expected

INTEGER = llvm.IntType(8 * WORD)
WORDS = INTEGER.as_pointer()


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
    """How Python enters a function with arguments that were checked and prepared, in a tuple that holds them.

    Numba's asks each object whether it is an array, borrows it, and gives it back on every way out, which was more
    machine code than that of the loops; here the words of arrays are read where they are.
    """

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        arguments = (ty for ty in self.fndesc.argtypes if not isinstance(ty, types.Array))
        if not all(map(is_number, (*arguments, *results_of(self.fndesc.restype)))) or not is_as_expected():
            super().build_wrapper(api, builder, closure, args, kws)
            return
        objects, kinds = builder.bitcast(args, args.type.as_pointer()), self.fndesc.argtypes
        given = [
            self.taken(api, builder, word_at(builder, objects, ITEMS // WORD + k), ty) for k, ty in enumerate(kinds)
        ]
        if any(not isinstance(ty, types.Array) for ty in self.fndesc.argtypes):
            with cgutils.if_unlikely(builder, api.c_api_error()):
                builder.ret(api.get_null_object())
        thread = api.save_thread() if self.release_gil else None
        convention = self.context.call_conv
        status, found = convention.call_function(
            builder, self.func, self.fndesc.restype, self.fndesc.argtypes, given, attrs=("noinline",)
        )
        if thread is not None:
            api.restore_thread(thread)
        with builder.if_then(status.is_ok, likely=True):
            with builder.if_then(status.is_none):
                api.return_none()
            builder.ret(api.from_native_return(self._simplified_return_type(), found, None))
        convention.raise_error(builder, api, status)
        builder.ret(api.get_null_object())

    def taken(self, api: Any, builder: Any, found: Any, ty: types.Type) -> Any:
        """The object `found` as compiled code has it. Of a number that is none, Python knows afterwards."""
        match ty:
            case types.Array():
                return self.array_at(builder, builder.bitcast(found, WORDS), ty)
            case types.Float():
                real = api.float_as_double(found)
                return real if ty is types.float64 else builder.fptrunc(real, self.context.get_value_type(ty))
            case types.Integer() if ty is types.int64:
                return api.long_as_longlong(found)
            case _:
                return api.to_native_value(ty, found).value

    def array_at(self, builder: Any, found: Any, ty: types.Array) -> Any:
        """The array at an address, which whoever calls keeps."""
        kind = self.context.get_value_type(ty)
        size = self.context.get_abi_sizeof(self.context.get_data_type(ty.dtype))
        extents, strides = (
            [word_at(builder, builder.inttoptr(word_at(builder, found, place), WORDS), axis) for axis in range(ty.ndim)]
            for place in (EXTENTS // WORD, STRIDES // WORD)
        )
        count = reduce(builder.mul, extents) if extents else INTEGER(1)
        data = builder.inttoptr(word_at(builder, found, DATA // WORD), kind.elements[4])
        array = llvm.Constant(kind, llvm.Undefined)  # meminfo, parent, nitems, itemsize, data, shape, strides
        nothing = (llvm.Constant(kind.elements[k], None) for k in (0, 1))
        for k, value in enumerate((*nothing, count, INTEGER(size), data)):
            array = builder.insert_value(array, value, k)
        for k, words in ((5, extents), (6, strides)):
            for axis, value in enumerate(words):
                array = builder.insert_value(array, value, (k, axis))
        return array


def word_at(builder: Any, words: Any, place: int) -> Any:
    return builder.load(builder.gep(words, [INTEGER(place)]))


def results_of(ty: types.Type) -> Sequence[types.Type]:
    """The types of what a function returns."""
    several: Any = ty
    match ty:
        case types.NoneType():
            return ()
        case types.BaseTuple():
            return tuple(several)
        case _:
            return (ty,)


def is_number(ty: types.Type) -> bool:
    return isinstance(ty, types.Number | types.Boolean)
