"""Dictionaries whose keys the run says, against what Python computes and central differences; and those that no lists
can stand for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from tests.frontend import dictionary_programs
from tests.gradients.interpreted import interpreting
from tests.texts import registered

X, IDX = np.linspace(0.11, 1.3, 7), np.array([3, 1, 3, 2, 1, 1, 5])
PROGRAMS = {
    name: function
    for name, function in vars(dictionary_programs).items()
    if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["x", "idx"]
}


def slopes_of(plain: Callable[..., Any]) -> np.ndarray:
    return np.array(
        [(plain(X + 1e-6 * e, IDX.copy()) - plain(X - 1e-6 * e, IDX.copy())) / 2e-6 for e in np.eye(len(X))]
    )


@pytest.mark.part(11)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_python_gives(name: str) -> None:
    plain = PROGRAMS[name]
    with interpreting():
        value, gradients = vectorize_grad(wrt=("x",))(plain).value_and_grad(X.copy(), IDX.copy())
    assert value == pytest.approx(plain(X.copy(), IDX.copy()), rel=1e-12)
    np.testing.assert_allclose(gradients.x, slopes_of(plain), rtol=2e-6, atol=1e-7)


TEXT = """
from collections import Counter, defaultdict

TRIPLE, SINGLE = (1, 2, 3), np.float32

def bump(idx):
    idx[0] += 1
    return 0.0

def narrow(v):
    return SINGLE(v)

def rounded(v):
    return narrow(v)

def f(x, idx):
    {body}
"""


def program(body: str) -> Any:
    lines = "\n    ".join(body.split("\n"))
    return registered(TEXT.format(body=lines), f"{__name__} {body}", np=np)


KEY_ERRORS = {
    "read": "d = {}\nfor k in idx:\n    d[k] = x[0]\nreturn d[idx[0] + 9]",
    "in place": "d = {}\nfor k in idx:\n    if k > 1:\n        d[k] = x[0]\n    d[k] += x[1]\nreturn d[3]",
    "nothing in it": "d = {}\nfor k in idx:\n    if k > 9:\n        d[k] = x[0]\nreturn d[3]",
    "pairs": "d = {}\nfor i in range(len(x)):\n    d[i, idx[i]] = x[i]\nreturn d[0, 4]",
    "its list": "d = {}\nfor k in idx:\n    if k > 1:\n        d[k] = []\n    d[k].append(x[1])\nreturn sum(d[3])",
}


@pytest.mark.parametrize("title", KEY_ERRORS)
def test_a_key_that_is_not_there_is_an_error(title: str) -> None:
    plain = program(KEY_ERRORS[title])
    with pytest.raises(KeyError):
        plain(X.copy(), IDX.copy())
    with interpreting(), pytest.raises(ArgumentError, match=r"LD3(10|32)"):
        vectorize_grad(wrt=("x",))(plain)(X.copy(), IDX.copy())


def test_nan_is_no_key() -> None:
    plain = program("d = {}\nfor v in x:\n    d[v] = d.get(v, 0.0) + v\nreturn sum(d.values())")
    with interpreting():
        assert vectorize_grad(plain)(X, IDX) == pytest.approx(X.sum())
        with pytest.raises(ArgumentError, match="NaN"):
            vectorize_grad(plain)(np.array([1.0, np.nan]), IDX)


def test_dictionaries_do_not_grow_while_they_are_gone_through() -> None:
    """Python says so after the fact; here the key has to be there."""
    plain = program("d = {}\nfor k in idx:\n    d[k] = x[k]\nfor k in d:\n    d[k + 1] = x[0]\nreturn sum(d.values())")
    with pytest.raises(RuntimeError):
        plain(X.copy(), IDX.copy())
    with interpreting(), pytest.raises(ArgumentError, match=r"LD3(10|32)"):
        vectorize_grad(wrt=("x",))(plain)(X.copy(), IDX.copy())


def test_the_order_is_that_of_insertion() -> None:
    plain = program(
        "d = {}\nfor k in idx:\n    d[k] = d.get(k, 0.0) + x[k]\n"
        "out = np.zeros(len(x))\nfor i, (k, v) in enumerate(d.items()):\n    out[i] = 10 * k + v\nreturn out"
    )
    with interpreting():
        np.testing.assert_allclose(vectorize_grad(wrt=("x",))(plain)(X, IDX), plain(X, IDX), rtol=1e-14)


@pytest.mark.parametrize("more", ["", "t += d[k]\n    "])
def test_nor_by_keys_that_may_be_there(more: str) -> None:
    body = f"d = {{}}\nt = 0.0\nfor k in idx:\n    d[k] = x[k]\nfor k in d:\n    {more}d.setdefault(k + 1, x[0])\n"
    plain = program(body + "return t + sum(d.values())")
    with pytest.raises(RuntimeError):
        plain(X.copy(), IDX.copy())
    with interpreting(), pytest.raises(ArgumentError, match="LD332"):
        vectorize_grad(wrt=("x",))(plain)(X.copy(), IDX.copy())


REFUSED = {
    "keys under a name have an item more": "d = {}\nfor key in [(1, 2, 3), (1, 2, 4)]:\n    d[key] = x[0]\n"
    "d[1, 2] = x[1]\nreturn sum(d.values())",
    "keys of a function have an item more": "d = {}\ndef three(i):\n    return (i, 1, i)\nfor k in idx:\n"
    "    key = three(k)\n    d[key] = x[k]\nreturn sum(d.values()) + ((1, 1) in d)",
    "a key outside has an item more": "d = {}\nfor k in idx:\n    d[k, 1] = x[k]\nd[TRIPLE] = x[0]\n"
    "return sum(d.values())",
    "a list is no key": "d = {}\nfor k in idx:\n    key = [k, 1]\n    d[key] = x[k]\nd[1, 2] = x[0]\n"
    "return sum(d.values())",
    "an array is no key": "d = {}\nfor k in idx:\n    key = idx[k:k + 2]\n    d[key] = x[k]\nd[1, 2] = x[0]\n"
    "return sum(d.values())",
    "an array without axes is no key": "d = {}\nfor k in idx:\n    d[np.where(k > 2, 1, 0)] = x[k]\n"
    "return sum(d.values())",
    "an element that is an array is no key": "d = {}\nfor k in range(7):\n    d[idx[k, ...]] = x[k]\n"
    "return sum(d.values())",
    "a name of an array without axes is no key": "d = {}\nfor k in idx:\n    c, m = x[0], np.asarray(2)\n"
    "    m = k if k > 1 else m\n    d[m] = x[k]\nreturn sum(d.values())",
    "another name of a type with other hashes": "d = {}\nfor i in range(7):\n    d[SINGLE(0.1 * i)] = x[i]\n"
    "return d.get(0.1, 50.0)",
    "a short name of a type with other hashes": "d, r = {}, np.full(3, 0.1, 'f')\nfor i in range(3):\n"
    "    d[r[i]] = x[i]\nreturn d.get(0.1, 50.0)",
    "a function of numbers with other hashes": "d = {}\nfor i in range(7):\n    d[rounded(0.1 * i)] = x[i]\n"
    "return d.get(0.1, 50.0)",
    "a function inside reads it": (
        "d = {}\nfor k in idx:\n    d[k] = x[k]\ndef at(k):\n    return d.get(k, 0.5)\n"
        "d = {k: at(k) * 2.0 for k in idx}\nreturn sum(d.values())"
    ),
    "a function inside changes it in a loop over it": (
        "d = {}\nfor k in idx:\n    d[k] = x[k]\ndef g(v):\n    d[5] += 7.0\n    return v\ns = 0.0\n"
        "for k, v in sorted(d.items()):\n    s = s * 0.5 + g(v)\nreturn s"
    ),
    "it begins anew beside what reads it": (
        "d = {}\nfor k in idx:\n    d[k] = x[k]\nd, s = {}, sum(d.values())\nd[1] = x[2]\nreturn s + sum(d.values())"
    ),
    "a comparison that may stop early adds a key": (
        "d = defaultdict(float)\nfor k in idx:\n    d[k] += x[k]\ns = 1.0 if 0.5 < x[0] < d[9] else 2.0\n"
        "return s + len(d)"
    ),
    "a key adds a key before the value does": (
        "ids = defaultdict(float)\nc = {}\nfor k in idx:\n    c[k] = x[k]\nfor k in idx:\n"
        "    c[ids[k]] += ids[k + 1] + 1.0\nreturn sum(c.values())"
    ),
    "its first values count another one": (
        "ids = defaultdict(float)\nd = defaultdict(lambda: ids[77])\nfor k in idx:\n    d[k] += x[k]\n"
        "return d[3] + len(ids)"
    ),
    "older views of it go on": (
        "d = {}\nfor k in idx:\n    d[k] = x[k]\nv = d.values()\nd = {k: u + 1 for k, u in d.items()}\nreturn sum(v)"
    ),
    "what it may be set to does something": (
        "d = {}\nfor k in idx:\n    d[k] = x[k]\ns = 0.0\nids = defaultdict(float)\nfor k in d:\n"
        "    s += d.setdefault(k, ids[k + 50])\nreturn s + len(ids)"
    ),
    "numbers equal to its keys have other hashes": "d = {}\nfor i in range(7):\n    d[np.float32(0.1 * i)] = x[i]\n"
    "return 100.0 if 0.1 in d else x[0] ** 2",
    "numbers of one type look up those of another": "d = {}\nfor i in range(len(x)):\n    d[0.1 * i] = x[i]\n"
    "return d.get(np.float32(0.1), 50.0) + d[0.0]",
    "a list in it has another name": "d = {}\nfor k, v in zip(idx, x):\n    d.setdefault(k, []).append(v)\n"
    "    w = d[k]\n    w.append(1.0)\nreturn sum(sum(v) for v in d.values())",
    "a name of a list that goes on": "d = {}\ns = 0.0\nfor k, v in zip(idx, x):\n    d.setdefault(k, []).append(v)\n"
    "    w = d[k]\n    d[k].append(v)\n    s += sum(w)\nreturn s",
    "a list grows that a loop goes over": "d = {}\nfor k in idx:\n    d[k] = [x[0]]\ns = 0.0\nfor v in d[3]:\n"
    "    s += v\n    if s < 3.0:\n        d[3].append(v)\nreturn s",
    "an array in it changes under its name": "d = {}\nr = x * 2.0\nfor k in idx:\n    d[k] = r\n    d[k] += 1.0\n"
    "return np.sum(r) + sum(np.sum(v) for v in d.values())",
    "an array in it changes in a copy": "d = {}\nfor k in idx:\n    d[k] = x * k\ne = d.copy()\ne[1] += 1.0\n"
    "return np.sum(d[1]) + np.sum(e[1])",
    "None may be in it": "d = {}\nbest = None\nfor k in idx:\n    d[k] = best\n    if d.get(k) is None:\n"
    "        d[k] = x[k]\n    best = x[0]\nreturn sum(d.values())",
    "the order of a set that is made of numbers": "s = 0.0\nd = set(idx)\nfor k in d:\n    s = 0.5 * s + x[k]\n"
    "return s",
    "it is made of itself": "d = {}\nfor k, v in zip(idx, x):\n    d[k] = v\n"
    "d = {k: v * d[3] for k, v in d.items()}\nreturn sum(d.values())",
    "an array in a list has another name": "d = [x * 1.0]\nfor k in idx:\n    r = x * k\n    d.append(r)\n"
    "    d[k] += 1.0\n    r[0] = 2.0\nreturn sum(np.sum(v) for v in d)",
    "an array is in two lists": "d, e = [], []\nfor k in idx:\n    r = x * k\n    d.append(r)\n    e.append(r)\n"
    "for k in range(len(e)):\n    e[k] += 1.0\nreturn sum(np.sum(v) for v in d)",
    "an array is one of two in a list": "d = []\na = x * 2.0\nb = x * 3.0\nfor k in idx:\n    r = a if k > 2 else b\n"
    "    d.append(r)\nd[0] += 1.0\nreturn sum(np.sum(v) for v in d)",
    "the order of a set": "d = set()\nfor k in idx:\n    d.add(k)\ns = 0.0\n"
    "for k in d:\n    s = 0.5 * s + x[k]\nreturn s",
    "truth values that are read": "d = {}\nfor k in idx:\n    d[k] = True\nreturn x[d[3]]",
    "it is returned": "d = {}\nfor k in idx:\n    d[k] = x[k]\nreturn d",
    "it has another name": "d = {}\ne = d\nfor k in idx:\n    e[k] = x[k]\nreturn sum(d.values())",
    "a key is added where that may not run": "d = defaultdict(float)\ns = 0.0\nfor k in idx:\n"
    "    s += d[k] if x[k] > 0.5 else 0.0\nreturn s + len(d)",
    "a call changes the key": "d = defaultdict(float)\nfor k in idx:\n    s = bump(idx) + d[idx[0]]\nreturn s + len(d)",
    "a list grows under its name, in a condition": "d = {}\nfor k in idx:\n"
    "    d.setdefault(k, []).append(x[k])\ns = 0.0\nfor k in idx:\n    v = d[k]\n    if x[k] > 0.3:\n"
    "        d[k].append(1.0)\n    s += sum(v)\nreturn s",
    "a list of a default grows under its name": "d = defaultdict(list)\ns = 0.0\nfor k in idx:\n"
    "    v = d[k]\n    if x[k] > 0.3:\n        d[k].append(x[k])\n    s += len(v)\nreturn s",
    "a list that was not there grows under its name": "d = defaultdict(list)\nv = d[1]\nif idx[0] > 2:\n"
    "    d[1].append(x[3])\nreturn sum(v)",
    "another list grows under its name": "d = {}\nfor k in idx:\n    d.setdefault(k, []).append(x[k])\n"
    "s = 0.0\nfor k in idx:\n    v = d[1]\n    if k == 3:\n        d.setdefault(1, []).append(x[k])\n"
    "    s += sum(v)\nreturn s",
    "a list grows while its length is asked": "d = {}\nfor i, k in enumerate(idx):\n"
    "    d.setdefault(k, []).append(x[i])\nv = d[3]\ni = 0\nwhile len(v) < 5 and i < 6:\n"
    "    d[3].append(x[i])\n    i += 1\nreturn x[i]",
    "a list grows while a loop goes over its name": "d = {}\nfor i, k in enumerate(idx):\n"
    "    d.setdefault(k, []).append(x[i])\ns = 0.0\nv = d[3]\nfor u in v:\n    s += u\n    if s < 1.0:\n"
    "        d[3].append(u)\nreturn s",
    "its length before a key is added": "d = defaultdict(float)\nd[1] += x[0]\nt = len(d) * x[0] + d[77]\n"
    "return t + len(d)",
    "its length before a key is added, returned": "d = defaultdict(float)\nd[1] += x[0]\nreturn len(d) * x[1] + d[5]",
    "its length before a key is added, asked": "d = defaultdict(float)\nd[1] += x[0]\n"
    "if len(d) + d[5] > 1.5:\n    return x[2]\nreturn x[3]",
    "its length before a key is added, gone to": "d = defaultdict(float)\nd[1] += x[0]\ns = 0.0\n"
    "for i in range(int(len(d) + d[5])):\n    s += x[i]\nreturn s + len(d)",
    "a value before it is set": "d = {}\nfor k in idx:\n    d[k] = x[k]\n"
    "return d.get(7, 2.0) * x[1] + d.setdefault(7, x[2])",
    "whether a key is there before it is added": "d = defaultdict(float)\nd[1] += x[0]\n"
    "s = x[0] * (2.0 if 77 in d else 1.0) + d[77]\nreturn s + len(d)",
    "values before a key is added": "d = {}\nfor k in idx:\n    d[k] = x[k]\n"
    "return sum(d.values()) * x[1] + d.setdefault(9, x[2])",
    "its length, in a subscript, before a key is added": "d = defaultdict(float)\nd[1] += x[0]\n"
    "y = np.zeros(9)\ny[len(d)] += d[4] + x[1]\nreturn np.sum(y) + len(d)",
    "its length around a key that is added": "d = defaultdict(float)\nv = [len(d), d[3], len(d)]\n"
    "return x[0] * v[0] + v[2] + len(d)",
    "a call changes the key of a list": "d = {}\nfor k in range(8):\n"
    "    d.setdefault(k, []).append(x[0] * k)\nreturn bump(idx) * x[0] + sum(d[idx[0]])",
    "a call in a condition changes the key of a list": "d = {}\nfor k in range(8):\n"
    "    d.setdefault(k, []).append(x[0] * k)\nif bump(idx) + sum(d[idx[0]]) > 0.4 and x[0] > 0.0:\n"
    "    return x[1]\nreturn x[2]",
    "a call changes the key of a list that a loop goes over": "d = {}\nfor k in range(8):\n"
    "    d.setdefault(k, []).append(x[0] * k)\ns = 0.0\n"
    "for i, v in zip(range(int(bump(idx)), 2), d[idx[0]]):\n    s += v + i\nreturn s",
    "a function of NumPy changes the key of a list": "d = {}\nfor k in range(8):\n"
    "    d.setdefault(k, []).append(x[0] * k)\nreturn np.sum(np.add(idx, 1, idx)) * x[0] + sum(d[idx[0]])",
    "a function of NumPy changes the key of a default": "d = defaultdict(float)\nfor k in range(8):\n"
    "    d[k] += x[0] * k\ns = np.sum(np.add(idx, 1, idx)) * x[0] + d[idx[0]]\nreturn s + len(d)",
    "counts of a dictionary": "d = {}\nfor k in idx:\n    d[k] = k + 1\nc = Counter(d)\nreturn c[3] * x[0]",
    "counts of counts": "d = Counter(idx)\nc = Counter(d)\nreturn c[3] * x[0]",
    "counts of a dictionary of known keys": "d = {1: 5, 3: 2}\nc = Counter(d)\nreturn c[3] * x[0]",
    "a value to come changes in a sorted loop": "d = {}\nfor k in idx:\n    d[k] = x[k]\ns = 0.0\n"
    "for k, v in sorted(d.items()):\n    s = s * 0.5 + v\n    d[5] = 7.0\nreturn s",
    "a value to come changes in a sorted loop that counts": "d = {}\nfor k in idx:\n    d[k] = x[k]\n"
    "s = 0.0\nfor i, (k, v) in enumerate(sorted(d.items())):\n    s = s * 0.5 + v * i\n    d[5] += 7.0\n"
    "return s",
    "it is made anew in a sorted loop": "d = {}\nfor k in idx:\n    d[k] = x[k]\ns = 0.0\n"
    "for k, v in sorted(d.items()):\n    s = s * 0.5 + v\n    d = {}\n    d[5] = 4.0\nreturn s",
    "it is made anew in a loop over a copy": "d = {}\nfor k in idx:\n    d[k] = x[k]\ns = 0.0\n"
    "for k in list(d):\n    d = {}\n    d[k] = 2.0 * x[k]\n    s += d[k]\nreturn s",
    "a key that may not be there, of lists, in a comprehension": "d = {}\nfor k in idx:\n"
    "    d.setdefault(k, [])\ns = sum([sum(d[k + 50]) for k in idx])\nfor k in idx:\n"
    "    d[k].append(x[k])\nreturn s + x[0] + sum(d[3])",
}


@pytest.mark.part(3)
@pytest.mark.parametrize("title", REFUSED)
def test_what_no_lists_can_stand_for_is_refused(title: str) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD"):
        vectorize_grad(wrt=("x",))(program(REFUSED[title]))(X.copy(), IDX.copy())


def test_a_list_in_a_dictionary_of_known_keys_does_not_grow_in_a_loop_over_it() -> None:
    """It was gone through as it was before."""
    body = (
        "g = {}\ng[0] = [x[0]]\ns = 0.0\nfor v in g[0]:\n    s += v\n    if s < 3.0:\n        g[0].append(v)\nreturn s"
    )
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD134"):
        vectorize_grad(wrt=("x",))(program(body))(X.copy(), IDX.copy())


REASONS = {
    "d = {}\nfor k in idx:\n    d[k] = x[k]\nfor k in d:\n    d.pop(k)\nreturn x[0]": ("`d.pop(k)`", "go over a copy"),
    "d = {}\nfor k in idx:\n    d.setdefault(k, []).append(x[k])\ne = d.copy()\nreturn sum(e[1])": (
        "`d.copy()`",
        "copy it by",
    ),
    "d = {}\nfor k in idx:\n    d[k] = x[k]\ne = d\nreturn e[1]": ("`e = d`", "copy it by"),
    "d = defaultdict(float)\nfor k in idx:\n    d[k] += x[k]\ne = d.copy()\nreturn e[9]": (
        "`d.copy()`",
        "copy it by",
    ),
    "d = {}\ne = {}\nfor k in idx:\n    d[k], e[k] = x[k], x[0]\ne = d | e\nreturn e[1]": (
        "`d | e`",
        "for k, v in e.items()",
    ),
    "d = {}\nfor k in idx:\n    d[k] = x[k]\nreturn d.get(1)": ("`d.get(1)`", "what it is to be"),
    "d = defaultdict(float)\ns = 0.0\nfor k in idx:\n    s += d[k] if k > 1 else 0.0\nreturn s + len(d)": (
        "`d[k]`",
        "always evaluated",
    ),
    "d = {}\nfor k in idx:\n    d.setdefault(k, []).append(x[k])\nv = d[1]\nv.append(x[0])\nreturn sum(v)": (
        "`v.append(x[0])`",
        "read and store",
    ),
    "d = {}\nfor k in idx:\n    d[np.asarray(k)] = x[k]\nreturn d[1]": ("`np.asarray(k)`", "read and store"),
    "d = {}\nfor k in idx:\n    d[SINGLE(k)] = x[k]\nreturn d[1]": ("`SINGLE(k)`", "float64"),
}


@pytest.mark.parametrize("body", REASONS)
def test_errors_say_what_is_done_with_dictionaries_first(body: str) -> None:
    text, hint = REASONS[body]
    with interpreting(), pytest.raises(UnsupportedLoopError) as caught:
        vectorize_grad(wrt=("x",))(program(body))(X.copy(), IDX.copy())
    first = caught.value.diagnostics[0]
    assert first.code == "LD134"
    assert first.message.startswith(text)
    assert hint in first.hint
    assert "a dictionary of 0" not in str(caught.value)


def test_other_errors_beside_dictionaries_are_told_as_they_are() -> None:
    body = "d = {}\nfor k in idx:\n    d[k] = x[k]\nwith open('f'):\n    pass\nreturn d[1]"
    with interpreting(), pytest.raises(UnsupportedLoopError) as caught:
        vectorize_grad(wrt=("x",))(program(body))(X.copy(), IDX.copy())
    assert caught.value.codes == ("LD103",)
