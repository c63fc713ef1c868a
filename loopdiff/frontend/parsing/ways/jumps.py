"""`break`, `continue` and early `return` as conditions: what is left of them are exits of loops.

A jump out of a nested `if` sets a flag. What follows in the same iteration runs only if none is set, and the loop
has an exit just after the `if` (Allen, Kennedy, Porterfield and Warren 1983, "Conversion of control dependence to data
dependence"). Where a jump ends a branch, what follows moves into the other branch and needs no flag.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from loopdiff.errors import Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements, children

ENDLESS = 1 << 62
LOCAL: frozenset[ir.JumpKind] = frozenset(("break", "continue"))


def remove_jumps(
    body: tuple[ir.Stmt, ...], names: NameSupply, span: Span
) -> tuple[tuple[ir.Stmt, ...], tuple[ir.ArrayDecl, ...]]:
    """`body`, that of the function at `span`, without `Jump`s, and the cells that this takes."""
    if body and isinstance(body[-1], ir.Jump):
        body = body[:-1]
    if not any(isinstance(s, ir.Jump) for s in all_statements(body)):
        return body, ()
    done = Flag(names.fresh("returned"), span)
    rewriter = Rewriter(names, done)
    out = rewriter.nested(body, Around(done, done))
    if any(jumps(s) for s in body):
        rewriter.flags.append(done)
        out = [clear(done), *out]
    return tuple(out), tuple(ir.ArrayDecl(f.cell, None, "local", (), loc=f.loc) for f in rewriter.flags)


def can_be_left(body: Iterable[ir.Stmt]) -> bool:
    """Whether a jump leaves the loop that `body` is of."""
    for stmt in body:
        match stmt:
            case ir.Jump(kind="break" | "return"):
                return True
            case ir.Loop() if any(isinstance(s, ir.Jump) and s.kind == "return" for s in all_statements(stmt.body)):
                return True
            case ir.Loop():
                pass
            case _ if can_be_left(children(stmt)):
                return True
    return False


@immutable
class Flag:
    """A truth value in a cell, for what is at `loc`."""

    cell: str
    loc: Span

    @property
    def value(self) -> ir.Expr:
        return ir.Load(ir.Access(self.cell, loc=self.loc), loc=self.loc)


@immutable
class Around:
    """What jumps set: `leave` the innermost loop (or the function), `skip` the rest of this iteration."""

    leave: Flag
    skip: Flag


@dataclass(slots=True)
class Rewriter:
    """`done`: the function has returned."""

    names: NameSupply
    done: Flag
    flags: list[Flag] = field(default_factory=list)

    def loop(self, stmt: ir.Loop) -> ir.Loop:
        """The loop with the jumps of its body as exits."""
        if not any(jumps(s) for s in stmt.body):
            return replace(stmt, body=tuple(self.inside(s) for s in stmt.body))
        around = Around(self.flag("leave", stmt.loc), self.flag("skip", stmt.loc))
        return replace(stmt, body=(clear(around.leave), clear(around.skip), *self.direct(stmt.body, around)))

    def flag(self, stem: str, loc: Span) -> Flag:
        self.flags.append(Flag(self.names.fresh(stem), loc))
        return self.flags[-1]

    def inside(self, stmt: ir.Stmt) -> ir.Stmt:
        """A statement that no jump leaves."""
        match stmt:
            case ir.Loop():
                return self.loop(stmt)
            case ir.If(then=then, orelse=orelse):
                return replace(
                    stmt, then=tuple(self.inside(s) for s in then), orelse=tuple(self.inside(s) for s in orelse)
                )
            case _:
                return stmt

    # -- directly in the body of a loop ----------------------------------------------------------------------
    def direct(self, body: tuple[ir.Stmt, ...], around: Around) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for position, stmt in enumerate(body):
            rest = body[position + 1 :]
            kinds = jumps(stmt)
            match stmt:
                case _ if not kinds:
                    out.append(self.inside(stmt))
                case ir.Jump(kind="continue"):
                    return out
                case ir.Jump(loc=loc):
                    return [*out, *self.returns(stmt), ir.Exit(ir.Const(True, loc=loc), loc=loc)]
                case ir.Loop():
                    out += [self.loop(stmt), ir.Exit(self.done.value, loc=stmt.loc)]
                case ir.If(cond=cond, then=then, orelse=orelse) if leaves(then) and not any(map(jumps, orelse)):
                    return [*out, *self.exit_if(cond, then), *self.direct((*orelse, *rest), around)]
                case ir.If(cond=cond, then=then, orelse=orelse) if leaves(orelse) and not any(map(jumps, then)):
                    negated = ir.Apply(Op.NOT, (cond,), loc=cond.loc)
                    return [*out, *self.exit_if(negated, orelse), *self.direct((*then, *rest), around)]
                case _:
                    left, rest = self.branch(stmt, rest, around)
                    out += left
                    if rest and "continue" in kinds:
                        out.append(ir.If(negation(around.skip), tuple(self.nested(rest, around)), loc=stmt.loc))
                        rest = ()
                    if not rest:
                        kinds = kinds.union(*map(jumps, body[position:]))
                    if kinds - {"continue"}:
                        out.append(ir.Exit(around.leave.value, loc=stmt.loc))
                    if not rest:
                        return out
        return out

    def exit_if(self, cond: ir.Expr, body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
        """Leave the loop after `body`, which ends in a jump, if `cond` holds."""
        before, last = body[:-1], body[-1]
        assert isinstance(last, ir.Jump)
        before = (*(self.inside(s) for s in before), *self.returns(last))
        if not before:
            return [ir.Exit(cond, loc=last.loc)]
        held = self.flag("leave", cond.loc)
        store = ir.Assign(ir.Access(held.cell, loc=cond.loc), cond, loc=cond.loc)
        return [store, ir.If(held.value, before, loc=last.loc), ir.Exit(held.value, loc=last.loc)]

    def returns(self, jump: ir.Jump) -> list[ir.Stmt]:
        return [raised(self.done, jump.loc)] if jump.kind == "return" else []

    # -- in a branch -----------------------------------------------------------------------------------------
    def nested(self, body: tuple[ir.Stmt, ...], around: Around) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for position, stmt in enumerate(body):
            rest = body[position + 1 :]
            match stmt:
                case _ if not jumps(stmt):
                    out.append(self.inside(stmt))
                    continue
                case ir.Jump(kind=kind, loc=loc):
                    flags = [around.skip] if kind == "continue" else [around.leave, around.skip]
                    return [*out, *self.returns(stmt), *(raised(f, loc) for f in flags if f != self.done)]
                case ir.Loop():
                    out.append(self.loop(stmt))
                    if around.leave != self.done:
                        follow = (raised(around.leave, stmt.loc), raised(around.skip, stmt.loc))
                        out.append(ir.If(self.done.value, follow, loc=stmt.loc))
                case _:
                    taken, rest = self.branch(stmt, rest, around)
                    out += taken
            if rest:
                out.append(ir.If(negation(around.skip), tuple(self.nested(rest, around)), loc=stmt.loc))
            return out
        return out

    def branch(
        self, stmt: ir.Stmt, rest: tuple[ir.Stmt, ...], around: Around
    ) -> tuple[list[ir.Stmt], tuple[ir.Stmt, ...]]:
        """An `if` with jumps, and what of `rest` is left to do after it."""
        assert isinstance(stmt, ir.If)
        then, orelse = stmt.then, stmt.orelse
        if always_jumps(then):
            orelse, rest = (*orelse, *rest), ()
        elif always_jumps(orelse):
            then, rest = (*then, *rest), ()
        new = replace(stmt, then=tuple(self.nested(then, around)), orelse=tuple(self.nested(orelse, around)))
        return [new], rest


def jumps(stmt: ir.Stmt) -> frozenset[ir.JumpKind]:
    """Kinds of jumps that leave `stmt`."""
    match stmt:
        case ir.Jump(kind=kind):
            return frozenset((kind,))
        case _:
            found: frozenset[ir.JumpKind] = frozenset(k for s in children(stmt) for k in jumps(s))
            return found - LOCAL if isinstance(stmt, ir.Loop) else found


def leaves(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether `body` ends by leaving the loop, and jumps nowhere else."""
    match body:
        case [*before, ir.Jump(kind="break" | "return")]:
            return not any(jumps(s) for s in before)
        case _:
            return False


def always_jumps(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether nothing comes to the end of `body`."""
    match body[-1:]:
        case (ir.Jump(),):
            return True
        case (ir.If(then=then, orelse=orelse),):
            return always_jumps(then) and always_jumps(orelse)
        case _:
            return False


def clear(flag: Flag) -> ir.Stmt:
    return ir.Assign(ir.Access(flag.cell, loc=flag.loc), ir.Const(False, loc=flag.loc), loc=flag.loc)


def raised(flag: Flag, loc: Span) -> ir.Stmt:
    return ir.Assign(ir.Access(flag.cell, loc=loc), ir.Const(True, loc=loc), loc=loc)


def negation(flag: Flag) -> ir.Expr:
    return ir.Apply(Op.NOT, (flag.value,), loc=flag.loc)
