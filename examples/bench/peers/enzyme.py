"""Enzyme on C++: the loops of the corpus, word for word, differentiated by LLVM (`enzyme_ad.jax.cpp_call`).

The C++ is written from the syntax tree of the Python loops. Sizes, Python numbers and integer arrays are constants of
it. It is compiled with -O3 -ffast-math for the baseline of its platform: the package's compiler takes no other target.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from kernels import Problem

from peers import Gradient

TITLE = "Enzyme, C++"
NEEDS = ("enzyme_ad", "jax")

# Elements of all arrays together: beyond these the package takes minutes to compile a kernel, sizes being types.
MOST = 1_400_000

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "%", ast.BitXor: "^",
    ast.BitAnd: "&", ast.RShift: ">>",
}  # fmt: skip
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
CHOSEN = {"max": ">", "min": "<"}


class Translation:
    """A kernel with arguments of known shapes, on its way to C++."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.real = "double" if problem.dtype == "float64" else "float"
        tree = ast.parse(textwrap.dedent(inspect.getsource(problem.kernel.entry.function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.body = tree.body
        self.known: dict[str, Any] = {k: v for k, v in problem.initial.items() if not isinstance(v, np.ndarray)}
        self.shapes: dict[str, tuple[int, ...]] = {k: np.shape(v) for k, v in problem.initial.items()}
        self.integers = {k for k, v in problem.initial.items() if np.asarray(v).dtype.kind == "i"}
        self.buffers: list[str] = []
        self.scalars = self.scalar_types()

    # -- what is known before it runs --------------------------------------------------------------------------
    def scalar_types(self) -> dict[str, str]:
        """The C++ type of every local number: an integer if all that is ever assigned to it is."""
        assigned: dict[str, list[ast.expr | None]] = {}
        for node in (n for statement in self.body for n in ast.walk(statement)):
            match node:
                case ast.For(target=ast.Name(id=name)):
                    assigned.setdefault(name, []).append(None)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if not self.is_buffer(value):
                    assigned.setdefault(name, []).append(value)
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    assigned.setdefault(name, []).append(value)
        self.integers |= set(assigned) | self.unpacked()
        while True:
            reals = {
                n for n, values in assigned.items() if any(v is not None and not self.is_integer(v) for v in values)
            }
            if not reals & self.integers:
                break
            self.integers -= reals
        return {name: "long" if name in self.integers else self.real for name in assigned}

    def unpacked(self) -> set[str]:
        tuples = [
            n for s in self.body for n in ast.walk(s) if isinstance(n, ast.Tuple) and isinstance(n.ctx, ast.Store)
        ]
        return {e.id for t in tuples for e in t.elts if isinstance(e, ast.Name)}

    @staticmethod
    def is_buffer(value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and ast.unparse(value.func) in ("np.empty", "np.zeros")

    def is_integer(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int)
            case ast.Name(id=name):
                return name in self.integers
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
            case ast.Subscript(value=ast.Name(id=name)):
                return name in self.integers
            case ast.BinOp(op=ast.Div()):
                return False
            case ast.BinOp(left=left, right=right):
                return self.is_integer(left) and self.is_integer(right)
            case ast.UnaryOp(operand=operand):
                return self.is_integer(operand)
            case ast.Call(func=ast.Name(id="int")):
                return True
            case ast.Call(func=ast.Name(id="max" | "min"), args=args):
                return all(map(self.is_integer, args))
            case _:
                return False

    def constant(self, node: ast.expr) -> Any:
        """The value of an expression of sizes and Python numbers."""
        arrays = {k: v for k, v in self.problem.initial.items() if isinstance(v, np.ndarray)}
        return eval(ast.unparse(node), {**arrays, **self.known})

    # -- expressions -------------------------------------------------------------------------------------------
    def text(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int(value)):
                return f"{value}L"
            case ast.Constant(value=value):
                return f"{self.real}({value!r})"
            case ast.Name(id=name):
                if name not in self.known or name in self.scalars:
                    return f"v_{name}"
                return f"{self.known[name]}L" if name in self.integers else f"{self.real}({self.known[name]!r})"
            case ast.Subscript(value=ast.Attribute()):
                return f"{self.constant(node)}L"
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self.element(name, index)
            case ast.BinOp(left=left, op=op, right=right):
                return f"({self.text(left)} {BINARY[type(op)]} {self.text(right)})"
            case ast.UnaryOp(operand=operand):
                return f"(-{self.text(operand)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return f"({self.text(left)} {COMPARED[type(op)]} {self.text(right)})"
            case ast.BoolOp(op=op, values=values):
                return "(" + (" && " if isinstance(op, ast.And) else " || ").join(map(self.text, values)) + ")"
            case ast.Call(func=func, args=args):
                return self.call(ast.unparse(func), args)
            case _:
                raise NotImplementedError(ast.unparse(node))

    def element(self, name: str, index: ast.expr) -> str:
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        shape = self.shapes[name]
        if len(indices) != len(shape):
            raise NotImplementedError(f"{name} has {len(shape)} dimensions")
        flat = self.text(indices[0])
        for size, part in zip(shape[1:], indices[1:], strict=True):
            flat = f"({flat} * {size} + {self.text(part)})"
        return f"a_{name}[{flat}]"

    def call(self, function: str, args: list[ast.expr]) -> str:
        if function == "int":
            return f"((long)({self.text(args[0])}))"
        if function in CHOSEN:
            kind = "long" if all(map(self.is_integer, args)) else self.real
            found = f"({kind})({self.text(args[0])})"
            for other in args[1:]:
                found = f"{function}_of<{kind}>({found}, {self.text(other)})"
            return found
        name = function.removeprefix("math.") + ("" if self.real == "double" else "f")
        return f"__builtin_{name}({', '.join(map(self.text, args))})"

    # -- statements --------------------------------------------------------------------------------------------
    def block(self, statements: list[ast.stmt]) -> str:
        return "{\n" + "\n".join(self.statement(s) for s in statements) + "\n}"

    def statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                for target, size in zip(names, self.constant(value), strict=True):
                    self.known[ast.unparse(target)] = size
                return ""
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.is_buffer(value):
                return self.buffer(name, value)
            case ast.Assign(targets=[target], value=value):
                self.learn(target, value)
                return f"{self.text(target)} = {self.text(value)};"
            case ast.AugAssign(target=target, op=op, value=value):
                return f"{self.text(target)} {BINARY[type(op)]}= {self.text(value)};"
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=args), body=body):
                return f"{self.header(f'v_{name}', args)} {self.block(body)}"
            case ast.If(test=test, body=body, orelse=orelse):
                otherwise = f" else {self.block(orelse)}" if orelse else ""
                return f"if ({self.text(test)}) {self.block(body)}{otherwise}"
            case ast.Return(value=value):
                assert value is not None
                return f"a_result[0] = {self.text(value)};"
            case _:
                raise NotImplementedError(ast.unparse(node))

    def learn(self, target: ast.expr, value: ast.expr) -> None:
        """Remember a size that buffers may be made of."""
        if isinstance(target, ast.Name) and target.id in self.integers:
            try:
                self.known[target.id] = self.constant(value)
            except Exception:  # it depends on a loop
                self.known.pop(target.id, None)

    def header(self, name: str, args: list[ast.expr]) -> str:
        start, stop = ("0L", self.text(args[0])) if len(args) == 1 else (self.text(args[0]), self.text(args[1]))
        step = self.constant(args[2]) if len(args) == 3 else 1
        return f"for ({name} = {start}; {name} {'<' if step > 0 else '>'} {stop}; {name} += {step})"

    def buffer(self, name: str, value: ast.expr) -> str:
        assert isinstance(value, ast.Call)
        shape = self.constant(value.args[0])
        self.shapes[name] = shape if isinstance(shape, tuple) else (shape,)
        count = int(np.prod(self.shapes[name]))
        self.buffers.append(name)
        made = f"{self.real}* a_{name} = ({self.real}*)malloc({count} * sizeof({self.real}));"
        if ast.unparse(value.func) == "np.zeros":
            made += f"\nfor (long n = 0; n < {count}; ++n) a_{name}[n] = 0;"
        return made

    # -- the whole ---------------------------------------------------------------------------------------------
    def source(self, inputs: list[str], outputs: list[str]) -> str:
        """A C++ function `kernel` that writes `outputs`."""
        body = [self.statement(s) for s in self.body if not is_docstring(s)]
        lines = ['extern "C" void* malloc(unsigned long);', 'extern "C" void free(void*);']
        lines += [f"template<class T> T {f}_of(T a, T b) {{ return a {o} b ? a : b; }}" for f, o in CHOSEN.items()]
        for name, value in self.problem.initial.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "i":
                lines.append(f"static const long a_{name}[] = {{{','.join(map(str, value.ravel()))}}};")
        parameters = [f"{self.tensor(n)}& o_{n}" for n in outputs] + [f"const {self.tensor(n)}& i_{n}" for n in inputs]
        lines.append(f"void kernel({', '.join(parameters)}) {{")
        written = self.problem.kernel.entry.outputs
        for name in (*written, "result"):
            lines += (
                self.work_array(name, name in inputs)
                if name not in outputs or name in self.read()
                else [f"{self.real}* a_{name} = ({self.real}*)&o_{name};"]
            )
        lines += [f"const {self.real}* a_{n} = (const {self.real}*)&i_{n};" for n in inputs if n not in written]
        lines += [f"{kind} v_{name} = 0;" for name, kind in self.scalars.items()]
        copies = [copied(self.real, f"o_{n}", f"a_{n}", self.count(n)) for n in outputs if n in self.read()]
        return "\n".join([*lines, *body, *copies, *(f"free(a_{n});" for n in self.buffers), "}"])

    def work_array(self, name: str, is_input: bool) -> list[str]:
        """An array of the function's own that starts as the input: Enzyme wants outputs written and not read."""
        self.buffers.append(name)
        made = f"{self.real}* a_{name} = ({self.real}*)malloc({self.count(name)} * sizeof({self.real}));"
        return [made, copied(self.real, f"a_{name}", f"i_{name}", self.count(name))] if is_input else [made]

    def count(self, name: str) -> int:
        return int(np.prod(self.shapes[name]))

    def read(self) -> set[str]:
        """Arrays whose elements the loops read."""
        nodes = [n for statement in self.body for n in ast.walk(statement)]
        loads = [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)]
        updated = [n.target for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Subscript)]
        return {n.value.id for n in (*loads, *updated) if isinstance(n.value, ast.Name)}

    def tensor(self, name: str) -> str:
        shape = (1,) if name == "result" else self.shapes[name]
        return f"enzyme::tensor<{', '.join([self.real, *map(str, shape)])}>"


def copied(real: str, target: str, source: str, count: int) -> str:
    to, by = (f"(({real}*)&{n})" if n.startswith(("o_", "i_")) else n for n in (target, source))
    return f"for (long n = 0; n < {count}; ++n) {to}[n] = {by}[n];"


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def gradient(problem: Problem) -> Gradient | None:
    if sum(np.size(v) for v in problem.initial.values()) > MOST:
        return None
    cpp_call = importlib.import_module("enzyme_ad.jax").cpp_call
    first = problem.initial
    inputs = [k for k, v in first.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"]
    outputs = list(problem.kernel.outputs)
    shaped = importlib.import_module("jax.core").ShapedArray
    translation = Translation(problem)
    translation.shapes["result"] = (1,)
    source = translation.source(inputs, outputs)
    shapes = [shaped(translation.shapes[name], jnp.dtype(problem.dtype)) for name in outputs]

    def loss(active: dict[str, Any], others: dict[str, Any], weight: dict[str, Any]) -> Any:
        values = {**others, **active}
        found = cpp_call(
            *(values[name] for name in inputs), out_shapes=shapes, source=source, fn="kernel",
            argv=("-O3", "-ffast-math"),
        )  # fmt: skip
        named = dict(zip(outputs, found, strict=True))
        return sum(jnp.sum(w * named[name]) for name, w in weight.items())

    step = jax.jit(jax.value_and_grad(loss))
    active = {k: jnp.asarray(first[k]) for k in problem.wrt}
    others = {k: jnp.asarray(first[k]) for k in inputs if k not in active}
    weight = {k: jnp.asarray(w, dtype=problem.dtype) for k, w in problem.weight.items()}
    return lambda: jax.block_until_ready(step(active, others, weight))
