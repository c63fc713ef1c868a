"""First walk: the Numba type of every expression, and the signature of every operator and call."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple

from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import signature

from loopdiff.immutable import immutable

from .arrays import Lower
from .operators import FUNCTIONS, known_call
from .syntax import BINARY, COMPARE, UNARY, Unknown, constant_of, set_once, tree_of

Env = dict[str, types.Type]
CompilePart = Callable[..., Any]
SCALARS = (types.Integer, types.Float, types.Boolean)
ATTRIBUTES = ("shape", "size", "dtype", "T")  # of arrays


@immutable
class Called:
    """What an operator or a call means: a function of Numba's, or `lower` instead."""

    function: Any
    signature: Any
    lower: Lower | None = None


@dataclass(slots=True)
class Typed:
    """Types by the identity of expressions, and of names that are set; what operators, calls, and accesses that are
    not of one element mean; values of names from outside."""

    types: dict[int, types.Type] = field(default_factory=dict)
    calls: dict[int, Called] = field(default_factory=dict)
    outside: dict[int, Any] = field(default_factory=dict)
    result: types.Type | None = None


class TypedTree(NamedTuple):
    """The definition of a function with types, and its variables that are LLVM values."""

    tree: ast.FunctionDef
    found: Typed
    once: frozenset[str]


def is_type(found: Any, ty: Any) -> bool:
    """Whether two types are one: there are as many questions as loops times names, and mostly the same object."""
    return found is ty or found == ty


def items_of(ty: Any) -> tuple[types.Type, ...] | None:
    """The types of a tuple's items; None for anything else."""
    return tuple(ty) if isinstance(ty, types.Tuple | types.UniTuple) else None


def is_counted(ty: types.Type) -> bool:
    """Whether values of `ty` hold references."""
    return isinstance(ty, types.Array) or any(map(is_counted, items_of(ty) or ()))


def is_element(array: types.Type, index: types.Type) -> bool:
    """Whether `index` names one element of an array of numbers."""
    if not isinstance(array, types.Array) or not isinstance(array.dtype, SCALARS):
        return False
    items = items_of(index)
    parts = (index,) if items is None else items
    return len(parts) == array.ndim and all(isinstance(p, types.Integer) for p in parts)


class Typing:
    """Walks a function whose parameters have types `env`; raises Unknown, or Numba's TypingError."""

    def __init__(
        self, context: Any, namespace: Mapping[str, Any], env: Env, once: frozenset[str], compile_part: CompilePart
    ) -> None:
        self.context, self.namespace, self.env, self.once = context, namespace, env, once
        self.compile_part = compile_part
        self.found = Typed()
        self.known: dict[Any, Any] = {}
        self.changed: dict[int, set[str]] = {}  # by loop: variables without one type for all iterations
        self.breaks: list[list[Env]] = []  # by loop around: types where it is left

    def function(self, tree: ast.FunctionDef) -> Typed:
        if not self.suite(tree.body):
            self.returns(types.none, tree)
        return self.found

    def returns(self, ty: types.Type, node: ast.AST) -> None:
        if self.found.result not in (None, ty):
            raise Unknown(f"results {self.found.result} and {ty}", node)
        self.found.result = ty

    # -- statements ------------------------------------------------------------------------------------------
    def suite(self, body: list[ast.stmt]) -> bool:
        """Whether the suite never comes to its end."""
        return any([self.statement(stmt) for stmt in body])

    def statement(self, stmt: ast.stmt) -> bool:
        match stmt:
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.expr(value))
            case ast.AugAssign():
                self.augment(stmt)
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    self.expr(value)
            case ast.For():
                self.loop(stmt)
            case ast.If():
                return self.branch(stmt)
            case ast.Return(value=value):
                self.returns(types.none if value is None else types.unliteral(self.expr(value)), stmt)
                return True
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=args, keywords=[]), cause=None):
                self.raised(stmt, name, args)
                return True
            case ast.Break():
                self.breaks[-1].append(dict(self.env))
            case ast.Pass():
                pass
            case _:
                raise Unknown(type(stmt).__name__, stmt)
        return False

    def raised(self, stmt: ast.Raise, name: str, args: list[ast.expr]) -> None:
        error = self.value_of(name, stmt)
        if not (isinstance(error, type) and issubclass(error, Exception)):
            raise Unknown(f"raise {name}", stmt)
        if not all(isinstance(a, ast.Constant) for a in args):
            raise Unknown("an exception made of values", stmt)
        self.found.outside[id(stmt)] = error

    def assign(self, target: ast.expr, ty: types.Type) -> None:
        match target:
            case ast.Name(id=name):
                kept = ty if name in self.once else types.unliteral(ty)
                if isinstance(kept, types.NoneType | types.Function):
                    raise Unknown(f"`{name}` of type {kept}", target)
                if items_of(kept) is not None and is_counted(kept):  # its parts are borrowed, a variable owns
                    raise Unknown("arrays kept in a tuple", target)
                self.env[name] = self.found.types[id(target)] = kept
            case ast.Subscript():
                self.store(target, ty)
            case ast.Tuple(elts=parts) if len(parts) == len(items_of(ty) or ()):
                for part, kind in zip(parts, items_of(ty) or (), strict=True):
                    if is_counted(kind):
                        raise Unknown("arrays taken from a tuple", target)
                    self.assign(part, kind)
            case _:
                raise Unknown(f"assignment to {type(target).__name__}", target)

    def augment(self, stmt: ast.AugAssign) -> None:
        target = stmt.target
        match target:
            case ast.Name(id=name):
                old = self.variable(name, target)
            case ast.Subscript():
                old = self.element(target)
                if not is_element(self.found.types[id(target.value)], self.found.types[id(target.slice)]):
                    raise Unknown("arrays changed in place", stmt)
            case _:
                raise Unknown(f"change of {type(target).__name__}", stmt)
        if is_counted(old):
            raise Unknown("arrays changed in place", stmt)
        new = self.called(stmt, BINARY[type(stmt.op)], (old, self.expr(stmt.value)))
        if isinstance(target, ast.Name):
            if types.unliteral(old) != new:
                raise Unknown(f"`{target.id}` of types {old} and {new}", stmt)
            self.assign(target, new)

    def store(self, target: ast.Subscript, ty: types.Type) -> None:
        array, index = self.expr(target.value), self.index(target.slice)
        if not isinstance(array, types.Array) or not array.mutable:
            raise Unknown(f"elements of {array}", target)
        if is_element(array, index) and isinstance(types.unliteral(ty), SCALARS):
            return
        known = known_call(operator.setitem, (array, index, ty))
        found = known or (self.context.resolve_setitem(array, index, ty),)
        if found[0] is None:
            raise Unknown(f"storing {ty} in {array}", target)
        self.found.calls[id(target)] = Called(operator.setitem, *found)

    def loop(self, stmt: ast.For) -> None:
        match stmt:
            case ast.For(
                target=ast.Name() as index,
                iter=ast.Call(func=ast.Name(id="range"), args=args, keywords=[]),
                orelse=[],
            ) if 1 <= len(args) <= 3:
                pass
            case _:
                raise Unknown("a loop over something else than a range", stmt)
        kinds: list[Any] = [types.unliteral(self.expr(arg)) for arg in args]
        if types.int64 not in kinds or not all(getattr(ty, "signed", False) for ty in kinds):
            raise Unknown("a range of other integers", stmt)
        before, changed = dict(self.env), self.changed.setdefault(id(stmt), set())
        while True:
            self.env = {name: ty for name, ty in before.items() if name not in changed}
            known = len(changed)
            self.assign(index, types.int64)
            self.breaks.append([])
            self.suite(stmt.body)
            changed |= {name for name, ty in before.items() if not is_type(self.env.get(name), ty)}
            changed |= {n for left in self.breaks.pop() for n, ty in self.env.items() if not is_type(left.get(n), ty)}
            if len(changed) == known:
                break
        self.env = {name: ty for name, ty in self.env.items() if name not in changed}

    def branch(self, stmt: ast.If) -> bool:
        self.truth(stmt.test)
        before = dict(self.env)
        ends_there = self.suite(stmt.body)
        there, self.env = self.env, before
        ends_here = self.suite(stmt.orelse)
        if ends_here:
            self.env = there
        elif not ends_there:
            both = {**there, **self.env}
            self.env = {n: ty for n, ty in both.items() if is_type(there.get(n, ty), self.env.get(n, ty))}
        return ends_here and ends_there

    # -- expressions -----------------------------------------------------------------------------------------
    def expr(self, node: ast.expr) -> types.Type:
        ty = self.found.types[id(node)] = self.type_of(node)
        return ty

    def type_of(self, node: ast.expr) -> types.Type:
        number = constant_of(node)
        if number is not ...:
            return self.value_type(number, node)
        match node:
            case ast.Constant(value=str() as text):
                return types.literal(text)
            case ast.Constant(value=None):
                return types.none
            case ast.Name(id=name):
                return self.variable(name, node)
            case ast.Call(func=ast.Attribute(value=array, attr="reshape"), args=args, keywords=[]):
                return self.reshaped(node, array, args)
            case ast.Call(func=func, args=args, keywords=[]):
                kind, value = self.expr(func), self.found.outside.get(id(func))
                if isinstance(value, Dispatcher) and value.py_func.__globals__ is self.namespace:
                    return self.part(node, value, tuple(types.unliteral(self.expr(a)) for a in args))
                function = value if any(value is known for known in FUNCTIONS) else kind
                return self.called(node, function, tuple(self.expr(a) for a in args))
            case ast.Subscript():
                return self.element(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Tuple(elts=parts):
                items: Any = tuple(self.expr(p) for p in parts)
                return types.Tuple(items) if len(set(items)) != 1 else types.UniTuple(items[0], len(items))
            case _:
                return self.type_of_operation(node)

    def type_of_operation(self, node: ast.expr) -> types.Type:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                return self.called(node, BINARY[type(op)], (self.expr(left), self.expr(right)))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
                return self.called(node, COMPARE[type(op)], (self.expr(left), self.expr(right)))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self.truth(inner)
            case ast.UnaryOp(op=op, operand=inner):
                return self.called(node, UNARY[type(op)], (self.expr(inner),))
            case ast.BoolOp(values=values):
                for value in values:
                    self.truth(value)
                return types.boolean
            case ast.IfExp():
                return self.choice(node)
            case _:
                raise Unknown(type(node).__name__, node)

    def truth(self, node: ast.expr) -> types.Type:
        if types.unliteral(self.expr(node)) != types.boolean:
            raise Unknown("truth of something not boolean", node)
        return types.boolean

    def variable(self, name: str, node: ast.expr) -> types.Type:
        if name in self.env:
            return self.env[name]
        value = self.value_of(name, node)
        return self.outside(node, value)

    def value_of(self, name: str, node: ast.AST) -> Any:
        if name in self.namespace:
            return self.namespace[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Unknown(f"`{name}` has several types, or none", node)

    def outside(self, node: ast.expr, value: Any) -> types.Type:
        """The type of a value from outside the function."""
        self.found.outside[id(node)] = value
        key = ("value", id(value))
        if key not in self.known:
            self.known[key] = self.value_type(value, node)
        return self.known[key]

    def value_type(self, value: Any, node: ast.expr) -> types.Type:
        found: types.Type | None = self.context.resolve_value_type_prefer_literal(value)
        if found is None:
            raise Unknown(f"{value!r}", node)
        return found

    def attribute(self, node: ast.Attribute) -> types.Type:
        match node.value:
            case ast.Name(id=name) if name not in self.env and isinstance(self.value_of(name, node), ModuleType):
                value = getattr(self.value_of(name, node), node.attr)
                try:
                    return self.outside(node, value)
                except (ValueError, Unknown):  # typed as part of the module only, as the place of a thread is
                    del self.found.outside[id(node)]
        owner = self.expr(node.value)
        if isinstance(owner, types.Array) and node.attr not in ATTRIBUTES:
            raise Unknown(f"attribute {node.attr} of {owner}", node)
        key = ("attribute", owner, node.attr)
        if key not in self.known:
            self.known[key] = self.context.resolve_getattr(owner, node.attr)
        found: Any = self.known[key]
        if found is None or isinstance(found, types.BoundFunction):
            raise Unknown(f"attribute {node.attr} of {owner}", node)
        return found

    def reshaped(self, node: ast.Call, array: ast.expr, args: list[ast.expr]) -> types.Type:
        """The type of a view of `array` in another shape: a call with the array as its first argument."""
        owner = self.expr(array)
        if not isinstance(owner, types.Array):
            raise Unknown(f"a method of {owner}", node)
        method: Any = self.context.resolve_getattr(owner, "reshape")
        found = method.get_call_type(self.context, tuple(types.unliteral(self.expr(a)) for a in args), {})
        self.found.calls[id(node)] = Called(method, found.as_function())
        return found.return_type

    def choice(self, node: ast.IfExp) -> types.Type:
        self.truth(node.test)
        a, b = types.unliteral(self.expr(node.body)), types.unliteral(self.expr(node.orelse))
        found = self.context.unify_types(a, b)
        if found is None or is_counted(found):
            raise Unknown(f"a choice between {a} and {b}", node)
        return found

    def index(self, node: ast.expr) -> types.Type:
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            ty = self.found.types[id(node)] = types.ellipsis
            return ty
        return self.expr(node)

    def element(self, node: ast.Subscript) -> types.Type:
        owner, index = self.expr(node.value), self.index(node.slice)
        items = items_of(owner)
        if items is not None:
            place = constant_of(node.slice)
            if type(place) is not int or not 0 <= place < len(items):
                raise Unknown(f"an item of {owner}", node)
            if is_counted(items[place]):  # an expression owns arrays, and this one is the tuple's
                raise Unknown("arrays taken from a tuple", node)
            return items[place]
        if is_element(owner, index):
            assert isinstance(owner, types.Array)
            return owner.dtype
        return self.called(node, operator.getitem, (owner, index))

    def called(self, node: ast.AST, function: Any, args: tuple[types.Type, ...]) -> types.Type:
        """The type of a call, whose signature is noted for `node`."""
        key = (function, args)
        if key not in self.known:
            self.known[key] = self.resolved(function, args)
        found = self.known[key]
        if found is None:
            raise Unknown(f"a call of {function} with {args}", node)
        self.found.calls[id(node)] = found
        return found.signature.return_type

    def part(self, node: ast.AST, dispatcher: Any, args: tuple[types.Type, ...]) -> types.Type:
        """The type of a call of a function of the same module, which is compiled as part of this one."""
        key = (dispatcher, args)
        if key not in self.known:
            self.known[key] = self.part_called(dispatcher, args)
        found = self.found.calls[id(node)] = self.known[key]
        return found.signature.return_type

    def part_called(self, dispatcher: Any, args: tuple[types.Type, ...]) -> Called:
        function = dispatcher.py_func
        tree = tree_of(function)
        env = dict(zip((a.arg for a in tree.args.args), args, strict=True))
        typed = typed_tree(self.context, self.namespace, tree, env, self.compile_part)
        compiled: list[Any] = []  # at the first call that is lowered

        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            if not compiled:
                compiled.append(self.compile_part(context, function, sig, typed))
            return context.call_internal(builder, compiled[0].fndesc, sig, values)

        return Called(dispatcher, signature(typed.found.result, *args), lower)

    def resolved(self, function: Any, args: tuple[types.Type, ...]) -> Called | None:
        """What `function` means for arguments of these types; None if it does not take them as they are."""
        known = known_call(function, args)
        if known is not None:
            return Called(function, *known)
        if isinstance(function, types.TypeRef):
            function = function.instance_type
        found = self.context.resolve_function_type(function, args, {})
        if found is None or found.recvr is not None or (found.pysig is None and len(found.args) != len(args)):
            return None
        return Called(function, found)


def typed_tree(
    context: Any, namespace: Mapping[str, Any], tree: ast.FunctionDef, env: Env, compile_part: CompilePart
) -> TypedTree:  # fmt: skip
    """The function that `tree` defines, for parameters of types `env`. Raises Unknown, or Numba's TypingError."""
    once = set_once(tree)
    return TypedTree(tree, Typing(context, namespace, env, once, compile_part).function(tree), once)
