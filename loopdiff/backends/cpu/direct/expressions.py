"""Second walk, expressions: LLVM values of typed expressions. Operators and calls are lowered by Numba's own code.

Arrays are counted: parameters and variables hold references that expressions borrow; what an expression makes itself it
owns, and releases after its statement unless a variable keeps it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.typing.templates import fold_arguments
from numba.np.arrayobj import load_item, store_item

from loopdiff.backends.cpu.interrupts import block_size

from .numbering import Numbering, key_of_call
from .syntax import constant_of
from .typed import Called, TypedTree, is_counted, items_of

INT64 = llvm.IntType(64)
BIT = llvm.IntType(1)
Value = Any


class Program(ir.FunctionIR):
    """A typed syntax tree in place of Numba's own form of a function, of which it has names and no blocks."""

    def __init__(self, identity: Any, typed: TypedTree) -> None:
        loc = ir.Loc.from_function_id(identity)
        blocks = {0: ir.Block(ir.Scope(None, loc), loc)}
        super().__init__(blocks, False, identity, loc, {}, len(identity.arg_names), identity.arg_names)
        self.tree, self.found, self.once = typed


class Expressions:
    """Lowers expressions of a Program. What Numba calls `Lower`, for the CPU or a GPU, is what it is mixed with."""

    func_ir: Program
    context: Any
    builder: Any
    function: Any
    loc: Any

    def init(self) -> None:
        """Numba looks at its blocks here."""
        self.tree, self.found, self.once = self.func_ir.tree, self.func_ir.found, self.func_ir.once
        self.values: dict[str, Value] = {}  # of variables that are set once, and parameters that stay
        self.places: dict[tuple[str, types.Type], Value] = {}  # on the stack, of all others
        self.natural: set[str] = set()  # variables that are never negative
        self.owned: list[tuple[types.Type, Value]] = []
        self.known: dict[Any, Callable[..., Value]] = {}
        self.numbering = Numbering()

    def place(self, name: str, ty: types.Type) -> Value:
        key = (name, ty)
        if key not in self.places:
            kind = self.context.get_value_type(ty)
            self.places[key] = cgutils.alloca_once(self.builder, kind, name=name)  # zero at first
        return self.places[key]

    def drop_owned(self, first: int = 0) -> None:
        """Release what expressions made and no variable keeps, from number `first` on."""
        for ty, value in self.owned[first:]:
            self.context.nrt.decref(self.builder, ty, value)
        del self.owned[first:]

    @contextmanager
    def apart(self, is_certain: bool = False) -> Iterator[None]:
        """Code that need not run, unless it `is_certain`: it releases what it makes."""
        first = len(self.owned)
        with nullcontext() if is_certain else self.numbering.inside():
            yield
        self.drop_owned(first)

    # -- expressions -----------------------------------------------------------------------------------------
    def expr(self, node: ast.expr) -> Value:
        """The value of `node`, borrowed."""
        value = self.made(node)
        ty = self.found.types[id(node)]
        if is_counted(ty) and not isinstance(node, ast.Name | ast.Tuple):
            self.owned.append((ty, value))
        return value

    def made(self, node: ast.expr) -> Value:
        """The value of `node`, which whoever asks owns unless it is that of a variable, or of several."""
        ty = self.found.types[id(node)]
        number = self.found.outside.get(id(node), constant_of(node))
        if number is not ...:
            return self.context.get_constant_generic(self.builder, ty, number)
        match node:
            case ast.Constant(value=text):
                return self.context.get_constant_generic(self.builder, ty, text)
            case ast.Name(id=name):
                return self.values[name] if name in self.values else self.builder.load(self.place(name, ty))
            case ast.Call(func=ast.Attribute(value=array, attr="reshape"), args=args):
                return self.call(node, (array, *args))
            case ast.Call(args=args):
                return self.call(node, args)
            case ast.Subscript():
                return self.element(node)
            case ast.Attribute(value=owner, attr=name):
                kind = self.found.types[id(owner)]
                return self.context.get_getattr(kind, name)(self.context, self.builder, kind, self.expr(owner), name)
            case ast.Tuple(elts=parts):
                return self.context.make_tuple(self.builder, ty, [self.expr(p) for p in parts])
            case _:
                return self.operation(node, ty)

    def operation(self, node: ast.expr, ty: types.Type) -> Value:
        match node:
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return self.power(node, left, right)
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                return self.call(node, (left, right))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self.builder.not_(self.truth(inner))
            case ast.UnaryOp(operand=inner):
                return self.call(node, (inner,))
            case ast.BoolOp(op=op, values=values):
                return self.junction(isinstance(op, ast.Or), values)
            case ast.IfExp():
                return self.choice(node, ty)
            case _:
                raise AssertionError(node)

    def converted(self, value: Value, found: types.Type, wanted: types.Type) -> Value:
        return value if found == wanted else self.context.cast(self.builder, value, found, wanted)

    def truth(self, node: ast.expr) -> Value:
        return self.converted(self.expr(node), self.found.types[id(node)], types.boolean)

    def call(self, node: ast.expr, args: Sequence[ast.expr]) -> Value:
        values = [self.expr(a) for a in args]
        return self.run(self.found.calls[id(node)], values, [self.found.types[id(a)] for a in args])

    def run(self, called: Called, values: Sequence[Value], kinds: Sequence[types.Type]) -> Value:
        """The result of a call with arguments of types `kinds`, which may be there already."""
        key = key_of_call(called, values)
        found = self.numbering.find(key)
        return self.numbering.note(key, self.newly_run(called, values, kinds)) if found is None else found

    def newly_run(self, called: Called, values: Sequence[Value], kinds: Sequence[types.Type]) -> Value:
        function, signature = called.function, called.signature
        if called.lower is not None:
            brought = self.brought(signature, tuple(zip(values, kinds, strict=True)))
            return called.lower(self.context, self.builder, signature, brought)
        key = (function, signature)
        if key not in self.known:
            self.known[key] = self.context.get_function(self.key_of(function), signature)
        return self.known[key](self.builder, self.brought(signature, tuple(zip(values, kinds, strict=True))), self.loc)

    def brought(self, signature: Any, given: Sequence[tuple[Value, types.Type]]) -> Sequence[Value]:
        """Arguments as the signature has them: with defaults, and those that are a tuple in one."""
        if signature.pysig is None:
            return [self.converted(*both, wanted) for both, wanted in zip(given, signature.args, strict=True)]

        def one(place: int, _: Any, both: tuple[Value, types.Type]) -> Value:
            return self.converted(*both, signature.args[place])

        def default(place: int, _: Any, value: Any) -> Value:
            return self.context.get_constant_generic(self.builder, signature.args[place], value)

        def several(place: int, _: Any, rest: Sequence[tuple[Value, types.Type]]) -> Value:
            parts = [self.converted(*both, wanted) for both, wanted in zip(rest, signature.args[place], strict=True)]
            return cgutils.make_anonymous_struct(self.builder, parts)

        return fold_arguments(signature.pysig, given, {}, one, default, several)

    def key_of(self, function: Any) -> Any:
        """How Numba calls what lowers `function`."""
        if isinstance(function, types.Type):
            return function
        return self.context.typing_context.resolve_value_type(function)

    def power(self, node: ast.expr, base: ast.expr, exponent: ast.expr) -> Value:
        """Numba multiplies powers out where it is told the exponent itself."""
        number = constant_of(exponent)
        if type(number) is int:
            key, ty = self.key_of(operator.pow), self.found.types[id(base)]
            kinds = (types.unliteral(ty), types.literal(number))
            signature = key.get_call_type(self.context.typing_context, kinds, {})
            if isinstance(signature.args[1], types.Literal):
                function = self.context.get_function(key, signature)
                return function(self.builder, (self.converted(self.expr(base), ty, signature.args[0]), number))
        return self.call(node, (base, exponent))

    def junction(self, is_or: bool, nodes: Sequence[ast.expr]) -> Value:
        """`or`, `and`: what comes later is looked at only where it decides."""
        if all(map(is_harmless, nodes)):
            values = [self.truth(n) for n in nodes]
            result = values[-1]
            for value in reversed(values[:-1]):
                pair = (BIT(1), result) if is_or else (result, BIT(0))
                result = self.builder.select(value, *pair)
            return result
        builder = self.builder
        after = self.function.append_basic_block()
        reached: list[tuple[Value, Value]] = []
        for number, node in enumerate(nodes):
            with self.apart(is_certain=number == 0):
                value = self.truth(node)
            if number < len(nodes) - 1:
                reached.append((BIT(int(is_or)), builder.block))
                following = self.function.append_basic_block()
                builder.cbranch(value, *((after, following) if is_or else (following, after)))
                builder.position_at_end(following)
            else:
                reached.append((value, builder.block))
                builder.branch(after)
        return self.meet(after, BIT, reached)

    def choice(self, node: ast.IfExp, ty: types.Type) -> Value:
        test = self.truth(node.test)
        then, other, after = (self.function.append_basic_block() for _ in range(3))
        self.builder.cbranch(test, then, other)
        reached = []
        for block, branch in ((then, node.body), (other, node.orelse)):
            self.builder.position_at_end(block)
            with self.apart():
                value = self.converted(self.expr(branch), self.found.types[id(branch)], ty)
            reached.append((value, self.builder.block))
            self.builder.branch(after)
        return self.meet(after, self.context.get_value_type(ty), reached)

    def meet(self, block: Value, kind: Value, reached: Sequence[tuple[Value, Value]]) -> Value:
        """The value with which `block` was reached."""
        self.builder.position_at_end(block)
        met = self.builder.phi(kind)
        for value, origin in reached:
            met.add_incoming(value, origin)
        return met

    # -- elements --------------------------------------------------------------------------------------------
    def index(self, node: ast.expr) -> Value:
        is_ellipsis = self.found.types[id(node)] == types.ellipsis
        return self.context.get_dummy_value() if is_ellipsis else self.expr(node)

    def element(self, node: ast.Subscript) -> Value:
        owner: Any = self.found.types[id(node.value)]
        if id(node) in self.found.calls:
            values = [self.expr(node.value), self.index(node.slice)]
            return self.run(self.found.calls[id(node)], values, [owner, self.found.types[id(node.slice)]])
        if isinstance(owner, types.BaseTuple):
            place = constant_of(node.slice)
            match node.value:
                case ast.Attribute(value=array, attr="shape"):
                    return self.part(self.found.types[id(array)], self.expr(array), "shape", place)
                case _:
                    return self.builder.extract_value(self.expr(node.value), place)
        return self.load(node.value, self.element_pointer(owner, self.expr(node.value), node.slice))

    def load(self, array: ast.expr, place: Value) -> Value:
        """The element of `array` that lies at `place`."""
        return load_item(self.context, self.builder, self.found.types[id(array)], place)

    def save(self, array: ast.expr, value: Value, place: Value) -> None:
        """Set the element of `array` that lies at `place`."""
        store_item(self.context, self.builder, self.found.types[id(array)], value, place)

    def part(self, kind: Any, array: Value, name: str, axis: int) -> Value:
        """One number of the shape or the strides of an array."""
        key = (name, axis, id(array))
        found = self.numbering.find(key)
        if found is None:
            parts = self.context.data_model_manager[kind].get(self.builder, array, name)
            found = self.numbering.note(key, self.builder.extract_value(parts, axis))
        return found

    def element_pointer(self, kind: Any, array: Value, index: ast.expr) -> Value:
        """Where the element lies; places that may be negative count from the end."""
        shape = [self.part(kind, array, "shape", axis) for axis in range(kind.ndim)]
        strides = None
        if kind.layout == "A":
            strides = [self.part(kind, array, "strides", axis) for axis in range(kind.ndim)]
        places = [self.position(*place, size) for place, size in zip(self.positions(index), shape, strict=True)]
        data = self.context.data_model_manager[kind].get(self.builder, array, "data")
        return cgutils.get_item_pointer2(self.context, self.builder, data, shape, strides, kind.layout, places)

    def positions(self, index: ast.expr) -> list[tuple[types.Type, Value, bool]]:
        """Type, value, and whether that is never negative, of the subscript of each axis."""
        items = items_of(self.found.types[id(index)])
        if items is not None and not isinstance(index, ast.Tuple):
            value = self.expr(index)
            return [(ty, self.builder.extract_value(value, n), False) for n, ty in enumerate(items)]
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        return [(self.found.types[id(p)], self.expr(p), self.is_natural(p)) for p in parts]

    def position(self, ty: Any, value: Value, is_natural: bool, size: Value) -> Value:
        signed = types.unliteral(ty).signed
        value = self.converted(value, ty, types.intp if signed else types.uintp)
        if is_natural or not signed:
            return value
        negative = self.builder.icmp_signed("<", value, INT64(0))
        return self.builder.select(negative, self.builder.add(value, size), value)

    def is_natural(self, node: ast.expr) -> bool:
        """Whether the integer is known not to be negative."""
        match node:
            case ast.Name(id=name):
                return name in self.natural
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
                return self.is_natural(left) and self.is_natural(right)
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
            case ast.Call(func=function):
                return self.found.outside.get(id(function)) is block_size
            case _:
                number = constant_of(node)
                return type(number) is int and number >= 0


def is_harmless(node: ast.expr) -> bool:
    """Whether the expression may be computed for nothing: it is cheap, and cannot fail."""
    match node:
        case ast.Name() | ast.Constant() | ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape")):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return is_harmless(left) and is_harmless(right)
        case ast.UnaryOp(operand=inner):
            return is_harmless(inner)
        case ast.Compare(left=left, comparators=others):
            return is_harmless(left) and all(map(is_harmless, others))
        case ast.BoolOp(values=values):
            return all(map(is_harmless, values))
        case _:
            return False
