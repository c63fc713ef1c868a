"""The surface and bound IR of small programs, as printed: what later stages rely on."""

from __future__ import annotations

import math
import textwrap
import time
from typing import Any

import numpy as np

from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_expr, print_stmts
from loopdiff.ir.walk import statements
from loopdiff.source.functions import source_of
from tests.texts import registered


def define(text: str) -> Any:
    text = textwrap.dedent(text).lstrip("\n")
    return registered(text, f"<structure {abs(hash(text))}>", np=np, math=math)


def surface(text: str, **arguments: Any) -> str:
    types = argument_types(arguments) if arguments else None
    return print_stmts(parse_function(source_of(define(text)), types).body)


def expect(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_loop_variables_are_cells_and_indices_are_unique() -> None:
    found = surface("""
        def f(x, n):
            for i in range(n):
                for j in range(i, 2 * n, 3):
                    x[j] = x[i]
            for i in range(n, 0, -1):
                x[i] = 0.0
        """)
    assert found == expect("""
        for i in range(0, n, 1):
            i[] = i
            for j in range(i[], 2 * n, 3):
                j[] = j
                x[j[]] = x[i[]]
        for i_1 in range(n, 0, -1):
            i[] = i_1
            x[i[]] = 0.0
        """)


def test_a_spelling_that_numpy_deprecates() -> None:
    text = """
        def f(x):
            x[0] = np.{}(x[1])
        """
    assert surface(text.format("fix")) == surface(text.format("trunc")) == "x[0] = trunc(x[1])"


def test_indices_keep_clear_of_arguments_and_arrays() -> None:
    ls = parse_function(
        source_of(
            define("""
        def f(x, i, n):
            t = np.zeros(3)
            for i in range(n):
                x[i] = t[0]
        """)
        )
    )
    assert [s.stmt.index for s in statements(ls.body) if isinstance(s.stmt, ir.Loop)] == ["i_1"]
    assert ls.has_array("i_1")
    assert not ls.has_array("i")


def test_indices_keep_clear_of_arrays_that_get_their_names_later() -> None:
    types = argument_types({"x": np.zeros(3)})
    ls = parse_function(
        source_of(
            define("""
        def f(x):
            i = 2.0 * x
            for d in range(2):
                i_1 = i + d
                d = i_1 @ i
            return d
        """)
        ),
        types,
    )
    indices = [s.stmt.index for s in statements(ls.body) if isinstance(s.stmt, ir.Loop)]
    assert not set(indices) & {a.name for a in ls.arrays if a.extents != ()}
    assert len(set(indices)) == len(indices)


def test_accumulations() -> None:
    found = surface("""
        def f(x, s, m):
            s += x[0]
            s -= x[1]
            s = s + x[2]
            s = x[3] + s
            s = s - x[4] + x[5]
            s *= 2.0
            m = max(m, x[0])
            m = np.minimum(x[1], m)
            m = max(x[2], m, 0.0)
            x[0] = x[0] + x[1]
            x[1] = np.maximum(x[1], 0.0)
        """)
    assert found == expect("""
        s_1[] = s
        m_1[] = m
        s_1[] += x[0]
        s_1[] += -x[1]
        s_1[] += x[2]
        s_1[] += x[3]
        s_1[] += -x[4]
        s_1[] += x[5]
        s_1[] = s_1[] * 2.0
        m_1[] max= x[0]
        m_1[] min= x[1]
        m_1[] max= max(x[2], 0.0)
        x[0] += x[1]
        x[1] max= 0.0
        """)


def test_what_is_no_accumulation() -> None:
    found = surface("""
        def f(x):
            s = x[0]
            s += s * 0.5
            s = s + s
            s = 1.0 - s
            s = max(s, 2.0 * s)
            s = max(x[0], x[1])
            x[0] -= x[0] * x[1]
        """)
    assert found == expect("""
        s[] = x[0]
        s[] = s[] + s[] * 0.5
        s[] = s[] + s[]
        s[] = 1.0 - s[]
        s[] = max(s[], 2.0 * s[])
        s[] = max(x[0], x[1])
        x[0] = x[0] - x[0] * x[1]
        """)


def test_swaps_hold_only_what_would_change() -> None:
    found = surface("""
        def f(x, i):
            a, b = x[0], 2.0
            a, b = b, a
            x[0], x[1] = x[1], x[0]
            a, c = a + 1.0, b
        """)
    assert found == expect("""
        a[] = x[0]
        b[] = 2.0
        b_new[] = a[]
        a[] = b[]
        b[] = b_new[]
        x_new[] = x[0]
        x[0] = x[1]
        x[1] = x_new[]
        a[] += 1.0
        c[] = b[]
        """)


def test_arrays_swapped_outside_loops_are_names_only() -> None:
    found = surface("""
        def f(x, y):
            a, b = x, y
            a, b = b, a
            a[0] = b[1]
        """)
    assert found == "y[0] = x[1]"


def test_bounds_that_the_body_changes_are_held() -> None:
    found = surface("""
        def f(x, k):
            n = 3
            for i in range(n):
                n = n + 1
            for i in range(k[0], k[1]):
                k[1] = 0
        """)
    assert found == expect("""
        n[] = 3
        stop[] = n[]
        for i in range(0, stop[], 1):
            i[] = i
            n[] += 1
        start[] = k[0]
        stop_1[] = k[1]
        for i_1 in range(start[], stop_1[], 1):
            i[] = i_1
            k[1] = 0
        """)


def test_iterables() -> None:
    found = surface("""
        def f(x, y, n):
            for i, v in enumerate(x):
                y[i] = v
            for a, b in zip(x, y[1:]):
                x[0] = a + b
            for v in x[::-1]:
                y[0] = v
            for i in range(0, 9, n):
                y[i] = 0.0
        """, x=np.zeros(9), y=np.zeros(9), n=2)  # fmt: skip
    assert found == expect("""
        for i in range(0, x.shape[0], 1):
            i[] = i
            v[] = x[i]
            y[i[]] = v[]
        for a in range(0, min(x.shape[0], y.shape[0] - 1), 1):
            a[] = x[a]
            b[] = y[a + 1]
            x[0] = a[] + b[]
        for at_v in range(0, x.shape[0], 1):
            v[] = x[x.shape[0] - at_v - 1]
            y[0] = v[]
        require n != 0 else LD330: the step of `range` is zero
        for i_1 in range(0, 9, n):
            i[] = i_1
            y[i[]] = 0.0
        """)


def test_a_variable_of_a_loop_that_may_not_run() -> None:
    found = surface("""
        def f(x, n):
            for i in range(n):
                last = x[i]
            for j in range(3):
                sure = x[j]
            x[0] = last + sure
        """)
    assert found.endswith(
        expect("""
        require 0 < n else LD331: `last` has no value: the loop at line 2 did not run
        x[0] = last[] + sure[]
        """)
    )


def test_a_variable_that_either_of_two_loops_sets() -> None:
    found = surface("""
        def f(x, n, m):
            for i in range(n):
                last = x[i]
            for j in range(m):
                last = x[j]
            x[0] = last
        """)
    assert "require 0 < n or 0 < m else LD331: `last` has no value: the loop at line 2 did not run" in found


def test_constant_branches_are_decided_when_parsed() -> None:
    found = surface("""
        def f(x):
            if math.pi > 3.0 and not False:
                x[0] = 1.0 if True else undefined_name
            else:
                x[0] = 2.0
        """)
    assert "if" not in found.replace("undefined", "")


def test_values_of_and_or() -> None:
    found = surface("""
        def f(x, n):
            if n and x[0] > 0.0:
                x[0] = n or 3
            t = x[0] > 0.0 or x[1] > 0.0
            x[1] = t
        """)
    assert found == expect("""
        if n and x[0] > 0.0:
            x[0] = n if n else 3
        t[] = x[0] > 0.0 or x[1] > 0.0
        x[1] = t[]
        """)


def test_a_name_for_several_arrays_in_turn() -> None:
    ls = parse_function(
        source_of(
            define("""
        def f(x):
            t = np.zeros(2)
            x[0] = t[0]
            t = np.ones(3)
            x[1] = t[0]
            t = 5.0
            x[2] = t
        """)
        )
    )
    assert print_stmts(ls.body) == expect("""
        allocate t filled with 0
        x[0] = t[0]
        allocate t_1 filled with 1
        x[1] = t_1[0]
        t_2[] = 5.0
        x[2] = t_2[]
        """)


def test_extents_follow_what_integers_hold() -> None:
    f = define("""
        def f(x, k, n):
            a, b = n, len(x)
            a += 1
            if n > 3:
                c = b
            else:
                c = b
            t = np.zeros((2 * a, c, k[0]))
            u = np.empty_like(t, dtype=np.float32)
            return t, u
        """)
    ls = bind(parse_function(source_of(f)), argument_types({"x": np.zeros(3), "k": np.array([2]), "n": 2}))
    assert [print_extents(ls, name) for name in ("t", "u")] == [["2 * (n + 1)", "x.shape[0]", "k[0]"]] * 2


def test_numbers_computed_from_each_other_in_many_steps() -> None:
    """Written out, what they hold doubles with each step. An extent of a few steps is still known."""
    steps = "".join(f"{' ' * 12}a = a + b; b = a * b - a; k = k * 3 + (k & 7); n = n + 1\n" for _ in range(11))
    f = define(f"""
        def f(x, k, n):
            a, b = x[0], x[1]
{steps}
            t = np.zeros(n - 11)
            t[k % 2] = a * b
            return t
        """)
    started = time.process_time()
    ls = bind(parse_function(source_of(f)), argument_types({"x": np.zeros(3), "k": 2, "n": 2}))
    assert time.process_time() - started < 5.0
    assert "n + 1 + 1" in print_extents(ls, "t")[0]


def print_extents(ls: Any, name: str) -> list[str]:
    return [print_expr(e) for e in ls.array(name).extents]


def test_a_number_of_where_that_no_other_name_shares_may_change() -> None:
    found = surface("""
        def f(x):
            t = 0.0
            for i in range(x.shape[0]):
                t = max(t, np.where(x[i] > 0.0, x[i], 1.0))
                t -= 0.5
            return t * t
        """)
    assert "t[] += -0.5" in found
