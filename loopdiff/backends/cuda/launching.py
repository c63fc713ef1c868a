"""What the host's function calls where there is a GPU: intrinsics around a few functions of the driver.

They know the driver's functions, the stream and the kernels by the names of symbols, to which `Slot` gives an address,
so compiled code can be kept on disk. Arrays are Numba's as on the CPU, but their data is the device's: nothing here
looks at an element. Parameters are packed as numba-cuda lays them out, an array as five words, its shape and its
strides, on the stack: a launch costs some tens of nanoseconds and what the driver takes.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import llvmlite.binding as llvm
from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from loopdiff.backends.python_objects import for_ever
from loopdiff.errors import BackendError

INT8, INT32, INT64 = llvm_ir.IntType(8), llvm_ir.IntType(32), llvm_ir.IntType(64)
POINTER = INT8.as_pointer()
PREFIX = "loopdiff_cuda_"
ALIGNMENT = 256


class Slot:
    """A word of memory that compiled code knows by name."""

    def __init__(self, name: str) -> None:
        self.word = for_ever(ctypes.c_int64(0))
        llvm.add_symbol(PREFIX + name, ctypes.addressof(self.word))

    @property
    def value(self) -> int:
        return self.word.value

    @value.setter
    def value(self, new: int) -> None:
        self.word.value = new


# Addresses of the driver's functions, and the stream that everything runs on.
FUNCTIONS = (
    "cuLaunchKernel", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemsetD8Async", "cuMemcpyDtoHAsync_v2",
    "cuStreamSynchronize",
)  # fmt: skip
SLOTS = {name: Slot(name) for name in (*FUNCTIONS, "stream")}
KERNELS: dict[str, Slot] = {}


def kernel_slot(digest: str) -> Slot:
    """Where the handle of the kernel with that digest is kept."""
    found = KERNELS.get(digest)
    if found is None:
        found = KERNELS[digest] = Slot(f"kernel_{digest}")
    return found


# -- whose calls they are ------------------------------------------------------------------------------------
MUTEX = for_ever(ctypes.create_string_buffer(64))  # who sets the stream: Python, or another library's thread


def make_mutex() -> dict[str, Any]:
    """Functions of C's threads around the one mutex, which a thread may take again; none where there are none."""
    if sys.platform == "win32":
        return {}
    library = ctypes.CDLL(None)
    attributes = ctypes.create_string_buffer(64)
    library.pthread_mutexattr_init(attributes)
    library.pthread_mutexattr_settype(attributes, RECURSIVE)
    library.pthread_mutex_init(MUTEX, attributes)
    llvm.add_symbol(PREFIX + "mutex", ctypes.addressof(MUTEX))
    found = {"lock": library.pthread_mutex_lock, "unlock": library.pthread_mutex_unlock}
    for name, function in found.items():
        llvm.add_symbol(PREFIX + name, ctypes.cast(function, ctypes.c_void_p).value or 0)
    return found


RECURSIVE = 2 if sys.platform == "darwin" else 1
THREADS = make_mutex()


def on_mutex(name: str) -> Any:
    """An intrinsic that locks, or unlocks, the mutex."""

    @intrinsic
    def call(typingctx: Any) -> Any:
        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            kind = llvm_ir.FunctionType(INT32, [POINTER])
            function = cgutils.get_or_insert_function(builder.module, kind, PREFIX + name)
            mutex = builder.module.globals.get(PREFIX + "mutex")
            if mutex is None:
                mutex = llvm_ir.GlobalVariable(builder.module, INT8, PREFIX + "mutex")
            builder.call(function, [mutex])
            return context.get_dummy_value()

        return types.void(), lower

    return call


lock, unlock = on_mutex("lock"), on_mutex("unlock")


@intrinsic
def set_stream(typingctx: Any, stream: Any) -> Any:
    """Have everything go to a stream, until it is set again; what it was before."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        before = word(builder, "stream")
        builder.store(values[0], builder.module.globals[PREFIX + "stream"])
        return before

    return types.intp(types.intp), lower


# -- what functions have asked for ---------------------------------------------------------------------------
MOST_HELD = 4096
# How many arrays functions have made that are neither given back nor kept, and where they begin: none after a function
# is done, and what has to be given back where one raises.
HELD = for_ever((ctypes.c_int64 * (1 + MOST_HELD))())
llvm.add_symbol(PREFIX + "held", ctypes.addressof(HELD))


def held_places(builder: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The word with the number of arrays that functions hold, and the words with their places, by number."""
    kind = llvm_ir.ArrayType(INT64, 1 + MOST_HELD)
    found = builder.module.globals.get(PREFIX + "held")
    if found is None:
        found = llvm_ir.GlobalVariable(builder.module, kind, PREFIX + "held")
    return builder.gep(found, [INT32(0), INT32(0)]), lambda k: builder.gep(found, [INT32(0), builder.add(k, INT64(1))])


def hold(builder: Any, place: Any) -> None:
    """Note that a function has an array there."""
    number, word_of = held_places(builder)
    count = builder.load(number)
    with builder.if_then(builder.icmp_signed("<", count, INT64(MOST_HELD))):
        builder.store(place, word_of(count))
        builder.store(builder.add(count, INT64(1)), number)


def let_go(builder: Any, place: Any) -> None:
    """Forget that a function has an array there: in a function of its own, as there are many such places."""
    function = builder.module.globals.get(PREFIX + "let_go")
    if function is None:
        function = llvm_ir.Function(
            builder.module, llvm_ir.FunctionType(llvm_ir.VoidType(), [INT64]), PREFIX + "let_go"
        )
        function.linkage = "internal"
        function.attributes.add("noinline")
        inner = llvm_ir.IRBuilder(function.append_basic_block())
        forget(inner, function.args[0])
        inner.ret_void()
    builder.call(function, [place])


def forget(builder: Any, place: Any) -> None:
    number, word_of = held_places(builder)
    count = builder.load(number)
    last = builder.sub(count, INT64(1))
    with cgutils.for_range(builder, count) as loop:
        is_here = builder.icmp_signed("==", builder.load(word_of(loop.index)), place)
        with builder.if_then(is_here, likely=False):
            builder.store(builder.load(word_of(last)), word_of(loop.index))
            builder.store(last, number)


@intrinsic
def borrow(typingctx: Any, array: Any) -> Any:
    """The array, whose references nobody counts any more: Numba would not give them up where something here raises."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = make_array(array)(context, builder, values[0])
        found.meminfo = llvm_ir.Constant(found.meminfo.type, None)
        return found._getvalue()

    return (signature(array, array), lower) if isinstance(array, types.Array) else None


@intrinsic
def keep(typingctx: Any, array: Any) -> Any:
    """Forget that the function has an array, which is now somebody else's."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        data = make_array(array)(context, builder, values[0]).data
        let_go(builder, builder.ptrtoint(data, INT64))
        return context.get_dummy_value()

    return (signature(types.void, array), lower) if isinstance(array, types.Array) else None


@intrinsic
def release_held(typingctx: Any) -> Any:
    """Give back all that functions hold: for what is left by one that raises."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        number, word_of = held_places(builder)
        with cgutils.for_range(builder, builder.load(number)) as loop:
            kind = llvm_ir.FunctionType(INT32, [INT64, POINTER]).as_pointer()
            free = builder.inttoptr(word(builder, "cuMemFreeAsync"), kind)
            builder.call(free, [builder.load(word_of(loop.index)), handle(builder, "stream")])
        builder.store(INT64(0), number)
        return context.get_dummy_value()

    return types.void(), lower


# -- calls of the driver -------------------------------------------------------------------------------------
def word(builder: Any, name: str) -> Any:
    """What is in the slot of that name."""
    place = builder.module.globals.get(PREFIX + name)
    if place is None:
        place = llvm_ir.GlobalVariable(builder.module, INT64, PREFIX + name)
    return builder.load(place)


def call_driver(context: Any, builder: Any, name: str, values: Sequence[Any], failure: str) -> None:
    """Call a function of the driver, which raises BackendError with `failure` unless it succeeds."""
    kind = llvm_ir.FunctionType(INT32, [v.type for v in values]).as_pointer()
    status = builder.call(builder.inttoptr(word(builder, name), kind), values)
    with builder.if_then(builder.icmp_unsigned("!=", status, INT32(0)), likely=False):
        context.call_conv.return_user_exc(builder, BackendError, (failure,))


def handle(builder: Any, name: str) -> Any:
    return builder.inttoptr(word(builder, name), POINTER)


def launcher(digest: str, block: tuple[int, int, int]) -> Callable[..., Any]:
    """The function `launch(blocks_x, blocks_y, blocks_z, *parameters)` of the kernel with that digest."""
    kernel_slot(digest)

    def launch(typingctx: Any, blocks_x: Any, blocks_y: Any, blocks_z: Any, *given: Any) -> Any:
        kinds = flat(given)

        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            parts = [builder.extract_value(values[3], k) for k in range(len(kinds))]
            packed = [p for ty, v in zip(kinds, parts, strict=True) for p in parameters(context, builder, ty, v)]
            table = cgutils.alloca_once(builder, POINTER, size=INT64(max(1, len(packed))))
            for number, place in enumerate(packed):
                builder.store(builder.bitcast(place, POINTER), builder.gep(table, [INT64(number)]))
            counts = [context.cast(builder, v, ty, types.int32) for v, ty in zip(values[:3], sig.args[:3], strict=True)]
            call_driver(
                context, builder, "cuLaunchKernel",
                [
                    handle(builder, f"kernel_{digest}"), *counts, *(INT32(n) for n in block), INT32(0),
                    handle(builder, "stream"), table, llvm_ir.Constant(POINTER, None),
                ],
                "LD605: a kernel could not be launched",
            )  # fmt: skip
            return context.get_dummy_value()

        return signature(types.void, blocks_x, blocks_y, blocks_z, types.StarArgTuple.from_types(given)), lower

    return intrinsic(launch)


def flat(given: Sequence[Any]) -> tuple[types.Type, ...]:
    """Types of the arguments, which come one by one or as one tuple."""
    first: Any = given[0] if given else None
    return tuple(given) if len(given) != 1 or not isinstance(first, types.BaseTuple) else (*cast(Any, first),)


def parameters(context: Any, builder: Any, ty: types.Type, value: Any) -> list[Any]:
    """Places on the stack of what the driver is given for one argument."""
    if not isinstance(ty, types.Array):
        held = context.get_value_as_data(builder, types.unliteral(ty), value)
        return [cgutils.alloca_once_value(builder, held)]
    array = make_array(ty)(context, builder, value)
    nothing = INT64(0)
    words = [nothing, nothing, array.nitems, array.itemsize, array.data]
    words += cgutils.unpack_tuple(builder, array.shape, ty.ndim)
    words += cgutils.unpack_tuple(builder, array.strides, ty.ndim)
    return [cgutils.alloca_once_value(builder, w) for w in words]


# -- memory --------------------------------------------------------------------------------------------------
@intrinsic
def device_empty(typingctx: Any, shape: Any, dtype: Any) -> Any:
    """A C-ordered array of a shape in the device's memory, with anything in it. BackendError (LD606) if there is none
    left."""
    if not isinstance(shape, types.BaseTuple) or not isinstance(dtype, types.NumberClass):
        return None
    ty = types.Array(dtype.dtype, len(shape), "C")

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        extents = [
            context.cast(builder, builder.extract_value(values[0], k), kind, types.int64)
            for k, kind in enumerate(sig.args[0])
        ]
        item = INT64(context.get_abi_sizeof(context.get_data_type(ty.dtype)))
        for extent in extents:
            with builder.if_then(builder.icmp_signed("<", extent, INT64(0)), likely=False):
                context.call_conv.return_user_exc(builder, ValueError, ("negative dimensions are not allowed",))
        strides, size = [], item
        for extent in reversed(extents):
            strides.insert(0, size)
            size = builder.mul(size, extent)
        place = cgutils.alloca_once_value(builder, INT64(0))
        some = builder.select(builder.icmp_signed(">", size, INT64(0)), size, INT64(1))
        call_driver(
            context, builder, "cuMemAllocAsync", [place, some, handle(builder, "stream")],
            "LD606: the device has no memory left",
        )  # fmt: skip
        hold(builder, builder.load(place))
        array = make_array(ty)(context, builder)
        data = builder.inttoptr(builder.load(place), context.get_data_type(ty.dtype).as_pointer())
        populate_array(array, data, extents, strides, item, None)
        return array._getvalue()

    return signature(ty, shape, dtype), lower


@intrinsic
def release(typingctx: Any, array: Any) -> Any:
    """Give back the memory of an array, once what was launched before is done with it."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        data = make_array(array)(context, builder, values[0]).data
        place = builder.ptrtoint(data, INT64)
        let_go(builder, place)
        call_driver(
            context, builder, "cuMemFreeAsync", [place, handle(builder, "stream")],
            "LD605: memory could not be given back",
        )  # fmt: skip
        return context.get_dummy_value()

    return (signature(types.void, array), lower) if isinstance(array, types.Array) else None


@intrinsic
def clear(typingctx: Any, array: Any) -> Any:
    """Set all bytes of an array without gaps to zero."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = make_array(array)(context, builder, values[0])
        set_to_zero(
            context, builder, builder.ptrtoint(found.data, INT64), builder.mul(found.nitems, found.itemsize)
        )  # fmt: skip
        return context.get_dummy_value()

    return (signature(types.void, array), lower) if isinstance(array, types.Array) else None


@intrinsic
def clear_rows(typingctx: Any, array: Any, first: Any, end: Any) -> Any:
    """Set the bytes of an array without gaps from place `first` to before `end` along its first axis to zero."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = make_array(array)(context, builder, values[0])
        given = zip(values[1:], sig.args[1:], strict=True)
        begin, stop = (context.cast(builder, value, kind, types.int64) for value, kind in given)
        stride = cgutils.unpack_tuple(builder, found.strides, array.ndim)[0]
        start = builder.add(builder.ptrtoint(found.data, INT64), builder.mul(begin, stride))
        set_to_zero(context, builder, start, builder.mul(builder.sub(stop, begin), stride))
        return context.get_dummy_value()

    return (signature(types.void, array, first, end), lower) if isinstance(array, types.Array) else None


def set_to_zero(context: Any, builder: Any, start: Any, size: Any) -> None:
    """Set so many bytes of the device from `start` on to zero, if there are any."""
    with builder.if_then(builder.icmp_signed(">", size, INT64(0))):
        call_driver(
            context, builder, "cuMemsetD8Async", [start, INT8(0), size, handle(builder, "stream")],
            "LD605: memory could not be set",
        )  # fmt: skip


@intrinsic
def peek(typingctx: Any, array: Any, *subscripts: Any) -> Any:
    """An element of an array of the device, once all that was launched before is done."""
    if not isinstance(array, types.Array):
        return None
    kinds = flat(subscripts)

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = make_array(array)(context, builder, values[0])
        strides = cgutils.unpack_tuple(builder, found.strides, array.ndim)
        place = builder.ptrtoint(found.data, INT64)
        for k, (kind, stride) in enumerate(zip(kinds, strides, strict=True)):
            index = context.cast(builder, builder.extract_value(values[1], k), kind, types.int64)
            place = builder.add(place, builder.mul(index, stride))
        held = cgutils.alloca_once(builder, context.get_data_type(array.dtype))
        stream = handle(builder, "stream")
        failure = "LD605: the device could not be read"
        call_driver(
            context, builder, "cuMemcpyDtoHAsync_v2",
            [builder.bitcast(held, POINTER), place, found.itemsize, stream], failure,
        )  # fmt: skip
        call_driver(context, builder, "cuStreamSynchronize", [stream], failure)
        return context.unpack_value(builder, array.dtype, held)

    return signature(array.dtype, array, types.StarArgTuple.from_types(subscripts)), lower
