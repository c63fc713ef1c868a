"""Both sweeps in one pass: the same value and gradients, arrays as large as one iteration, and only where it may be."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements, stmt_exprs, subexprs, written_arrays
from loopdiff.memory.arena import sizes_function
from loopdiff.passes.storage.workspace import in_workspace
from loopdiff.pipeline.derive import derive_one_pass, derive_sweeps
from loopdiff.pipeline.stages import Stages
from loopdiff.schedule.blocks.sweeps import block_primal
from tests.corpus import BY_NAME
from tests.gradients import harness
from tests.gradients.interpreted import lowered, normal_form
from tests.gradients.test_tape_plans import forward_and_reverse

pytestmark = pytest.mark.part(2)
NAMES = (
    "matmul_loss", "mlp_rows", "gmm", "gathered_products", "read_then_overwrite", "triangular_carry",
    "reset_and_reused", "inverted_masks", "over_zip", "imperfect_nest", "local_arrays", "rank_four",
)  # fmt: skip


def one_pass(ls: ir.LoopSet, wrt: tuple[str, ...]) -> ir.LoopSet | None:
    stages = Stages("test")
    sweeps = derive_sweeps(ls, wrt, "auto", stages, "gradient")
    found = derive_one_pass(ls, sweeps.forward, sweeps.reverse, wrt, stages)
    if found is None:
        return None
    verify(found, "one pass")
    return block_primal(found, rows=2)


@pytest.mark.part(2)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_the_same(name: str) -> None:
    entry = BY_NAME[name]
    ls = lowered(entry)
    found = one_pass(ls, entry.wrt)
    assert found is not None
    for seed in (0, 1):
        args = entry.args(seed)
        value, *gradients = run(found, args)
        reference = entry.args(seed)
        expected = entry.function(*reference.values())
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        for written in entry.outputs:
            np.testing.assert_allclose(args[written], reference[written], rtol=1e-12, atol=1e-14)
    sums = derive_sweeps(ls, entry.wrt, "auto", Stages(name))
    args = entry.args(0)
    outputs = harness.outputs_of(entry, entry.function(*args.values()), args)
    weight: dict[str, Any] = {n: np.zeros(np.shape(v)) for n, v in outputs.items()} | {"result": 1.0}
    wanted = forward_and_reverse(entry, ls, sums, weight)
    _, *gradients = run(found, entry.args(0))
    for name, gradient in zip(entry.wrt, gradients, strict=True):
        np.testing.assert_allclose(gradient, wanted[name], rtol=1e-11, atol=1e-13, err_msg=name)


def rows(x, w):
    total = 0.0
    for r in range(x.shape[0]):
        s = 0.0
        for c in range(w.shape[0]):
            s += x[r, c] * w[c]
        total += s * np.exp(s)
    return total


def coupled(x, w):
    """The weight of each row depends on the row before."""
    total = 0.0
    s = 1.0
    for r in range(x.shape[0]):
        s = np.sin(s + x[r, 0] * w[0])
        total += s
    return total


def normalised(x, w):
    """The adjoint of every row needs the sum over all of them."""
    total = 0.0
    for r in range(x.shape[0]):
        for c in range(w.shape[0]):
            total += np.exp(x[r, c] * w[c])
    return total * total


def read_later(x, w):
    """What one loop leaves is used by two others."""
    total = 0.0
    h = np.empty(x.shape[0])
    for r in range(x.shape[0]):
        h[r] = np.exp(x[r, 0] * w[0])
    for r in range(x.shape[0]):
        total += h[r] * h[x.shape[0] - 1 - r]
    return total


def test_what_one_row_keeps_has_no_axis_for_rows() -> None:
    entry = BY_NAME["mlp_rows"]
    found = one_pass(lowered(entry), entry.wrt)
    assert found is not None
    assert {a.name: a.type.rank for a in found.arrays if a.type is not None}["s_tape"] == 1


def either_way(x, w):
    total = 0.0
    for r in range(x.shape[0]):
        best = 0.0
        for c in range(w.shape[0]):
            if x[r, c] * w[c] + x[r, 0] > 1.0:
                best = x[r, c] * w[c]
            else:
                total += x[r, c]
        total += best
    return total


def test_flags_are_not_worth_it() -> None:
    ls = normal_form(either_way, {"x": np.ones((3, 2)), "w": np.ones(2)})
    assert one_pass(ls, ("x", "w")) is None


def test_of_a_minimum_nothing_is_left_on_the_tape() -> None:
    entry = BY_NAME["kmeans_cost"]
    found = one_pass(lowered(entry), entry.wrt)
    assert found is not None
    assert not any(a.type.rank for a in found.arrays if a.role == "tape" and a.type is not None)


def sparse_form(indptr, indices, vals, x, w):
    y = np.zeros(w.shape[0])
    for i in range(indptr.shape[0] - 1):
        s = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            s += vals[p] * x[indices[p]]
        y[i] = s
    return np.sum(w * y)


@pytest.mark.parametrize("indptr", [[0, 2, 2, 9, 14], [0, 9, 3, 7, 2], [0, 0], [0]])
def test_rows_of_their_own_length_are_gone_through_once(indptr: list[int]) -> None:
    """Also where they overlap."""
    rng = np.random.default_rng(0)
    args = (np.array(indptr), rng.integers(0, 5, 14), rng.random(14), rng.random(5), rng.random(4))
    f = vectorize_grad(wrt=("vals", "x"))(sparse_form)
    loops = re.findall(r"^ +for p\w* in range\(indptr", f.compile(*args).source("gradient"), re.MULTILINE)
    assert len(loops) == 2  # one of them looks for the place of what is wrong
    value, found = f.value_and_grad(*args)
    assert value == pytest.approx(sparse_form(*args))
    vals_adj, x_adj = np.zeros(14), np.zeros(5)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            vals_adj[p] += args[4][i] * args[3][args[1][p]]
            x_adj[args[1][p]] += args[4][i] * args[2][p]
    np.testing.assert_allclose(found.vals, vals_adj, rtol=1e-13)
    np.testing.assert_allclose(found.x, x_adj, rtol=1e-13)


def test_elements_of_both_sweeps_are_read_once() -> None:
    """The loss and the first adjoint in one nest, between the product and its adjoints."""
    entry = BY_NAME["matmul_loss"]
    found = one_pass(lowered(entry), entry.wrt)
    assert found is not None
    both = [s.stmt for s in statements(found.body) if isinstance(s.stmt, ir.Loop) and s.stmt.index.startswith("n")]
    assert any(written_arrays((loop,)) == {"t", "C_adj"} for loop in both)


def shifted(x, w):
    """The ranges differ by one."""
    total = 0.0
    for r in range(1, x.shape[0]):
        x[r, 0] = w[0] * x[r - 1, 1]
    for r in range(x.shape[0]):
        total += np.exp(x[r, 0])
    return total


@pytest.mark.parametrize("function", [coupled, normalised])
def test_sweeps_stay_apart_where_rows_need_each_other(function: Callable[..., Any]) -> None:
    ls = normal_form(function, {"x": np.ones((3, 2)), "w": np.ones(2)})
    assert one_pass(ls, ("x", "w")) is None


@pytest.mark.part(5)
@pytest.mark.parametrize("function", [rows, coupled, normalised, read_later, shifted])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_value_and_grad_agrees_with_the_pullback(function: Callable[..., Any], count: int) -> None:
    rng = np.random.default_rng(count)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        x, w = rng.standard_normal((count, 2)).astype(dtype), rng.standard_normal(2).astype(dtype)
        f = vectorize_grad(function)
        value, pullback = f.vjp(x, w)
        found, gradients = f.value_and_grad(x, w)
        assert type(found) is type(value)
        np.testing.assert_allclose(found, value, rtol=tolerance)
        for got, wanted in zip(gradients, pullback(), strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_gradients_by_other_arguments_have_code_of_their_own() -> None:
    """Also on disk, where generated text is found again without emitting it."""
    x, w = np.random.default_rng(2).standard_normal((5, 2)), np.ones(2)
    for wrt in (("x", "w"), ("w",), ("x",)):
        _, gradients = vectorize_grad(wrt=wrt)(rows).value_and_grad(x, w)
        assert [g.shape for g in gradients] == [{"x": x, "w": w}[name].shape for name in wrt]


def test_the_generated_source_is_shown() -> None:
    k = vectorize_grad(rows).compile(np.ones((3, 2)), np.ones(2))
    assert "rows_value_and_gradient(x, w, x_adj, w_adj)" in k.source("gradient")
    assert k.signature("gradient") == ("x", "w", "x_adj", "w_adj")
    text = vectorize_grad(rows).explain(np.ones((3, 2)), np.ones(2))
    assert "`value_and_grad` runs both sweeps in one pass:" in text
    assert "one pass" not in vectorize_grad(coupled).explain(np.ones((3, 2)), np.ones(2))
    assert "coupled_reverse_pullback(" in vectorize_grad(coupled).compile(np.ones((3, 2)), np.ones(2)).source(
        "gradient"
    )


def test_functions_without_a_number_have_sweeps() -> None:
    """`gradient` is there to look at, whatever the function returns."""

    def nothing(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i]

    def pair(x, y):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i] * y[i]
        return s, 2.0 * s

    def row(x, y):
        z = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            z[i] = x[i] * y[i]
        return z

    for function in (nothing, pair, row):
        k = vectorize_grad(function).compile(np.ones(3), np.ones(3))
        assert all(k.source(name) and k.signature(name) for name in k.functions)


@pytest.mark.parametrize("settings", [{"memory_limit": 10**6}, {"check": "first"}, {"tape": "store"}])
def test_explain_speaks_of_one_pass_only_where_it_runs(settings: dict[str, Any]) -> None:
    f = vectorize_grad(**settings)(rows)
    x, w = np.random.default_rng(0).random((5, 2)), np.ones(2)
    assert "one pass" not in f.explain(x, w)
    np.testing.assert_allclose(f.grad(x, w).x, vectorize_grad(rows).grad(x, w).x, rtol=1e-13)


def test_gradients_of_gradients_in_rows() -> None:
    """The record of one number that is the gradient by `c` has a gradient itself."""

    def peaks(x, c: float):
        t = 0.0
        for i in range(x.shape[0]):
            m = -1e30
            for k in range(3):
                m = max(m, x[i, k] * c)
            t += m * m * c
        return t

    x = np.random.default_rng(1).standard_normal((4, 3))
    first = vectorize_grad(wrt="c", tape="store")(peaks)
    value, gradient = vectorize_grad(wrt="c")(first.grad).value_and_grad(x, 0.3)
    size = np.sum(np.max(x, axis=1) ** 2)
    np.testing.assert_allclose(value.c, 3.0 * size * 0.3**2, rtol=1e-12)
    np.testing.assert_allclose(gradient.c, 6.0 * size * 0.3, rtol=1e-12)


@pytest.mark.part(2)
@pytest.mark.parametrize("name", NAMES)
def test_nobody_looks_at_what_lent_memory_holds(name: str) -> None:
    entry = BY_NAME[name]
    found = one_pass(lowered(entry), entry.wrt)
    assert found is not None
    lent = in_workspace(found)
    verify(lent, "workspace")
    own = lent.params[len(found.params) :]
    kinds = {n: lent.array(n) for n in own}
    assert all(a.role == "lent" and a.extents for a in kinds.values())
    expected = run(found, entry.args(0))
    for rubbish in (np.nan, -7.0):
        args = entry.args(0)
        sizes = sizes_function(found.params, list(kinds.values()))(*args.values())
        dtypes = (np.dtype(a.type.dtype) for a in kinds.values() if a.type is not None)
        with np.errstate(invalid="ignore"):
            filled = [np.full(s, rubbish).astype(d) for s, d in zip(sizes, dtypes, strict=True)]
        got = run(lent, args | dict(zip(own, filled, strict=True)))
        for value, wanted in zip(got, expected, strict=True):
            np.testing.assert_array_equal(value, wanted)


def soft_rows(x, w):
    total = 0.0
    e = np.empty(x.shape[2])
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            s = 0.0
            for c in range(x.shape[2]):
                e[c] = np.exp(x[a, b, c] * w[c])
                s += e[c]
            for c in range(x.shape[2]):
                total += w[c] * e[c] / s
    return total


def filtered_rows(x, w):
    """Rows that are lanes of vectors stay side by side."""
    total = 0.0
    e = np.empty(x.shape[2])
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            s = 1.0
            for c in range(x.shape[2]):
                s = 1.0 / (2.0 + s * x[a, b, c])
                e[c] = s
            for c in range(x.shape[2]):
                total += np.exp(w[c] * e[c])
    return total


@pytest.mark.part(3)
@pytest.mark.parametrize("function", [soft_rows, filtered_rows])
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 2, 40), (0, 3, 2), (2, 0, 3)])
def test_loops_inside_run_together_too(function: Callable[..., Any], shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.random(shape), rng.random(shape[2])
    f = vectorize_grad(function)
    value, found = f.value_and_grad(x, w)
    assert value == pytest.approx(function(x, w), rel=1e-13)
    wanted = vectorize_grad(function, tape="store").vjp(x, w)[1]()
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_functions_of_a_row_are_evaluated_once() -> None:
    k = vectorize_grad(soft_rows).compile(np.ones((2, 3, 4)), np.ones(4))
    loops = k.spec.one_pass_loops
    assert loops is not None
    functions = [e for s in statements(loops.body) for x in stmt_exprs(s.stmt) for e in subexprs(x) if is_exp(e)]
    assert len(functions) == 1
    assert max(len(a.extents or ()) for a in loops.arrays if a.role == "lent") == 1


def test_what_is_kept_of_an_iteration_is_its_own() -> None:
    """Loops of vectors stay such when a tape becomes a number."""

    def powers(x, w):
        total = 0.0
        for a in range(x.shape[0]):
            for b in range(x.shape[1]):
                total += np.exp(0.5 * np.sin(x[a, b] * w[b]))
        return total

    x, w = np.random.default_rng(0).random((7, 30)), np.ones(30)
    f = vectorize_grad(powers)
    text = f.explain(x, w).split("in one pass:")[1]
    assert "vectorised" in text.splitlines()[2]
    loops = f.compile(x, w).spec.one_pass_loops
    assert loops is not None
    assert not [a.name for a in loops.arrays if a.role == "lent"]


def is_exp(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op is Op.EXP


def test_lanes_of_recurrences_stay_side_by_side() -> None:
    k = vectorize_grad(filtered_rows).compile(np.ones((2, 3, 4)), np.ones(4))
    loops = k.spec.one_pass_loops
    assert loops is not None
    assert max(len(a.extents or ()) for a in loops.arrays if a.role == "lent") == 2


def test_large_gradients_of_one_pass_come_from_memory_that_is_used_again() -> None:
    x, w = np.random.default_rng(0).random((8, 32, 64)), np.ones(64)
    f = vectorize_grad(soft_rows)
    first = f.grad(x, w).x
    address = first.ctypes.data
    kept = f.grad(x, w).x
    assert kept.ctypes.data != address
    del first
    assert f.grad(x, w).x.ctypes.data == address


def test_small_integers_wrap_where_they_are_stored() -> None:
    """A variable would not: of them an array stays."""
    entry = BY_NAME["rows_of_small_integers"]
    value, _ = vectorize_grad(entry.function).value_and_grad(*entry.args(0).values())
    np.testing.assert_allclose(value, entry.function(*entry.args(0).values()), rtol=1e-12)
