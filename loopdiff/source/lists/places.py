"""Names, functions and lists that stand in the place of others."""

from __future__ import annotations

import ast
from typing import Any

from loopdiff.source.dictionaries.parts import load_of, statements_of
from loopdiff.source.lists.found import NUMBERS, Found, Lists
from loopdiff.source.lists.uses import can_be_filled_again, is_left, names_with, parents_in
from loopdiff.source.scopes import fresh


class Places(ast.NodeTransformer):
    """Names for what stands in the place of lists. `changed` are those of which something was written otherwise,
    `called` the functions that it takes. `has_failed`: something could not be written so."""

    def __init__(self, lists: Lists, words: set[str], dictionaries: set[str]) -> None:
        self.lists, self.words, self.dictionaries = lists, words, dictionaries
        self.called: dict[str, Any] = {}
        self.limits: dict[str, str] = {}
        self.changed: set[str] = set()
        self.ahead: list[ast.stmt] | None = None
        self.has_failed = False
        self.parents = parents_in(lists.function)
        several = [f for f in lists.found.values() if len(f.bindings) > 1]
        self.refilled = {f.name for f in several if can_be_filled_again(lists, f, self.parents)}
        firsts = (min(f.bindings, key=lambda b: (b.stmt.lineno, b.stmt.col_offset)) for f in lists.found.values())
        self.first = {id(b.value) for b in firsts}

    def new(self, stem: str) -> str:
        return fresh(self.words, stem)

    def function(self, value: Any) -> str:
        """A name for a function."""
        found = next((n for n, known in self.called.items() if known is value), None)
        if found is None:
            found = self.new(value.__name__)
            self.called[found] = value
        return found

    def failed(self, node: Any) -> Any:
        self.has_failed = True
        return node

    def listed(self, node: ast.AST) -> Found | None:
        return self.lists.found.get(node.id) if isinstance(node, ast.Name) else None

    def may_copy(self, found: Found) -> bool:
        """Whether nobody can tell whether `found` gets the list of another name, or a copy."""
        return is_left(self.lists, names_with(self.lists, found.name), self.parents)

    def written(self, text: str, place: ast.AST, **given: ast.expr) -> list[ast.stmt]:
        """The statements of a text, in which words in capitals stand for functions, lists and what is `given`."""
        return statements_of(text, place, **given)

    def new_list(self, stem: str, width: int) -> str:
        """A name for a list of tuples of that width."""
        name = self.new(stem)
        self.lists.found[name] = Found(name, [], width or NUMBERS)
        self.changed.add(name)
        return name

    def held(self, node: ast.expr, stem: str, ahead: list[ast.stmt]) -> ast.expr:
        """`node`, which is evaluated ahead."""
        match node:
            case ast.Constant():
                return node
            case ast.Tuple(elts=elts) if not any(isinstance(e, ast.Starred) for e in elts):
                return ast.copy_location(ast.Tuple([self.held(e, stem, ahead) for e in elts], ast.Load()), node)
            case _:
                name = self.new(stem)
                ahead += self.written(f"{name} = VALUE", node, VALUE=node)
                return ast.copy_location(load_of(name), node)
