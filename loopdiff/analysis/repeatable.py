"""Repeatable operations, which give the same bits whenever they are evaluated again on the same operands.

What decides control flow or an address may be worked out twice only if it comes out the same. Arithmetic on floating
numbers may not: a compiler is free to contract `a * b + c`, and to reassociate sums and products, in one place and not
in another. One multiplication, addition or subtraction leaves it no such choice where no operand is arithmetic itself:
a number of the caller, an element that nothing writes, or an integer converted. Operations that no compiler merges are
held to the same, for another reason: what they decide is mostly dearer to work out again than to keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import COMPARISONS, FLOAT_TESTS, PLAIN, PRODUCTS, SUMS, Op
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import all_statements, nodes_of, statements, written_arrays
from loopdiff.rules.printing import is_printing

EXACT_ON_FLOATS = frozenset(
    (*PLAIN, *FLOAT_TESTS, *COMPARISONS, Op.NEG, Op.ABS, Op.SIGN, Op.STOP, Op.MIN, Op.MAX, Op.COPYSIGN)
)
ROUNDED_ONCE = frozenset((*SUMS, *PRODUCTS))


@immutable
class Repeatable:
    """Tells which operations of a program are repeatable; `lets` are the values of its Lets by name, `written` the
    arrays that it writes."""

    types: TypeEnv
    lets: Mapping[str, ir.Expr]
    written: frozenset[str]

    def is_operation(self, expr: ir.Expr) -> bool:
        """Whether evaluating this one operation again on the same operands must give the same bits."""
        if not isinstance(expr, ir.Apply) or expr.op in EXACT_ON_FLOATS:
            return True
        if not any(type_of(a, self.types).is_float for a in expr.args):
            return True
        return expr.op in ROUNDED_ONCE and all(map(self.is_no_arithmetic, expr.args))

    def is_block(self, body: Iterable[ir.Stmt]) -> bool:
        """Whether the statements do the same when they are run again: sums of floating numbers may not, and what a rule
        is for is called once."""
        sites = list(statements(tuple(body)))
        return all(map(self.is_statement, (s.stmt for s in sites))) and all(
            self.is_operation(e) for s in sites for e in nodes_of(s.stmt)
        )

    def is_statement(self, stmt: ir.Stmt) -> bool:
        match stmt:
            case ir.Call(rule=rule):
                return is_printing(rule)  # left out where statements are run again
            case ir.Accumulate(op="add", target=target):
                return not self.types.arrays[target.array].element.is_float
            case _:
                return True

    def is_no_arithmetic(self, expr: ir.Expr) -> bool:
        """Whether no arithmetic on floating numbers made the operand, which a compiler could merge with its use."""
        match expr:
            case ir.Const() | ir.Param() | ir.Dim() | ir.Index():
                return True
            case ir.Load(access=access):
                return access.array not in self.written
            case ir.Var(name=name):
                return not type_of(expr, self.types).is_float or self.is_no_arithmetic(self.lets[name])
            case ir.Cast(value=value) | ir.Apply(op=Op.NEG, args=(value,)):
                return not type_of(value, self.types).is_float or self.is_no_arithmetic(value)
            case _:
                return not type_of(expr, self.types).is_float


def repeatable(ls: ir.LoopSet) -> Repeatable:
    """What is repeatable in the bound or normal `ls`."""
    lets = {s.name: s.value for s in all_statements(ls.body) if isinstance(s, ir.Let)}
    return Repeatable(type_env(ls), lets, written_arrays(ls.body))
