"""The function that `vjp` returns beside its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NoReturn

import numpy as np

from loopdiff.calls.runs import Arguments, ReverseRun
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.memory.arena import Workspace
from loopdiff.specialize.gradients import checked_array, checked_scalar
from loopdiff.specialize.interface import as_pairs, is_complex
from loopdiff.specialize.results import has_slope

Shapes = tuple[tuple[int, ...], ...]
NOTHING_GIVEN: Mapping[int, np.ndarray] = {}


class Pullback:
    """The reverse sweep at one point: `pullback(seed, **cotangents)` gives the gradients, however often.

    `seed` is the cotangent of the return value (a tuple if the function returns one, in which None stands for zero,
    default 1.0 for a scalar); cotangents of the final values of written arrays go by name and default to zero. Those of
    complex values pair with them as JAX's do: du = Re(cotangent * dz).
    """

    def __init__(
        self, run: ReverseRun, pull: Callable[..., Any], args: Arguments, workspace: Workspace | None, shapes: Shapes
    ) -> None:
        """`pull` is the function of `sweep_calls.pull_function`, `shapes` those of the results."""
        self.run, self.pull, self.args, self.workspace, self.shapes = run, pull, args, workspace, shapes
        self.interface = run.interface
        self.lock = Lock()
        self.arrays = () if workspace is None else workspace.arrays
        self.pristine = [(i, run.memory.copy(self.arrays[i])) for i in run.worn]
        check = run.spec.options.check
        self.marks = [] if check == "never" else [(i, run.memory.mark(check, args[i], run.mix)) for i in run.kept]

    def __call__(self, /, *seed: Any, **cotangents: Any) -> Any:
        """Gradients in `wrt` order.

        Raises ArgumentError: LD340 for a seed, LD341 for a cotangent that does not fit, LD342 for the name of
        an array that the function does not write, LD348 if an array that is needed was changed.
        """
        run = self.run
        if "seed" in cotangents and "seed" not in run.spec.written:
            seed = (*seed, cotangents.pop("seed"))
        if len(seed) > 1:
            raise ArgumentError(reject("LD340", f"a pullback takes one seed, was given {len(seed)}", NOWHERE))
        is_plain = run.plain_seed is not None and (not seed or type(seed[0]) is float)
        seeds = [run.plain_seed(*seed or (1.0,))] if run.plain_seed is not None and is_plain else self.seeds(*seed)
        given = self.cotangents(cotangents) if cotangents else NOTHING_GIVEN
        if not all([self.holds(i, mark) for i, mark in self.marks]):
            self.refuse_changes()
        with self.lock:
            for i, saved in self.pristine:
                run.memory.cast(saved, saved.dtype, run.arena.orders[i], self.arrays[i])
            return self.pull(self.arrays, seeds, given, *self.args)

    def holds(self, position: int, mark: Any) -> bool:
        """Whether an argument is what it was after the forward sweep."""
        return self.run.memory.holds(mark, self.args[position], self.run.mix)

    def refuse_changes(self) -> NoReturn:
        """Raise ArgumentError (LD348) with the arrays whose marks are not what they were after the forward sweep."""
        changed = [self.run.ls.params[i] for i, mark in self.marks if not self.holds(i, mark)]
        needed = ", ".join(f"`{n}`" for n in changed)
        message = f"{needed} {'was' if len(changed) == 1 else 'were'} changed after the forward sweep"
        raise ArgumentError(reject("LD348", message, self.run.ls.loc))

    def __del__(self) -> None:
        workspace = getattr(self, "workspace", None)
        if workspace is not None:
            self.run.arena.give(workspace)

    def seeds(self, seed: Any = None) -> list[Any]:
        """One value per floating result, in its type; of a complex scalar its two parts."""
        run, kinds = self.run, self.interface.results
        if not kinds:
            if seed is not None:
                raise ArgumentError(reject("LD340", f"`{run.ls.name}` returns nothing: it takes no seed", NOWHERE))
            return []
        values = self.spread(seed)
        out: list[Any] = []
        for position, (kind, shape, value) in enumerate(zip(kinds, self.shapes, values, strict=True)):
            what = f"the seed of result {position}" if self.interface.returns_tuple else "the seed"
            if value is None and self.interface.returns_tuple and has_slope(kind):
                value = np.zeros(shape if isinstance(kind, ArrayType) else ())
            if isinstance(kind, ArrayType) and has_slope(kind):
                array = checked_array(what, kind, shape, value, "LD340")
                out += self.interface.seed_parts(kind, run.seed_array(len(out), kind, array))
            elif isinstance(kind, ScalarType) and has_slope(kind):
                out += self.interface.seed_parts(kind, checked_scalar(what, kind, self.readable(value), "LD340"))
            elif value is not None and np.any(self.readable(value)):
                message = f"{what} is not zero, and that result is not floating-point"
                raise ArgumentError(reject("LD340", message, NOWHERE))
        return out

    def readable(self, value: Any) -> Any:
        """A number, which may be an array of the device without axes."""
        return self.run.memory.readable((value,))[0]

    def spread(self, seed: Any) -> Sequence[Any]:
        """The seed of each result."""
        kinds = self.interface.results
        if self.interface.returns_tuple:
            if not isinstance(seed, tuple | list) or len(seed) != len(kinds):
                message = f"`{self.run.ls.name}` returns {len(kinds)} values: the seed is a tuple of as many"
                raise ArgumentError(reject("LD340", message, NOWHERE))
            return seed
        if seed is None and isinstance(kinds[0], ScalarType):
            return (1.0 if has_slope(kinds[0]) else None,)
        return (seed,)

    def cotangents(self, given: Mapping[str, Any]) -> dict[int, np.ndarray]:
        """Cotangents by argument position."""
        run, out = self.run, {}
        for name, value in given.items():
            recipe = run.takers.get(name)
            if recipe is None:
                writes = ", ".join(f"`{n}`" for n in run.takers) or "no floating array"
                message = f"`{name}` gets no cotangent: `{run.ls.name}` writes {writes}"
                raise ArgumentError(reject("LD342", message, NOWHERE))
            like = self.args[recipe.position]
            is_ready = run.is_real and recipe.fits(value) and value.shape == like.shape
            out[recipe.position] = value if is_ready else self.checked_cotangent(name, like.shape, value)
        return out

    def checked_cotangent(self, name: str, shape: tuple[int, ...], value: Any) -> np.ndarray:
        kind = self.interface.types[name]
        assert isinstance(kind, ArrayType)
        array = checked_array(f"the cotangent of `{name}`", kind, shape[: kind.rank], value, "LD341")
        return as_pairs(np.conjugate(array, dtype=kind.dtype)) if is_complex(kind) else array
