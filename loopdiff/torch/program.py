"""What PyTorch calls: a specialization, its pullback and its tangent, each as a program of arrays and numbers.

All of it is real: complex tensors are taken apart before (`wrapping`). A pullback is a program too, of the arguments
and of cotangents, which has a pullback of its own: so derivatives of any order come about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import torch

from loopdiff.calls.arguments import SPARE, totals_of
from loopdiff.calls.runs import ReverseRun, sweeps_of, with_spare
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import tail_names
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.memory.arena import UnknownNumber
from loopdiff.specialize.programs import pullback_of, pushforward_of
from loopdiff.specialize.results import is_floating
from loopdiff.specialize.shortage import Needs
from loopdiff.specialize.specialization import Specialization
from loopdiff.torch.sweeps import BareSweeps, KeptPoint, Shape
from loopdiff.torch.tensors import copier_of, dtype_of_kind, maker_of, reader_of

Values = Sequence[Any]
FindRun = Callable[[tuple[Any, ...]], ReverseRun]


@immutable
class ProgramOutput:
    """One output of a program: a result, or the final value of the array `written`."""

    kind: ScalarType | ArrayType
    written: str | None = None

    @property
    def is_floating(self) -> bool:
        return is_floating(self.kind)


class TensorProgram:
    """A specialization as PyTorch sees it.

    `params` are its parameters, arrays or numbers, without the counts that nobody gives; `outcomes` all that it gives,
    results before written arrays, of which callers get `shown`.
    """

    name = ""  # of what was wrapped, in graphs
    depth = ""  # how it comes from that: a letter for each derivative

    def __init__(self, spec: Specialization, find_run: FindRun | None = None, own: Collection[str] = ()) -> None:
        """`find_run` chooses sweeps for arguments where that is not always the same choice. The arrays `own` are made
        for one call, which may write them."""
        self.spec, self.ls, self.find_run = spec, spec.normal, find_run
        self.params = self.ls.params[: len(self.ls.params) - len(self.hidden_counts)]
        written = [ProgramOutput(kind_of_parameter(self.ls, n), n) for n in self.params if n in spec.written]
        self.outcomes = (*map(ProgramOutput, spec.result_types), *written)
        self.shown = tuple(range(len(self.outcomes)))
        self.read = tuple(reader_of(self.ls, n) for n in self.params)
        self.written = [k for k, n in enumerate(self.params) if n in spec.written]
        self.copiers = [(k, copier_of(self.ls, self.params[k])) for k in self.written if self.params[k] not in own]
        self.known_sweeps: dict[int, BareSweeps] = {}
        self.batches: dict[frozenset[str], TensorProgram | None] = {}  # see `together`

    @property
    def hidden_counts(self) -> tuple[str, ...]:
        """Parameters at the end that are counted."""
        return self.spec.count_names

    # -- what callers get ------------------------------------------------------------------------------------
    @cached_property
    def kinds(self) -> tuple[ScalarType | ArrayType, ...]:
        """The types of what callers get."""
        return tuple(self.outcomes[k].kind for k in self.shown)

    @property
    def gives_halves(self) -> bool:
        return any(isinstance(kind, ArrayType) and kind.is_half for kind in self.kinds)

    @cached_property
    def makers(self) -> tuple[Callable[[Any], torch.Tensor], ...]:
        return tuple(map(maker_of, self.kinds))

    @cached_property
    def dtypes(self) -> tuple[torch.dtype, ...]:
        return tuple(map(dtype_of_kind, self.kinds))

    @cached_property
    def floating(self) -> tuple[int, ...]:
        """Which of what callers get has a derivative."""
        return tuple(place for place, k in enumerate(self.shown) if self.outcomes[k].is_floating)

    def shapes(self, given: Values) -> list[Shape]:
        """Shapes of what callers get, for shapes of arrays, numbers that are known, and `Undecided` ones. ArgumentError
        (LD351) where these do not say it."""
        values = [SimpleNamespace(shape=v) if isinstance(v, tuple) else v for v in given]
        named = dict(zip(self.params, values, strict=True))
        return [self.shape_of(k, self.outcomes[k], named) for k in self.shown]

    def shape_of(self, place: int, outcome: ProgramOutput, named: Mapping[str, Any]) -> Shape:
        if outcome.written is not None:
            return named[outcome.written].shape
        if isinstance(outcome.kind, ScalarType):
            return ()
        result = self.ls.results[place]
        assert isinstance(result, ir.ArrayResult)
        run = self.run
        names = run.units.plan.forward.params[len(self.ls.params) :]
        uncounted = (*self.hidden_counts, *run.units.plan.count_names)  # which size tapes, not results
        try:
            sizes = run.arena.sizes((*named.values(), *(0 for _ in uncounted)))
        except (AttributeError, TypeError):  # elements of arrays say it
            message = f"the shape of what `{self.ls.name}` returns is known once it ran"
            raise ArgumentError(
                reject("LD351", message, NOWHERE, "pass an array that it writes, in `outputs`")
            ) from None
        return dict(zip(names, sizes, strict=False))[result.array]

    # -- running ---------------------------------------------------------------------------------------------
    def values_of(self, given: Values) -> list[Any]:
        """Arrays, and numbers or arrays without axes, as compiled code takes them."""
        return [read(value) for read, value in zip(self.read, given, strict=True)]

    def complete(self, values: Values) -> tuple[Any, ...]:
        """All parameters, of values for `params`."""
        return (*values, *totals_of(self.spec, tuple(values))) if self.spec.count_names else tuple(values)

    def fresh(self, values: Values) -> list[Any]:
        """`values` with copies of the arrays that are written."""
        found = list(values)
        for k, copy in self.copiers:
            found[k] = copy(found[k])
        return found

    def compute(self, values: Values) -> list[Any]:
        """What callers get, where nobody asks for derivatives."""
        args = self.complete(self.fresh(values))
        try:
            found = self.found(self.spec.primal.run(*args), args)
        except MemoryError as error:
            needs = Needs(self.ls.name, self.ls.params, (self.spec.primal.ls,))
            raise needs.refusal(args, error) from None
        return [found[k] for k in self.shown]

    def found(self, value: Any, args: Values) -> list[Any]:
        """All outcomes, of what compiled code returned and of the arguments as it left them."""
        results = () if not self.spec.result_types else value if isinstance(value, tuple) else (value,)
        position = {n: k for k, n in enumerate(self.ls.params)}
        return [*results, *(args[position[o.written]] for o in self.outcomes if o.written is not None)]

    @cached_property
    def run(self) -> ReverseRun:
        return sweeps_of(self.spec, "pullback")

    def sweeps(self, args: tuple[Any, ...]) -> BareSweeps:
        run = self.run if self.find_run is None else self.find_run(args)
        found = self.known_sweeps.get(id(run))
        if found is None:
            found = self.known_sweeps[id(run)] = BareSweeps(run)
        return found

    def forward(self, values: Values) -> tuple[list[Any], KeptPoint]:
        """All outcomes, and what `pull` goes on with."""
        args = self.complete(self.fresh(values))
        sweeps = self.sweeps(args)
        value, workspace = sweeps.forward(*args)
        found = self.found(value, args)
        for k, outcome in enumerate(self.outcomes):
            if outcome.written is None and isinstance(outcome.kind, ArrayType):
                found[k] = found[k].copy()  # the workspace serves again
        results = [v for v, o in zip(found, self.outcomes, strict=True) if o.written is None and o.is_floating]
        return found, KeptPoint(sweeps, args, workspace, [np.shape(v) for v in results])

    def pull(self, kept: KeptPoint, cotangents: Values) -> Any:
        """Gradients in `wrt` order for cotangents, or None, of what callers get and has a derivative."""
        given = dict(zip((self.shown[k] for k in self.floating), cotangents, strict=True))
        pairs = [(o, given.get(k)) for k, o in enumerate(self.outcomes) if o.is_floating]
        seeds = [c for o, c in pairs if o.written is None]
        return kept.pull(seeds, {o.written: c for o, c in pairs if o.written is not None and c is not None})

    # -- derivatives -----------------------------------------------------------------------------------------
    def gradient_of(self, place: int) -> str | None:
        """The parameter by which an output is a gradient, or changes like one."""
        return None

    @cached_property
    def pulled(self) -> PulledProgram:
        """The gradients, as a program of `params` and of cotangents."""
        return PulledProgram(self)

    @cached_property
    def pushed(self) -> PushedProgram:
        """The tangents, as a program of `params` and of directions."""
        return PushedProgram(self)


class DerivedProgram(TensorProgram):
    """A derivative of `inner`, as a program of its parameters and of more.

    `given` are those of the specialization after those of `inner`; nobody sees the `hidden` ones.
    """

    def __init__(self, inner: TensorProgram, spec: Specialization, step: str) -> None:
        self.inner = inner
        super().__init__(spec)
        self.name, self.depth = inner.name, f"{inner.depth}{step}"
        self.given = self.ls.params[len(inner.ls.params) : len(self.ls.params) - len(self.hidden_counts)]

    @property
    def hidden_counts(self) -> tuple[str, ...]:
        return ()

    def arrange(self, names: Sequence[str]) -> None:
        """Take the parameters `names` after those of `inner`."""
        self.params = (*self.inner.params, *names)
        self.read = (*self.inner.read, *(reader_of(self.ls, n) for n in names))
        self.written = [k for k, n in enumerate(self.params) if n in self.spec.written]
        self.copiers = [(k, copier_of(self.ls, self.params[k])) for k in self.written]
        self.hidden = [n for n in self.given if n not in names]


class PulledProgram(DerivedProgram):
    """The gradients of `inner`: of its parameters, and of a cotangent for each floating output that it shows.

    `routes`: for each differentiated parameter, where its gradient is: among what is `shown`, gradients by the
    parameters `by`, or the cotangent of an output itself.
    """

    def __init__(self, inner: TensorProgram) -> None:
        self.sizing = sweeps_of(inner.spec, "sums")
        super().__init__(inner, pullback_of(inner.spec, inner.spec.wrt), "r")
        seeds = iter(self.sizing.seed_names)
        of_outcomes = {
            k: next(seeds) if o.written is None else self.sizing.buffers.get(o.written)
            for k, o in enumerate(inner.outcomes)
            if o.is_floating
        }
        named = [of_outcomes[inner.shown[k]] for k in inner.floating]
        self.cotangents = tuple(n if n in self.given else None for n in named)
        self.places = tuple(k for k, n in enumerate(self.cotangents) if n is not None)
        self.arrange([n for n in self.cotangents if n is not None])
        written = {o.written: k for k, o in enumerate(self.outcomes) if o.written is not None}
        results, shown = iter(range(len(self.spec.result_types))), list[int]()
        self.routes: dict[str, tuple[str, int]] = {}
        for name in inner.spec.wrt:
            buffer = self.sizing.buffers.get(name)
            if buffer in self.given and buffer not in written:
                if buffer in self.cotangents:
                    self.routes[name] = ("cotangent", self.cotangents.index(buffer))
                continue
            self.routes[name] = ("shown", len(shown))
            shown.append(written[buffer] if buffer in self.given else next(results))
        self.shown = tuple(shown)
        self.by = tuple(n for n, (where, _) in self.routes.items() if where == "shown")

    def gradient_of(self, place: int) -> str | None:
        return self.by[place]

    @property
    def hidden_counts(self) -> tuple[str, ...]:
        return self.inner.spec.plan().count_names

    def shape_of(self, place: int, outcome: ProgramOutput, named: Mapping[str, Any]) -> Shape:
        if isinstance(outcome.kind, ScalarType):
            return ()
        return named[self.by[self.shown.index(place)]].shape

    def complete(self, values: Values) -> tuple[Any, ...]:
        """With zeros for cotangents that nobody gives, and with what is counted."""
        count, run = len(self.inner.params), self.sizing
        base = self.inner.complete(values[:count])
        given = dict(zip(self.params[count:], values[count:], strict=True))
        if self.hidden:
            given |= {n: self.zero(n, base) for n in self.hidden}
        counts = run.counts(base) if self.hidden_counts else ()
        totals = with_spare(counts, SPARE) if run.units.plan.count_tapes else counts
        return (*base, *(given[n] for n in self.given), *totals)

    def zero(self, name: str, base: tuple[Any, ...]) -> Any:
        """The cotangent `name` of something that nobody sees."""
        argument = next((a for a, b in self.sizing.buffers.items() if b == name), None)
        if argument is not None:
            return zero_like(self.ls, name, base[self.inner.ls.params.index(argument)].shape)
        names = self.sizing.units.plan.forward.params[len(self.inner.ls.params) :]
        sizes = dict(zip(names, self.sizing.sizes(base), strict=False)) if self.ls.has_array(name) else {}
        return zero_like(self.ls, name, sizes.get(name.removesuffix("_adj"), ()))

    def compute(self, values: Values) -> list[Any]:
        """By the sweeps of `inner` one after the other."""
        count = len(self.inner.params)
        return self.compute_at(self.inner.forward(values[:count])[1], values[count:])

    def compute_at(self, kept: KeptPoint, cotangents: Values) -> list[Any]:
        """The gradients at a point where the forward sweep ran, which may be gone back from several times."""
        every: list[Any] = [None] * len(self.cotangents)
        for place, value in zip(self.places, cotangents, strict=True):
            every[place] = value
        record = self.inner.pull(kept, every)
        names = self.inner.spec.wrt
        return [record[names.index(n)] for n in self.by]


class PushedProgram(DerivedProgram):
    """The tangents of `inner`: of its parameters, and of a direction for each one that has a derivative.

    `routes`: for each floating output of `inner`, where its tangent is: among what is `shown`, or the direction of a
    parameter, or nowhere, as it is zero.
    """

    def __init__(self, inner: TensorProgram) -> None:
        super().__init__(inner, pushforward_of(inner.spec, inner.spec.wrt), "t")
        self.buffers = tail_names(self.given, inner.ls.params, "_tan")
        self.directed = tuple(n for n in inner.params if n in self.buffers)
        self.arrange([self.buffers[n] for n in self.directed])
        written = {o.written: k for k, o in enumerate(self.outcomes) if o.written is not None}
        slopes, shown = iter(range(len(self.spec.result_types))), list[int]()
        of_results = {k: next(slopes) for k, o in enumerate(inner.outcomes) if o.is_floating and o.written is None}
        routes: list[tuple[str, Any]] = []
        for k in (inner.shown[place] for place in inner.floating):
            name = inner.outcomes[k].written
            found = of_results.get(k) if name is None else written.get(self.buffers.get(name, ""))
            if found is not None:
                routes.append(("shown", len(shown)))
                shown.append(found)
            else:
                routes.append(("direction", name) if name in self.directed else ("zero", None))
        self.routes, self.shown = tuple(routes), tuple(shown)

    def gradient_of(self, place: int) -> str | None:
        places = [k for k, (where, _) in zip(self.inner.floating, self.routes, strict=True) if where == "shown"]
        return self.inner.gradient_of(places[place])

    def shapes(self, given: Values) -> list[Shape]:
        every = self.inner.shapes(given[: len(self.inner.params)])
        floating = [every[k] for k in self.inner.floating]
        return [shape for shape, (where, _) in zip(floating, self.routes, strict=True) if where == "shown"]

    def complete(self, values: Values) -> tuple[Any, ...]:
        """With zeros for directions that nobody gives."""
        count = len(self.inner.params)
        base = self.inner.complete(values[:count])
        given = dict(zip(self.params[count:], values[count:], strict=True))
        owners = {b: a for a, b in self.buffers.items()}
        for name in self.hidden:
            like = base[self.inner.ls.params.index(owners[name])]
            given[name] = zero_like(self.ls, name, np.shape(like))
        return (*base, *(given[n] for n in self.given))


def zero_like(ls: ir.LoopSet, name: str, shape: Shape) -> Any:
    """Zeros for the parameter `name`."""
    if not ls.has_array(name):
        return reader_of(ls, name)(0.0)
    declared = ls.array(name).type
    assert declared is not None
    return np.zeros(shape, declared.dtype, "F" if declared.layout == "F" else "C")


def kind_of_parameter(ls: ir.LoopSet, name: str) -> ScalarType | ArrayType:
    found = ls.array(name).type if ls.has_array(name) else ls.scalar(name).type
    assert found is not None
    return found


class Undecided(UnknownNumber):
    """Stands for a number that a tensor holds; using it as a size is an error."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self) -> NoReturn:
        message = f"`{self.name}` decides the size of what is returned, and is in a tensor"
        raise ArgumentError(reject("LD351", message, NOWHERE, "pass it as a Python int"))
