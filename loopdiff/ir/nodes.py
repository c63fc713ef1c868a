"""The LoopSet: the intermediate representation every stage reads and writes.

Nodes are frozen and hold no facts; analyses return facts as separate values. Source spans never take part in
equality or hashing. Two levels share these classes:

* surface (from `frontend.parse`): Python locals are rank-0 arrays, types are unknown (`dtype` None), and the
  surface-only expressions `SizeOf`, `RankOf`, `PartOf` and `Pair` and statement `Jump` may occur;
* bound (from `frontend.binding.bind`, and all after it): every array and parameter has a type, `Cast` is explicit.
`canonical.single_assignment` then brings scalars into single-assignment `Let`s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal

from loopdiff.errors import NOWHERE, Span
from loopdiff.immutable import HashedOnce, NamedOnce, immutable
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.rules.definitions import Rule, RuleForm

PLACE = "<place>"  # in messages of checks


def location() -> Span:
    return field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# -- expressions ---------------------------------------------------------------------------------------------
@immutable
class Const:
    """A literal. `dtype` None: a weak Python literal that takes the type of what it meets.

    Equality is identity of the literal: 0.0 is not -0.0, 1 is not 1.0 or True, and nan is nan.
    """

    value: bool | int | float
    dtype: ScalarType | None = None
    loc: Span = location()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const) or self.dtype is not other.dtype:
            return False
        return self.value is other.value or repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(self.value) if self.value == self.value else 0


@immutable
class Index:
    """The value of the loop index `name` in the current iteration (INT)."""

    name: str
    loc: Span = location()


@immutable
class Param:
    """The value of scalar argument `name`; arguments are never assigned (the parser copies to a local)."""

    name: str
    loc: Span = location()


@immutable
class Var:
    """The value bound by the `Let` of that name."""

    name: str
    loc: Span = location()


@immutable
class Dim:
    """Extent of `array` along `axis` (INT). Surface axes may be negative."""

    array: str
    axis: int
    loc: Span = location()


@immutable
class SizeOf:
    """Surface only: number of elements of `array`."""

    array: str
    loc: Span = location()


@immutable
class RankOf:
    """Surface only: rank of `array`."""

    array: str
    loc: Span = location()


@immutable
class Access(HashedOnce):
    """An element of `array`; one subscript per axis, none for a rank-0 array (a scalar cell)."""

    array: str
    subscripts: tuple[Expr, ...] = ()
    loc: Span = location()


@immutable
class Load(HashedOnce):
    """The value stored at `access`."""

    access: Access
    loc: Span = location()


@immutable
class Apply(HashedOnce):
    """`op` applied to `args`.

    `is_strict`: a function that is evaluated by the C library wherever it stands, not by code of our own for vectors,
    so that it gives the same bits everywhere.
    """

    op: Op
    args: tuple[Expr, ...]
    loc: Span = location()
    is_strict: bool = False


@immutable
class Select(HashedOnce):
    """`then` if `cond` else `orelse`; only the chosen branch is evaluated (a conditional expression)."""

    cond: Expr
    then: Expr
    orelse: Expr
    loc: Span = location()


@immutable
class Cast(HashedOnce):
    """`value` converted to `dtype`; float to INT truncates toward zero."""

    dtype: ScalarType
    value: Expr
    loc: Span = location()


Part = Literal["real", "imag", "conj", "angle", "abs"]


@immutable
class PartOf:
    """Surface only: what a complex number has and a real one has trivially. All but `conj` are real."""

    part: Part
    value: Expr
    loc: Span = location()


@immutable
class Pair:
    """Surface only: the complex number of two real ones."""

    real: Expr
    imag: Expr
    loc: Span = location()


Expr = Const | Index | Param | Var | Dim | SizeOf | RankOf | Load | Apply | Select | Cast | PartOf | Pair

# -- statements ----------------------------------------------------------------------------------------------
AccumulateOp = Literal["add", "max", "min"]


@immutable
class Let(NamedOnce):
    """Bind `name`, once per iteration of the enclosing loops, to `value`. No other Let has this name."""

    name: str
    value: Expr
    loc: Span = location()


@immutable
class Assign(NamedOnce):
    """Overwrite `target` with `value`."""

    target: Access
    value: Expr
    loc: Span = location()


@immutable
class Accumulate(NamedOnce):
    """`target = target <op> value`: += / max= / min=, whose order over a loop does not matter."""

    op: AccumulateOp
    target: Access
    value: Expr
    loc: Span = location()


@immutable
class Loop(NamedOnce):
    """`for index in range(lower, upper, step)`; the index name is unique in the LoopSet, step is never zero."""

    index: str
    lower: Expr
    upper: Expr
    step: Expr
    body: tuple[Stmt, ...]
    loc: Span = location()


@immutable
class If(NamedOnce):
    """Python's `if`."""

    cond: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    loc: Span = location()


@immutable
class Allocate(NamedOnce):
    """Local `array` comes into being here with the extents of its declaration, filled with `fill` (None: undefined).

    Of a parameter, which the caller has made, the elements are set, and without `fill` nobody needs what they hold.
    There may be several of one array, in branches or one after the other.
    """

    array: str
    fill: Expr | None = None
    loc: Span = location()


@immutable
class Call(NamedOnce):
    """Call the function that `rule` has for `form`; what it returns goes to the cells `results`.

    An argument is a number, or a Load with fewer subscripts than its array has axes: that part of the array itself,
    `x[i]` being a row. None stands for a derivative that nobody asks for. `tape` is the shape of what the rule keeps.
    """

    rule: Rule
    form: RuleForm
    args: tuple[Expr | None, ...]
    results: tuple[Access, ...] = ()
    tape: tuple[Expr, ...] = ()
    loc: Span = location()


@immutable
class Require(NamedOnce):
    """Raise the error `code` with `message` unless `cond` holds. PLACE in the message stands for that of `about`, or of
    the check itself.

    `is_early`: it may be asked ahead of everything, where what it says is known there.
    """

    cond: Expr
    code: str
    message: str
    loc: Span = location()
    about: Span | None = field(default=None, compare=False, repr=False)
    is_early: bool = False

    @property
    def said(self) -> str:
        """The message as the user reads it, with a line of the file."""
        return self.message.replace(PLACE, (self.about or self.loc).in_words)

    @property
    def said_in_code(self) -> str:
        """The message in generated code, which serves the same text wherever it stands."""
        return self.message.replace(PLACE, (self.about or self.loc).in_function)


@immutable
class Exit(NamedOnce):
    """Leave the loop, whose body this is a direct part of, if `cond` holds."""

    cond: Expr
    loc: Span = location()


JumpKind = Literal["break", "continue", "return"]


@immutable
class Jump(NamedOnce):
    """Surface only: leave the innermost loop, its iteration, or the function."""

    kind: JumpKind
    loc: Span = location()


Stmt = Let | Assign | Accumulate | Loop | If | Allocate | Call | Require | Exit | Jump

# -- declarations --------------------------------------------------------------------------------------------
Role = Literal["argument", "local", "tape", "adjoint", "gradient", "tangent", "lent"]


@immutable
class ArrayDecl:
    """An array or, with rank 0, a scalar cell. A parameter that is `lent` is memory of the caller: nobody looks at what
    it holds before or after.

    Arguments take their extents from the call. Other arrays state `extents`, expressions over constants, `Dim`s of
    arguments, integer `Param`s and loads from arguments that are never written. `type` is None on the surface;
    `like` names the array whose shape (and dtype, when `dtype_like` is unset) a surface local copies. The elements of a
    surface local without any of these have the least type that holds the `values` that it is made of.
    """

    name: str
    type: ArrayType | None
    role: Role = "local"
    extents: tuple[Expr, ...] | None = None
    like: str | None = None
    dtype_like: str | None = None
    values: tuple[Expr, ...] = field(default=(), compare=False)
    loc: Span = location()


@immutable
class ScalarDecl:
    """A scalar argument. `is_weak`: a Python int/float, which does not widen float32 expressions."""

    name: str
    type: ScalarType | None
    is_weak: bool = False
    loc: Span = location()


@immutable
class ScalarResult:
    """A scalar return value, evaluated after the body."""

    value: Expr


@immutable
class ArrayResult:
    """A local array that is returned."""

    array: str


Result = ScalarResult | ArrayResult


class Indexed:
    """Objects with slots that also have room for what `cached_property` finds of them."""


@immutable
class LoopSet(Indexed):
    """One function: `params` are argument names in order, each either an array or a scalar declaration."""

    name: str
    params: tuple[str, ...]
    arrays: tuple[ArrayDecl, ...]
    scalars: tuple[ScalarDecl, ...]
    body: tuple[Stmt, ...]
    results: tuple[Result, ...] = ()
    returns_tuple: bool = False
    loc: Span = location()

    @cached_property
    def declared(self) -> Mapping[str, ArrayDecl]:
        """The arrays by name, which are asked for more often than anything else."""
        return {a.name: a for a in self.arrays}

    def array(self, name: str) -> ArrayDecl:
        return self.declared[name]

    def has_array(self, name: str) -> bool:
        return name in self.declared

    def scalar(self, name: str) -> ScalarDecl:
        return next(s for s in self.scalars if s.name == name)
