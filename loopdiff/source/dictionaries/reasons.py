"""Why the dictionaries of a function could not be lists, for its error: what is done with one, and what to write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from loopdiff.errors import Diagnostic, UnsupportedLoopError
from loopdiff.errors.codes import reject
from loopdiff.source.dictionaries.keys import is_narrow
from loopdiff.source.dictionaries.removing import given_away
from loopdiff.source.dictionaries.statements import as_lists
from loopdiff.source.dictionaries.tables import tables_in
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import syntax_children, syntax_nodes

COPIES = "copy it by `{k: v for k, v in d.items()}`"
MERGES = "write `for k, v in e.items(): d[k] = v`"
HINTS = {
    "pop": "take keys out on a line of its own, `v = d.pop(k)`, and go over a copy meanwhile: `for k in list(d)`",
    "copy": COPIES, "dict": COPIES, "update": MERGES,
    "get": "give it what it is to be: `d.get(k, 0.0)`"
}  # fmt: skip
OTHERS = "read and store it by `d[k]`, `d.get(k, 0.0)`, `k in d` and loops, each where it is always evaluated"
NARROW = "Python finds such numbers by other hashes than its own: use float64"
LONGEST = 60
PLACES = ("lineno", "col_offset", "end_col_offset")


def with_reasons(error: UnsupportedLoopError, sources: Iterable[SourceFunction]) -> UnsupportedLoopError:
    """`error`, where it is about a dictionary that could not be lists, with what kept it from that instead."""
    found = [(names, reason) for source in sources for names, reason in reasons_in(source)]
    left, reasons = list(error.diagnostics), list[Diagnostic]()
    for names, reason in found:
        about = [d for d in left if is_about(d, names)]
        if about and all(reason.span != d.span for d in reasons):
            reasons.append(reason)
        left = [d for d in left if d not in about]
    return UnsupportedLoopError(*reasons, *left) if reasons else error


def is_about(found: Diagnostic, names: Iterable[str]) -> bool:
    """Whether a diagnostic takes one of the dictionaries for one of known keys, or its making for that of an object."""
    words = "|".join(map(re.escape, names))
    is_named = re.search(rf"`({words})\b", found.message) is not None
    is_made = re.match(r"`(\w+\.)?(defaultdict|Counter|set)` is ", found.message) is not None
    is_named |= "a dictionary of 0" in found.message
    return is_made or (is_named and found.code in ("LD109", "LD111", "LD134"))


def reasons_in(source: SourceFunction) -> Iterable[tuple[tuple[str, ...], Diagnostic]]:
    """The dictionaries of a function, and what is done with one that no list can do, if that shows."""
    place = as_lists(source)
    if place is None or isinstance(place, SourceFunction) or not hasattr(place, "lineno") or place is source.node:
        return
    names = tuple(tables_in(source.node, source.outer, given_away(source.node)))
    if not names:  # of a set without a name
        return
    node = around(source.node, place)
    name = next((n.id for n in syntax_nodes(node) if isinstance(n, ast.Name) and n.id in names), names[0])
    text = ast.unparse(node).split("\n")[0]
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    is_narrow_number = any(is_narrow(n, source.outer) for n in syntax_nodes(node))
    hint = NARROW if is_narrow_number else hint_for(node)
    message = f"`{text}` is nothing that can be done with `{name}`, a dictionary or set whose keys only the run says"
    yield (
        names,
        reject("LD134", message, source.span(node), hint),
    )


def around(function: ast.FunctionDef, place: ast.AST) -> ast.AST:
    """What stands in the text of `function` where `place` does; of a name alone, what is done with it."""
    spot = (getattr(place, "lineno", 0), getattr(place, "col_offset", 0), getattr(place, "end_col_offset", 0))
    there = [n for n in syntax_nodes(function) if spot == tuple(getattr(n, k, 0) for k in PLACES)]
    node = there[0] if there else place
    parents = {child: parent for parent in syntax_nodes(function) for child in syntax_children(parent)}
    while isinstance(node, ast.Name | ast.Attribute):
        node = parents.get(node, function)
    return node


def hint_for(node: ast.AST) -> str:
    match node:
        case ast.Expr(value=value):
            return hint_for(value)
        case ast.Delete():
            return HINTS["pop"]
        case ast.Call(func=ast.Attribute(attr=word) | ast.Name(id=word)) if word in HINTS:
            return HINTS[word]
        case ast.Assign(value=ast.Name()):
            return COPIES
        case ast.BinOp(op=ast.BitOr()):
            return MERGES
        case _:
            return OTHERS
