"""Names in generated functions: what statements read before they set it, set for certain, and leave for later.

The sets are bits of integers: a program of thousands of statements has as many names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from loopdiff.source.nodes import syntax_nodes

NEVER = -1  # set for certain by what does not come to its end, as is all else


class Effect(NamedTuple):
    """`exposed`: names that may be read before they are set; `stored`: those that may be set; `certain`: those that are
    set wherever the end is reached.

    `jumps`: whether a loop around may be left, or its next iteration begun; `returns`: whether the function may.
    """

    exposed: int = 0
    stored: int = 0
    certain: int = 0
    jumps: bool = False
    returns: bool = False

    def then(self, other: Effect) -> Effect:
        """The effect of both, one after the other."""
        exposed = self.exposed | (other.exposed & ~self.certain)
        stored, certain = self.stored | other.stored, self.certain | other.certain
        return Effect(exposed, stored, certain, self.jumps or other.jumps, self.returns or other.returns)

    def before(self, after: int, elsewhere: int) -> int:
        """Names that are live ahead of it, if those are live `after` it, and where jumps lead those `elsewhere`."""
        return self.exposed | (after & ~self.certain) | (elsewhere if self.jumps else 0)


class Suite(NamedTuple):
    """Statements that follow each other, with the names that are set for certain ahead of each, and last behind all,
    and those that are live at the same places."""

    body: list[ast.stmt]
    known: list[int]
    live: list[int]


@dataclass(slots=True)
class NameFlow:
    """The names of a function, each with a bit, and the effects of its statements."""

    bits: dict[str, int] = field(default_factory=dict)
    effects: dict[int, Effect] = field(default_factory=dict)

    def bit(self, name: str) -> int:
        return 1 << self.bits.setdefault(name, len(self.bits))

    def set_of(self, names: Iterable[str]) -> int:
        found = 0
        for name in names:
            found |= self.bit(name)
        return found

    def suites(self, function: ast.FunctionDef) -> Iterator[Suite]:
        """All suites of `function`."""
        given = self.set_of(a.arg for a in function.args.args)
        yield from self.inside(function.body, given, 0, 0)

    def inside(self, body: list[ast.stmt], known: int, after: int, elsewhere: int) -> Iterator[Suite]:
        """The suite `body`, ahead of which the names `known` are set, and those in it. `after` it, and `elsewhere`,
        where jumps out of it lead, names are live."""
        live = [after]
        for stmt in reversed(body):
            live.append(self.effect(stmt).before(live[-1], elsewhere))
        live.reverse()
        before = [known]
        for stmt in body:
            before.append(before[-1] | self.effect(stmt).certain)
        yield Suite(body, before, live)
        for stmt, first, last in zip(body, before, live[1:], strict=False):
            match stmt:
                case ast.For(target=target, body=inner):
                    head = last | self.effect(stmt).exposed
                    yield from self.inside(inner, first | self.written(target), head, head)
                case ast.While(body=inner):
                    head = last | self.effect(stmt).exposed
                    yield from self.inside(inner, first, head, head)
                case ast.If(body=then, orelse=orelse):
                    yield from self.inside(then, first, last, elsewhere)
                    yield from self.inside(orelse, first, last, elsewhere)
                case _:
                    pass

    # -- effects ---------------------------------------------------------------------------------------------
    def effect_of_all(self, body: list[ast.stmt]) -> Effect:
        found = Effect()
        for stmt in body:
            found = found.then(self.effect(stmt))
        return found

    def effect(self, stmt: ast.stmt) -> Effect:
        found = self.effects.get(id(stmt))
        if found is None:
            found = self.effects[id(stmt)] = self.effect_itself(stmt)
        return found

    def effect_itself(self, stmt: ast.stmt) -> Effect:
        match stmt:
            case ast.For(target=target, iter=over, body=body):
                inner, own = self.effect_of_all(body), self.written(target)
                exposed = self.read(over) | (inner.exposed & ~own)
                return Effect(exposed, inner.stored | own, returns=inner.returns)
            case ast.While(test=test, body=body):
                inner = self.effect_of_all(body)
                return Effect(self.read(test) | inner.exposed, inner.stored, returns=inner.returns)
            case ast.If(test=test, body=then, orelse=orelse):
                one, other = self.effect_of_all(then), self.effect_of_all(orelse)
                exposed, stored = self.read(test) | one.exposed | other.exposed, one.stored | other.stored
                certain = one.certain & other.certain
                return Effect(exposed, stored, certain, one.jumps or other.jumps, one.returns or other.returns)
            case ast.Return():
                return Effect(self.read(stmt), certain=NEVER, returns=True)
            case ast.Raise():
                return Effect(self.read(stmt), certain=NEVER)
            case ast.Break() | ast.Continue():
                return Effect(certain=NEVER, jumps=True)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                return Effect(self.read(value) | self.bit(name), self.bit(name), self.bit(name))
            case _:
                return Effect(self.read(stmt), self.written(stmt), self.written(stmt))

    def read(self, node: ast.AST) -> int:
        return self.set_of(n.id for n in syntax_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))

    def written(self, node: ast.AST) -> int:
        return self.set_of(n.id for n in syntax_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
