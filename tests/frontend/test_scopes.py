"""Names are those that Python's own compiler finds."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator

import pytest

from loopdiff.frontend.survey import survey
from loopdiff.source.scopes import Function, outer_uses, own_names, parameters, root_of
from tests.api.nestings import drawn


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from tables(child)


def outside(table: symtable.SymbolTable) -> set[str]:
    """Names that Python looks up outside the function of `table`."""
    found, free = set(), {s.get_name() for s in table.get_symbols() if s.is_free()}
    for inner in tables(table):
        read = [s for s in inner.get_symbols() if s.is_referenced()]
        found |= {s.get_name() for s in read if s.is_free()} & free
        found |= {s.get_name() for s in read if s.is_global() or (inner.get_type() == "class" and s.is_local())}
    return found


def functions(tree: ast.AST) -> list[Function]:
    return [n for n in ast.walk(tree) if isinstance(n, Function)]


ODD = """
def f(x, *args, k: A = B, **named) -> R:
    import p.q, r as s
    from t import u as v, w
    match x:
        case {"a": m, **rest}: pass
        case [n, *tail] | (n, tail): pass
        case C(c=l) as whole: pass
    with D() as (e, *g), h: pass
    del y
    async def i(z=E):
        return [await o async for o in F if (lambda: (aa := bb))()]
    y[G] = j = (H := I) + [J for J in K for K in [J for L in M if N] if (N := J)][O]
    t.a.b += s.c; z: Q = (lambda x, u=x: x + u + U)(S)
    class T(V, metaclass=W):
        X = Y
        Y: Z = X
        def aa(self): return X, __class__
    try: pass
    except* AA as ex: ex
    @BB(lambda: CC)
    def DD():
        nonlocal x; global EE; x = EE = FF; return DD
    return lambda: (p, v, w, m, rest, n, tail, whole, l, e, g, i, N, ex)
"""


@pytest.mark.parametrize("text", [ODD, *(drawn(seed, is_wild=True) for seed in range(150))])
def test_names_from_outside_are_those_of_python(text: str) -> None:
    """Of every function, whatever it is in. Names of classes that may not be there yet are counted."""
    found = {(t.get_name(), t.get_lineno()): t for t in tables(symtable.symtable(text, "it", "exec"))}
    for node in functions(ast.parse(text)):
        if isinstance(node, ast.Lambda):  # several may be on a line
            continue
        table = found[node.name, node.lineno]
        used = {root_of(use) for use, _ in outer_uses(node)}
        assert used - {"__class__"} == outside(table) - {"__class__"}, node.name
        own = {s.get_name() for s in table.get_symbols() if s.is_local() and not s.is_free()}
        assert own_names(node) == own
        if isinstance(node, ast.FunctionDef):
            seen = survey(node, tuple(a.arg for a in parameters(node.args)), lambda _: ())
            assert seen.assigned | frozenset(seen.parameters) == own
