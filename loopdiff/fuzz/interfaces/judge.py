"""Judges a program about interfaces: what each method of a decorated function gives, against plain Python on numbers
with slopes, three times with other data, and the two modes against each other."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from loopdiff.api import vectorize_grad
from loopdiff.backends.load import CompiledFunction
from loopdiff.fuzz.check import LARGEST, Mismatch, Outcome, judge_error
from loopdiff.fuzz.engines import eager_threads
from loopdiff.fuzz.interfaces.jets import MATH, NUMPY, CloseError
from loopdiff.fuzz.interfaces.plain import Plain, plain_decorator
from loopdiff.fuzz.interfaces.program import InterfaceProgram, Loaded
from loopdiff.fuzz.interfaces.trees import each_leaf, outline_of, remade
from loopdiff.fuzz.program import ProgramSizes, draw_like
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import compile_loopset
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Unit

TOLERANCE = 1e-8
TURNS = 3
PLAIN = {"np": NUMPY, "math": MATH}
NO_EVIDENCE = (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, NameError, CloseError)


@immutable
class Wanted:
    """What plain Python gives: of one call, its result, its gradients, what it returns beside a loss, and, along
    directions, what the result and, of some programs, the gradients change by."""

    value: Any
    gradients: Any
    beside: Any
    directions: dict[str, Any]
    pushed: Any
    bent: Any


def check_interface(program: InterfaceProgram, *, compiled: bool = False) -> Outcome:
    """Check the program in the interpreter, and with `compiled` as generated code too."""
    found = Outcome("passed")
    for is_compiled in (False, True)[: 1 + compiled]:
        with nullcontext() if is_compiled else interpreting_units(), eager_threads(program.setting.parallel):
            for sizes in program.sizes:
                found = check_with(program, sizes, is_compiled)
                if found.verdict != "passed":
                    return found
    return found


def check_with(program: InterfaceProgram, sizes: ProgramSizes, is_compiled: bool) -> Outcome:
    name = "compiled" if is_compiled else "interpreted"
    try:
        wanted = list(expected_of(program, sizes))
    except NO_EVIDENCE as error:
        return Outcome("invalid", type(error).__name__, str(error), sizes)
    stage = "build"
    try:
        options = program.setting.options if is_compiled else {"fastmath": program.setting.fastmath}
        tape = ("auto", "store", "recompute")[program.seed % 3]
        loaded = Loaded(program, sizes, partial(decorated, options | {"tape": tape, "cache": False}), {})
        for turn, want in enumerate(wanted):
            for stage in compared(loaded, want, f"{name}{turn}"):  # noqa: B007
                pass
            loaded.go_on()
    except Exception as error:
        return judge_error(f"{name} {stage}, then", error, sizes)
    return Outcome("passed", sizes=sizes)


def decorated(options: dict[str, Any], function: Any = None, /, **settings: Any) -> Any:
    made = vectorize_grad(**options, **settings)
    return made if function is None else made(function)


def expected_of(program: InterfaceProgram, sizes: ProgramSizes) -> Iterator[Wanted]:
    """What plain Python gives, turn for turn."""
    loaded = Loaded(program, sizes, plain_decorator, PLAIN)
    for turn in range(TURNS):
        target, args, named = loaded.call()
        plain: Plain = getattr(target, "of", target)
        bound = plain.arguments((loaded.owner, *args) if plain is not target else args, named)
        rng = np.random.default_rng([program.seed, turn])
        value, gradients = plain.value_and_grad(*bound.args, **bound.kwargs)
        beside = plain.grad(*bound.args, **bound.kwargs)[1] if plain.has_aux else None
        directions = {r: drawn_along(plain, r, bound.arguments[r], rng) for r in plain.roots(bound.arguments)}
        pushed = plain.along(bound, directions)
        is_second = program.seed % 4 == 0 and not plain.has_aux and ".grad(" not in program.text
        bent = plain.gradients_along(bound, directions) if is_second else None
        for _, leaf in each_leaf((value, gradients)):
            if not isinstance(leaf, str | None) and not np.all(np.abs(np.asarray(leaf, float)) < LARGEST):
                raise CloseError
        value, gradients, beside, pushed = map(copied_tree, (value, gradients, beside, pushed))
        yield Wanted(value, gradients, beside, directions, pushed, bent)
        loaded.go_on()


def copied_tree(value: Any) -> Any:
    """`value` with arrays of its own: those of the program change."""
    return remade(lambda _, leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, value)


def drawn_along(plain: Plain, root: str, value: Any, rng: np.random.Generator) -> Any:
    def one(path: Any, leaf: Any) -> Any:
        if not plain.is_chosen(root, value, path, leaf):
            return None
        return draw_like(np.zeros(np.shape(leaf)) if isinstance(leaf, np.ndarray) else 0.0, rng)

    return remade(one, value)


def compared(loaded: Loaded, want: Wanted, name: str) -> Iterator[str]:
    """Yields the name of each check before it is made; raises Mismatch."""
    yield f"{name} value"
    target, args, named = loaded.call()
    same_trees(f"{name} value", target(*args, **named), want.value)
    yield f"{name} value_and_grad"
    value, gradients = target.value_and_grad(*args, **named)
    same_trees(f"{name} value of value_and_grad", value, want.value)
    same_gradients(f"{name} value_and_grad", gradients, want.gradients)
    yield f"{name} grad"
    found = target.grad(*args, **named)
    if target.options.has_aux:
        found, beside = found
        same_trees(f"{name} beside", beside, want.beside)
    same_gradients(f"{name} grad", found, want.gradients)
    yield f"{name} vjp"
    value, pullback = target.vjp(*args, **named)
    same_trees(f"{name} value of vjp", value, want.value)
    seed = remade(lambda _, slope: None if slope is None else np.cos(np.asarray(slope, float) + 1.0)[()], want.pushed)
    pulled = pullback(of_classes(seed, value))
    compare_products(f"{name} vjp", seed, want.pushed, pulled, want.directions)
    if all_by_position(target.signature, named):
        yield f"{name} jvp"
        given = {root: of_classes(along, argument_of(target, root, args)) for root, along in want.directions.items()}
        value, tangents = target.jvp(args, given)
        same_trees(f"{name} value of jvp", value, want.value)
        same_trees(f"{name} jvp", tangents[0], want.pushed)
        if want.bent is not None:
            yield f"{name} hvp"
            value, gradients, products = target.hvp(args, given)
            same_trees(f"{name} value of hvp", value, want.value)
            same_gradients(f"{name} gradients of hvp", gradients, want.gradients)
            same_gradients(f"{name} hvp", products, want.bent)


def all_by_position(signature: inspect.Signature, named: dict[str, Any]) -> bool:
    """Whether forward mode, which takes a tuple of arguments, can be called."""
    return not named and all(p.kind is p.POSITIONAL_OR_KEYWORD for p in signature.parameters.values())


def argument_of(target: Any, root: str, args: tuple[Any, ...]) -> Any:
    if root == "self":
        return target.__self__
    bound = target.signature.bind(*args)
    bound.apply_defaults()
    return bound.arguments[root]


def of_classes(value: Any, like: Any) -> Any:
    """The leaves of `value` in a structure of the classes of `like`: those of plain Python are others."""
    leaves = iter([leaf for _, leaf in each_leaf(value)])
    return remade(lambda _, __: next(leaves), like)


def same_gradients(stage: str, found: Any, wanted: Any) -> None:
    if found._fields != wanted._fields:
        raise Mismatch(stage, f"gradients by {found._fields}, not by {wanted._fields}")
    same_trees(stage, tuple(found), tuple(wanted))


def same_trees(stage: str, found: Any, wanted: Any) -> None:
    """Raise Mismatch unless both have the same structure and, but for roundings, the same leaves."""
    if outline_of(found) != outline_of(wanted):
        raise Mismatch(stage, f"{found!r}, not {wanted!r}")
    for (path, one), (_, other) in zip(each_leaf(found), each_leaf(wanted), strict=True):
        if (one is None) != (other is None) or (isinstance(one, str) and one != other):
            raise Mismatch(stage, f"at {path} {one!r}, not {other!r}")
        if one is None or isinstance(one, str):
            continue
        a, b = np.asarray(one, float), np.asarray(other, float)
        bound = TOLERANCE * max(1.0, float(np.max(np.abs(b), initial=0.0)))
        if a.shape != b.shape or not np.all(np.abs(a - b) <= bound):
            raise Mismatch(stage, f"at {path} {a.tolist()}, not {b.tolist()}")


def compare_products(stage: str, seed: Any, pushed: Any, pulled: Any, directions: dict[str, Any]) -> None:
    """Raise Mismatch unless reverse mode is the transpose of what plain Python says of forward mode."""
    forward = products((seed,), (pushed,))
    backward = products(tuple(getattr(pulled, root) for root in directions), tuple(directions.values()))
    scale = 1.0 + sum(map(abs, forward)) + sum(map(abs, backward))
    if not abs(sum(forward) - sum(backward)) <= 10.0 * TOLERANCE * scale:
        raise Mismatch(stage, f"<w, J v> = {sum(forward)!r}, <J' w, v> = {sum(backward)!r}")


def products(weights: Any, values: Any) -> list[float]:
    pairs = zip(each_leaf(weights), each_leaf(values), strict=True)
    return [
        float(np.sum(np.asarray(w, float) * np.asarray(v, float)))
        for (_, w), (_, v) in pairs
        if w is not None and v is not None
    ]


@contextmanager
def interpreting_units() -> Iterator[None]:
    """What functions compile meanwhile is interpreted."""
    unit = Specialization.unit
    Specialization.unit = interpreted_as_unit  # type: ignore[method-assign]
    try:
        yield
    finally:
        Specialization.unit = unit  # type: ignore[method-assign]


def interpreted_as_unit(spec: Specialization, label: str, ls: ir.LoopSet, *_: object) -> Unit:
    run = compile_loopset(ls)

    def call(*args: Any) -> Any:
        found = run(dict(zip(ls.params, args, strict=True)))
        return found if ls.returns_tuple else found[0] if found else None

    return Unit(ls, CompiledFunction(ls.name, call, "", Path()))
