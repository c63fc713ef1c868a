"""What becomes of LLVM that the walks write: that it is optimised once, and how it is entered from Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from llvmlite import binding
from numba.core import cgutils, types
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import JITCodeLibrary

from loopdiff.backends.python_objects import DATA, EXTENTS, ITEMS, STRIDES, WORD, is_as_expected

from .convention import INTEGER, WORDS, InMemory, store_words

# Characters of LLVM, some 70 for an instruction, from which on a function is long. Values and gradients of NPBench's
# long programs take as long either way, compiling them a third less: lanes are chosen before LLVM sees anything.
LONG = 400_000
# Instructions of a block from which on LLVM does not put them in order a second time, nor looks for the longest way
# through a loop: that takes a time that grows with the square of their number, three quarters of all where five
# thousand read and write arrays, and the code is as fast.
LONG_BLOCK = 4_000
# Options of LLVM's, and what takes them back.
PLAIN_ADDRESSES = (("-disable-lsr", "-disable-lsr=false"),)
ORDERED_ONCE = (
    ("-disable-post-ra", "-disable-post-ra=false"), ("-misched-cyclicpath=false", "-misched-cyclicpath=true")
)  # fmt: skip


class Library(JITCodeLibrary):
    """Code that LLVM optimises once. Numba does it three times, each function alone, all of it cheaply, and all of it,
    which is for reference counts in code of many small functions: loops are no faster by it.

    What is `LONG` is optimised less, without what takes more than its share of the time there: lanes of LLVM's own
    choice and unrolled loops, which are most of the code that it would make of a few lines along an edge.
    """

    # Many programs call it, and it is compiled once. It is written in lanes, out of which LLVM makes no better ones,
    # and says which loops are to be unrolled: machine code is as fast without the passes that look for more.
    is_for_all = False
    written = 0  # characters of the modules

    @property
    def is_long(self) -> bool:
        return self.written > LONG and not self.is_for_all

    def add_ir_module(self, ir_module: Any) -> None:
        self._raise_if_finalized()
        text = cgutils.normalize_ir_text(str(ir_module))
        self.written += len(text)
        module = binding.parse_assembly(text)
        module.name = ir_module.name
        self.add_llvm_module(module)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        is_plain = self.is_long or self.is_for_all
        manager, builder = self.short_way() if is_plain else self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes (full optimization)", builder):
            manager.run(self._final_module, builder)

    def short_way(self) -> tuple[Any, Any]:
        """Passes for what is long or written in lanes, and what made them."""
        tuning = binding.PipelineTuningOptions(speed_level=1)
        tuning.loop_vectorization = tuning.slp_vectorization = False
        tuning.loop_unrolling = self.is_for_all
        builder = binding.create_pass_builder(self._codegen._tm, tuning)
        return builder.getModulePassManager(), builder

    def _finalize_final_module(self) -> None:
        """Write machine code. Options are of the process, in which nobody else writes any: the lock of Numba's compiler
        is held."""
        options = self.options()
        for said, _ in options:
            binding.set_option("loopdiff", said)
        try:
            super()._finalize_final_module()
        finally:
            for _, taken_back in options:
                binding.set_option("loopdiff", taken_back)

    def options(self) -> tuple[tuple[str, str], ...]:
        """What LLVM is told for machine code of this length."""
        if not self.is_long:
            return ()
        # To write the text takes a tenth of the time of a look at each instruction.
        blocks = str(self._final_module).split("\n\n")
        is_plain = all(block.count("\n  ") <= LONG_BLOCK for block in blocks)
        return PLAIN_ADDRESSES if is_plain else (*PLAIN_ADDRESSES, *ORDERED_ONCE)


def library_of(context: Any, name: str, is_for_all: bool = False) -> Library:
    """An empty library, whose machine code can be kept."""
    library = Library(context.codegen(), name)
    library.is_for_all = is_for_all
    library.enable_object_caching()
    return library


class Wrapper(PyCallWrapper):
    """How Python enters a function with arguments that were checked and prepared, in a tuple that holds them.

    Numba's asks each object whether it is an array, borrows it, and gives it back on every way out, which was more
    machine code than that of the loops; here the words of arrays are read where they are. There may be a thousand in
    one block, on which LLVM spends more than on all loops: what is optimised is the function, not how it is entered.
    """

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        kinds, results = self.fndesc.argtypes, results_of(self.fndesc.restype)
        if not is_as_expected() or not all(is_number(ty) for ty in (*kinds, *results) if not is_array(ty)):
            super().build_wrapper(api, builder, closure, args, kws)
            return
        builder.function.attributes |= {"noinline", "optnone"}
        environment = self.get_env(api, builder) if any(map(is_array, results)) else None
        given = self.all_taken(api, builder, builder.bitcast(args, args.type.as_pointer()), kinds)
        if not all(map(is_array, kinds)):
            with cgutils.if_unlikely(builder, api.c_api_error()):
                builder.ret(api.get_null_object())
        thread = api.save_thread() if self.release_gil else None
        status, found = self.called(builder, given)
        if thread is not None:
            api.restore_thread(thread)
        with builder.if_then(status.is_ok, likely=True):
            with builder.if_then(status.is_none):
                api.return_none()
            builder.ret(api.from_native_return(self._simplified_return_type(), found, environment))
        self.context.call_conv.raise_error(builder, api, status)
        builder.ret(api.get_null_object())

    def called(self, builder: Any, given: Sequence[Any]) -> tuple[Any, Any]:
        """What Numba's convention says of a call with the words `given`, and what the function returned."""
        convention, result = self.context.call_conv, self.fndesc.restype
        kind = convention.get_return_type(result).pointee
        place = cgutils.alloca_once_value(builder, cgutils.get_null_value(kind))
        raised = cgutils.alloca_once(builder, convention._get_excinfo_argument(self.func).type.pointee)
        code = builder.call(self.func, (place, raised, *given), attrs=("noinline",))
        status = convention._get_return_status(builder, code, builder.load(raised))
        return status, self.context.get_returned_value(builder, result, builder.load(place))

    def all_taken(self, api: Any, builder: Any, objects: Any, kinds: tuple[types.Type, ...]) -> Sequence[Any]:
        """The objects in a tuple as the function takes them; into memory by one loop for all of one type."""
        first = ITEMS // WORD
        if not isinstance(kinds, InMemory):
            each = (self.taken(api, builder, word_at(builder, objects, first + k), ty) for k, ty in enumerate(kinds))
            return [word for words in each for word in words]
        packer = self.context.get_arg_packer(kinds)
        memory = packer.memory(builder)
        for run in packer.runs():
            with cgutils.for_range(builder, INTEGER(run.count)) as loop:
                place = builder.add(loop.index, INTEGER(first + run.first))
                words = self.taken(api, builder, builder.load(builder.gep(objects, [place])), run.kind)
                at = builder.add(builder.mul(loop.index, INTEGER(len(words))), INTEGER(run.word))
                store_words(builder, memory, at, words)
        return [memory]

    def taken(self, api: Any, builder: Any, found: Any, ty: types.Type) -> Sequence[Any]:
        """The object `found` as the function takes it. Of a number that is none, Python knows afterwards."""
        match ty:
            case types.Array():
                return self.array_at(builder, found, ty)
            case types.Float():
                real = api.float_as_double(found)
                return [real if ty is types.float64 else builder.fptrunc(real, self.context.get_value_type(ty))]
            case types.Integer() if ty is types.int64:
                return [api.long_as_longlong(found)]
            case _:
                value = api.to_native_value(ty, found).value
                return [self.context.data_model_manager[ty].as_argument(builder, value)]

    def array_at(self, builder: Any, found: Any, ty: types.Array) -> Sequence[Any]:
        """The words of the array `found`, which whoever calls keeps, in the order of Numba's structure: memory, parent,
        how many elements of how many bytes, data, extents and strides."""
        kinds = self.context.get_value_type(ty).elements
        words = builder.bitcast(found, WORDS)
        size = self.context.get_abi_sizeof(self.context.get_data_type(ty.dtype))
        extents, strides = (
            [word_at(builder, builder.inttoptr(word_at(builder, words, place), WORDS), axis) for axis in range(ty.ndim)]
            for place in (EXTENTS // WORD, STRIDES // WORD)
        )
        count = reduce(builder.mul, extents) if extents else INTEGER(1)
        data = builder.inttoptr(word_at(builder, words, DATA // WORD), kinds[4])
        return (kinds[0](None), builder.bitcast(found, kinds[1]), count, INTEGER(size), data, *extents, *strides)


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


def is_array(ty: types.Type) -> bool:
    return isinstance(ty, types.Array)


def is_number(ty: types.Type) -> bool:
    """Whether it is a number of one word."""
    return isinstance(ty, types.Number | types.Boolean) and not isinstance(ty, types.Complex)
