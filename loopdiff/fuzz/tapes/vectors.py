"""Statements about vectors: sweeps in place, stencils, gathers and scatters, rotation, copies, winners."""

from __future__ import annotations

from itertools import pairwise

from loopdiff.fuzz.tapes.blocks import OpenBlocks
from loopdiff.fuzz.tapes.expressions import Drawer

RANGES = ("range(n)", "range(n)", "range(n - 1, -1, -1)", "range(0, n, 2)", "range(1, n, 2)")


class VectorStatements(Drawer):
    """Writes statements into `scope`."""

    scope: OpenBlocks

    # -- parts -----------------------------------------------------------------------------------------------
    def subscripts(self, i: str) -> list[str]:
        """Subscripts of vectors inside a loop of `i` over all elements."""
        found = [i, i, i, f"n - 1 - {i}", f"({i} + 1) % n", "0", "n - 1"]
        found += [f"({i} + {c}) % n" for c in self.scope.counters if c != i]
        return [*found, *self.scope.places] + [f"{p}[{i}]" for p in self.scope.indices]

    def places(self, i: str, margin: int = 0) -> list[str]:
        """Numbers to compute with at `i`, which is so far inside."""
        scope = self.scope
        found = [f"{v}[{i}]" for v in scope.vectors]
        if margin:
            found += [f"{v}[{i} {sign} 1]" for v in scope.vectors for sign in "-+"]
        found += [f"{self.pick(scope.vectors)}[{self.pick(self.subscripts(i))}]" for _ in range(2)]
        found += [f"{A}[{self.row()}, {i}]" for A in scope.matrices]
        return [*found, *scope.floats]

    def row(self) -> str:
        """A subscript of the rows of matrices."""
        return self.pick(["0", "m - 1", *(f"{c} % m" for c in (*self.scope.counters, *self.scope.places))])

    def elements(self) -> str:
        """What a loop over elements goes through, perhaps as many as data say."""
        places = self.scope.places
        if not places or self.chance(0.6):
            return self.pick(RANGES)
        k = self.pick(places)
        ranges = [f"range({k})", f"range({k} + 1)", f"range({k}, n)", f"range({k}, -1, -1)"]
        return self.pick([*ranges, *(f"range({p}[{k}] + 1)" for p in self.scope.indices)])

    def numbers(self) -> list[str]:
        """What conditions and scalars may be about: it depends on no loop over elements."""
        scope = self.scope
        found = [f"{self.pick(scope.vectors)}[{k}]" for k in ("0", "n - 1")]
        found += [f"{self.pick(scope.vectors)}[{c} % n]" for c in scope.counters]
        found += [f"{self.pick(scope.vectors)}[{k}]" for k in scope.places]
        return [*found, *scope.floats, *scope.floats]

    def target(self, i: str) -> str:
        return f"{self.pick(self.scope.vectors)}[{self.pick(self.subscripts(i)) if self.chance(0.3) else i}]"

    # -- statements ------------------------------------------------------------------------------------------
    def sweep(self) -> None:
        """One or several updates of elements, in order, backwards, or of every second one."""
        i = self.scope.fresh("i")
        with self.scope.block(f"for {i} in {self.elements()}:", i):
            for _ in range(self.rng.choice((1, 1, 2, 3))):
                self.element(i)

    def element(self, i: str) -> None:
        scope, items = self.scope, self.places(i)
        match self.rng.randrange(9):
            case 0:
                with scope.block(f"if {self.condition(items)}:"):
                    scope.emit(self.update(self.target(i), items))
                if self.chance(0.5):
                    with scope.block("else:"):
                        scope.emit(self.update(self.target(i), items))
            case 1 if scope.floats:
                s = self.pick(scope.floats)
                scope.emit(self.update(s, items, 1))
            case 2:
                c = scope.fresh("c")
                scope.emit(f"{c} = {self.number(items)}")
                scope.emit(self.update(self.target(i), [c, c, *items]))
                scope.emit(self.update(self.target(i), [c, *items], 1))
            case 3:
                u, v, q = self.pick(scope.vectors), self.pick(scope.vectors), self.pick(self.subscripts(i))
                scope.emit(f"{u}[{i}], {v}[{q}] = {v}[{q}], {u}[{i}]")
            case _:
                scope.emit(self.update(self.target(i), items))

    def stencil(self) -> None:
        """From one buffer into another, or in place as Gauss and Seidel do."""
        i, header = self.scope.fresh("i"), self.pick(("1, n - 1", "n - 2, 0, -1", "1, n - 1, 2"))
        with self.scope.block(f"for {i} in range({header}):", i):
            self.scope.emit(self.update(f"{self.pick(self.scope.vectors)}[{i}]", self.places(i, 1), 3))

    def gather(self) -> None:
        """Places that data decide: floors, subscripts of subscripts, indices that change."""
        scope, i, j = self.scope, self.scope.fresh("i"), self.scope.fresh("j")
        x, y = self.pick(scope.vectors), self.pick(scope.vectors)
        with scope.block(f"for {i} in range(n):", i):
            of_data = f"int(np.floor(2.7 * abs({self.pick(self.places(i))}))) % n"
            scope.emit(f"{j} = {self.pick([of_data, of_data, *(f'{p}[{i}]' for p in scope.indices)])}")
            items = [f"{y}[{j}]", f"{x}[{j}]", *self.places(i)]
            scope.emit(self.update(f"{x}[{self.pick((i, i, j))}]", items))
            if self.chance(0.4):
                scope.emit(self.update(f"{y}[{j}]", items))
            if scope.indices and self.chance(0.3):
                scope.emit(f"{self.pick(scope.indices)}[{i}] = {self.pick((j, f'({j} + {i}) % n'))}")

    def winner(self) -> None:
        """Where the largest or smallest element is, and what is done with it."""
        scope, i, best = self.scope, self.scope.fresh("i"), self.scope.fresh("best")
        x, y, sign = self.pick(scope.vectors), self.pick(scope.vectors), self.pick("<>")
        if self.chance(0.3):
            scope.emit(f"{best} = np.arg{self.pick(('max', 'min'))}({x})")
        else:
            scope.emit(f"{best} = 0")
            with scope.block(f"for {i} in range(1, n):", i):
                key = "abs({})" if self.chance(0.4) else "{}"
                with scope.block(f"if {key.format(f'{x}[{i}]')} {sign} {key.format(f'{x}[{best}]')}:"):
                    scope.emit(f"{best} = {i}")
        items = [f"{x}[{best}]", f"{y}[{best}]", *self.numbers()]
        match self.rng.randrange(4):
            case 0:
                k = self.pick(["0", "n - 1", *(f"{c} % n" for c in scope.counters)])
                scope.emit(f"{y}[{k}], {y}[{best}] = {y}[{best}], {y}[{k}]")
            case 1 if scope.floats:
                scope.emit(self.update(self.pick(scope.floats), items))
            case 2:
                with scope.block(f"for {i} in range(n):", i), scope.block(f"if {i} != {best}:"):
                    scope.emit(self.update(f"{y}[{i}]", [*items, f"{x}[{i}]"]))
            case _:
                scope.emit(self.update(f"{y}[{best}]", items))

    def extremum(self) -> None:
        """A running maximum or minimum of a sweep."""
        scope, i, most = self.scope, self.scope.fresh("i"), self.scope.fresh("most")
        function, x = self.pick(("max", "min")), self.pick(scope.vectors)
        scope.emit(f"{most} = {self.pick((f'{x}[0]', self.constant()))}")
        with scope.block(f"for {i} in range(n):", i):
            scope.emit(f"{most} = {function}({most}, {self.number(self.places(i), 1)})")
        with scope.block(f"for {i} in range(n):", i):
            scope.emit(self.update(f"{self.pick(scope.vectors)}[{i}]", [most, most, *self.places(i)]))

    def recurrence(self) -> None:
        """A scalar that goes from element to element."""
        scope, i, o = self.scope, self.scope.fresh("i"), self.scope.fresh("o")
        scope.emit(f"{o} = {self.number(self.numbers(), 1)}")
        with scope.block(f"for {i} in {self.elements()}:", i):
            scope.emit(self.update(o, [o, o, *self.places(i)]))
            scope.emit(self.update(f"{self.pick(scope.vectors)}[{i}]", [o, o, *self.places(i)], 1))

    def move(self) -> None:
        """A place that data move, and what is done with what is there."""
        scope, k = self.scope, self.pick(self.scope.places)
        steps = [f"{k} = ({k} + 1) % n", f"{k} = n - 1 - {k}", *(f"{k} = {p}[{k}]" for p in scope.indices)]
        steps.append(f"{k} = int(np.floor(2.7 * abs({self.pick(self.numbers())}))) % n")
        if self.chance(0.6):
            with scope.block(f"if {self.condition(self.numbers())}:"):
                scope.emit(self.pick(steps))
        else:
            scope.emit(self.pick(steps))
        if self.chance(0.7):
            x = self.pick(scope.vectors)
            scope.emit(self.update(f"{x}[{k}]", [f"{x}[{k}]", *self.numbers()]))

    def rotation(self) -> None:
        """Names change what they stand for."""
        scope = self.scope
        names = self.pick([v for v in (scope.vectors, scope.vectors, scope.matrices) if len(v) > 1])
        chosen = self.rng.sample(names, min(len(names), self.rng.choice((2, 2, 3))))
        if self.chance(0.3):
            kept = scope.fresh("old")
            scope.emit(f"{kept} = {chosen[0]}")
            for left, right in pairwise(chosen):
                scope.emit(f"{left} = {right}")
            scope.emit(f"{chosen[-1]} = {kept}")
        else:
            scope.emit(f"{', '.join(chosen)} = {', '.join((*chosen[1:], chosen[0]))}")

    def copy(self) -> None:
        """One array becomes another, whole or in part."""
        scope = self.scope
        u, v = self.rng.sample(scope.vectors, 2) if len(scope.vectors) > 1 else scope.vectors * 2
        i = scope.fresh("i")
        match self.rng.randrange(6):
            case 0:
                scope.emit(f"{u}[1:] = {v}[:-1]")
            case 1 if scope.matrices:
                A = self.pick(scope.matrices)
                scope.emit(self.pick((f"{A}[{self.row()}] = {v}", f"{u}[:] = {A}[{self.row()}]")))
            case 2:
                scope.emit(f"{u} = {v}.copy()")
            case 3:
                with scope.block(f"for {i} in range(n):", i):
                    scope.emit(f"{u}[{i}] = {v}[{i}]")
            case _:
                scope.emit(f"{u}[:] = {v}")

    def whole(self) -> None:
        """An expression of whole vectors, in place or into a new array."""
        scope = self.scope
        x, e = self.pick(scope.vectors), self.whole_array([*scope.vectors, *scope.vectors, *scope.floats])
        if not any(v in e for v in scope.vectors):
            e = f"{self.pick(scope.vectors)} * {e}"
        forms = (f"{x}[:] = {e}", f"{x} = {e}", f"{x} *= {e}", f"{x} += 0.3 * {e}", f"{x}[:] = 0.5 * {x} + {e}")
        if "[" in x or "." in e.split("(")[0]:
            forms = forms[:1]
        scope.emit(self.pick(forms))

    def stages(self) -> None:
        """A step of Runge and Kutta: slopes at several stages, each in a buffer that it overwrites or has made."""
        scope, i = self.scope, self.scope.fresh("i")
        x = self.pick(scope.vectors)
        w, k = scope.fresh("w"), scope.fresh("k")
        count = self.rng.randint(2, 3)
        scope.emit(f"{w} = {x}.copy()")
        names = [f"{k}_{s}" for s in range(count)] if self.chance(0.5) else [k] * count
        for name in dict.fromkeys(names):
            scope.emit(f"{name} = np.zeros(n)")
        for s, name in enumerate(names):
            slope = self.number([f"{w}[{i}]", f"{w}[{i}]", f"{w}[({i} + 1) % n]", *self.places(i)])
            with scope.block(f"for {i} in range(n):", i):
                scope.emit(f"{name}[{i}] = {slope}")
                if self.chance(0.4):
                    scope.emit(f"{x}[{i}] += 0.1 * {name}[{i}]")
            if s < count - 1:
                with scope.block(f"for {i} in range(n):", i):
                    scope.emit(f"{w}[{i}] = {x}[{i}] + 0.{s + 2} * {name}[{i}]")
        with scope.block(f"for {i} in range(n):", i):
            scope.emit(f"{x}[{i}] += 0.2 * ({' + '.join(f'{n}[{i}]' for n in dict.fromkeys(names))})")
