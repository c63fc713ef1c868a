"""What every call of a function comes to, whatever its arguments are: what it names and a module has not, and functions
of libraries that nothing is known of. It is said when the function is decorated.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Sequence
from difflib import get_close_matches
from types import ModuleType
from typing import Any

import numpy as np

from loopdiff.errors import Diagnostic, raise_if
from loopdiff.errors.codes import reject
from loopdiff.frontend.arrays.allocation import allocator
from loopdiff.frontend.arrays.constructions import MAKERS
from loopdiff.frontend.arrays.effects import PUTTING
from loopdiff.frontend.arrays.functions import FUNCTIONS
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.functions import scalar_function
from loopdiff.frontend.parsing.calling.calls import hint_for
from loopdiff.source.functions import SourceFunction, dotted_name, python_function
from loopdiff.source.nodes import syntax_children, syntax_nodes
from loopdiff.source.scopes import own_names, root_of

# Known where calls or statements are read, in no table.
KNOWN = (
    np.einsum, np.clip, np.real, np.imag, np.ix_, np.copyto, np.isscalar, np.issubdtype, np.shape, np.split,
    np.array_split, np.r_, np.c_,
)  # fmt: skip
OF_NUMBERS = ("numpy", "scipy")


def refuse_missing(source: SourceFunction) -> None:
    """Raise UnsupportedLoopError (LD113) for names that a module has not, `np.eyee`."""
    raise_if(said for node in sure_names(source) if (said := missing(source, node)) is not None)


def refuse_unknown_functions(source: SourceFunction, sources: Sources) -> None:
    """Raise UnsupportedLoopError (LD109) for functions of NumPy and SciPy that are not known."""
    raise_if(said for node in sure_names(source) if (said := unknown(source, sources, node)) is not None)


def sure_names(source: SourceFunction) -> Iterator[ast.Call | ast.Attribute]:
    """Dotted names from outside, and calls by names from outside, that a call of the function comes to whatever its
    arguments are."""
    own = own_names(source.node)
    for node in sure_parts_of(source.node.body):
        name = node.func if isinstance(node, ast.Call) else node
        if dotted_name(name) is not None and root_of(name) not in own:
            yield node


def sure_parts_of(body: Sequence[ast.stmt]) -> Iterator[ast.Call | ast.Attribute]:
    """Those of statements up to one that may be the last."""
    for stmt in body:
        yield from sure_parts(stmt)
        if any(isinstance(n, ast.Return | ast.Raise | ast.Break | ast.Continue) for n in syntax_nodes(stmt)):
            break


def sure_parts(node: ast.AST) -> Iterator[ast.Call | ast.Attribute]:
    """Calls and dotted names in `node` that are not in a branch, nor in what may be called or left out, nor in a loop
    over what may have no items, as lists that are written out."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            yield from sure_parts(test)
        case ast.BoolOp(values=[first, *_]):
            yield from sure_parts(first)
        case ast.For(iter=over, body=body):
            yield from sure_parts(over)
            if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range":
                yield from sure_parts_of(body)
        case ast.While(test=test, body=body):
            yield from sure_parts(test)
            yield from sure_parts_of(body)
        case ast.Try() | ast.Lambda() | ast.FunctionDef() | ast.ClassDef() | ast.Match():
            pass
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            pass
        case _:
            if isinstance(node, ast.Call | ast.Attribute):
                yield node
            for part in syntax_children(node):
                yield from sure_parts(part)


def missing(source: SourceFunction, node: ast.Call | ast.Attribute) -> Diagnostic | None:
    if isinstance(node, ast.Call) or dotted_name(node) in source.outer:
        return None
    owner = ast.unparse(node.value)
    if not isinstance(module := source.outer.get(owner), ModuleType):
        return None
    near = get_close_matches(node.attr, dir(module), n=1)
    hint = f"there is `{owner}.{near[0]}`" if near else "correct the name"
    return reject("LD113", f"`{ast.unparse(node)}` is not defined", source.span(node), hint)


def unknown(source: SourceFunction, sources: Sources, node: ast.Call | ast.Attribute) -> Diagnostic | None:
    if not isinstance(node, ast.Call):
        return None
    text = ast.unparse(node.func)
    value = source.outer.get(text)
    if not is_unknown(value) or sources.rule_of(value) is not None:
        return None
    return reject("LD109", f"`{text}` is not a function loopdiff knows", source.span(node), hint_for(value))


def is_unknown(value: Any) -> bool:
    """Whether `value` is a function of NumPy or SciPy of which nothing is known, whatever it is called with."""
    if not isinstance(value, np.ufunc) and str(getattr(value, "__module__", "")).split(".")[0] not in OF_NUMBERS:
        return False
    if not callable(value) or isinstance(value, type) or any(value is known for known in KNOWN):
        return False
    if not isinstance(value, Hashable):  # an object that can be called, as a polynomial
        return False
    if value in FUNCTIONS or value in MAKERS or any(value is function for function, _ in PUTTING):
        return False
    return allocator(value) is None and python_function(value) is None and scalar_function(value) is None
