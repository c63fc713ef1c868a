"""Second walk, statements: LLVM of a typed function.

A variable that is set once is an LLVM value, any other a place on the stack for each of its types, which LLVM makes
values of. Those that hold arrays own a reference until they are set again, or the function ends: with a result, with an
error of its own or with one of what it calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm
from numba.core import types
from numba.core.ir import Loc

from loopdiff.backends.cpu.defects import moves_masked_loads
from loopdiff.source.nodes import syntax_nodes

from .expressions import INT64, Expressions, Value
from .folding import drop_unused, fold_as_written
from .hints import ROLLED, SCALAR, Hint, is_masked, tell
from .syntax import Contents, constant_of, names_set
from .typed import is_counted

BRANCHES = {ast.If, ast.IfExp, ast.BoolOp}  # under whose conditions something may be read


class Lowering(Expressions):
    """Lowers `tree` in place of Numba's blocks."""

    blkmap: Any
    firstblk: Any
    fndesc: Any
    fnargs: Any
    pre_lower: Any
    post_lower: Any
    return_exception: Any

    def init(self) -> None:
        super().init()
        self.contents = Contents()
        self.exits: list[Value] = []  # of the loops around
        self.reached: set[str] = set()  # where loops of vectors end
        self.held: set[tuple[str, types.Type]] = set()  # counted variables that may hold something
        self.end: Value = None  # the block that every way out leads to
        self.status: Value = None  # what the function says there
        self.sets_counted = True  # whether any variable is counted

    def lower_function_body(self) -> Value:
        """Lower the tree, and return the last block of the entry, from which Numba goes to the first one here."""
        start = self.blkmap[self.firstblk] = self.function.append_basic_block("start")
        self.pre_lower()
        fold_as_written(self.builder)
        self.begin_end()
        stored = list(names_set(self.tree.body))
        self.sets_counted = any(is_counted(self.found.types[id(n)]) for n in stored if id(n) in self.found.types)
        changed = {n.id for n in stored}
        for name, ty, value in zip(self.fndesc.args, self.fndesc.argtypes, self.fnargs, strict=True):
            if name in changed:
                self.context.nrt.incref(self.builder, ty, value)
                self.builder.store(value, self.place(name, ty))
                self.held |= {(name, ty)} if is_counted(ty) else set()
            else:
                self.values[name] = value
        entry = self.builder.block
        self.builder.position_at_end(start)
        self.suite(self.tree.body)
        if not self.builder.block.is_terminated:
            self.leave(types.none, self.nothing())
        self.finish_end()
        self.post_lower()
        return entry

    def lower_normal_function(self, fndesc: Any) -> None:
        mixed_with: Any = super()
        mixed_with.lower_normal_function(fndesc)
        drop_unused(self.function)

    def begin_end(self) -> None:
        """From now on whatever returns, Numba's code for calls that fail too, goes to the end of the function."""
        builder = self.builder
        self.end = self.function.append_basic_block("end")
        with builder.goto_block(self.end):
            self.status = builder.phi(llvm.IntType(32))

        def returned(code: Value) -> Value:
            for ty, value in self.owned:
                self.context.nrt.decref(builder, ty, value)
            self.status.add_incoming(code, builder.block)
            return builder.branch(self.end)

        builder.ret = returned

    def finish_end(self) -> None:
        """Release everything, and return."""
        del self.builder.ret
        self.builder.position_at_end(self.end)
        self.release_all()
        self.builder.ret(self.status)

    def nothing(self) -> Value:
        return self.context.get_constant_generic(self.builder, types.none, None)

    # -- variables -------------------------------------------------------------------------------------------
    def set(self, name: str, ty: types.Type, value: Value) -> None:
        if name in self.once:
            self.values[name] = value
        else:
            self.builder.store(value, self.place(name, ty))

    def set_array(self, name: str, value: ast.expr, ty: types.Type) -> None:
        """Set a variable that owns a reference."""
        is_first = name in self.once and not self.exits
        is_read = any(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(value))
        if not is_first and not is_read:
            self.release(name, ty)  # memory is given back before more is asked for
        new = self.made(value)
        if isinstance(value, ast.Name):
            self.context.nrt.incref(self.builder, ty, new)
        if is_read:
            self.release(name, ty)
        self.builder.store(new, self.place(name, ty))
        self.held.add((name, ty))
        if name in self.once:
            self.values[name] = new  # which is read; the place is for whatever releases it

    def release(self, name: str, ty: types.Type) -> None:
        """Give up the reference that a variable holds."""
        place = self.place(name, ty)
        self.context.nrt.decref(self.builder, ty, self.builder.load(place))
        self.builder.store(place.type.pointee(None), place)

    def release_all(self) -> None:
        for name, ty in sorted(self.held, key=str):
            self.release(name, ty)

    # -- statements ------------------------------------------------------------------------------------------
    def suite(self, body: list[ast.stmt]) -> None:
        for stmt in body:
            if self.builder.block.is_terminated:
                return
            self.statement(stmt)
            if not self.builder.block.is_terminated:
                self.drop_owned()

    def statement(self, stmt: ast.stmt) -> None:
        self.loc = Loc(self.func_ir.loc.filename, stmt.lineno)  # of what operators raise
        match stmt:
            case ast.Assign(targets=[target], value=value):
                self.assign(target, value)
            case ast.AugAssign():
                self.augment(stmt)
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    self.expr(value)
            case ast.For(target=ast.Name(id=index), iter=ast.Call(args=bounds), body=body):
                self.loop(index, bounds, body)
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(test, body, orelse)
            case ast.Return(value=None):
                self.leave(types.none, self.nothing())
            case ast.Return(value=value):
                assert value is not None
                self.leave_with(value)
            case ast.Raise(exc=ast.Call(args=args)):
                self.fail(stmt, args)
            case ast.Break():
                self.builder.branch(self.exits[-1])
            case ast.Pass():
                pass
            case _:
                raise AssertionError(stmt)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        ty = self.found.types[id(value)]
        match target:
            case ast.Name(id=name) if is_counted(ty):
                self.set_array(name, value, ty)
            case ast.Name(id=name) if name in self.once and self.is_natural(value):
                self.give(target, self.expr(value), ty)
                self.natural.add(name)
            case _:
                self.give(target, self.expr(value), ty)

    def give(self, target: ast.expr, value: Value, ty: Any) -> None:
        match target:
            case ast.Name(id=name):
                kept = self.found.types[id(target)]
                self.set(name, kept, self.converted(value, ty, kept))
            case ast.Subscript():
                self.store(target, value, ty)
            case ast.Tuple(elts=parts):
                for number, (part, kind) in enumerate(zip(parts, ty.types, strict=True)):
                    self.give(part, self.builder.extract_value(value, number), kind)
            case _:
                raise AssertionError(target)

    def augment(self, stmt: ast.AugAssign) -> None:
        kinds = self.found.types
        called = self.found.calls[id(stmt)]
        match stmt.target:
            case ast.Name(id=name) as target:
                right = self.expr(stmt.value)
                ty = kinds[id(target)]
                old = self.builder.load(self.place(name, ty))
                new = self.run(called, [old, right], [ty, kinds[id(stmt.value)]])
                self.set(name, ty, new)
            case ast.Subscript(value=array, slice=index):
                kind: Any = kinds[id(array)]
                place = self.element_pointer(kind, self.expr(array), index)
                right = self.expr(stmt.value)
                new = self.run(called, [self.load(array, place), right], [kind.dtype, kinds[id(stmt.value)]])
                self.save(array, self.converted(new, called.signature.return_type, kind.dtype), place)
            case _:
                raise AssertionError(stmt)

    def store(self, target: ast.Subscript, value: Value, ty: types.Type) -> None:
        kind: Any = self.found.types[id(target.value)]
        array = self.expr(target.value)
        if id(target) in self.found.calls:
            kinds = [kind, self.found.types[id(target.slice)], ty]
            self.run(self.found.calls[id(target)], [array, self.index(target.slice), value], kinds)
        else:
            place = self.element_pointer(kind, array, target.slice)
            self.save(target.value, self.converted(value, ty, kind.dtype), place)

    def loop(self, index: str, given: list[ast.expr], body: list[ast.stmt]) -> None:
        bounds = [self.converted(self.expr(a), self.found.types[id(a)], types.int64) for a in given]
        self.drop_owned()
        start = INT64(0) if len(bounds) == 1 else bounds[0]
        step = bounds[2] if len(bounds) == 3 else INT64(1)
        goes_up = self.goes_up(given[2]) if len(bounds) == 3 else True
        builder, before = self.builder, self.builder.block
        head, inside, after = (self.function.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        count = builder.phi(INT64)
        count.add_incoming(start, before)
        stop = bounds[0 if len(bounds) == 1 else 1]
        if goes_up is None:
            below, above = (builder.icmp_signed(op, count, stop) for op in "<>")
            more = builder.select(builder.icmp_signed(">", step, INT64(0)), below, above)
        else:
            more = builder.icmp_signed("<" if goes_up else ">", count, stop)
        builder.cbranch(more, inside, after)
        builder.position_at_end(inside)
        if index in self.once and goes_up and (len(bounds) == 1 or self.is_natural(given[0])):
            self.natural.add(index)
        self.set(index, types.int64, count)
        self.exits.append(after)
        self.held |= self.held_by(body)
        with self.numbering.inside():
            self.suite(body)
        self.exits.pop()
        if not builder.block.is_terminated:
            count.add_incoming(builder.add(count, step, flags=("nsw",)), builder.block)
            back = builder.branch(head)
            tell(back, self.hints(given, body))
        builder.position_at_end(after)

    def hints(self, given: list[ast.expr], body: list[ast.stmt]) -> Iterator[Hint]:
        """What LLVM is to know of a loop with such bounds."""
        inside = self.contents.of(body)
        if inside & BRANCHES and moves_masked_loads():
            yield SCALAR
        is_of_vectors = len(given) == 3 and constant_of(given[2]) not in (..., 1, -1)
        begins, ends = given[0], given[min(1, len(given) - 1)]
        is_rest = isinstance(begins, ast.Name) and begins.id in self.reached
        if is_of_vectors and isinstance(ends, ast.Name):
            self.reached.add(ends.id)
        if (is_of_vectors and not is_masked(body)) or is_rest or inside & {ast.For, ast.Raise}:
            yield ROLLED

    def goes_up(self, step: ast.expr) -> bool | None:
        """Whether a step, which is not zero, is positive; None if that is not plain."""
        number = constant_of(step)
        if type(number) is int:
            return number > 0
        if isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) and self.is_natural(step.operand):
            return False
        return True if self.is_natural(step) else None

    def held_by(self, body: list[ast.stmt]) -> set[tuple[str, types.Type]]:
        """Counted variables that statements set."""
        if not self.sets_counted:
            return set()
        found = ((n.id, self.found.types[id(n)]) for n in names_set(body))
        return {(name, ty) for name, ty in found if is_counted(ty)}

    def branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        condition = self.truth(test)
        self.drop_owned()
        then, after = (self.function.append_basic_block() for _ in range(2))
        other = self.function.append_basic_block() if orelse else after
        self.builder.cbranch(condition, then, other)
        is_reached = not orelse
        for block, stmts in ((then, body), (other, orelse)):
            if block is not after:
                self.builder.position_at_end(block)
                with self.numbering.inside():
                    self.suite(stmts)
                if not self.builder.block.is_terminated:
                    self.builder.branch(after)
                    is_reached = True
        self.builder.position_at_end(after)
        if not is_reached:
            self.builder.unreachable()

    def leave_with(self, value: ast.expr) -> None:
        found = self.found.types[id(value)]
        ty = types.unliteral(found)
        result = self.converted(self.expr(value), found, ty)
        self.context.nrt.incref(self.builder, ty, result)
        self.leave(ty, result)

    def leave(self, ty: types.Type, value: Value) -> None:
        self.drop_owned()
        lower: Any = self  # a property of what this is mixed with
        lower.call_conv.return_value(self.builder, self.context.get_return_value(self.builder, ty, value))

    def fail(self, stmt: ast.Raise, args: list[ast.expr]) -> None:
        given = tuple(a.value for a in args if isinstance(a, ast.Constant))
        self.return_exception(self.found.outside[id(stmt)], given, loc=self.loc)
