"""Entry points from Python, generated for one kind of call so that nothing is looked up or decided twice.

A call through plain loops over its arguments costs more than small loop nests do. So, for each combination of
array types, the checks, the buffers and the two calls are written out as straight Python, once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import CODES, reject
from loopdiff.frontend.extents import PlacedQuestion
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import all_statements
from loopdiff.specialize.shortage import Needs

TOO_BIG = "array is too big"  # so Numba begins, of an array whose size does not fit in 64 bits


@dataclass(slots=True)
class Script:
    """A Python function of `count` arguments `a0`, `a1`, ... in the making; its text refers to `names`.

    `passed` are the variables that compiled code gets; `needs` says what there has to be memory for.
    """

    count: int
    passed: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    needs: Needs | None = None

    @classmethod
    def of_prepared(cls, count: int) -> Script:
        """The start of a function whose arguments are as compiled code gets them."""
        return cls(count, [f"a{i}" for i in range(count)])

    @property
    def args(self) -> str:
        return ", ".join(self.passed)

    @property
    def args_tuple(self) -> str:
        return f"({self.args},)" if self.passed else "()"

    def add(self, *lines: str) -> None:
        self.lines += lines

    def put(self, name: str, value: Any) -> str:
        """Make `value` known to the text as `name`."""
        self.names[name] = value
        return name

    def call(
        self, target: str, function: Callable[..., Any], args: str, refuse: Callable[..., Any], after: str = ""
    ) -> None:
        """Run compiled code; `refuse` says what its errors mean. Where it fails, or is interrupted, `after` is done."""
        called, said = self.put(f"run_{target}", function), self.put(f"refuse_{target}", refuse)
        done = f"{after}; " if after else ""
        self.add(f"try: {target} = {called}({args})")
        self.add(f"except ValueError as error: {done}raise {said}(error) from None")
        if after:
            self.add(f"except BaseException: {done}raise")

    def unpack(self, names: Sequence[str], values: str) -> None:
        if names:
            self.add(f"{', '.join(names)}, = {values}")

    def define(self, name: str, before: Sequence[str] = ()) -> Callable[..., Any]:
        """The function, with parameters `before` ahead of the arguments."""
        lines = self.lines
        if self.needs is not None:
            self.put("refuse_memory", partial(self.needs.of_variables, tuple(self.passed)))
            handler = "except MemoryError as error: raise refuse_memory(locals(), error) from None"
            lines = ["try:", *(f"    {line}" for line in lines), handler]
        body = "\n    ".join(lines)
        parameters = ", ".join([*before, *(f"a{i}" for i in range(self.count))])
        exec(compile(f"def {name}({parameters}):\n    {body}\n", f"<loopdiff {name}>", "exec"), self.names)
        return self.names[name]


@immutable
class CallChecks:
    """What has to be looked at in every call of one kind, by argument position.

    `pairs` must not overlap (`refuse_overlap` decides exactly and raises), `strided` must not overlap
    themselves, `conversions` prepare a value for compiled code. It gets the parts of the numbers at `complex_numbers`,
    and after the arguments `total_count` integers, which `totals` finds.
    """

    count: int
    pairs: tuple[tuple[int, int], ...]
    strided: tuple[int, ...]
    conversions: tuple[tuple[int, Callable[[Any], Any]], ...]
    complex_numbers: tuple[int, ...]
    refuse_overlap: Callable[[int, int, Any, Any], None]
    refuse_repeats: Callable[[int, Any], None]
    totals: Callable[[tuple[Any, ...]], tuple[int, ...]]
    total_count: int

    def script(self) -> Script:
        """The start of an entry point: everything checked, every argument prepared."""
        script = Script(self.count)
        script.put("may_share", may_share_function())
        script.put("refuse_overlap", self.refuse_overlap)
        script.put("refuse_repeats", self.refuse_repeats)
        for i, j in self.pairs:
            script.add(f"if may_share(a{i}, a{j}): refuse_overlap({i}, {j}, a{i}, a{j})")
        for i in self.strided:
            script.add(f"refuse_repeats({i}, a{i})")
        for i, convert in self.conversions:
            script.put(f"convert{i}", convert)
            script.add(f"a{i} = convert{i}(a{i})")
        for i in self.complex_numbers:
            script.add(f"re{i}, im{i} = a{i}.real, a{i}.imag")
        for i in range(self.count):
            script.passed += [f"re{i}", f"im{i}"] if i in self.complex_numbers else [f"a{i}"]
        if self.total_count:
            script.put("totals", self.totals)
            found = [f"t{k}" for k in range(self.total_count)]
            script.unpack(found, f"totals({script.args_tuple})")
            script.passed += found
        return script

    def prepare(self) -> Callable[..., tuple[Any, ...]]:
        """Prepared arguments as a tuple."""
        script = self.script()
        script.add(f"return {script.args_tuple}")
        return script.define("prepare")


def may_share_function() -> Callable[..., bool]:
    """NumPy's test of bounds, without the protocol for other array types: arguments are NumPy arrays here."""
    return getattr(np.may_share_memory, "_implementation", np.may_share_memory)


def guard(args: Sequence[Any], asked: Collection[PlacedQuestion] = ()) -> Callable[..., bool]:
    """Whether other arguments are of the same kind as `args`: the same checks and code serve them.

    `asked`: the extents for which it matters whether they are a number, or equal.
    """
    script = Script(len(args))
    script.put("ndarray", np.ndarray)
    tests: list[str] = []
    for i, value in enumerate(args):
        if type(value) is np.ndarray:
            script.put(f"dtype{i}", value.dtype)
            tests.append(
                f"type(a{i}) is ndarray and a{i}.dtype is dtype{i} and a{i}.ndim == {value.ndim} "
                f"and a{i}.flags.num == {value.flags.num}"
            )
        else:
            script.put(f"type{i}", type(value))
            tests.append(f"type(a{i}) is type{i}" if not isinstance(value, np.ndarray) else "False")
    for i, axis, other in asked:
        extent = other if isinstance(other, int) else args[other[0]].shape[other[1]]
        text = other if isinstance(other, int) else f"a{other[0]}.shape[{other[1]}]"
        tests.append(f"a{i}.shape[{axis}] {'==' if args[i].shape[axis] == extent else '!='} {text}")
    script.add(f"return {' and '.join(tests) or 'True'}")
    return script.define("guard")


def refusal(ls: ir.LoopSet, error: ValueError) -> Exception:
    """What compiled code of `ls` raised, as the ArgumentError of the `Require` it comes from; as a MemoryError, if an
    array is too large to be addressed; others unchanged."""
    if str(error).startswith(TOO_BIG):
        return MemoryError(str(error))
    code, _, message = str(error).partition(": ")
    if code not in CODES or getattr(error, "diagnostics", ()):
        return error
    checks = (s for s in all_statements(ls.body) if isinstance(s, ir.Require))
    found = next((c for c in checks if c.said_in_code == message), None)
    return ArgumentError(reject(code, *((message, NOWHERE) if found is None else (found.said, found.loc))))


def primal_launcher(
    checks: CallChecks,
    call: Callable[..., Any],
    finish: Callable[[Any], Any] | None,
    refuse: Callable[[ValueError], Exception],
    needs: Needs,
) -> Callable[..., Any]:
    """Checks, then the compiled function; `finish` gives results the type that plain Python would."""
    script = checks.script()
    script.needs = needs
    script.call("value", call, script.args, refuse)
    if finish is not None:
        script.put("finish", finish)
    script.add("return value" if finish is None else "return finish(value)")
    return script.define("primal")
