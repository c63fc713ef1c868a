"""Calls with arrays of the device: nothing is copied, and what comes back is of the same library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from loopdiff.backends.cuda.driver import the_driver
from loopdiff.codes import reject
from loopdiff.device.foreign import borrowed, in_kind, is_foreign, stream_of, waits_for_nobody
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.pullback import Pullback

if TYPE_CHECKING:
    from loopdiff.api import Differentiable

Give = Callable[[Any], Any]


class DeviceCalls:
    """Entry points of a function for arrays of the device, as `call.Checked` has them for those of the host.

    Everything runs on the stream of the first array; those of others are waited for. `twin` is the same function for
    arrays that stay on the device.
    """

    def __init__(self, twin: Differentiable) -> None:
        self.twin = twin

    @property
    def specialization(self) -> NoReturn:
        message = "arrays of the device are for calls, `grad`, `value_and_grad`, `vjp` and `jvp`"
        raise ArgumentError(reject("LD608", message, NOWHERE, "pass NumPy arrays here"))

    def guard(self, *args: Any) -> bool:
        """Arrays of other libraries are looked at in each call."""
        return False

    def prepare(self, *args: Any) -> tuple[Any, ...]:
        return self.specialization

    def launcher(self, run: Any) -> Callable[..., Any]:
        return self.specialization

    def primal(self, *args: Any) -> Any:
        with taken(self.twin, args) as (own, give):
            return give(self.twin(*own))

    def value_and_grad(self, *args: Any) -> Any:
        with taken(self.twin, args) as (own, give):
            return give(self.twin.value_and_grad(*own))

    def jvp(self, args: tuple[Any, ...], tangents: Mapping[str, Any]) -> Any:
        named = tuple(tangents.values())
        with taken(self.twin, (*args, *named)) as (own, give):
            along = dict(zip(tangents, own[len(args) :], strict=True))
            return give(self.twin.jvp(own[: len(args)], along))

    def vjp(self, *args: Any) -> tuple[Any, DevicePullback]:
        with taken(self.twin, args) as (own, give):
            value, pullback = self.twin.vjp(*own)
            like = next(a for a in args if is_foreign(a))
            return give(value), DevicePullback(self.twin, pullback, like)


class DevicePullback(Pullback):
    """The pullback of a call with arrays of the device: seeds and cotangents are such arrays, or numbers."""

    def __init__(self, twin: Differentiable, pullback: Pullback, like: Any) -> None:
        self.twin, self.pullback, self.like, self.run = twin, pullback, like, pullback.run

    def __call__(self, /, *seed: Any, **cotangents: Any) -> Any:
        parts = [tuple(s) if isinstance(s, tuple | list) else (s,) for s in seed]
        flat = (self.like, *(p for part in parts for p in part), *cotangents.values())
        with taken(self.twin, flat) as ((_, *own), give):
            given = own[len(own) - len(cotangents) :]
            seeds = iter(own)
            again = [tuple(next(seeds) for _ in part) for part in parts]
            ready = (a if isinstance(s, tuple | list) else a[0] for s, a in zip(seed, again, strict=True))
            return give(self.pullback(*ready, **dict(zip(cotangents, given, strict=True))))


@contextmanager
def taken(twin: Differentiable, args: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Give]]:
    """The arguments for the `twin`, and what makes of its results what the caller gets."""
    foreign = [a for a in args if is_foreign(a)]
    refuse_mixed(twin, args)
    driver = the_driver()
    stream = stream_of(foreign[0])
    kind = in_kind(foreign[0])
    own = tuple(borrowed(a) if is_foreign(a) else a for a in args)
    known = {id(view): a for view, a in zip(own, args, strict=True) if isinstance(view, np.ndarray)}
    with driver.running(stream):
        for other in {stream_of(a) for a in foreign} - {stream}:
            driver.synchronize(other)

        def give(found: Any) -> Any:
            if isinstance(found, tuple):
                return tuple.__new__(type(found), tuple(map(give, found)))
            if not isinstance(found, np.ndarray):
                return found
            return known[id(found)] if id(found) in known else kind(found)

        yield own, give
        if not waits_for_nobody(foreign[0]):
            driver.synchronize()


def refuse_mixed(twin: Differentiable, args: tuple[Any, ...]) -> None:
    """Raise ArgumentError (LD608) for arrays of the host among those of the device, and for complex ones."""
    if any(isinstance(a, np.ndarray) for a in args):
        message = f"`{twin.__name__}` got arrays of the device and of the host"
        hint = "send those of the host once: `loopdiff.cuda.to_device(x)`"
        raise ArgumentError(reject("LD608", message, NOWHERE, hint))
    if any(np.dtype(a.dtype).kind == "c" for a in map(borrowed, filter(is_foreign, args))):
        message = f"`{twin.__name__}` got a complex array of the device"
        raise ArgumentError(reject("LD608", message, NOWHERE, "pass NumPy arrays"))
