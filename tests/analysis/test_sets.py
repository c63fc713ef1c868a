"""Formulas as sets of few pieces, facts that are left out, and pairs of accesses with a third one between them."""

from __future__ import annotations

import operator
import random
from itertools import product

import islpy as isl
import pytest

from loopdiff.analysis.exposure import exposed_reads, in_turn
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import build_model, models_kept
from loopdiff.analysis.polyhedral.pairs import Order, common_loops, ordered, orders
from loopdiff.analysis.polyhedral.sets import Model, domain, instances, places_of_parameters, restricted, said_in
from loopdiff.analysis.polyhedral.translation import PARAM, Translation
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.types import INT
from tests.analysis.nests import Writer

NAMES = ("a", "b", "c")
TRUTH = {
    Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge, Op.EQ: operator.eq,
    Op.NE: operator.ne,
}  # fmt: skip


# -- formulas ------------------------------------------------------------------------------------------------
def term(rng: random.Random, depth: int) -> ir.Expr:
    if depth == 0:
        return rng.choice([*map(ir.Param, NAMES), ir.Const(rng.randint(-2, 2), INT)])
    op = rng.choice([Op.MIN, Op.MAX, Op.ADD, Op.SUB, Op.NEG])
    return ir.Apply(op, tuple(term(rng, depth - 1) for _ in range(1 if op == Op.NEG else 2)))


def value(expr: ir.Expr, at: dict[str, int]) -> int:
    match expr:
        case ir.Param(name=name):
            return at[name]
        case ir.Const(value=number):
            return int(number)
        case ir.Apply(op=op, args=args):
            found = [value(a, at) for a in args]
            match op:
                case Op.MIN:
                    return min(found)
                case Op.MAX:
                    return max(found)
                case Op.NEG:
                    return -found[0]
                case Op.ADD:
                    return found[0] + found[1]
                case _:
                    return found[0] - found[1]
        case _:
            raise AssertionError(expr)


@pytest.mark.parametrize("seed", range(60))
def test_comparisons_of_minima_and_maxima(seed: int) -> None:
    """The set of a comparison is where the comparison holds, point by point."""
    rng = random.Random(seed)
    op, sides = rng.choice([*TRUTH]), (term(rng, rng.randint(1, 3)), term(rng, rng.randint(0, 2)))
    into = Translation(isl.Space.set_alloc(isl.Context(), 0, 0), {ir.Param(n): k for k, n in enumerate(NAMES)}, {})
    found = into.truth(ir.Apply(op, sides))
    for point in product(range(-3, 4), repeat=len(NAMES)):
        fixed = found
        for place in range(found.dim(PARAM)):
            number = point[int(found.get_dim_name(PARAM, place)[1:])]
            fixed = fixed.fix_val(PARAM, place, into.number(number))
        at = dict(zip(NAMES, point, strict=True))
        assert (not fixed.is_empty()) == TRUTH[op](*(value(s, at) for s in sides)), print_expr(ir.Apply(op, sides))


def test_an_extremum_in_bounds_costs_no_pieces() -> None:
    model = build_model(
        read_loopset(
            """loopset f(x, n, m)
    argument x: float64[:]
    scalar n: int64
    scalar m: int64
for i in range(max(n, 0), min(n + 3, m), 1):
    for j in range(0, max(min(m, n + 5) - i, 0), 1):
        x[j] = 1.0
"""
        )
    )
    (write,) = model.touching("x", True)
    assert instances(model, write).n_basic_set() == 1


# -- facts ---------------------------------------------------------------------------------------------------
SLICES = """loopset f(a, b, c, n)
    argument a: float64[:]
    argument b: float64[:]
    argument c: float64[:]
    scalar n: int64
require max(b.shape[0] - 2, 0) == max(a.shape[0] - 2, 0) else LD320: no fit
require max(c.shape[0] - 1, 0) == max(b.shape[0] - 1, 0) else LD320: no fit
for i in range(0, n, 1):
    a[0] = 1.0
for j in range(1, a.shape[0] - 1, 1):
    c[j] = b[j] + a[j]
"""


def test_facts_that_split_wait_until_they_do_not() -> None:
    model = build_model(read_loopset(SLICES.replace("a[0] = 1.0", "c[i] = 1.0")))
    outside, inside = (e.frame for e in model.touching("c", True))
    assert len(restricted(model, outside).pending) == 2
    assert domain(model, outside).n_basic_set() == 1
    assert restricted(model, inside).pending == ()
    assert domain(model, inside).n_basic_set() == 1
    found = domain(model, inside)
    places = [k for k, _ in places_of_parameters(model, found)]
    assert len(places) == 3
    equal = isl.Set.universe(found.get_space())
    for place in places[1:]:
        equal = equal.equate(PARAM, places[0], PARAM, place)
    assert found.is_subset(equal)


def test_sets_know_facts_about_their_own_parameters_only() -> None:
    model = build_model(read_loopset(SLICES))
    assert [mentioned(model, model.touching(name, name == "c")[0]) for name in "abc"] == ["a", "ab", "abc"]


def mentioned(model: Model, event: Event) -> str:
    """Arrays whose extents the instances of `event` are restricted by, sorted."""
    return "".join(
        sorted(e.array for _, e in places_of_parameters(model, instances(model, event)) if isinstance(e, ir.Dim))
    )


@pytest.mark.parametrize(
    ("required", "of_c"),
    [
        ("a.shape[0] == c.shape[0]", "ac"),  # the first of equal terms stands for them
        ("a.shape[0] >= c.shape[0]", "c"),  # some `a` is as large
        ("c.shape[0] >= a.shape[0]", "ac"),
        ("a.shape[0] + 1 == c.shape[0]", "ac"),  # there is no `a` for an empty `c`
        ("a.shape[0] == c.shape[0] + 1", "c"),
    ],
)
def test_facts_are_left_out_only_where_they_say_nothing(required: str, of_c: str) -> None:
    """Of the extents that a set mentions: what holds for these with the fact holds without it."""
    model = build_model(
        read_loopset(
            f"""loopset f(a, c)
    argument a: float64[:]
    argument c: float64[:]
require {required} else LD320: no fit
for i in range(0, c.shape[0], 1):
    c[i] = 1.0
for i in range(0, a.shape[0], 1):
    a[i] = 1.0
"""
        )
    )
    (write,) = model.touching("c", True)
    assert mentioned(model, write) == of_c


def test_extents_in_what_is_required_of_data_are_no_parameters() -> None:
    model = build_model(
        read_loopset(
            """loopset f(x, t, count)
    argument x: float64[:]
    argument t: float64[:]
    argument count: int64[:]
require count[0] <= t.shape[0] else LD347: no room
for i in range(0, x.shape[0], 1):
    x[i] = 2.0 * x[i]
"""
        )
    )
    assert [*model.terms.parameters] == [ir.Dim("x", 0)]


# -- a third access between two ------------------------------------------------------------------------------
def events_of(model: Model) -> list[Event]:
    return [e for e in model.events if e.path and e.access.array == "x"]


def steps_in_turn(seed: int) -> int:
    """How often there is a third access between two, which are in the way that `in_turn` says of the two steps."""
    model = build_model(Writer(random.Random(seed), is_affine=True).loopset())
    events, met = events_of(model)[:7], 0
    for first, other, last in product(events, repeat=3):
        known = set(orders(first, last))
        for before, after in product(orders(first, other), orders(other, last)):
            steps = ordered(model, first, other, before).apply_range(ordered(model, other, last, after))
            if steps.is_empty():
                continue
            way = in_turn(before, after, common_loops(first, last))
            assert way in known
            assert steps.is_subset(ordered(model, first, last, way))
            met += 1
    return met


def test_in_turn() -> None:
    assert sum(map(steps_in_turn, range(1000, 1024))) > 200


# -- models --------------------------------------------------------------------------------------------------
def test_models_are_kept_for_the_loopsets_at_hand() -> None:
    """Those of the last two: the forward and the reverse sweep."""
    first, second, third = (read_loopset(SLICES) for _ in range(3))
    assert build_model(first) is not build_model(first)
    with models_kept():
        found = build_model(first)
        with models_kept():
            assert build_model(first) is found
        assert build_model(second) is not found
        assert build_model(first) is found
        build_model(second)
        build_model(third)
        assert build_model(first) is not found


def test_loopsets_of_a_compilation_share_sets_whatever_their_names_are() -> None:
    with models_kept():
        first = build_model(read_loopset(SLICES))
        other = build_model(read_loopset(SLICES.replace("for j", "for k").replace("[j]", "[k]")))
        longer = build_model(read_loopset(SLICES.replace("range(1, a", "range(0, a")))
        sets = [domain(m, m.touching("c", True)[-1].frame) for m in (first, other, longer)]
        maps = [
            ordered(m, m.touching("c", True)[0], m.touching("c", False)[-1], Order(0, False)) for m in (first, other)
        ]
    assert sets[0] is sets[1]
    assert sets[0] is not sets[2]
    assert maps[0] is maps[1]


def test_what_facts_leave_out_elsewhere_is_not_shared() -> None:
    text = SLICES.replace("max(b.shape[0] - 2, 0) == max(a.shape[0] - 2, 0)", "b.shape[0] == a.shape[0]")
    more = text + "require b.shape[0] == n else LD320: no fit\n"
    with models_kept():
        models = [build_model(read_loopset(t)) for t in (text, text, more)]
        said = [said_in(m, m.touching("a", True)[0].frame) for m in models]
    assert said[0] is said[1]
    assert said[0] is not said[2]


def answers(model: Model) -> list[object]:
    pairs = [(a, b, o) for a, b in product(model.events, repeat=2) for o in orders(a, b)]
    met = [o for a, b, o in pairs if a.access.array == b.access.array and not ordered(model, a, b, o).is_empty()]
    return [exposed_reads(model), met]


def test_what_is_shared_answers_as_if_nothing_were() -> None:
    loopsets = [Writer(random.Random(seed), is_affine=seed % 2 == 0).loopset() for seed in range(2000, 2024)]
    alone = [answers(build_model(ls)) for ls in loopsets]
    with models_kept():
        assert [answers(build_model(ls)) for ls in loopsets] == alone


def test_a_branch_on_equal_parameters_has_one_piece_either_way() -> None:
    """Where they differ, one is less than the other or greater: all sets of the branch would have two pieces."""
    ls = read_loopset(BRANCH)
    model = build_model(ls)
    writes = model.touching("y", True)
    assert [instances(model, w).n_basic_set() for w in writes] == [1, 1]
    assert exposed_reads(model, arrays=("y",)) == ()


BRANCH = """\
loopset chosen(y, n, m)
    argument y: float64[:]
    scalar n: int64
    scalar m: int64
    local s: float64[] extents ()
s[] = 0.0
if n == m:
    for i in range(0, y.shape[0], 1):
        y[i] = 1.0
else:
    for i_1 in range(0, y.shape[0], 1):
        y[i_1] = 2.0
for i_2 in range(0, y.shape[0], 1):
    s[] += y[i_2]
return s[]
"""


@pytest.mark.parametrize("condition", ["n == m", "m == n", "not n != m"])
def test_one_question_about_parameters_has_one_answer(condition: str) -> None:
    """Whichever way it is asked, one branch runs where the other one does not."""
    model = build_model(read_loopset(ASKED_TWICE.replace("CONDITION", condition)))
    first, second = (instances(model, w).params() for w in model.touching("y", True))
    assert first.is_disjoint(second)


def test_a_number_is_not_two_constants_at_once() -> None:
    text = ASKED_TWICE.replace("CONDITION", "n == 1").replace("not n == m", "n == 2")
    model = build_model(read_loopset(text))
    first, second = (instances(model, w).params() for w in model.touching("y", True))
    assert first.is_disjoint(second)


ASKED_TWICE = """\
loopset chosen(y, n, m)
    argument y: float64[:]
    scalar n: int64
    scalar m: int64
if CONDITION:
    for i in range(0, y.shape[0], 1):
        y[i] = 1.0
if not n == m:
    for i_1 in range(0, y.shape[0], 1):
        y[i_1] = 2.0
"""
