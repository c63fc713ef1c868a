"""Generated functions as Python calls them: every buffer is looked at before compiled code gets it."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NoReturn

from loopdiff.calls.arguments import arguments_in_order
from loopdiff.calls.entry_checks import EntryChecks
from loopdiff.calls.recognition import Recognise
from loopdiff.specialize.shortage import Needs
from loopdiff.specialize.units import Unit

Look = Callable[[tuple[Any, ...]], None]
MOST_KEPT = 8  # sets of shapes that are recognised


class Generated:
    """A generated function behind the checks of its buffers.

    Compiled code that refers to it calls the function itself, a Numba dispatcher, without the checks; other attributes
    are those of the dispatcher.
    """

    def __init__(
        self, name: str, unit: Unit, checks: EntryChecks, find_look: Callable[[], Look | None]
    ) -> None:  # fmt: skip
        """`find_look`, asked in the first call, gives what raises ArgumentError for what arrays hold, if anything."""
        self.__name__, self.unit, self.checks = name, unit, checks
        self.find_look: Callable[[], Look | None] | None = find_look
        self.look: Look | None = None
        self.dispatcher: Any = unit.dispatcher
        self.call = unit.call
        self.count = len(unit.ls.params)
        self.__signature__ = Signature([Parameter(p, Parameter.POSITIONAL_OR_KEYWORD) for p in unit.ls.params])
        self.is_known: Recognise = recognise_none
        self.kinds: tuple[Recognise, ...] = ()

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Raises ArgumentError for arguments and buffers that do not fit, before anything is written."""
        if not self.is_known(args) or named:
            args = self.checked(args, named)
        if self.look is not None:
            self.look(args)
        try:
            try:
                return self.call(*args)
            except ValueError as error:
                raise self.unit.refuse(error) from None
        except MemoryError as error:
            needs = Needs(self.__name__, self.unit.ls.params, (self.unit.ls,))
            raise needs.refusal(args, error) from None

    def checked(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in order, which are not like those of the call before."""
        if named or len(args) != self.count:
            args = arguments_in_order(self.__signature__, self.__name__, args, named)
        find_look = self.find_look
        if find_look is not None:
            self.look = find_look()
            self.find_look = None
        known = next((is_known for is_known in self.kinds if is_known(args)), None)
        if known is None:
            known = self.checks(args)
            if known is None:
                return args
            self.kinds = (known, *self.kinds[: MOST_KEPT - 1])
        self.is_known = known
        return args

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this for in compiled code."""
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> Any:
        """Numba's cache writes down what compiled code refers to, and does not read it again."""
        return refuse_pickle, (self.__name__, self.dispatcher)

    def __repr__(self) -> str:
        return f"<generated function {self.__name__}({', '.join(self.unit.ls.params)})>"


class UncheckedCalls:
    """The generated functions as they are, which trust their buffers."""

    def __init__(self, unit_of: Callable[[str], Unit]) -> None:
        self.unit_of = unit_of

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            unit = self.unit_of(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None
        found = unit.call if unit.is_on_device else unit.dispatcher
        self.__dict__[name] = found
        return found


def recognise_none(args: tuple[Any, ...]) -> bool:
    return False


def refuse_pickle(name: str, dispatcher: Any) -> NoReturn:
    raise TypeError(f"the generated function `{name}` cannot be unpickled: pickle what it was compiled from")
