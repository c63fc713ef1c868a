"""Which of the facts about parameters a set needs: those that say something of the parameters that it mentions.

Programs on slices require of every array that its extents are those of the one before. With all of that in every set,
sets would grow with the program. So equal terms are stated as equal to the first of them, and what a fact says of a
parameter that nothing else mentions is left out where some value of that parameter makes it true:

    require a.shape[0] == b.shape[0]         a set with `b` alone says nothing of `a`, one with `a` has `b` as well
    require b.shape[0] == c.shape[0]         stated as a.shape[0] == c.shape[0]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs, substitute

ORDERED = {Op.GE: 1, Op.GT: 1, Op.LE: -1, Op.LT: -1}


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A formula that holds because the program stops where it does not, and all parts of it; one for each formula."""

    formula: ir.Expr
    parts: frozenset[ir.Expr]

    @property
    def is_local(self) -> bool:
        """Whether it is about iterations, too."""
        return any(isinstance(e, ir.Index | ir.Var) for e in self.parts)


Facts = tuple[Fact, ...]


class Equalities(dict[ir.Expr, ir.Expr]):
    """Terms that are known to be equal, each with the first of them."""

    def stated(self, formula: ir.Expr) -> ir.Expr | None:
        """`formula`, which holds from now on, an equality as one with the first term; None if it was known before."""
        match formula:
            case ir.Apply(op=Op.EQ, args=(a, b)):
                first, other = self.get(a, a), self.get(b, b)
                if first == other:
                    return None
                if other in self.values() and first not in self.values():
                    first, other = other, first
                self.update({term: first for term, root in self.items() if root == other})
                self.update({first: first, other: first})
                return ir.Apply(Op.EQ, (other, first))
            case _:
                return formula


@immutable
class Owners:
    """Facts that leave out nothing but their owner, a parameter for which there is a value whatever the others are."""

    of: Mapping[Fact, ir.Expr]
    mentioned: Mapping[Fact, frozenset[ir.Expr]]

    def needed(self, facts: Facts, parameters: Iterable[ir.Expr]) -> Facts:
        """Those of `facts` that say something of `parameters`."""
        by_parameter: dict[ir.Expr, list[Fact]] = {}
        for fact in facts:
            owner = self.of.get(fact)
            for parameter in self.mentioned[fact] if owner is None else (owner,):
                by_parameter.setdefault(parameter, []).append(fact)
        found = {f: None for f in facts if f.is_local}
        pending = [*parameters]
        seen = set(pending)
        while pending:
            for fact in by_parameter.get(pending.pop(), ()):
                found[fact] = None
                pending += self.mentioned[fact] - seen
                seen |= self.mentioned[fact]
        return tuple(f for f in facts if f in found)


def find_owners(facts: Facts, parameters: Mapping[ir.Expr, int]) -> Owners:
    """Owners of `facts`: parameters that no other fact mentions, but those that have owners already."""
    mentioned = {f: frozenset(p for p in f.parts if p in parameters) for f in facts}
    users: dict[ir.Expr, set[Fact]] = {}
    for fact, found in mentioned.items():
        for parameter in found:
            users.setdefault(parameter, set()).add(fact)
    owners: dict[Fact, ir.Expr] = {}
    pending = sorted(users, key=lambda p: parameters[p])
    while pending:
        parameter = pending.pop()
        if len(users[parameter]) != 1:
            continue
        (fact,) = users[parameter]
        if not fact.is_local and is_always_possible(fact.formula, parameter, mentioned[fact]):
            owners[fact] = parameter
            for other in mentioned[fact]:
                users[other].discard(fact)
            pending += sorted(mentioned[fact], key=lambda p: parameters[p])
    return Owners(owners, mentioned)


def is_always_possible(formula: ir.Expr, parameter: ir.Expr, mentioned: Iterable[ir.Expr]) -> bool:
    """Whether some value of `parameter`, an extent that is not negative, makes `formula` true whatever the other
    parameters that it mentions are."""
    match formula:
        case ir.Apply(op=(Op.EQ | Op.GE | Op.GT | Op.LE | Op.LT) as op, args=(a, b)) if isinstance(parameter, ir.Dim):
            terms, constant = linear(ir.Apply(Op.SUB, (a, b)))
            factor = terms.pop(parameter, 0)
            if any(parameter in subexprs(term) for term in terms) or not factor:
                others = [p for p in mentioned if isinstance(p, ir.Dim) and p != parameter]
                return op in (Op.EQ, Op.GE, Op.LE) and any(
                    substitute(a, {parameter: p}) == substitute(b, {parameter: p}) for p in others
                )
            if op is not Op.EQ:
                return factor * ORDERED[op] > 0
            return (
                abs(factor) == 1
                and all(isinstance(t, ir.Dim) and n * factor < 0 for t, n in terms.items())
                and constant * factor <= 0
            )
        case _:
            return False
