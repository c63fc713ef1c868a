"""What may be passed for an argument, and how a value is refused that may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, LoopdiffError, check_grads, vectorize_grad
from tests.api.programs import by_name_only, every, names_of_builtins, plain_sum, total, weighted_square

X, W = np.arange(4.0), np.ones(4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros(8)[::2],
        lambda: np.zeros(4)[::-1],
        lambda: np.zeros((4, 3))[:, 1],
        lambda: np.zeros(4, np.float32),
    ],
    ids=["strided", "reversed", "column", "float32"],
)
def test_written_arrays_of_any_stride_and_precision(make: Callable[[], np.ndarray]) -> None:
    y = make()
    weighted_square(X[::-1], W, y, 1.0)
    np.testing.assert_array_equal(y, X[::-1] ** 2)


def test_neighbours_of_a_strided_output_stay_untouched() -> None:
    block = np.full(8, 7.0)
    weighted_square(X, W, block[::2], 1.0)
    np.testing.assert_array_equal(block[1::2], 7.0)


def test_scalars_of_every_kind_stand_for_their_value() -> None:
    y = np.zeros(4)
    for scale in (2, 2.0, np.float64(2), np.float32(2), np.int8(2), np.int64(2), np.array(2.0)[()]):
        assert weighted_square(X, W, y, scale) == 28.0
    assert weighted_square(X, W, y, True) == weighted_square(X, W, y, np.bool_(True)) == 14.0


def test_calls_of_different_types_alternate() -> None:
    narrow = X.astype(np.float32)
    for _ in range(3):
        assert [total(x) for x in (X, narrow, X[::-1], X)] == [14.0] * 4


def test_arrays_that_are_only_read_may_be_the_same() -> None:
    gradients = weighted_square.grad(X, X, np.zeros(4), 1.0)
    np.testing.assert_array_equal(gradients.x, 2.0 * X * X)
    np.testing.assert_array_equal(gradients.w, X * X)


def refusal(call: Callable[[], Any], error: type[LoopdiffError]) -> LoopdiffError:
    with pytest.raises(error) as caught:
        call()
    assert "hint: " in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        ([1.0, 2.0], "LD210", "list"),
        (None, "LD210", "NoneType"),
        ("text", "LD210", "str"),
        (X.astype(object), "LD209", "object"),
        (X.astype(np.uint64), "LD209", "uint64"),
        (X.astype(">f8"), "LD209", "byte order"),
        (X.astype("M8[s]"), "LD209", "datetime64"),
        (np.zeros(4, "f8,f8"), "LD209", "structured"),
    ],
)
def test_values_that_no_loop_works_on(value: Any, code: str, words: str) -> None:
    for call in (total, total.value_and_grad, total.vjp, total.compile, lambda x: total.jvp((x,), {})):
        found = refusal(lambda call=call: call(value), ArgumentError)
        assert found.codes == (code,)
        assert "`x`" in str(found)
        assert words in str(found)


def test_all_values_are_reported_at_once() -> None:
    found = refusal(lambda: weighted_square([1.0], X.astype(np.uint64), np.zeros(4), "2"), ArgumentError)
    assert found.codes == ("LD210", "LD209", "LD210")


def test_the_number_of_axes_is_part_of_the_program() -> None:
    found = refusal(lambda: total(np.array(1.0)), LoopdiffError)
    assert set(found.codes) == {"LD207"}
    assert "`x`" in str(found)
    assert "programs.py:" in str(found)


@pytest.mark.parametrize(
    "run",
    [every, every.value_and_grad, every.vjp, lambda *args: every.jvp(args, {})],
    ids=["call", "value_and_grad", "vjp", "jvp"],
)
def test_what_the_program_requires_is_checked_in_every_mode(run: Callable[..., Any]) -> None:
    line = every.__wrapped__.__code__.co_firstlineno
    found = refusal(lambda: run(X, 0), ArgumentError)
    assert found.codes == ("LD330",)
    assert f"programs.py:{line + 4}" in str(found)
    found = refusal(lambda: run(X[:0], 1), ArgumentError)
    assert found.codes == ("LD332",)
    assert "x.shape[0] > 0" in str(found)
    assert isinstance(found, ValueError)


def test_other_errors_of_the_program_are_pythons() -> None:
    @vectorize_grad
    def shared(x, parts):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i] * (12 // parts)
        return s

    assert shared(X, 5) == 12.0
    with pytest.raises(ZeroDivisionError):
        shared(X, 0)

    @vectorize_grad(tape="store")
    def kept(x, parts):
        y = np.zeros(12 // parts)
        for i in range(12 // parts):
            y[i] = x[0] * i
        return (y * y).sum()

    assert kept(X, 4) == 5.0 * X[0] ** 2
    for run in (kept, kept.value_and_grad, kept.vjp, kept.compile(X, 4).workspace):
        with pytest.raises(ZeroDivisionError):
            run(X, 0)


def test_metadata_is_that_of_the_function() -> None:
    assert total.__name__ == total.__wrapped__.__name__ == plain_sum.__name__
    assert total.__module__ == "tests.api.programs"
    assert "plain_sum" in repr(total)


def test_arguments_may_have_any_name() -> None:
    args = (X, np.zeros(4), 1.5, 3)
    assert check_grads(names_of_builtins, args).is_good
    value, pullback = names_of_builtins.vjp(max=X, self=np.zeros(4), int64=1.5, n=3)
    assert value == names_of_builtins(self=np.zeros(4), max=X, int64=1.5, n=3)
    assert pullback(0.0, self=W).int64 == X[:3].sum()
    assert names_of_builtins.compile(*args).signature("reverse")[-3:] == ("result_adj", "max_adj", "self_adj")


def test_parameters_that_go_only_by_name_or_only_by_position() -> None:
    assert by_name_only(2.0, 3.0) == by_name_only(2.0, y=3.0, scale=2.0) == 12.0
    assert by_name_only.grad(2.0, 3.0, scale=1.0) == (3.0, 2.0, 6.0)
    assert refusal(lambda: by_name_only(2.0, 3.0, 1.0), ArgumentError).codes == ("LD302",)
    assert refusal(lambda: by_name_only(x=2.0, y=3.0), ArgumentError).codes == ("LD302",)


def test_arguments_and_directions_of_jvp_have_their_form() -> None:
    assert refusal(lambda: total.jvp(X, {}), ArgumentError).codes == ("LD302",)
    assert refusal(lambda: total.jvp((X,), X), ArgumentError).codes == ("LD344",)
    assert total.jvp([X], {"x": X})[1].result == 2.0 * total(X)


def step_of_a_loop_before(x):
    for i in range(1):
        x[i] += 1.0
    for j in range(0, 1, i):
        x[j] = 0.0


def step_of_nothing(x, n):
    k = n - n
    for j in range(0, 1, k):
        x[j] = 0.0


@pytest.mark.parametrize(("function", "args"), [(step_of_a_loop_before, ()), (step_of_nothing, (2,))])
def test_steps_that_are_zero_for_certain_are_refused_when_the_loop_runs(function: Any, args: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        vectorize_grad(function)(np.ones(2), *args)
    assert caught.value.codes == ("LD330",)
