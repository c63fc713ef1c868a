"""Types of expressions, computed on demand: never stored on nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loopdiff.errors import InternalError
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import INFO
from loopdiff.ir.types import BOOL, C64, C128, F32, F64, INT, ArrayType, ScalarType
from loopdiff.ir.walk import all_statements, subexprs

WIDTH = {kind: k for k, kind in enumerate((BOOL, INT, F32, F64, C64, C128))}
COMPLEX = {F32: C64, F64: C128}


@immutable
class TypeEnv:
    """Types of arrays, scalar arguments and Lets by name."""

    arrays: Mapping[str, ArrayType]
    scalars: Mapping[str, ScalarType]
    lets: Mapping[str, ScalarType]


def join_types(types: Iterable[ScalarType]) -> ScalarType:
    """The wider type: bool < int64 < float32 < float64, but int64 with float32 stays float32."""
    return max(types, key=WIDTH.__getitem__)


def type_env(ls: ir.LoopSet) -> TypeEnv:
    """The environment of a bound or normal LoopSet. What it does not declare of names in extents counts iterations."""
    arrays = {a.name: a.type for a in ls.arrays if a.type is not None}
    scalars = {s.name: s.type for s in ls.scalars if s.type is not None}
    declared = {s.name for s in ls.scalars}
    sizes = (e for a in ls.arrays for extent in a.extents or () for e in subexprs(extent))
    scalars |= {e.name: INT for e in sizes if isinstance(e, ir.Param) and e.name not in declared}
    lets: dict[str, ScalarType] = {}
    env = TypeEnv(arrays, scalars, lets)
    for stmt in all_statements(ls.body):
        if isinstance(stmt, ir.Let):
            lets[stmt.name] = type_of(stmt.value, env)
    return env


def type_of(expr: ir.Expr, env: TypeEnv) -> ScalarType:
    """Type of `expr`; weak constants count as bool, int64 or float64."""
    match expr:
        case ir.Apply():
            return type_of_operation(expr, env)
        case ir.Const(value=value, dtype=dtype):
            return dtype or (BOOL if isinstance(value, bool) else INT if isinstance(value, int) else F64)
        case ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf():
            return INT
        case ir.Param(name=name):
            return env.scalars[name]
        case ir.Var(name=name):
            if name not in env.lets:
                raise InternalError(f"LD901: `{name}` is used before its Let")
            return env.lets[name]
        case ir.Load(access=access):
            return env.arrays[access.array].element
        case ir.Cast(dtype=dtype):
            return dtype
        case ir.Select(then=then, orelse=orelse):
            return join_types((type_of(then, env), type_of(orelse, env)))
        case ir.PartOf(part=part, value=value):
            found = type_of(value, env)
            return found if part == "conj" else found.part
        case ir.Pair(real=real):
            return COMPLEX[type_of(real, env)]


def type_of_operation(expr: ir.Apply, env: TypeEnv) -> ScalarType:
    """Result type by the operation's rule in `ops.INFO`."""
    joined = join_types([type_of(a, env) for a in expr.args])
    match INFO[expr.op].result:
        case "same":
            return joined
        case "bool":
            return BOOL
        case "int":
            return INT
        case "float":
            return joined if joined.is_float or joined.is_complex else F64


def operand_type(expr: ir.Apply, kind: ScalarType, env: TypeEnv) -> ScalarType:
    """The type in which `expr`, of type `kind`, computes: that of its result for functions of floating numbers, else
    that of its arguments joined. A target that has types converts the arguments to it, but for an integer exponent."""
    return kind if INFO[expr.op].result == "float" else join_types(type_of(a, env) for a in expr.args)


def part_of(arg: ir.Expr, types: TypeEnv) -> ir.Access | None:
    """The part of an array that `arg`, an argument of a Call, is; None for a number."""
    if not isinstance(arg, ir.Load) or arg.access.array not in types.arrays:
        return None
    return arg.access if len(arg.access.subscripts) < types.arrays[arg.access.array].rank else None


def cell_types(ls: ir.LoopSet) -> dict[str, ScalarType]:
    """Element type of every scalar cell: rank-0 arrays that are not parameters."""
    return {a.name: a.type.element for a in ls.arrays if a.name not in ls.params and a.type and a.type.rank == 0}


def is_counted_truth(expr: ir.Expr, env: TypeEnv) -> bool:
    """Whether `expr` is a truth value as a number."""
    return isinstance(expr, ir.Cast) and type_of(expr.value, env) is BOOL
