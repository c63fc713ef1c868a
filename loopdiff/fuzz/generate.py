"""Random programs of the accepted language, statement by statement, safe by construction.

Subscripts stay inside their arrays for all sizes, locals are assigned before they are read, and values grow
slowly. What still leaves its domain at run time is found by running the program, not by looking at it.
"""

from __future__ import annotations

import re
from random import Random

from loopdiff.fuzz.bindings import BindingStatements
from loopdiff.fuzz.expressions import IndexedAxis, Margin, NamesInScope
from loopdiff.fuzz.extents import draw_sizes
from loopdiff.fuzz.helpers import draw_helpers
from loopdiff.fuzz.memory import MemoryLayout
from loopdiff.fuzz.program import Data, RandomArgument, RandomProgram
from loopdiff.fuzz.settings import draw_setting
from loopdiff.immutable import replace

LAYOUTS: tuple[MemoryLayout, ...] = ("C", "F", "strided", "reversed", "apart", "shifted", "downward")
AWKWARD_NAMES = (
    "x_adj", "s_adj", "x_tan", "result", "result_adj", "i0_1", "s_1", "s_tape", "x_tape", "a_x", "v_s", "w0", "a0",
    "args", "seed", "value", "workspace", "tie", "count", "lower", "step", "numba", "vector",
)  # fmt: skip
# Characters in a program. What checking costs grows faster than these.
SHORT, MEDIUM, LONG = 400, 550, 2000


def generate(seed: int) -> RandomProgram:
    """The program of a seed: of every tenth one a short program, cheap to compile; of some a long one."""
    rng = Random(seed)
    longest = SHORT if seed % 10 == 0 else LONG if seed % 13 == 0 else MEDIUM
    while True:
        is_tidy = rng.random() < 0.35
        program = Writer(rng, is_tidy, draw_arguments(rng)).program(seed)
        if len(program.text) <= longest:
            return program


def draw_arguments(rng: Random) -> tuple[RandomArgument, ...]:
    """Up to three vectors, two matrices, integer arrays and scalars."""
    single = rng.choices((0.0, 1.0, 0.4), (8, 1, 1))[0]
    data: Data = "grid" if rng.random() < 0.25 else "uniform"

    def floating(name: str, kind: str) -> RandomArgument:
        dtype = "float32" if rng.random() < single else "float64"
        layout = rng.choice(LAYOUTS) if rng.random() < 0.3 else "C"
        return RandomArgument(name, kind, dtype, layout, data)  # pyright: ignore[reportArgumentType]

    found = [floating(name, "vector") for name in ("x", "y", "z")[: rng.randint(1, 3)]]
    found += [floating(name, "matrix") for name in ("A", "B")[: rng.choice((0, 1, 1, 2))]]
    for name, kind, dtype, chance in (
        ("idx", "index", rng.choice(("int64", "int64", "int32")), 0.4),
        ("ptr", "offsets", "int64", 0.2),
        ("cnt", "counts", "int64", 0.25),
        ("mask", "mask", "bool", 0.2),
    ):
        if rng.random() < chance:
            layout = rng.choice(LAYOUTS) if rng.random() < 0.2 else "C"
            found.append(RandomArgument(name, kind, dtype, layout))  # pyright: ignore[reportArgumentType]
    if rng.random() < 0.15:
        dtype = "complex64" if rng.random() < single else "complex128"
        found += [RandomArgument(name, "vector", dtype) for name in ("za", "zb")[: rng.randint(1, 2)]]
        found += [RandomArgument("ZA", "matrix", dtype, rng.choice(("C", *LAYOUTS)))] if rng.random() < 0.3 else []
        found += [RandomArgument("zc", "complex")] if rng.random() < 0.5 else []
    if rng.random() < 0.4:
        found.append(RandomArgument("c", "float", data=data))
    if rng.random() < 0.4:
        found.append(RandomArgument("n", "integer"))
    return tuple(found)


class Writer(BindingStatements):
    """Writes the lines of one program."""

    def program(self, seed: int) -> RandomProgram:
        results = self.function()
        parameters = ", ".join(a.name for a in self.arguments)
        text = "\n".join([f"def f({parameters}):", *self.lines, *([f"    return {results}"] if results else [])]) + "\n"
        if len(re.findall(r"\bw\b", text)) == 1:
            text = re.sub(r"    w = .*\n", "", text)
        if self.chance(0.15):
            text = self.renamed(text)
        floating = [a.name for a in self.arguments if a.is_floating]
        wrt = floating if self.chance(0.75) else [n for n in floating if self.chance(0.5)] or floating[:1]
        sizes = draw_sizes(self.rng, text, is_tidy=self.is_tidy, is_short=seed % 10 == 0)
        return RandomProgram(text, self.arguments, tuple(wrt), sizes, seed, draw_setting(seed, text))

    def renamed(self, text: str) -> str:
        """`text` with some names that generated code might want for itself."""
        known = [a.name for a in self.arguments] + ["s", "i0", "M", "N"]
        given = dict(zip(self.rng.sample(known, 3), self.rng.sample(AWKWARD_NAMES, 3), strict=True))
        self.arguments = tuple(replace(a, name=given.get(a.name, a.name)) for a in self.arguments)
        return re.sub(r"\b[A-Za-z]\w*\b", lambda found: given.get(found[0], found[0]), text)

    def function(self) -> str:
        """Write the body; the text of what it returns."""
        scope = NamesInScope({}, ["s"], arguments={a.name: a for a in self.arguments})
        for a in self.arguments:
            match a.kind:
                case "vector" | "matrix":
                    known = scope.arrays if a.is_real_array else scope.complexes
                    known[a.name] = ("N",) if a.kind == "vector" else ("M", "N")
                case "complex":
                    scope.complex_locals = (*scope.complex_locals, a.name)
                case "float":
                    scope.floats.append(a.name)
                case "integer":
                    scope.integers.append(a.name)
        matrix = next((a.name for a in self.arguments if a.kind == "matrix"), None)
        if matrix:
            self.emit(f"M, N = {matrix}.shape")
        else:
            vector = next(a.name for a in self.arguments if a.kind == "vector")
            self.emit(f"N = {self.pick([f'{vector}.shape[0]', f'len({vector})'])}")
            self.emit("M = 3")
        self.locals(scope)
        buffers = self.buffers(scope)
        if self.wholeness and self.chance(0.4):
            self.pair_of_names(scope)
        draw_helpers(self, scope, lambda depth, text: self.emit("    " * depth + text))
        if self.chance(0.15):
            self.early = self.results(scope, buffers)
        self.budget = self.rng.choice((3, 4, 5, 7) if self.is_tidy else (3, 4, 4, 5, 6, 6, 8, 12))
        while self.budget > 0:
            self.loop(scope, 3)
            for _ in range(self.rng.randint(0, 2)):
                self.simple(scope)
            if not self.is_tidy and self.chance(0.15):
                self.rebinding(scope)
        return self.results(scope, buffers) if self.early is None else self.early

    def locals(self, scope: NamesInScope) -> None:
        """Define numbers, counters, flags, and another name for an array."""
        self.emit("s = 0.53")
        if scope.complexes:
            self.emit("zs = 0.4 - 0.3j")
            scope.complex_locals = (*scope.complex_locals, "zs")
        for name in ("t", "u")[: self.rng.randint(0, 2)]:
            self.emit(f"{name} = {self.pick(['0.0', '1.1', '-0.4', '0'])}")
            scope.floats.append(name)
        if self.chance(0.25):
            self.emit("k = 0")
            scope.counters.append("k")
        if self.chance(0.2):
            self.emit("done = False")
            scope.flags.append("done")
        if self.chance(0.15):
            source = self.pick(list(scope.arrays))
            self.emit(f"w = {source}")
            scope.arrays["w"] = scope.arrays[source]

    def buffers(self, scope: NamesInScope) -> list[str]:
        found = []
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            found.append(self.buffer(scope))
        return found

    def buffer(self, scope: NamesInScope) -> str:
        """Allocate a local array."""
        name = self.fresh("b")
        axes: tuple[IndexedAxis, ...] = self.pick((("N",), ("N",), ("M",), ("M", "N")))
        shape = axes[0] if len(axes) == 1 else f"({', '.join(axes)})"
        match self.weighted(zeros=4, ones=1, full=1, like=1, single=0.4, empty=1):
            case "single":
                self.emit(f"{name} = np.zeros({shape}, dtype=np.float32)")
            case "empty":
                self.emit(f"{name} = np.{self.pick([f'empty({shape})', f'full({shape}, np.nan)'])}")
                at = [self.fresh("i") for _ in axes]
                for depth, (axis, index) in enumerate(zip(axes, at, strict=True)):
                    self.emit("    " * depth + f"for {index} in range({axis}):")
                points = [Margin(i, a) for i, a in zip(at, axes, strict=True)]
                value = self.number(scope.inner(points=points, integers=at), 1)
                self.emit("    " * len(axes) + f"{name}[{', '.join(at)}] = {value}")
            case "full":
                self.emit(f"{name} = np.full({shape}, {self.pick(['0.7', 's'])})")
            case "like":
                source = self.pick([a.name for a in self.arguments if a.is_real_array])
                axes = scope.arrays[source]
                self.emit(f"{name} = np.{self.pick(['zeros', 'ones'])}_like({source})")
            case kind:
                self.emit(f"{name} = np.{'ones' if kind == 'ones' else 'zeros'}({shape})")
        scope.arrays[name] = axes
        return name

    def results(self, scope: NamesInScope, buffers: list[str]) -> str:
        found = [n for n in scope.floats if n == "s" or self.chance(0.5)]
        found += [b for b in buffers if self.chance(0.75)]
        found += [n for n in scope.arrays if n[0] == "X" and self.chance(0.6)]
        found += ["zs"] if scope.complexes and self.chance(0.7) else []
        if scope.counters and self.chance(0.2):
            found.append("k")
        if self.chance(0.08):
            found.append(found[-1])
        match self.weighted(all=6, first=2, none=1, expression=1):
            case "all":
                return ", ".join(found)
            case "first":
                return found[0]
            case "expression":
                return f"{found[0]} * 0.5 + {self.number(scope.inner(), 1)}"
            case _:
                return ""

    # -- blocks ----------------------------------------------------------------------------------------------
    def block(self, scope: NamesInScope, depth: int) -> None:
        """One to three statements; `scope` is the block's own."""
        self.margin += 1
        for _ in range(self.rng.randint(1, 3)):
            kind = self.weighted(
                simple=6,
                loop=2.2 if depth else 0,
                branch=(0.6 if self.is_tidy else 1.6) if depth else 0,
                row=0.25 if depth else 0,
                call=1.3 if scope.helpers else 0,
                jump=(0.1 if self.is_tidy else 0.6) * (scope.is_loop or self.early is not None),
            )
            if depth and not self.reachable(scope) and self.chance(0.7):
                kind = "loop"
            if self.budget <= 0 or kind == "simple":
                self.simple(scope)
            elif kind == "call":
                self.call_statement(scope)
            elif kind == "jump":
                self.jump(scope)
            elif kind == "loop":
                self.loop(scope, depth)
            elif kind == "row":
                self.buffer(scope)
            else:
                self.branch(scope, depth)
        self.margin -= 1

    def branch(self, scope: NamesInScope, depth: int) -> None:
        """An `if`; with an `else`, a new local may escape from both arms."""
        has_else = self.chance(0.6)
        escaping = self.fresh("e") if has_else and self.chance(0.4) else ""
        self.arm(f"if {self.condition(scope)}:", scope, depth, escaping)
        if has_else and self.chance(0.25):
            self.arm(f"elif {self.condition(scope)}:", scope, depth, escaping)
        if has_else:
            self.arm("else:", scope, depth, escaping)
        if escaping:
            scope.floats.append(escaping)

    def jump(self, scope: NamesInScope) -> None:
        """A conditional way out of the iteration, the loop or the function."""
        ways = ["break", "continue"] * scope.is_loop + [f"return {self.early}".rstrip()] * (self.early is not None)
        self.emit(f"if {self.condition(scope)}:")
        self.margin += 1
        if self.chance(0.4):
            self.simple(scope.inner())
        self.emit(self.pick(ways))
        self.margin -= 1

    def arm(self, header: str, scope: NamesInScope, depth: int, escaping: str) -> None:
        self.emit(header)
        inner = scope.inner()
        if self.chance(0.85) or not escaping:
            self.block(inner, depth - 1)
        if escaping:
            self.margin += 1
            self.emit(f"{escaping} = {self.number(inner)}")
            self.margin -= 1

    # -- loops -----------------------------------------------------------------------------------------------
    def loop(self, scope: NamesInScope, depth: int) -> None:
        inside = scope.reaches("N")
        kind = self.weighted(
            ranged=10,
            time=0.3 if self.is_tidy else 1.6 if inside else 0.8,
            small=1.5 * (scope.has("integer") and not self.is_tidy),
            counted=4.0 * (inside and scope.has("counts")),
            offsets=5.0 * (inside and scope.has("offsets")),
            elements=0.9 * (not self.is_tidy),
            halved=0.6,
            repeated=0.1 if self.is_tidy else 1.0,
            triangular=4.0 * any(p.is_plain for p in scope.points),
        )
        match kind:
            case "time":
                self.over(self.fresh("t"), f"range({self.pick(['2', '3', '4', '1'])})", scope, depth)
            case "small":
                self.over(
                    self.fresh("t"), self.pick(["range(n)", "range(n, -1, -1)", "range(0, 4, n + 1)"]), scope, depth
                )
            case "counted":
                self.over(self.fresh("t"), f"range(cnt[{self.subscript(scope, 'N')}])", scope, depth)
            case "offsets":
                at = self.pick([p.text for p in scope.points if p.axis == "N"])
                name = self.fresh("p")
                self.over(name, f"range(ptr[{at}], ptr[{at} + 1])", scope, depth, Margin(name, "N"))
            case "elements":
                self.over_elements(scope, depth)
            case "halved":
                name = self.fresh("i")
                points = (Margin(f"2 * {name}", "N", 0, 1), Margin(name, "N"))
                self.over(name, "range(N // 2)", scope, depth, *points)
            case "triangular":
                self.triangular(scope, depth)
            case "repeated":
                self.over_condition(scope, depth)
            case _:
                self.over_range(scope, depth)

    def over(self, name: str, header: str, scope: NamesInScope, depth: int, *points: Margin) -> None:
        self.emit(f"for {name} in {header}:")
        self.body(scope.inner(points=points, integers=[name]), depth - 1, scope)
        self.ended.setdefault(name[0], []).append(name)
        if points and self.chance(0.03):
            scope.integers.append(name)

    def body(self, inner: NamesInScope, depth: int, around: NamesInScope) -> None:
        """The body of a loop, and its `else`."""
        inner.is_loop = True
        start = len(self.lines)
        self.block(inner, depth)
        has_break = any(line.strip() == "break" for line in self.lines[start:])
        if self.chance(0.4 if has_break else 0.02):
            self.emit("else:")
            self.margin += 1
            self.simple(around.inner())
            self.margin -= 1

    def over_condition(self, scope: NamesInScope, depth: int) -> None:
        """A `while`, which counts so that it ends."""
        name, bound = self.fresh("m"), self.pick(("3", "2", "N", "N"))
        inner = scope.inner(integers=[name])
        if bound == "N":
            inner.points.append(Margin(f"({name} - 1)", "N", 0, 0, False))
        self.emit(f"{name} = 0")
        condition = self.condition(scope)
        if self.chance(0.7):
            self.emit(f"while {self.pick((f'{name} < {bound} and {condition}', f'{name} < {bound}'))}:")
            self.emit(f"    {name} += 1")
        else:
            self.emit("while True:")
            self.emit(f"    if {name} >= {bound} or {condition}:")
            self.emit("        break")
            self.emit(f"    {name} += 1")
        self.body(inner, depth - 1, scope)

    def over_range(self, scope: NamesInScope, depth: int) -> None:
        has_rows = any("M" in axes for axes in scope.arrays.values())
        name, axis = self.fresh("i"), self.pick(("M", "N", "N") if has_rows else ("N",) * 9 + ("M",))
        low, high = self.rng.choice((0, 0, 0, 1, 2)), self.rng.choice((0, 0, 0, 1, 2))
        stop = axis if high == 0 else f"{axis} - {high}"
        upward = f"range({stop})" if low == 0 and self.chance(0.5) else f"range({low}, {stop})"
        downward = f"range({stop} - 1, {low - 1}, "
        header = self.pick(
            (upward, upward, f"range({low}, {stop}, 2)", f"reversed({upward})", f"{downward}-1)", f"{downward}-2)")
        )
        self.over(name, header, scope, depth, Margin(name, axis, low, high))

    def triangular(self, scope: NamesInScope, depth: int) -> None:
        name = self.fresh("j")
        outer = self.pick([p for p in scope.points if p.is_plain])
        i, axis = outer.text, outer.axis
        header, *points = self.pick(
            (
                (f"range({i})", Margin(name, axis, 0, outer.high + 1)),
                (f"range({i} + 1)", Margin(name, axis, 0, outer.high)),
                (f"range({i}, {axis})", Margin(name, axis, outer.low, 0)),
                (f"range({i} + 1, {axis})", Margin(name, axis, outer.low + 1, 0)),
                (f"range({i}, -1, -1)", Margin(name, axis, 0, outer.high)),
                (f"range({i} - 1, -1, -1)", Margin(name, axis, 0, outer.high + 1)),
                (
                    f"range({axis} - {i})",
                    Margin(name, axis, 0, outer.low),
                    Margin(f"({i} + {name})", axis, outer.low, 0, False),
                ),
                (f"range({i}, {axis}, 2)", Margin(name, axis, outer.low, 0)),
            )
        )
        self.over(name, header, scope, depth, *points)

    def over_elements(self, scope: NamesInScope, depth: int) -> None:
        """A loop over an argument's elements, their positions, or pairs of them."""
        vectors = [a.name for a in self.arguments if a.kind == "vector" and a.is_real_array]
        array, other = self.pick(vectors), self.pick(vectors)
        v, w, i = self.fresh("v"), self.fresh("w"), self.fresh("i")
        inner = scope.inner()
        match self.pick(("plain", "slice", "enumerate", "zip", "row", "rows")):
            case "slice":
                header = f"for {v} in {array}[{self.pick(['1:', ':-1', '1:-1', '::2', '::-1'])}]:"
            case "enumerate":
                header = f"for {i}, {v} in enumerate({array}):"
                inner = scope.inner(points=[Margin(i, "N")], integers=[i])
            case "zip":
                header = f"for {v}, {w} in zip({array}, {other}):"
                inner.floats.append(w)
            case "row" if "A" in scope.arrays and scope.reaches("M"):
                header = f"for {v} in A[{self.subscript(scope, 'M')}]:"
            case "rows" if "A" in scope.arrays:
                row = self.fresh("q")
                inner.arrays[row] = ("N",)
                inner.points.append(Margin("0", "M", 0, 0, False))
                self.emit(f"for {row} in A:")
                self.body(inner, depth - 1, scope)
                return
            case _:
                header = f"for {v} in {array}:"
        inner.floats.append(v)
        self.emit(header)
        self.body(inner, depth - 1, scope)
