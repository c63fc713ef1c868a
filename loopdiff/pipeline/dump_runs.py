"""What the loops of a dump compute, as the interpreter finds it: `python -m loopdiff run-dump FILE [ARGS.npz]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from loopdiff.errors import InternalError, LoopdiffError
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_expr
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.types import BOOL, INT
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import subexprs, written_arrays

Values = dict[str, Any]


class DumpError(ValueError):
    """A dump, or its arguments, that cannot be run, and why."""


@immutable
class Drawn:
    """Random arguments: axes of `size` elements where nothing states their extent, and integers that are places in
    them; integer scalars are `size`. Floating numbers keep away from zero, and arrays have both signs.

    An argument gets the same numbers in all dumps of a function: its name decides, with the `seed`.
    """

    size: int
    seed: int

    def rng(self, name: str) -> np.random.Generator:
        return np.random.default_rng((self.seed, *name.encode()))

    def array(self, decl: ir.ArrayDecl, shape: tuple[int, ...]) -> np.ndarray:
        assert decl.type is not None
        rng = self.rng(decl.name)
        if decl.type.element.is_float:
            found = rng.uniform(0.5, 1.5, shape) * rng.choice((-1.0, 1.0), shape)
        else:
            found = rng.integers(0, 2 if decl.type.element is BOOL else max(self.size, 1), shape)
        return found.astype(decl.type.dtype)

    def scalar(self, decl: ir.ScalarDecl) -> Any:
        is_float = decl.type is not None and decl.type.is_float
        return float(self.rng(decl.name).uniform(0.5, 1.5)) if is_float else self.size


@dataclass(slots=True)
class Arguments:
    """Arguments of `ls`: those that a file has `given`, and where there is none, `drawn` ones. Arrays that state their
    extents and are not in the file are memory that nobody has written: `undefined`."""

    ls: ir.LoopSet
    given: Mapping[str, np.ndarray]
    drawn: Drawn | None
    values: Values = field(default_factory=dict)
    undefined: list[str] = field(default_factory=list)

    def collect(self) -> Values:
        """All of them, by name: scalars, arrays of the caller, then what is as long as these say."""
        arrays = [self.ls.array(p) for p in self.ls.params if self.ls.has_array(p)]
        for scalar in self.ls.scalars:
            if scalar.name in self.ls.params:
                self.values[scalar.name] = self.scalar(scalar)
        for decl in sorted(arrays, key=lambda a: a.extents is not None):
            self.values[decl.name] = self.array(decl)
        return self.values

    def scalar(self, decl: ir.ScalarDecl) -> Any:
        if self.drawn is not None:
            return self.drawn.scalar(decl)
        value = self.found(decl.name, "a scalar")
        kinds = "b" if decl.type is BOOL else "iub" if decl.type is INT else "fiub"
        if value.ndim != 0 or value.dtype.kind not in kinds:
            said = decl.type.value if decl.type else "?"
            raise DumpError(f"`{decl.name}` has to be a {said} without axes, and is {described(value)}")
        return value.item()

    def array(self, decl: ir.ArrayDecl) -> np.ndarray:
        kind = decl.type
        assert kind is not None
        if self.drawn is not None:
            return self.drawn.array(decl, self.shape(decl))
        if decl.extents is not None and decl.name not in self.given:
            self.undefined.append(decl.name)
            fill = np.nan if kind.element.is_float else 0 if kind.element is BOOL else np.iinfo(kind.dtype).max // 3
            return np.full(self.shape(decl), fill, kind.dtype)
        value = self.found(decl.name, f"an array {kind}")
        if value.dtype != np.dtype(kind.dtype) or value.ndim != kind.rank:
            raise DumpError(f"`{decl.name}` has to be {kind.dtype} with {kind.rank} axes, and is {described(value)}")
        return value

    def found(self, name: str, said: str) -> np.ndarray:
        if name not in self.given:
            there = ", ".join(self.given) or "nothing"
            raise DumpError(f"the file of arguments has no `{name}`, {said}; it has {there}")
        return self.given[name]

    def shape(self, decl: ir.ArrayDecl) -> tuple[int, ...]:
        assert decl.type is not None
        if decl.extents is None:
            assert self.drawn is not None
            return (self.drawn.size,) * (decl.type.rank - decl.type.is_pair) + (2,) * decl.type.is_pair
        return tuple(self.extent(e) for e in decl.extents)

    def extent(self, expr: ir.Expr) -> int:
        """The number of an extent. A name that is no argument of the LoopSet counts the iterations of a loop."""
        names = {e.name for e in subexprs(expr) if isinstance(e, ir.Param)}
        counted = [ir.ScalarDecl(n, INT) for n in names if n not in self.values]
        known = self.values | {c.name: self.scalar(c) for c in counted}
        arrays = tuple(a for a in self.ls.arrays if a.name in known)
        scalars = (*(s for s in self.ls.scalars if s.name in known), *counted)
        probe = ir.LoopSet("extent", tuple(known), arrays, scalars, (), (ir.ScalarResult(expr),))
        found = int(run(probe, known)[0])
        if found < 0:
            raise DumpError(f"the extent {print_expr(expr)} would be {found}")
        return found


def described(value: np.ndarray) -> str:
    return f"{value.dtype} with {value.ndim} axes"


def read_dump(path: Path) -> ir.LoopSet:
    try:
        ls = read_loopset(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DumpError(f"{path}: {error}") from error
    if any(d.type is None for d in (*ls.arrays, *ls.scalars)):
        raise DumpError(f"{path}: types are not known yet; dumps from `bound` on can be run")
    try:
        verify(ls, "reading")
    except InternalError as error:
        raise DumpError(f"{path}: {str(error).removesuffix('; please report this')}") from error
    except (LookupError, TypeError) as error:
        raise DumpError(f"{path}: no types fit: {error!r}") from error
    return ls


def read_arguments(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError, EOFError, AttributeError, TypeError, BadZipFile) as error:
        raise DumpError(f"{path} is no .npz file of arrays: {error}") from error


def outcome_of_dump(dump: Path, arguments: Path | None, seed: int = 0, size: int = 5) -> str:
    """What the LoopSet of the file `dump` returns, and what it leaves in arrays that it writes.

    Its arguments are the arrays of that name in the file `arguments`; without one, random numbers. Raises DumpError for
    text that cannot be read or run, and for arguments that are missing or do not fit.
    """
    if min(size, seed) < 0:
        raise DumpError("neither the size nor the seed of random arguments can be negative")
    ls = read_dump(dump)
    given = {} if arguments is None else read_arguments(arguments)
    made = Arguments(ls, given, Drawn(size, seed) if arguments is None else None)
    try:
        values = made.collect()
        results = run(ls, values)
    except (LoopdiffError, ArithmeticError, LookupError) as error:
        raise DumpError(f"{dump}: {error}") from error
    return "\n".join(lines_of(made, results))


def lines_of(made: Arguments, results: tuple[Any, ...]) -> Iterator[str]:
    ls = made.ls
    ignored = [name for name in made.given if name not in made.values]
    for names, said in ((ignored, "not an argument"), (made.undefined, "not given, undefined at first")):
        if names:
            yield f"{said}: {', '.join(names)}"
    for k, (result, value) in enumerate(zip(ls.results, results, strict=True)):
        name = f" {result.array}" if isinstance(result, ir.ArrayResult) else ""
        yield shown(f"result {k}{name}", value)
    written = written_arrays(ls.body)
    for name in ls.params:
        if name in written:
            yield shown(name, made.values[name])


def shown(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        extents = ", ".join(map(str, value.shape))
        return f"{name}: {value.dtype}[{extents}]\n{np.array2string(value, max_line_width=100, separator=', ')}"
    return f"{name} = {value.item() if isinstance(value, np.ndarray | np.generic) else value!r}"
