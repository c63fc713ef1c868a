"""Calls of functions for GPUs: arrays of the device are taken as they are, those of the host are sent once.

Nothing is copied of the first, and what comes back is of the same library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from loopdiff.backends.cuda.driver import the_driver
from loopdiff.backends.cuda.streams import DEFAULT, Stream
from loopdiff.calls.pullback import Pullback
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.memory.foreign import DeviceArray, borrowed, is_foreign, library_of, stream_of

if TYPE_CHECKING:
    from loopdiff.calls.arguments import Checked
    from loopdiff.calls.runs import ReverseRun
    from loopdiff.specialize.specialization import Specialization

Give = Callable[[Any], Any]
Taken = AbstractContextManager[tuple[tuple[Any, ...], Give]]
Taker = Callable[[tuple[Any, ...]], Taken]


class Twin(Protocol):
    """A function for arrays that stay on the device, as `differentiable.Differentiable` is one."""

    __name__: str

    def checked(self, args: tuple[Any, ...]) -> Any:
        """Its entry points for arguments like these."""
        ...


class DeviceCalls:
    """Entry points of a function for arrays of the device, as `call.Checked` has them for those of the host.

    Everything runs on the stream of the first array if somebody keeps that one, or else on the default stream; those
    of others are waited for. `twin` is the same function for arrays that stay on the device.
    """

    looks_at_values = False

    def __init__(self, twin: Twin) -> None:
        self.twin = twin

    @property
    def specialization(self) -> Specialization:
        message = "arrays of the device are for calls, `grad`, `value_and_grad`, `vjp` and `jvp`"
        hint = "pass NumPy arrays here, and with `memory_limit` or `check='first'`"
        raise ArgumentError(reject("LD608", message, NOWHERE, hint))

    def guard(self, *args: Any) -> bool:
        """Arrays of other libraries are looked at in each call."""
        return False

    def prepare(self, *args: Any) -> tuple[Any, ...]:
        raise AssertionError(self.specialization)

    def launcher(self, run: ReverseRun) -> Callable[..., Any]:
        raise AssertionError(self.specialization)

    def primal(self, *args: Any) -> Any:
        with borrowing(self.twin, args) as (own, give):
            return give(self.twin.checked(own).primal(*own))

    def value_and_grad(self, *args: Any) -> Any:
        with borrowing(self.twin, args) as (own, give):
            return give(self.twin.checked(own).value_and_grad(*own))

    def jvp(self, args: tuple[Any, ...], tangents: Mapping[str, Any]) -> Any:
        with borrowing(self.twin, (*args, *tangents.values())) as (own, give):
            along, own = dict(zip(tangents, own[len(args) :], strict=True)), own[: len(args)]
            return give(self.twin.checked(own).jvp(own, along))

    def vjp(self, *args: Any) -> tuple[Any, Pullback]:
        like = next(a for a in args if is_foreign(a))
        with borrowing(self.twin, args) as (own, give):
            value, pullback = self.twin.checked(own).vjp(*own)
            take = partial(borrowing, self.twin, like=like, after=the_driver().current)
            return give(value), DevicePullback(pullback, take)


class SentCalls:
    """Entry points of a function for arrays of the host: sent once for all sweeps of a call, after the checks of the
    CPU, and fetched once where they are written."""

    looks_at_values = False

    def __init__(self, twin: Twin, checked: Checked, say_copied: Callable[[], None]) -> None:
        self.twin, self.checked, self.specialization = twin, checked, checked.specialization
        self.say_copied = say_copied
        self.guard, self.prepare, self.launcher, self.jvp = (
            checked.guard,
            checked.prepare,
            checked.launcher,
            checked.jvp,
        )
        written = checked.specialization.written
        self.written = tuple(i for i, n in enumerate(checked.names) if n in written)

    def primal(self, *args: Any) -> Any:
        with self.sent(args) as (own, give):
            return give(self.twin.checked(own).primal(*own))

    def value_and_grad(self, *args: Any) -> Any:
        with self.sent(args) as (own, give):
            return give(self.twin.checked(own).value_and_grad(*own))

    def vjp(self, *args: Any) -> tuple[Any, Pullback]:
        with self.sent(args) as (own, give):
            value, pullback = self.twin.checked(own).vjp(*own)
            return give(value), DevicePullback(pullback, receiving)

    def sent(self, args: tuple[Any, ...]) -> Taken:
        # What the checks find out beside the arguments, the twin finds out, too.
        prepared = self.prepare(*args)[: len(self.checked.names)]
        the_driver()  # or there is none, and nothing is copied
        self.say_copied()
        return sending(prepared, self.written)


class DevicePullback(Pullback):
    """A pullback whose arrays are on the device; `take` brings seeds and cotangents there, and gradients back."""

    def __init__(self, pullback: Pullback, take: Taker) -> None:
        self.pullback, self.take, self.run = pullback, take, pullback.run

    def __call__(self, /, *seed: Any, **cotangents: Any) -> Any:
        parts = [tuple(s) if isinstance(s, tuple | list) else (s,) for s in seed]
        with self.take((*chain.from_iterable(parts), *cotangents.values())) as (own, give):
            rest = iter(own)
            seeds = [tuple(next(rest) for _ in part) for part in parts]
            ready = [a if isinstance(s, tuple | list) else a[0] for s, a in zip(seed, seeds, strict=True)]
            return give(self.pullback(*ready, **dict(zip(cotangents, rest, strict=True))))


@contextmanager
def borrowing(
    twin: Twin, args: tuple[Any, ...], like: Any = None, after: Stream | None = None
) -> Iterator[tuple[tuple[Any, ...], Give]]:  # fmt: skip
    """The arguments as arrays over the same memory, and what makes of results arrays of the library of `like`, or else
    of the first argument that is one.

    What was put on the stream `after` is waited for. Where several streams are concerned, nobody but we know when the
    results are there, nor when their memory is used no more: they are finished before they are given.
    """
    refuse_host(twin, args)
    own = tuple(borrowed(a) if is_foreign(a) else a for a in args)
    known = {id(view): a for view, a in zip(own, args, strict=True) if isinstance(view, np.ndarray)}
    refuse_complex(twin, own)
    foreign = [*([] if like is None else [like]), *known.values()]
    driver, library = the_driver(), library_of(foreign[0])
    named = [*map(stream_of, foreign), *([] if after is None else [after])]
    stream = named[0] if named[0].is_kept else DEFAULT
    others = set(named) - {stream}
    is_waited_for = bool(others) or library.stream is None

    def give(array: np.ndarray) -> Any:
        if id(array) in known:
            return known[id(array)]
        return library.made(DeviceArray(array, is_in_order=not is_waited_for), foreign[0])

    def finish() -> None:
        if is_waited_for:
            driver.synchronize()

    def finished(found: Any) -> Any:
        finish()
        return given(give, found)

    with driver.running(stream):
        for other in others:
            driver.synchronize(other)
        try:
            yield own, finished
        except BaseException:
            finish()  # what was launched before may use the arguments still
            raise


@contextmanager
def sending(args: tuple[Any, ...], written: tuple[int, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Give]]:
    """The arguments as arrays of the device, and what fetches results; those that are `written` are brought back."""
    driver = the_driver()
    with driver.running():
        own = tuple(driver.copied_in(a) if isinstance(a, np.ndarray) else a for a in args)
        known = {id(there): here for there, here in zip(own, args, strict=True) if isinstance(there, np.ndarray)}
        yield own, partial(given, lambda array: known[id(array)] if id(array) in known else driver.fetched(array))
        for i in written:
            driver.copy_out(own[i], args[i])


@contextmanager
def receiving(args: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Give]]:
    """The arguments as they are, seeds and cotangents of the host, and what fetches results."""
    driver = the_driver()
    with driver.running():
        yield args, partial(given, driver.fetched)


def given(give: Callable[[np.ndarray], Any], found: Any) -> Any:
    """Results with what `give` makes of each array among them."""
    if isinstance(found, tuple):
        return tuple.__new__(type(found), (given(give, part) for part in found))
    return give(found) if isinstance(found, np.ndarray) else found


def refuse_host(twin: Twin, args: tuple[Any, ...]) -> None:
    """Raise ArgumentError (LD608) for arrays of the host among those of the device."""
    if any(isinstance(a, np.ndarray) for a in args):
        message = f"`{twin.__name__}` got arrays of the device and of the host"
        hint = "send those of the host once: `loopdiff.cuda.to_device(x)`"
        raise ArgumentError(reject("LD608", message, NOWHERE, hint))


def refuse_complex(twin: Twin, args: tuple[Any, ...]) -> None:
    """Raise ArgumentError (LD608) for complex arrays of the device."""
    if any(isinstance(a, np.ndarray) and a.dtype.kind == "c" for a in args):
        message = f"`{twin.__name__}` got a complex array of the device"
        raise ArgumentError(reject("LD608", message, NOWHERE, "pass NumPy arrays"))
