"""A call's arguments: put in order, recognised by a cheap key, and checked before any memory is touched."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from typing import Any, cast

import numpy as np

from loopdiff.backends.python_objects import ALIGNED, WRITEABLE
from loopdiff.calls.runs import ReverseRun, sweeps_of, with_spare
from loopdiff.calls.sweep_entry_points import gradient_entry, one_pass_entry, vjp_entry
from loopdiff.calls.tangents import tangent_run
from loopdiff.errors import NOWHERE, ArgumentError, Diagnostic
from loopdiff.errors.codes import reject
from loopdiff.frontend.extents import questions_about
from loopdiff.source.parameters import BY_NAME, BY_POSITION
from loopdiff.specialize.entry_points import CallChecks, guard, primal_launcher
from loopdiff.specialize.interface import as_pairs
from loopdiff.specialize.shortage import Needs
from loopdiff.specialize.specialization import Specialization, require_scalar_result

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
PLAIN_SCALARS = (float, np.float64, np.float32, bool, np.complex64)
OVERLAP_WORK = 10_000
SPARE = 8
Key = tuple[Any, ...]
Arguments = tuple[Any, ...]


def call_key(args: Sequence[Any]) -> Key:
    """What decides the checks of a call and the types it runs with: everything but values and extents."""
    return tuple((type(a), a.dtype, a.ndim, a.flags.num) if isinstance(a, np.ndarray) else type(a) for a in args)


def positional_count(signature: inspect.Signature) -> int | None:
    """How many arguments, all by position, need no arranging; None if some go only by name, or there may be any number
    of them."""
    kinds = [p.kind for p in signature.parameters.values()]
    return len(kinds) if all(k in BY_POSITION for k in kinds) else None


def names_and_defaults(signature: inspect.Signature) -> tuple[tuple[str, Any], ...] | None:
    """The parameters, with their defaults, where all may be given by name; None for others."""
    parameters = signature.parameters.values()
    if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        return None
    return tuple((p.name, p.default) for p in parameters)


def given_by_name(
    parameters: tuple[tuple[str, Any], ...], args: Arguments, named: Mapping[str, Any]
) -> Arguments | None:  # fmt: skip
    """All arguments in the order of `parameters`; None where one is missing or too many, which is said elsewhere."""
    values, left = list(args), len(named)
    for name, default in parameters[len(args) :]:
        if name in named:
            values.append(named[name])
            left -= 1
        elif default is inspect.Parameter.empty:
            return None
        else:
            values.append(default)
    return None if left or len(values) > len(parameters) else tuple(values)


def arguments_in_order(signature: inspect.Signature, name: str, args: Arguments, named: Mapping[str, Any]) -> Arguments:
    """All arguments in parameter order, defaults included; what goes to `*rest` is a tuple, to `**options` a
    dictionary. Raises ArgumentError (LD301, LD302)."""
    parameters = signature.parameters
    by_position = [p.name for p in parameters.values() if p.kind in BY_POSITION]
    found = list(misplaced(signature, name, args, named))
    takes_others = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    taken = {n: v for n, v in named.items() if n in parameters and parameters[n].kind in BY_NAME}
    values = dict(zip(by_position, args, strict=False)) | taken
    for parameter in parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            values[parameter.name] = args[len(by_position) :]
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            values[parameter.name] = {n: v for n, v in named.items() if n not in taken}
        elif parameter.name not in values:
            is_misplaced = parameter.name in named and not takes_others  # which has been said
            if parameter.default is inspect.Parameter.empty and not is_misplaced:
                message = f"`{name}` was called without `{parameter.name}`"
                found.append(reject("LD301", message, NOWHERE))
            values[parameter.name] = parameter.default
    if found:
        raise ArgumentError(*found)
    return tuple([values[p] for p in parameters])


def misplaced(
    signature: inspect.Signature, name: str, args: Arguments, named: Mapping[str, Any]
) -> Iterator[Diagnostic]:
    """Arguments that no parameter takes, or that one parameter would take twice."""
    parameters = list(signature.parameters)
    kinds = [p.kind for p in signature.parameters.values()]
    most = sum(k in BY_POSITION for k in kinds)
    if len(args) > most and inspect.Parameter.VAR_POSITIONAL not in kinds:
        by_name = " by position" if most < len(kinds) else ""
        plural = "" if most == 1 else "s"
        message = f"`{name}` takes {most} argument{plural}{by_name}, was called with {len(args)}"
        yield reject("LD302", message, NOWHERE)
    takes_others = inspect.Parameter.VAR_KEYWORD in kinds
    for given in named:
        kind = kinds[parameters.index(given)] if given in parameters else None
        if kind in BY_NAME:
            if kind in BY_POSITION and parameters.index(given) < len(args):
                yield reject("LD302", f"`{name}` was given `{given}` twice", NOWHERE)
        elif not takes_others and kind is inspect.Parameter.POSITIONAL_ONLY:
            yield reject("LD302", f"`{name}` takes `{given}` by position only", NOWHERE)
        elif not takes_others:
            yield reject("LD302", f"`{name}` has no parameter `{given}`", NOWHERE)


def plain_array(value: np.ndarray) -> np.ndarray:
    """An array of a subclass as a plain array over the same memory."""
    return value.view(np.ndarray)


class Alias:
    """Gives compiled code, which is typed for writable arrays, a read-only array that it does not write."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.__array_interface__["data"][0], False),
        }


def writable_alias(array: np.ndarray) -> np.ndarray:
    return np.asarray(Alias(array))


def checked_int(value: Any) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise ArgumentError(reject("LD306", f"the integer {value} does not fit in 64 bits", NOWHERE))
    return int(value)


def converter_of(value: Any) -> Callable[[Any], Any] | None:
    """How a value like this one is prepared for compiled code; None: it is passed on as it is."""
    if isinstance(value, np.ndarray):
        return array_converter(value)
    if type(value) in PLAIN_SCALARS or isinstance(value, complex):
        return None
    if isinstance(value, np.bool_):
        return bool
    if isinstance(value, int | np.integer):
        return checked_int
    return float


def array_converter(value: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    steps: list[Callable[[np.ndarray], np.ndarray]] = []
    if type(value) is not np.ndarray:
        steps.append(plain_array)
    if not value.flags.num & WRITEABLE:
        steps.append(writable_alias)
    if value.dtype.kind == "c":
        steps.append(as_pairs)
    if len(steps) < 2:
        return steps[0] if steps else None
    return lambda array: reduce(lambda a, step: step(a), steps, array)


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share an element; True if that is too hard to decide."""
    try:
        return np.shares_memory(a, b, max_work=cast(Any, OVERLAP_WORK))
    except np.exceptions.TooHardError:
        return True


def repeats(array: np.ndarray) -> bool:
    """Whether two elements of a strided array may be the same memory."""
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    reach = array.itemsize
    for stride, extent in axes:
        if stride < reach:
            return array.size > 0
        reach += stride * (extent - 1)
    return False


def totals_of(specialization: Specialization, args: Arguments) -> tuple[int, ...]:
    """The integers `count_names` of a gradient's program: found by the sweeps that it was made of.

    Those that only a forward sweep can find may come out otherwise in another program, as rounding decides them: there
    is room to spare, and a tape that is too short all the same is refused (LD347).
    """
    assert specialization.inner is not None
    sweeps = sweeps_of(specialization.inner, "sums")
    found = sweeps.counts(args)
    return with_spare(found, SPARE) if sweeps.units.plan.count_tapes else found


class Checked:
    """What is known about calls of one kind: their specialization, and checked entry points.

    `looks_at_values`: whether its entry points choose sweeps by values themselves, where options ask for that.
    """

    looks_at_values = False

    def __init__(self, specialization: Specialization, args: Arguments) -> None:
        """Raises ArgumentError (LD303, LD305, LD307) for arrays that no call may pass."""
        self.specialization = specialization
        self.names = specialization.interface.names
        self.checks = self.choose_checks(args)
        self.guard = guard(args, questions_about(specialization.asked, self.names))
        self.prepare = self.checks.prepare()
        self.launchers: dict[int, Callable[..., Any]] = {}

    def choose_checks(self, args: Arguments) -> CallChecks:
        written = [i for i, n in enumerate(self.names) if n in self.specialization.written]
        arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
        found = [d for i in arrays for d in refusals(self.names[i], args[i], i in written)]
        if found:
            raise ArgumentError(*found)
        converters = [(i, converter_of(a)) for i, a in enumerate(args)]
        return CallChecks(
            len(args),
            pairs=tuple((i, j) for i in written for j in arrays if j not in written or i < j),
            strided=tuple(i for i in written if not args[i].flags.forc),
            conversions=tuple((i, c) for i, c in converters if c is not None),
            complex_numbers=tuple(i for i, a in enumerate(args) if isinstance(a, complex | np.complexfloating)),
            refuse_overlap=self.refuse_overlap,
            refuse_repeats=self.refuse_repeats,
            totals=partial(totals_of, self.specialization),
            total_count=len(self.specialization.count_names),
        )

    @cached_property
    def primal(self) -> Callable[..., Any]:
        """The compiled function behind its checks."""
        spec = self.specialization
        needs = Needs(spec.normal.name, spec.normal.params, (spec.primal.ls,))
        return primal_launcher(self.checks, spec.primal.call, spec.finish, spec.primal.refuse, needs)

    @cached_property
    def value_and_grad(self) -> Callable[..., Any]:
        """Both sweeps behind their checks. DifferentiationError (LD404) unless the result is a number."""
        spec = self.specialization
        require_scalar_result(spec)
        if spec.one_pass is not None:
            return one_pass_entry(self.checks.script(), spec, spec.one_pass)
        return gradient_entry(self.checks.script(), sweeps_of(spec, "gradient"))

    def jvp(self, args: Arguments, tangents: Mapping[str, Any]) -> tuple[Any, Any]:
        """Forward mode behind the same checks."""
        run, prepared = tangent_run(self.specialization), self.prepare(*args)
        try:
            return run.jvp(prepared, tangents)
        except MemoryError as error:
            needs = Needs(run.ls.name, run.ls.params, (run.unit.ls,))
            raise needs.refusal(prepared, error) from None

    @cached_property
    def vjp(self) -> Callable[..., Any]:
        """The forward sweep behind its checks."""
        return vjp_entry(self.checks.script(), sweeps_of(self.specialization, "pullback"))

    def launcher(self, run: ReverseRun) -> Callable[..., Any]:
        """The sweeps of `run` behind the same checks."""
        found = self.launchers.get(id(run))
        if found is None:
            found = self.launchers[id(run)] = gradient_entry(self.checks.script(), run)
        return found

    def refuse_overlap(self, i: int, j: int, a: np.ndarray, b: np.ndarray) -> None:
        """Raise ArgumentError (LD304) if `a`, which is written, and `b` share an element."""
        if overlap(a, b):
            raise ArgumentError(overlapping(self.names[i], self.names[j]))

    def refuse_repeats(self, i: int, a: np.ndarray) -> None:
        """Raise ArgumentError (LD308) if two elements of `a`, which is written, are the same memory."""
        if repeats(a):
            raise ArgumentError(repeating(self.names[i]))


def overlapping(written: str, other: str) -> Diagnostic:
    """Why two arrays cannot be passed that share an element."""
    return reject("LD304", f"`{written}`, which is written, shares memory with `{other}`", NOWHERE)


def repeating(written: str) -> Diagnostic:
    """Why an array cannot be passed of which two elements are the same memory."""
    return reject("LD308", f"elements of `{written}`, which is written, share memory", NOWHERE)


def refusals(name: str, value: np.ndarray, is_written: bool) -> Iterator[Diagnostic]:
    """Why an array cannot be passed as `name`."""
    flags = value.flags.num
    if isinstance(value, np.ma.MaskedArray):
        yield reject("LD307", f"`{name}` is a masked array", NOWHERE)
    if not flags & ALIGNED:
        yield reject("LD305", f"the elements of `{name}` are not aligned in memory", NOWHERE)
    if is_written and not flags & WRITEABLE:
        yield reject("LD303", f"`{name}` is written, and the array is read-only", NOWHERE)
