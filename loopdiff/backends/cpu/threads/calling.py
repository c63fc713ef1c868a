"""What generated code says to the pool: whether loops are worth it, how many chunks they have, where these are cut, run
them, add up."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.cpu.direct import Direct, compile_part
from loopdiff.backends.cpu.threads.pool import BYTES, EAGER, INT32, INT64, RUN, emitted, load, the_state

# Nanoseconds that sharing a loop costs, and the least work of a chunk: where threads have to wake up, and where they
# look out for the next loop, as it comes again and again. Then it is two to six microseconds, as what one thread wrote
# is in the cache of another, and work is estimated at twice what stencils take.
ONCE, AGAIN = (50_000.0, 25_000.0), (8_000.0, 4_000.0)
MOST_CHUNKS = 64.0
# Chunks of nested loops: no number of threads finds much fewer of them in its share than another. And where they cost
# something.
ENOUGH, SOME = 16, 6
BLOCK = 1024  # elements of a sum that are brought together before the next ones
FILLED = 0.1  # nanoseconds for each byte of new memory
APART = 0.25  # of the work, at most, goes into what chunks have for themselves
MOST_APART = 32e6  # nanoseconds, at four an element: copies of sums take 64 MB together, or there are none


@njit
def is_worth(saved: float, lost: float) -> bool:
    """Whether what threads save is more than what is lost by the form that loops need for them, in nanoseconds."""
    return saved > lost or load(the_state() + EAGER) != 0


@njit
def saving(work: float, apart: float, runs: float) -> float:
    """Nanoseconds that two threads save in a loop that runs so often and takes about `work` each time."""
    cost, _ = AGAIN if runs > 1.0 else ONCE
    if apart > 0.0 and (work * APART < apart or apart > MOST_APART):
        return 0.0
    return runs * max(0.0, 0.5 * work - cost)


@njit
def share(
    trips: int, granule: int, reach: int, is_repeated: bool, work: float, apart: float
) -> tuple[int, int]:  # fmt: skip
    """(chunks, iterations of each) for a loop of `trips` iterations that takes about `work` nanoseconds.

    Chunks begin at multiples of `granule`, and are `reach` long at least. What each chunk but the first has for itself
    costs `apart` nanoseconds. The number of threads does not count, so that results do not depend on it.
    """
    cost, least = AGAIN if is_repeated else ONCE
    if load(the_state() + EAGER) != 0:
        most, granule = min(MOST_CHUNKS, float(trips // reach)), reach
    elif work < 2.0 * cost:
        most = 1.0
    else:
        most = min(MOST_CHUNKS, work / least, float(trips // granule))
        if apart > 0.0:
            most = min(most, 1.0 + work * APART / apart, 1.0 + MOST_APART / apart)
            most -= most % 2.0  # few chunks shall be fair to two threads
    if most < 2.0:
        return 1, max(trips, 0)
    size = -(-trips // int(most))
    size = -(-size // granule) * granule
    return -(-trips // size), size


@njit(error_model="numpy", pipeline_class=Direct)  # which takes a tenth of the time to compile
def cut(trips: int, granule: int, least: int, is_dear: bool, chunks: int, wanted: int) -> tuple[int, int]:
    """(pieces, iterations of each) that each of `chunks` chunks is cut into, along a loop of `trips` iterations, where
    `wanted` chunks are the most that are worth it.

    Pieces begin at multiples of `granule` and are `least` long at least. If they are `is_dear`, chunks that are fair to
    two threads stay whole.
    """
    if load(the_state() + EAGER) != 0:
        most, granule = min(trips, wanted // chunks), 1
    elif is_dear and chunks % 2 == 0:
        most = 1
    else:
        most = min(trips // least, -(-min(wanted, SOME if is_dear else ENOUGH) // chunks))
    if most < 2:
        return 1, max(trips, 0)
    size = -(-trips // most)
    size = -(-size // granule) * granule
    return -(-trips // size), size


def run_as(turns: int) -> Any:
    """An intrinsic that runs chunks in that many turns."""

    def run(typingctx: Any, function: Any, count: Any, *given: Any) -> Any:
        if not isinstance(function, types.Dispatcher):
            return None
        dispatcher: Any = function.dispatcher
        called = signature(types.none, types.int64, *map(types.unliteral, flat(given)))

        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            found = compile_part(context, dispatcher.py_func, called)
            chunks = context.cast(builder, values[1], sig.args[1], types.int64)
            parts = flat_values(context, builder, given, values[2])
            packed = context.make_tuple(builder, types.Tuple(called.args[1:]), parts)
            with builder.if_else(builder.icmp_signed("<=", chunks, INT64(1))) as (one, several):
                with one:
                    context.call_internal(builder, found.fndesc, called, [INT64(0), *parts])
                with several:
                    share_out(context, builder, (found.fndesc, called), chunks, packed, turns)
            return context.get_dummy_value()

        return signature(types.void, function, count, types.StarArgTuple.from_types(given)), lower

    return run


@emitted
def run_aside(typingctx: Any, function: Any, like: Any, *given: Any) -> Any:
    """Call the jitted `function(*given)`, which gives something of the type of `like`, as a part of the caller; some of
    what is given may come together in tuples."""
    if not isinstance(function, types.Dispatcher):
        return None
    dispatcher: Any = function.dispatcher
    called = signature(without_value(like), *map(types.unliteral, flat(given)))

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = compile_part(context, dispatcher.py_func, called)
        parts = flat_values(context, builder, given, values[2])
        return context.call_internal(builder, found.fndesc, called, parts)

    return signature(called.return_type, function, like, types.StarArgTuple.from_types(given)), lower


def flat(given: Any) -> tuple[Any, ...]:
    """The types of arguments, of which some come together in tuples."""
    return tuple(t for kind in given for t in getattr(kind, "types", (kind,)))


def flat_values(context: Any, builder: Any, given: Any, packed: Any) -> list[Any]:
    """Their values, as functions get them that know nothing of literals."""
    found: list[Any] = []
    for kind, value in zip(given, cgutils.unpack_tuple(builder, packed), strict=True):
        found += cgutils.unpack_tuple(builder, value) if hasattr(kind, "types") else [value]
    return [context.cast(builder, v, t, types.unliteral(t)) for v, t in zip(found, flat(given), strict=True)]


def without_value(kind: Any) -> Any:
    """The type of a result, but for the values of literals."""
    parts = getattr(kind, "types", None)
    return types.unliteral(kind) if parts is None else types.Tuple(tuple(map(types.unliteral, parts)))


# Call the jitted `function(chunk, *given)` for every chunk below `count`, on the pool if there are several; some of
# what is given may come together in tuples. What one chunk raises is raised when all have ended. `run_in_turns`: first
# the even chunks, then the odd ones.
run_in_chunks = intrinsic(run_as(1))
run_in_turns = intrinsic(run_as(2))


def share_out(context: Any, builder: Any, function: Any, chunks: Any, packed: Any, turns: int) -> None:
    """Hand the chunks to the pool; the error of the first chunk that has one becomes one of the caller."""
    fndesc, called = function
    slots = llvm_ir.LiteralStructType([packed.type, INT64, INT64, INT32, BYTES])
    place = cgutils.alloca_once(builder, slots)
    given, turn, failed, error, told = (cgutils.gep_inbounds(builder, place, 0, k) for k in range(5))
    builder.store(packed, given)
    builder.store(chunks, failed)
    entry, status = entry_of_chunk(context, builder.module, function, slots, turns)
    kind = llvm_ir.FunctionType(INT64, [INT64, INT64, INT64])
    run = cgutils.get_or_insert_function(builder.module, kind, RUN)
    for number in range(turns):
        builder.store(INT64(number), turn)
        count = builder.sdiv(builder.add(chunks, INT64(turns - 1 - number)), INT64(turns))
        ended = builder.call(run, [builder.ptrtoint(entry, INT64), builder.ptrtoint(place, INT64), count])
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", ended, INT64(0))):
            context.call_conv.return_exc(builder)
    first = builder.load(failed)
    with cgutils.if_unlikely(builder, builder.icmp_signed("<", first, chunks)):
        # What is checked fails again; what failed otherwise, as for want of memory, may not, and is raised as it was.
        context.call_internal(builder, fndesc, called, [first, *cgutils.unpack_tuple(builder, packed)])
        info = builder.bitcast(builder.load(told), status.excinfoptr.type)
        known = status._replace(code=builder.load(error), excinfoptr=info)
        context.call_conv.return_status_propagate(builder, known)


def entry_of_chunk(context: Any, module: Any, function: Any, slots: Any, turns: int) -> tuple[Any, Any]:
    """A function `(environment, number)` that unpacks the environment, and the status of the call in it.

    It returns 1 if the chunk was interrupted, otherwise 0; the first chunk with another error leaves that behind."""
    fndesc, called = function
    name = module.get_unique_name(f"{fndesc.llvm_func_name}.chunk")
    entry = llvm_ir.Function(module, llvm_ir.FunctionType(INT64, [INT64, INT64]), name)
    entry.linkage = "internal"
    inside = llvm_ir.IRBuilder(entry.append_basic_block("entry"))
    place = inside.inttoptr(entry.args[0], slots.as_pointer())
    given, turn, failed, error, told = (cgutils.gep_inbounds(inside, place, 0, k) for k in range(5))
    items = cgutils.unpack_tuple(inside, inside.load(given))
    chunk = inside.add(inside.mul(entry.args[1], INT64(turns)), inside.load(turn))
    status, _ = context.call_internal_no_propagate(inside, fndesc, called, [chunk, *items])
    with cgutils.if_unlikely(inside, status.is_python_exc):
        inside.ret(INT64(1))
    with cgutils.if_unlikely(inside, status.is_error):
        inside.store(inside.bitcast(status.excinfoptr, BYTES), told)
        inside.store(status.code, error)
        inside.atomic_rmw("min", failed, chunk, "seq_cst")
    inside.ret(INT64(0))
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


@njit
def fill_chunk(chunk: int, target: Any, value: Any, size: int) -> None:
    for k in range(chunk * size, min((chunk + 1) * size, target.shape[0])):
        target[k] = value


@njit
def fill(target: Any, value: Any) -> None:
    """Set all elements of `target`, which is new memory as a rule, so that it has to be found first."""
    count = target.shape[0]
    chunks, size = share(count, BLOCK, 1, False, FILLED * target.itemsize * count, 0.0)
    run_in_chunks(fill_chunk, chunks, target, value, size)
