"""Lists, tuples, dictionaries and records in programs, and given to them: against the function as Python runs it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

from loopdiff import stop_gradient, vectorize_grad
from loopdiff.errors import ArgumentError, UnsupportedLoopError
from loopdiff.frontend.structures.given import flattened
from loopdiff.testing import GradientCheckError, check_grads
from tests.frontend.families import FAMILIES
from tests.frontend.objects import OBJECTS
from tests.frontend.structured import PROGRAMS, Model, Pair
from tests.gradients.interpreted import interpreting
from tests.texts import registered

pytestmark = pytest.mark.part(2)
STEP = 1e-6


def parts(tree: Any) -> list[Any]:
    return flattened((tree,))[0]


def made_of(tree: Any, values: list[Any]) -> Any:
    return optree.tree_unflatten(flattened((tree,))[1], values)[0]


def copied(tree: Any) -> Any:
    return made_of(tree, [v.copy() if isinstance(v, np.ndarray) else v for v in parts(tree)])


def is_floating(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f")


def weights(value: Any) -> Any:
    """A seed for one part of a result."""
    if not is_floating(value):
        return None
    return 1.5 if np.ndim(value) == 0 else np.arange(1.0, 1.0 + value.size).reshape(value.shape)


def weighted(function: Any, args: tuple[Any, ...]) -> float:
    """The result of the function in Python, each part weighted by its seed."""
    values = parts(function(*copied(args)))
    return float(sum(np.sum(v * weights(v)) for v in values if is_floating(v)))


def slopes(function: Any, args: tuple[Any, ...]) -> Iterator[np.ndarray | None]:
    """The derivative by each leaf of the arguments, by differences; None for what is no floating number."""
    found = parts(args)
    for k, leaf in enumerate(found):
        if not is_floating(leaf):
            yield None
            continue
        slope = np.zeros(np.shape(leaf))
        for place in np.ndindex(slope.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = np.array(leaf, dtype=float)
                moved[place] += step
                values = [*found[:k], moved if moved.ndim else float(moved), *found[k + 1 :]]
                ends.append(weighted(function, made_of(args, values)))
            slope[place] = (ends[0] - ends[1]) / (2 * STEP)
        yield slope


@pytest.mark.part(5)
@pytest.mark.parametrize("name", [*PROGRAMS, *OBJECTS, *FAMILIES])
def test_values_and_gradients(name: str) -> None:
    """Through the interpreter: the other tests compile."""
    function, args = (PROGRAMS | OBJECTS | FAMILIES)[name]
    expected = function(*copied(args))
    with interpreting():
        check(function, args, expected)


def check(function: Any, args: tuple[Any, ...], expected: Any) -> None:
    value, pullback = vectorize_grad(cache=False)(function).vjp(*copied(args))
    assert flattened((value,))[1] == flattened((expected,))[1]
    for one, other in zip(parts(value), parts(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    seed = made_of(expected, [weights(v) for v in parts(expected)])
    gradients = pullback(seed)
    of_leaves = iter(slopes(function, args))
    names = list(inspect.signature(function).parameters)[: len(args)]
    for argument, arg in zip(names, args, strict=True):
        wanted = [next(of_leaves) for _ in parts(arg)]
        if argument not in gradients._fields:
            assert not any(is_floating(p) for p in parts(arg))
            continue
        found = getattr(gradients, argument)
        got = [None] if found is None else parts(found)
        for mine, reference in zip(got, wanted, strict=True):
            if reference is None:
                assert mine is None
            else:
                np.testing.assert_allclose(mine, reference, rtol=2e-5, atol=1e-6)


@vectorize_grad
def scaled(m, p, n):
    p["w"] *= m.scale
    return {"loss": (m.w * p["w"]).sum() * n, "w": p["w"] * 1.0}


def arguments() -> tuple[Any, ...]:
    return Model(np.array([1.0, 2.0]), 3.0), {"w": np.array([0.5, -1.0]), "n": 4}, 2


def test_gradients_have_the_structure_of_arguments() -> None:
    value, pullback = scaled.vjp(*arguments())
    assert value["loss"] == 2 * 3.0 * (0.5 - 2.0)
    found = pullback({"w": None, "loss": 1.0})
    assert type(found.m) is Model
    assert found.m.kind is None
    np.testing.assert_array_equal(found.m.w, [3.0, -6.0])
    assert found.m.scale == 2 * (0.5 - 2.0)
    np.testing.assert_array_equal(found.p["w"], [6.0, 12.0])
    assert found.p["n"] is None
    again = pullback({"loss": 0.0, "w": np.zeros(2)}, p={"w": np.ones(2), "n": None})
    np.testing.assert_array_equal(again.p["w"], [3.0, 3.0])


def test_forward_mode_goes_along_structures() -> None:
    direction = {"p": {"n": None, "w": np.array([1.0, 0.0])}}
    value, along = scaled.jvp(arguments(), direction)
    assert value["loss"] == 2 * 3.0 * (0.5 - 2.0)
    assert along.result["loss"] == 6.0
    np.testing.assert_array_equal(along.result["w"], [3.0, 0.0])
    np.testing.assert_array_equal(along.p["w"], [3.0, 0.0])


def of_square(p, x):
    return (p["a"] * x**2).sum() ** 2 + p["k"]


def test_second_derivatives_and_wrt() -> None:
    quartic = vectorize_grad(wrt="p")(of_square)
    p, x = {"k": 3, "a": np.array([1.0, 2.0])}, np.array([1.0, -1.0])
    value, gradient, product = quartic.hvp((p, x), {"p": {"a": np.array([1.0, 0.0]), "k": None}})
    assert value == 12.0
    assert gradient._fields == ("p",)
    np.testing.assert_allclose(gradient.p["a"], [6.0, 6.0])
    np.testing.assert_allclose(product.p["a"], [2.0, 2.0])
    assert quartic.jacobian(p, x).result.p_a.shape == (2,)
    assert "p_a" in quartic.explain(p, x)


def test_another_structure_is_another_program() -> None:
    quartic, x = vectorize_grad(of_square), np.ones(2)
    assert quartic({"a": np.ones(2), "k": 1}, x) == 5.0
    assert quartic({"a": np.zeros(2), "k": 1}, x) == 1.0
    assert quartic({"a": 2.0, "k": 1}, x) == 17.0
    assert quartic({"k": 1, "a": np.ones(2)}, x) == 5.0
    assert len(quartic.structured) == 2  # one for each order of keys: loops over them go in that


def test_arrays_from_outside_are_read_at_each_call() -> None:
    weights, x = np.array([1.0, 2.0]), np.array([3.0, 4.0])

    @vectorize_grad
    def weighted(x):
        weights[0] += 1.0
        return (weights * x).sum()

    assert weighted(x) == 2 * 3 + 2 * 4
    assert weights[0] == 2.0
    value, gradients = weighted.value_and_grad(x)
    assert (value, gradients._fields) == (3 * 3 + 2 * 4, ("x",))
    np.testing.assert_array_equal(gradients.x, [3.0, 2.0])
    weights = np.array([5, 6])
    assert weighted(x) == 6 * 3 + 6 * 4
    weights = np.array([1.0, 1.0, 1.0])
    with pytest.raises(ArgumentError, match="LD320"):
        weighted(x)


def test_functions_that_are_arguments_mean_what_they_do_at_the_call() -> None:
    factor = 2.0

    def scaled(v):
        return factor * v

    applied = vectorize_grad(lambda x, f: f(x).sum())
    x = np.array([1.0, 2.0])
    assert applied(x, scaled) == 6.0
    factor = 5.0
    assert applied(x, scaled) == 15.0
    np.testing.assert_array_equal(applied.grad(x, scaled).x, [5.0, 5.0])


class Doubled(NamedTuple):
    """A record with a method that Python did not make."""

    a: float
    b: float

    def __getitem__(self, k):
        return 2.0 * tuple.__getitem__(self, k)


def test_records_that_do_more_than_hold_are_refused() -> None:
    with pytest.raises(ArgumentError, match="LD210: `Doubled` does more than hold"):
        vectorize_grad(lambda p: p[0])(Doubled(1.0, 2.0))
    with pytest.raises(ArgumentError, match="LD210: an argument is, or holds, a Counter"):
        vectorize_grad(lambda p: p["a"])(Counter(a=1))


def test_lists_that_others_have_grow_for_all() -> None:
    def grown(x):
        terms = [x[0]]
        others = terms
        terms += [x[1]]
        return sum(others)

    assert vectorize_grad(grown)(np.array([1.0, 2.0])) == 3.0


def test_lists_of_structures_that_others_have_do_not_grow() -> None:
    def grown(x):
        terms = [(x[0], x)]
        others = terms
        terms += [(x[1], x)]
        return sum(v for v, _ in others)

    with pytest.raises(UnsupportedLoopError, match="LD134: `terms` is changed where others may have it"):
        vectorize_grad(grown)(np.ones(2))


def test_names_without_a_value_are_not_assigned_to_themselves() -> None:
    scale = 2.0

    def outer(x):
        def inner(v):
            scale = scale  # noqa: F823, F841 # pyright: ignore[reportUnboundVariable]
            return v

        return inner(x) * scale

    with pytest.raises(UnboundLocalError):
        outer(1.0)
    with pytest.raises(UnsupportedLoopError, match="LD114: `scale` is read before it is assigned"):
        vectorize_grad(outer)(1.0)


def test_which_of_two_functions_is_called_with_a_structure_is_known() -> None:
    def either(x, p):
        if x[0] > 0.0:

            def g(q):
                return q["a"] * x.sum()

        else:

            def g(q):
                return q["a"] * x[1]

        return g(p)

    with pytest.raises(UnsupportedLoopError, match="LD134: `p` is a dictionary of 1, used as one value"):
        vectorize_grad(either)(np.ones(2), {"a": 2.0})


def test_numbers_of_structures_that_others_have_do_not_change() -> None:
    """Of numbers, too, whose types a call says: a function would add to a copy."""

    def bumped(p, h):
        p["x"] += h

    def read_later(s):
        p = {"x": s}
        q = p
        bumped(p, 0.1)
        return q["x"]

    with pytest.raises(UnsupportedLoopError, match="LD134: `p`, a dictionary of 1, is changed where"):
        vectorize_grad(read_later)(0.7)


def test_a_record_is_made_again_from_what_it_holds() -> None:
    function, args = PROGRAMS["records"]
    gradients = vectorize_grad(function).vjp(*args)[1](Pair(np.zeros(3), b=1.0))
    assert gradients.p.b == pytest.approx(8 * 0.5)
    assert type(gradients.p) is Pair


def test_structures_from_outside_are_read_at_each_call() -> None:
    settings = {"rate": 2.0, "kinds": ["sin"], "w": np.array([1.0, 2.0])}
    functions = {"sin": np.sin, "exp": np.exp}
    x = np.array([0.5, 1.5])

    def plain(x):
        s = settings["rate"] * (settings["w"] * x).sum()
        for kind in settings["kinds"]:
            s += functions[kind](x).sum()
        return s

    compiled = vectorize_grad(plain)
    assert compiled(x) == pytest.approx(plain(x))
    assert compiled.grad(x)._fields == ("x",)
    settings["rate"], settings["w"] = 3.0, np.array([4.0, 5.0])
    assert compiled(x) == pytest.approx(plain(x))
    assert len(compiled.structured) == 1
    settings["kinds"].append("exp")
    assert compiled(x) == pytest.approx(plain(x))
    functions["sin"] = np.cos
    assert compiled(x) == pytest.approx(plain(x))
    assert len(compiled.structured) == 3
    settings = {"rate": 1, "kinds": (), "w": x}
    assert compiled(x) == pytest.approx(plain(x))


def test_an_array_of_another_rank_is_another_program_where_its_shape_is_a_tuple() -> None:
    counted = vectorize_grad(lambda p: p["x"].sum() * len(p["x"].shape))
    assert [counted({"x": np.ones(shape)}) for shape in ((2,), (2, 2), (2,), (1, 1, 2))] == [2.0, 8.0, 2.0, 6.0]
    scaled = vectorize_grad(lambda p: len(p))
    assert (scaled({"x": np.ones(1)}), scaled({"x": 1.0}), len(scaled.structured)) == (1, 1, 1)


def test_none_that_is_read_as_a_number_is_an_error() -> None:
    def first(x, limit):
        found = None
        for v in x:
            if found is None and v > limit:
                found = v
        return 2.0 * found

    compiled = vectorize_grad(first)
    assert compiled(np.array([1.0, 2.0, 3.0]), 1.5) == 4.0
    with pytest.raises(ArgumentError, match="LD332: assertion failed: `found` is None"):
        compiled(np.array([1.0, 2.0, 3.0]), 4.0)


def test_gradients_with_structures_are_checked_leaf_by_leaf() -> None:
    report = check_grads(scaled, arguments())
    assert {p.input for p in report.pairs} == {"m_w", "m_scale", "p_w"}
    assert len(report.pairs) == 9  # of each of these two results, and of the array that is written
    wrong = vectorize_grad(lambda p, w: {"a": stop_gradient(p["x"][0]) * p["x"].sum()})
    with pytest.raises(GradientCheckError, match="p_x"):
        check_grads(wrong, ({"x": np.array([1.0, 2.0])}, None))


def test_arrays_made_of_lists_under_names_are_multiplied() -> None:
    def product(a, b):
        terms = [a[0], 2.0 * a[1], a[2] * a[2]]
        return np.array(terms) @ b

    a, b = np.array([0.5, 1.5, 2.0]), np.array([1.0, -2.0, 3.0])
    with interpreting():
        value, gradients = vectorize_grad(product).value_and_grad(a, b)
    assert value == pytest.approx(product(a, b), rel=1e-15)
    np.testing.assert_allclose(gradients.a, [1.0, -4.0, 12.0], rtol=1e-14)


def test_branches_that_ranks_rule_out_may_ask_for_more_axes() -> None:
    def product(x, p):
        return np.kron(x, x[:2]).sum() * p["scale"]

    x = np.array([0.5, 1.5, 2.0])
    with interpreting():
        value, gradients = vectorize_grad(product).value_and_grad(x, {"scale": 3.0})
    assert value == pytest.approx(3.0 * 4.0 * 2.0, rel=1e-15)
    np.testing.assert_allclose(gradients.x, [18.0, 18.0, 6.0], rtol=1e-14)


def test_a_call_that_gives_none_beside_an_array_runs_once() -> None:
    """The product of `np.cumprod` is there as often as it is called."""

    def both(a: Any) -> Any:
        return np.cumprod(a), None

    text = "def f(x):\n    return (both(x)[0] + both(2.0 * x)[0]).sum()\n"
    plain, x = registered(text, "<runs once>", np=np, both=both), np.arange(1.0, 5.0)
    with interpreting():
        program = vectorize_grad(plain)
        assert program(x) == plain(x)
        lines = str(program.compile(x).ir("normal")).splitlines()
    assert sum(line.lstrip().startswith("for ") for line in lines) <= 2 * 4 + 1, lines


def test_what_would_stand_in_too_many_branches_is_refused() -> None:
    """Each of these conditions has two ways past it: after twenty, a million."""
    ways = "        if v[0] > c:\n            if c > 0.5:\n                continue\n" * 20
    head = "def f(x, c):\n    t = 0.0\n    for v, w in ((x, c), (2.0 * x, 1.0)):\n"
    text = f"{head}{ways}        t += v[0] * w\n    return t\n"
    plain = registered(text, "<too many ways>")
    with interpreting(), pytest.raises(UnsupportedLoopError, match="is written out, and has a jump"):
        vectorize_grad(plain)(np.arange(3.0), 0.2)


@pytest.mark.parametrize("c", [0.2, 0.7])
def test_loops_that_are_written_out_go_on_from_inside_of_conditions(c: float) -> None:
    def program(x: Any, c: Any) -> Any:
        t = 0.0
        for v, w in ((x, c), (2.0 * x, 1.0)):
            if v[1] > c:
                if c > 0.5:
                    continue
                t += v[2]
            for k in range(3):
                if k == 1:
                    continue
                t += v[k] * w
        else:
            t *= 2.0
        return t

    with interpreting():
        assert vectorize_grad(program)(np.arange(3.0), c) == program(np.arange(3.0), c)
