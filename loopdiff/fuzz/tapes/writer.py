"""Random programs about the tape: loops over time, of known and unknown length and in each other, around statements
that overwrite what they read."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from loopdiff.fuzz.program import RandomArgument
from loopdiff.fuzz.settings import Setting
from loopdiff.fuzz.tapes.blocks import OpenBlocks
from loopdiff.fuzz.tapes.matrices import MatrixStatements
from loopdiff.fuzz.tapes.program import TapeProgram
from loopdiff.immutable import replace
from loopdiff.settings.options import PlanPolicy

LONGEST, SHORT = 700, 450  # characters: what a program costs grows faster than these
MOST_LOOPS = 3  # loops over time in each other
LEVELS: tuple[PlanPolicy, ...] = ("recompute-2", "recompute-3", "recompute-5")
SIZES = ((2, 3), (3, 4), (4, 5), (3, 3), (2, 6))
SQUARES = ((2, 2), (3, 3), (4, 4), (5, 5))
LEAST_SIZES = ((1, 1), (1, 4), (3, 1))  # other axes of one element make other functions, which cost as much again


def generate_about_tapes(seed: int) -> TapeProgram:
    """The program of a seed."""
    rng = Random(f"tapes {seed}")
    while True:
        writer = Writer(rng)
        text, wrt = writer.function()
        if len(text) <= LONGEST:
            break
    is_short, is_square = len(text) <= SHORT, writer.scope.is_square
    policies: tuple[PlanPolicy, ...] = ("auto", "store")
    if rng.random() < 0.4:
        policies = (*policies, rng.choice(LEVELS) if is_short and rng.random() < 0.3 else "recompute")
    has_steps = "range(T" in text or "range(1, T" in text
    share = rng.uniform(0.0, 1.0) if is_short and has_steps and rng.random() < 0.35 else None
    sizes = tuple(rng.sample(SQUARES if is_square else SIZES, 2))
    if rng.random() < 0.2:
        sizes = (*sizes, (1, 1) if is_square else rng.choice(LEAST_SIZES))
    setting = Setting(fastmath=rng.random() < 0.5)
    spills = share is not None and rng.random() < 0.2
    at_once = rng.random() < 0.25
    is_long = share is not None or policies[-1] in LEVELS
    arguments = tuple(replace(a, kind="steps") if is_long and a.name == "T" else a for a in writer.arguments)
    return TapeProgram(text, arguments, wrt, sizes, seed, setting, policies, share, spills, at_once)


class Writer(MatrixStatements):
    """Writes one function."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        vectors = ["x", "y", "z"][: rng.choice((1, 2, 2, 3))]
        matrices = ["A", "B"][: rng.choice((0, 0, 1, 1, 2))]
        indices = ["p"] if self.chance(0.35) else []
        is_square = bool(matrices) and self.chance(0.55)
        self.arguments = (
            *(RandomArgument(v, "vector", self.floating()) for v in vectors),
            *(RandomArgument(A, "matrix", self.floating()) for A in matrices),
            *(RandomArgument(p, "index") for p in indices),
            RandomArgument("a", "float"),
            RandomArgument("T", "integer"),
        )
        self.has_helper = self.has_history = False
        self.scope = OpenBlocks(vectors, matrices, indices, ["a"], is_square)

    def floating(self) -> str:
        return "float32" if self.chance(0.02) else "float64"

    def function(self) -> tuple[str, tuple[str, ...]]:
        """The text, and what is differentiated."""
        scope = self.scope
        floating = [a.name for a in self.arguments if a.is_floating]
        wrt = tuple(n for n in floating if self.chance(0.8)) or (floating[0],)
        start = f"def f({', '.join(a.name for a in self.arguments)}):"
        if self.chance(0.2):
            self.helper()
        scope.emit("n = len(x)")
        if scope.matrices:
            scope.emit(f"m = {scope.matrices[0]}.shape[0]")
        self.locals()
        for _ in range(self.rng.choice((1, 1, 2))):
            if self.chance(0.25):
                self.statement()
            self.over_time(0)
        if self.chance(0.3):
            self.statement()
        self.end()
        return "\n".join((start, *scope.lines)) + "\n", wrt

    def helper(self) -> None:
        """A function inside that changes one of its arrays and gives a number."""
        scope = self.scope
        with scope.block("def advance(w, q, c):"), scope.block("for e in range(len(w)):"):
            items = ["w[e]", "w[e]", "q[e]", "c", "w[len(w) - 1 - e]", "q[(e + 1) % len(w)]"]
            scope.emit(self.update(self.pick(("w[e]", "w[e]", "w[0]")), items))
            if self.chance(0.4):
                scope.emit(self.update("c", items, 1))
        scope.depth += 1
        scope.emit(f"return {self.number(['c', 'w[0]', 'c * q[0]'], 1)}")
        scope.depth -= 1
        self.has_helper = True

    def advance(self) -> None:
        """A call of that function."""
        scope = self.scope
        x, y = self.rng.sample(scope.vectors, 2)
        target, sign, given = self.pick(scope.floats), self.pick(("=", "+=")), self.pick(scope.floats)
        scope.emit(f"{target} {sign} 0.5 * advance({x}, {y}, {given})")

    def history(self) -> None:
        """All states of a loop over time in the rows of one array, each made from those before it."""
        scope, i = self.scope, self.scope.fresh("i")
        t = f"{self.pick(scope.counters)} % (T + 2)" if scope.counters else "T"
        items = [f"H[{t}, {i}]", f"H[{t}, {i}]", f"H[{t}, ({i} + 1) % n]", *self.places(i)]
        with scope.block(f"for {i} in {self.elements()}:", i):
            scope.emit(self.update(f"H[{t} + 1, {i}]", items))
            if self.chance(0.5):
                scope.emit(self.update(f"{self.pick(scope.vectors)}[{i}]", items, 1))

    def locals(self) -> None:
        """Arrays and numbers of the function's own."""
        scope = self.scope
        for name in ("u", "v")[: self.rng.choice((0, 1, 1, 2))]:
            made = ("np.zeros(n)", "np.zeros_like(x)", "np.full(n, 0.3)", "0.5 * x", "x.copy()", "np.ones(n)")
            scope.emit(f"{name} = {self.pick(made)}")
            scope.vectors.append(name)
        if scope.matrices and self.chance(0.3):
            scope.emit(f"W = {self.pick(('np.zeros_like(A)', 'np.zeros((m, n))', 'A.copy()', '0.4 * A'))}")
            scope.matrices.append("W")
        if self.chance(0.2):
            scope.emit("H = np.zeros((T + 3, n))")
            self.has_history = True
        for name in ("k", "l")[: self.rng.choice((0, 0, 1, 2))]:
            scope.emit(f"{name} = {self.pick(('0', 'n - 1', 'T % n'))}")
            scope.places.append(name)
        for name in ("s", "d")[: self.rng.choice((1, 1, 2))]:
            scope.emit(f"{name} = {self.pick(('0.0', '0.3', 'a', '0.5 * a'))}")
            scope.floats.append(name)

    def end(self) -> None:
        """What is returned, if anything is."""
        scope, i = self.scope, self.scope.fresh("i")
        match self.rng.randrange(6):
            case 0:
                return
            case 1:
                scope.emit(f"return {', '.join(self.rng.sample(scope.floats, 2))}")
            case 2:
                x, y = self.pick(scope.vectors), self.pick(scope.vectors)
                scope.emit(f"return np.sum({x} * {y}) + s")
            case 3 if scope.matrices:
                scope.emit(f"return s + np.sum({self.pick(scope.matrices)})")
            case _:
                with scope.block(f"for {i} in range(n):", i):
                    scope.emit(f"s += {self.number(self.places(i))}")
                scope.emit("return s")

    # -- statements ------------------------------------------------------------------------------------------
    def statement(self) -> None:
        """One of any kind."""
        plain: list[tuple[Callable[[], None], int]] = [
            (self.sweep, 6), (self.stencil, 4), (self.gather, 4), (self.winner, 2), (self.extremum, 2),
            (self.recurrence, 2), (self.rotation, 5 * (len(self.scope.vectors) > 1)), (self.copy, 3), (self.whole, 1),
            (self.stages, 1), (self.triangle, 2), (self.scalar, 2),
            (self.move, 4 * bool(self.scope.places)), (self.history, 5 * self.has_history),
            (self.advance, 4 * (self.has_helper and len(self.scope.vectors) > 1)),
        ]  # fmt: skip
        if self.scope.matrices:
            plain += [(self.grid, 3), (self.table, 2), (self.products, 2)]
        if self.scope.matrices and self.scope.is_square:
            plain += [(self.elimination, 2), (self.paths, 1)]
        chosen = self.rng.choices([p for p, _ in plain], [w for _, w in plain])[0]
        chosen()

    def scalar(self) -> None:
        self.scope.emit(self.update(self.pick(self.scope.floats), self.numbers()))

    def body(self, nested: int) -> None:
        """Statements of one step, perhaps of loops inside it."""
        scope = self.scope
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            if nested < MOST_LOOPS and self.chance(0.2 if nested == 1 else 0.1):
                self.over_time(nested)
            elif self.chance(0.15):
                with scope.block(f"if {self.condition(self.numbers())}:"):
                    self.statement()
                if self.chance(0.5):
                    with scope.block("else:"):
                        self.statement()
            else:
                self.statement()

    def over_time(self, nested: int) -> None:
        """A loop of steps, with the end that it has."""
        scope, t = self.scope, self.scope.fresh("t")
        kind = self.rng.randrange(10)
        if kind < 6:
            count = self.pick(("T", "T", "T", "3", "T + 1", "n", "T, 0, -1", "1, T + 2", "2"))
            with scope.block(f"for {t} in range({count}):", t):
                self.body(nested + 1)
                if self.chance(0.15):
                    self.leave()
            return
        scope.emit(f"{t} = 0")
        test = f"{self.condition(self.numbers())} and {t} < {self.pick(('4', 'T + 1', '3'))}"
        is_open = kind == 9
        with scope.block("while True:" if is_open else f"while {test}:", t):
            self.body(nested + 1)
            scope.emit(f"{t} += 1")
            if is_open:
                with scope.block(f"if {t} > T or {self.condition(self.numbers())}:"):
                    scope.emit("break")
            elif self.chance(0.2):
                self.leave()

    def leave(self) -> None:
        """Out of a loop, or on to its next step, where data say so."""
        scope = self.scope
        with scope.block(f"if {self.condition(self.numbers())}:"):
            scope.emit(self.pick(("break", "break", "continue")))
        self.statement()
