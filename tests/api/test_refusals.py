"""Calls that are refused before memory is touched: each code, and the words that name the argument."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from loopdiff import ArgumentError, DifferentiationError, UnsupportedLoopError, vectorize_grad
from loopdiff.errors.codes import CODES
from tests.api.programs import grow, halves_and_count, plain_sum, total, weighted_square


@pytest.fixture
def refused():
    """Runs a call, and checks the code and that the report names what is wrong."""

    def check(code, call, *words, error=ArgumentError):
        with pytest.raises(error) as caught:
            call()
        assert caught.value.codes == (code,)
        for word in words:
            assert word in str(caught.value)
        assert "hint:" in str(caught.value)

    return check


X, W = np.ones(3), np.ones(3)


def test_arguments_that_do_not_fit_the_signature(refused):
    refused("LD301", lambda: weighted_square(X, W, np.zeros(3)), "`scale`")
    refused("LD302", lambda: total(X, X), "1 argument,")
    refused("LD302", lambda: total(X, y=1.0), "`y`")
    refused("LD302", lambda: total(X, x=X), "twice")


def test_read_only_output(refused):
    y = np.zeros(3)
    y.flags.writeable = False
    refused("LD303", lambda: weighted_square(X, W, y, 1.0), "`y`")
    assert not y.any()


def test_overlap_with_a_written_array(refused):
    base = np.ones(5)
    refused("LD304", lambda: weighted_square(X, base, base, 1.0), "`y`", "`w`")
    refused("LD304", lambda: weighted_square.value_and_grad(base[:3], W, base[2:], 1.0), "`y`", "`x`")
    assert base.tolist() == [1.0] * 5
    interleaved = np.ones(6)
    assert weighted_square(interleaved[::2], W, interleaved[1::2], 1.0) == 3.0


def test_misaligned_array(refused):
    x = np.zeros(25, np.uint8)[1:].view(np.float64)
    refused("LD305", lambda: total(x), "`x`")


def test_integer_beyond_64_bits(refused):
    refused("LD306", lambda: grow(np.ones(2), 1 << 63), str(1 << 63))


def test_masked_array(refused):
    refused("LD307", lambda: total(np.ma.masked_array(X, [True, False, False])), "`x`")


def test_output_that_overlaps_itself(refused):
    y = as_strided(np.zeros(4), (3, 2)[:1], (0,))
    refused("LD308", lambda: weighted_square(X, W, y, 1.0), "`y`")


@pytest.mark.parametrize(
    "settings",
    [
        {"tape": "keep"},
        {"accuracy": "low"},
        {"fastmath": "yes"},
        {"memory_limit": -1},
        {"memory_limit": float("nan")},
        {"memory_limit": "all"},
        {"negative": "wrap"},
    ],
)
def test_settings(refused, settings):
    refused("LD309", lambda: vectorize_grad(**settings)(plain_sum), next(iter(settings)))


def test_seeds(refused):
    _, pullback = total.vjp(X)
    refused("LD340", lambda: pullback(np.ones(3)), "the seed", "shape (3,)")
    refused("LD340", lambda: pullback("one"))
    refused("LD340", lambda: pullback(1j))
    refused("LD340", lambda: pullback(1.0, 2.0))
    _, pullback = halves_and_count.vjp(X, 0.5)
    refused("LD340", pullback, "3 values")
    refused("LD340", lambda: pullback((np.ones(2), 0, 1.0)), "result 0")
    refused("LD340", lambda: pullback((np.ones(3), 1, 1.0)), "result 1")
    _, pullback = grow.vjp(np.ones(2), 1)
    refused("LD340", lambda: pullback(1.0), "returns nothing")


def test_cotangents(refused):
    _, pullback = grow.vjp(np.ones(2), 1)
    refused("LD341", lambda: pullback(y=np.ones(3)), "`y`", "shape (3,)")
    refused("LD341", lambda: pullback(y=1.0), "`y`")
    refused("LD341", lambda: pullback(y=np.ones(2, complex)), "complex128")
    refused("LD342", lambda: pullback(z=np.ones(2)), "`z`", "`y`")
    _, pullback = weighted_square.vjp(X, W, np.zeros(3), 1.0)
    refused("LD342", lambda: pullback(x=X), "`x`", "`y`")


def test_directions(refused):
    args = (X, W, np.zeros(3), 1.0)
    refused("LD343", lambda: weighted_square.jvp(args, {"z": X}), "`z`")
    refused("LD344", lambda: weighted_square.jvp(args, {"x": np.ones(2)}), "`x`")
    refused("LD344", lambda: weighted_square.jvp(args, {"scale": X}), "`scale`")


def test_memory_limit(refused):
    f = vectorize_grad(memory_limit=8)(grow.__wrapped__)
    y = np.full(1000, 1.5)
    refused("LD345", lambda: f.vjp(y, 5), "limit is 8")
    assert y[0] == 1.5


def test_types_that_no_argument_has(refused):
    refused("LD346", lambda: total.compile(str), "`x`")


def test_wrt_that_names_no_argument(refused):
    refused("LD401", lambda: vectorize_grad(wrt=("z",))(plain_sum), "'z'", error=DifferentiationError)
    refused("LD401", lambda: vectorize_grad(wrt=("x", "x"))(plain_sum), "twice", error=DifferentiationError)


def test_wrt_that_is_an_integer(refused):
    f = vectorize_grad(wrt=("y", "steps"))(grow.__wrapped__)
    refused("LD402", lambda: f.vjp(np.ones(2), 1), "`steps`", error=DifferentiationError)
    refused("LD402", lambda: total_of_x.grad(np.arange(3)), "`x`", "int64", error=DifferentiationError)


total_of_x = vectorize_grad(wrt="x")(plain_sum)


def test_nothing_to_differentiate(refused):
    refused("LD403", lambda: vectorize_grad(wrt=())(plain_sum), error=DifferentiationError)
    refused("LD403", lambda: total.vjp(np.arange(3)), error=DifferentiationError)


def test_gradient_of_something_that_is_no_number(refused):
    y = np.full(2, 3.0)
    refused("LD404", lambda: grow.grad(y, 1), "nothing", error=DifferentiationError)
    assert y[0] == 3.0
    refused("LD404", lambda: halves_and_count.grad(X, 1.0), error=DifferentiationError)


def test_class_methods_are_refused_when_decorated():
    with pytest.raises(UnsupportedLoopError, match="LD117"):

        class Model:
            @classmethod
            @vectorize_grad
            def loss(cls, x):
                return x[0]


def test_bind_refuses_types_at_the_call():
    with pytest.raises(ArgumentError, match="LD209"):
        total(np.ones(3, np.uint64))
    with pytest.raises(ArgumentError, match="LD210"):
        total([1.0])


def test_every_code_of_a_call_is_shown():
    expected = {c for c in CODES if "LD300" < c < "LD310" or "LD340" <= c < "LD347" or "LD400" < c < "LD405"}
    shown = set(re.findall(r'refused\(\s*"(LD\d+)"', Path(__file__).read_text(encoding="utf-8")))
    assert expected == shown
