"""Slices of lists that leave them, `del v[a:b]`, or get other elements, `v[a:b] = w`: at the end of the list."""

from __future__ import annotations

import ast
from typing import Any

from loopdiff.numpy_functions import arranging
from loopdiff.source.dictionaries.parts import expression_of
from loopdiff.source.lists.found import NUMBERS, Found
from loopdiff.source.lists.moving import Moving


class SliceStatements(Moving):
    """Writes statements that change slices of steps of one."""

    def without_slice(self, found: Found, part: ast.Slice, node: ast.stmt) -> Any:
        """`del v[a:b]`: its elements go behind the others, one by one, and from there."""
        if part.step is not None:
            return node
        low, high, made = self.bounds(found, part, node)
        text = f"while {high} > {low}:\n    {self.function(arranging.place_to_end)}({low}, {found.name})\n"
        text += f"    {found.name}.pop()\n    {high} -= 1"
        return [*made, *self.written(text, node)]

    def with_slice(self, found: Found, part: ast.Slice, node: ast.Assign) -> Any:
        """`v[a:b] = w`: what begins there goes, and comes again behind the new elements."""
        if part.step is not None or found.width != NUMBERS or not self.lists.makes(node.value):
            return node
        name, given, rest = found.name, self.new_list(f"{found.name}_given", NUMBERS), self.new_list("rest", NUMBERS)
        if isinstance(node.value, ast.Name):
            node.value = expression_of(f"{node.value.id}[:]", node.value)
        value, ahead = self.in_turn(node.value, node)
        ahead.append(ast.copy_location(ast.Assign([ast.Name(given, ast.Store())], value), node))
        low, high, made = self.bounds(found, part, node)
        one, other = self.new("each"), self.new("each")
        text = f"if {high} < {low}:\n    {high} = {low}\n{rest} = []\nwhile {high} < len({name}):\n"
        text += f"    {rest}.append({name}[{high}])\n    {high} += 1\nwhile len({name}) > {low}:\n    {name}.pop()\n"
        text += f"for {one} in {given}:\n    {name}.append({one})\nfor {other} in {rest}:\n    {name}.append({other})"
        return [*ahead, *made, *self.written(text, node)]

    def bounds(self, found: Found, part: ast.Slice, node: ast.stmt) -> tuple[str, str, list[ast.stmt]]:
        """Names for the ends of a slice, as Python counts them, and what gives them their values."""
        self.changed.add(found.name)
        length, made = f"len({found.name})", list[ast.stmt]()
        names = self.new("low"), self.new("high")
        for name, end, default in zip(names, (part.lower, part.upper), ("0", length), strict=True):
            if end is None:
                made += self.written(f"{name} = {default}", node)
                continue
            value, ahead = self.in_turn(end, ast.copy_location(ast.Expr(end), node))
            text = f"{name} = END\nif {name} < 0:\n    {name} = {name} + {length}\n"
            text += f"    if {name} < 0:\n        {name} = 0\n"
            text += f"if {name} > {length}:\n    {name} = {length}"
            made += [*ahead, *self.written(text, node, END=value)]
        return *names, made
