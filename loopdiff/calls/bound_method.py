"""A differentiable function of a class, and the instance that it is called on."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from loopdiff.calls.compiled import CompiledGradient
    from loopdiff.calls.pullback import Pullback
    from loopdiff.settings.options import Options, Target
    from loopdiff.source.words import Text

P = ParamSpec("P")
R = TypeVar("R")


class BoundMethod(Generic[P, R]):
    """What `model.loss` is where the class of `model` has a decorated function `loss(self, ...)`.

    It has the methods of a decorated function, for the arguments after `self`. Instances of one structure share what is
    compiled. Nothing is differentiated by `self` unless `wrt` names it; `type(model).loss` takes it as an argument.
    """

    def __init__(self, function: Any, instance: Any) -> None:
        """`function` is a `differentiable.Differentiable` whose first parameter is `self`."""
        self.__func__, self.__self__ = function, instance
        self.__name__, self.__qualname__, self.__doc__ = function.__name__, function.__qualname__, function.__doc__

    @property
    def signature(self) -> inspect.Signature:
        """That of the function, without the instance."""
        _, *others = self.__func__.signature.parameters.values()
        return inspect.Signature(others)

    @property
    def requested(self) -> tuple[str, ...] | None:
        return self.__func__.requested

    @property
    def options(self) -> Options:
        return self.__func__.options

    def __call__(self, /, *args: P.args, **named: P.kwargs) -> R:
        return self.__func__(self.__self__, *args, **named)

    def value_and_grad(self, /, *args: P.args, **named: P.kwargs) -> tuple[R, Any]:
        return self.__func__.value_and_grad(self.__self__, *args, **named)

    def grad(self, /, *args: P.args, **named: P.kwargs) -> Any:
        return self.__func__.grad(self.__self__, *args, **named)

    def vjp(self, /, *args: P.args, **named: P.kwargs) -> tuple[R, Pullback]:
        return self.__func__.vjp(self.__self__, *args, **named)

    def jvp(self, args: tuple[Any, ...], tangents: Mapping[str, Any]) -> tuple[Any, Any]:
        return self.__func__.jvp((self.__self__, *args), tangents)

    def hvp(self, args: tuple[Any, ...], vectors: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        return self.__func__.hvp((self.__self__, *args), vectors)

    def jacobian(self, /, *args: Any, **named: Any) -> Any:
        return self.__func__.jacobian(self.__self__, *args, **named)

    def compile(self, /, *args: Any, **named: Any) -> CompiledGradient:
        return self.__func__.compile(self.__self__, *args, **named)

    def explain(self, /, *args: Any, **named: Any) -> Text:
        return self.__func__.explain(self.__self__, *args, **named)

    def plot_memory(self, /, *args: Any, **named: Any) -> Any:
        return self.__func__.plot_memory(self.__self__, *args, **named)

    def precompile(self, /, *args: Any, **named: Any) -> None:
        self.__func__.precompile(self.__self__, *args, **named)

    def on(self, target: Target) -> BoundMethod[P, R]:
        return BoundMethod(self.__func__.on(target), self.__self__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundMethod) and self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def __repr__(self) -> str:
        return f"<loopdiff method {self.__qualname__} of {self.__self__!r}>"


def wrapped_method(
    method: BoundMethod[..., Any],
    wrap: Callable[[Any, Mapping[str, Any]], Callable[..., Any]],
    outputs: Mapping[str, Any] | None,
) -> Callable[..., Any]:
    """What a plug's `wrap` makes of the function of `method`, called on its instance. Shapes of `outputs` that are
    functions get the arguments without it."""
    made: dict[tuple[tuple[str, Any], ...], Callable[..., Any]] = {}
    kept = [p for p in method.signature.parameters.values() if p.name not in (outputs or {})]
    signature = inspect.Signature(kept)

    def shapes(args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(outputs or {})
        if any(map(callable, found.values())):
            given = signature.bind(*args, **named)
            given.apply_defaults()
            found = {n: s(*given.arguments.values()) if callable(s) else s for n, s in found.items()}
        return found

    @functools.wraps(method.__func__.plain)
    def wrapped(*args: Any, **named: Any) -> Any:
        found = shapes(args, named)
        key = tuple((name, repr(shape)) for name, shape in found.items())
        if key not in made:
            made[key] = wrap(method.__func__, found)
        return made[key](method.__self__, *args, **named)

    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    return wrapped
