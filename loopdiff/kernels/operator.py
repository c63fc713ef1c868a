"""What every operator of the library is: loops that read like the definition, and the forms that follow from them."""

from __future__ import annotations

import inspect
import linecache
import math
from collections.abc import Callable
from functools import partial, update_wrapper
from threading import RLock
from typing import Any, overload

import numpy as np

from loopdiff.api import vectorize_grad
from loopdiff.differentiable import Differentiable
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.settings.options import TapePolicy

__all__ = ["Operator", "operator"]

WRITTEN = (bool, int, float, str, type(None))  # options of these types stand in the program as they are


class Operator:
    """A function of arrays, and of options that are part of the program.

    Parameters before `*` in its signature are arrays and numbers; those behind it are options: strides, axes, whether
    something is masked. Decorated functions call an operator like any other function, and it is written out there.

    `__call__` takes and gives NumPy arrays; `of` fixes the options and gives the decorated function with all that this
    has (`vjp`, `value_and_grad`, `jvp`, `hvp`, `explain`); `jax` and `torch` give functions for these libraries.
    """

    __name__: str

    def __init__(self, function: Callable[..., Any], tape: TapePolicy = "auto") -> None:
        self.function = function
        self.tape: TapePolicy = tape
        update_wrapper(self, function)
        self.parameters = inspect.signature(function).parameters
        self.options = tuple(n for n, p in self.parameters.items() if p.kind is p.KEYWORD_ONLY)
        self.made: dict[str, Differentiable[..., Any]] = {}
        self.lock = RLock()

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<operator {self.__module__}.{self.__name__}{inspect.signature(self.function)}>"

    @property
    def py_func(self) -> Callable[..., Any]:
        """The loops, as decorated functions that call the operator write them out."""
        return self.function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What the loops compute of NumPy arrays. Raises ArgumentError (LD301, LD332, ...)."""
        options = {name: named.pop(name) for name in self.options if name in named}
        return self.of(**options)(*arguments, **named)

    def of(self, **options: Any) -> Differentiable[..., Any]:
        """The operator with these options, as a decorated function of its arrays. The same one for the same options.

        Raises:
            ArgumentError: LD301 for a name that is no option of it.
        """
        options = {name: plain(value) for name, value in options.items()}
        for name in options:
            if name not in self.options:
                known = ", ".join(f"`{o}`" for o in self.options) or "none"
                message = f"`{self.__name__}` has no option `{name}`"
                raise ArgumentError(reject("LD301", message, NOWHERE, f"its options are: {known}"))
        text, values = self.text_of(options)
        key = text + repr({name: id(value) for name, value in values.items()})
        with self.lock:
            if key not in self.made:
                self.made[key] = self.decorated(text, values)
            return self.made[key]

    def jax(self, **options: Any) -> Callable[..., Any]:
        """The operator with these options as a pure JAX function: `loopdiff.jax.wrap` of it."""
        from loopdiff.jax import wrap

        return wrap(self.of(**options))

    def torch(self, **options: Any) -> Callable[..., Any]:
        """The operator with these options as a function of PyTorch's tensors: `loopdiff.torch.wrap` of it."""
        from loopdiff.torch import wrap

        return wrap(self.of(**options))

    def text_of(self, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """A function that calls the operator with `options`, and the values of those that have no spelling."""
        given = {n: p for n, p in self.parameters.items() if n not in self.options}
        values = {f"option_{name}": v for name, v in options.items() if not is_written(v)}
        fixed = [f"{n}=option_{n}" if f"option_{n}" in values else f"{n}={v!r}" for n, v in options.items()]
        spelt = ", ".join(n if p.default is p.empty else f"{n}={p.default!r}" for n, p in given.items())
        return f"def {self.__name__}({spelt}):\n    return operator({', '.join([*given, *fixed])})\n", values

    def decorated(self, text: str, values: dict[str, Any]) -> Differentiable[..., Any]:
        """`text` as a function whose lines tools find: a program that a person might have written."""
        file = f"<{self.__module__}.{self.__name__} {len(self.made)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        namespace: dict[str, Any] = {"operator": self, "__name__": self.__module__, **values}
        exec(compile(text, file, "exec"), namespace)
        return vectorize_grad(tape=self.tape)(namespace[self.__name__])


def plain(value: Any) -> Any:
    """An option with lists as tuples, and NumPy's numbers as Python's."""
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value


def is_written(value: Any) -> bool:
    """Whether an option can stand in a program as Python writes it."""
    if isinstance(value, tuple):
        return all(map(is_written, value))
    return isinstance(value, WRITTEN) and not (isinstance(value, float) and not math.isfinite(value))


@overload
def operator(function: Callable[..., Any], /) -> Operator: ...
@overload
def operator(*, tape: TapePolicy) -> Callable[[Callable[..., Any]], Operator]: ...
def operator(function: Callable[..., Any] | None = None, /, *, tape: TapePolicy = "auto") -> Any:
    """Make an operator of a plain Python function. `tape`: as of `vectorize_grad`, for the operator by itself."""
    return partial(Operator, tape=tape) if function is None else Operator(function)
