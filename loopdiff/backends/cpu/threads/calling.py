"""What generated code says to the pool: how many chunks a loop has, run them, add up what they summed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.cpu.threads.pool import BYTES, EAGER, INT32, INT64, RUN, load, the_state

# Nanoseconds of work below which a loop is not shared, and below which no chunk of it is.
LEAST_WORK, LEAST_CHUNK, MOST_CHUNKS = 200_000.0, 25_000.0, 64.0
BLOCK = 1024  # elements of a sum that are brought together before the next ones
APART = 0.25  # of the work, at most, goes into what chunks have for themselves
MOST_APART = 32e6  # nanoseconds, at four an element: copies of sums take 64 MB together, or there are none


@njit
def is_worth(work: float) -> bool:
    """Whether about `work` nanoseconds in one loop are worth being shared."""
    return work >= LEAST_WORK or load(the_state() + EAGER) != 0


@njit
def share(trips: int, granule: int, reach: int, work: float, apart: float) -> tuple[int, int]:
    """(chunks, iterations of each) for a loop of `trips` iterations that takes about `work` nanoseconds.

    Chunks begin at multiples of `granule`, and are `reach` long at least. What each chunk but the first has for itself
    costs `apart` nanoseconds. The number of threads does not count, so that results do not depend on it.
    """
    if load(the_state() + EAGER) != 0:
        most, granule = min(MOST_CHUNKS, float(trips // reach)), reach
    elif work < LEAST_WORK:
        most = 1.0
    else:
        most = min(MOST_CHUNKS, work / LEAST_CHUNK, float(trips // granule))
        if apart > 0.0:
            most = min(most, 1.0 + work * APART / apart, 1.0 + MOST_APART / apart)
            most -= most % 2.0  # few chunks shall be fair to two threads
    if most < 2.0:
        return 1, max(trips, 0)
    size = -(-trips // int(most))
    size = -(-size // granule) * granule
    return -(-trips // size), size


def run_as(turns: int) -> Any:
    """An intrinsic that runs chunks in that many turns."""

    def run(typingctx: Any, function: Any, count: Any, *given: Any) -> Any:
        if not isinstance(function, types.Dispatcher):
            return None
        dispatcher: Any = function.dispatcher
        kinds = [types.int64, *(types.unliteral(t) for t in given)]
        called = signature(types.none, *kinds)

        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            # As a part of the caller: compiled on its own it would be optimised and written to machine code twice.
            flags = ConfigStack().top().copy()
            found = context.compile_subroutine(builder, dispatcher.py_func, called, flags=flags, caching=False)
            chunks = context.cast(builder, values[1], sig.args[1], types.int64)
            packed = context.cast(builder, values[2], sig.args[2], types.Tuple(kinds[1:]))
            parts = cgutils.unpack_tuple(builder, packed)
            with builder.if_else(builder.icmp_signed("<=", chunks, INT64(1))) as (one, several):
                with one:
                    context.call_internal(builder, found.fndesc, called, [INT64(0), *parts])
                with several:
                    share_out(context, builder, (found.fndesc, called), chunks, packed, turns)
            return context.get_dummy_value()

        return signature(types.void, function, count, types.StarArgTuple.from_types(given)), lower

    return run


# Call the jitted `function(chunk, *given)` for every chunk below `count`, on the pool if there are several. What one
# chunk raises is raised when all have ended. `run_in_turns`: first the even chunks, then the odd ones.
run_in_chunks = intrinsic(run_as(1))
run_in_turns = intrinsic(run_as(2))


def share_out(context: Any, builder: Any, function: Any, chunks: Any, packed: Any, turns: int) -> None:
    """Hand the chunks to the pool; the error of the first chunk that has one becomes one of the caller."""
    fndesc, called = function
    slots = ir.LiteralStructType([packed.type, INT64, INT64, INT32, BYTES])
    place = cgutils.alloca_once(builder, slots)
    given, turn, failed, error, told = (cgutils.gep_inbounds(builder, place, 0, k) for k in range(5))
    builder.store(packed, given)
    builder.store(chunks, failed)
    entry, status = entry_of_chunk(context, builder.module, function, slots, turns)
    kind = ir.FunctionType(ir.VoidType(), [INT64, INT64, INT64])
    run = cgutils.get_or_insert_function(builder.module, kind, RUN)
    for number in range(turns):
        builder.store(INT64(number), turn)
        count = builder.sdiv(builder.add(chunks, INT64(turns - 1 - number)), INT64(turns))
        builder.call(run, [builder.ptrtoint(entry, INT64), builder.ptrtoint(place, INT64), count])
    first = builder.load(failed)
    with cgutils.if_unlikely(builder, builder.icmp_signed("<", first, chunks)):
        # What is checked fails again; what failed otherwise, as for want of memory, may not, and is raised as it was.
        context.call_internal(builder, fndesc, called, [first, *cgutils.unpack_tuple(builder, packed)])
        info = builder.bitcast(builder.load(told), status.excinfoptr.type)
        known = status._replace(code=builder.load(error), excinfoptr=info)
        context.call_conv.return_status_propagate(builder, known)


def entry_of_chunk(context: Any, module: Any, function: Any, slots: Any, turns: int) -> tuple[Any, Any]:
    """A function `(environment, number)` that unpacks the environment, and the status of the call in it."""
    fndesc, called = function
    name = module.get_unique_name(f"{fndesc.llvm_func_name}.chunk")
    entry = ir.Function(module, ir.FunctionType(ir.VoidType(), [INT64, INT64]), name)
    entry.linkage = "internal"
    inside = ir.IRBuilder(entry.append_basic_block("entry"))
    place = inside.inttoptr(entry.args[0], slots.as_pointer())
    given, turn, failed, error, told = (cgutils.gep_inbounds(inside, place, 0, k) for k in range(5))
    items = cgutils.unpack_tuple(inside, inside.load(given))
    chunk = inside.add(inside.mul(entry.args[1], INT64(turns)), inside.load(turn))
    status, _ = context.call_internal_no_propagate(inside, fndesc, called, [chunk, *items])
    with cgutils.if_unlikely(inside, status.is_error):
        inside.store(inside.bitcast(status.excinfoptr, BYTES), told)
        inside.store(status.code, error)
        inside.atomic_rmw("min", failed, chunk, "seq_cst")
    inside.ret_void()
    return entry, status


@njit
def add_parts(target: Any, parts: Any) -> None:
    """Add to `target` what the chunks summed, one after the other; both contiguous in the same order of axes."""
    total, given = target.reshape(-1), parts.reshape((parts.shape[0], -1))
    for start in range(0, total.shape[0], BLOCK):
        stop = min(start + BLOCK, total.shape[0])
        for number in range(given.shape[0]):
            for k in range(start, stop):
                total[k] += given[number, k]
