"""Statements about small matrices: updates in place, triangles, elimination, products, tables, paths."""

from __future__ import annotations

from loopdiff.fuzz.tapes.vectors import VectorStatements

TRIANGLES = ("range({i})", "range({i} + 1)", "range({i} + 1, n)", "range({i}, n)")


class MatrixStatements(VectorStatements):
    """Writes statements into `scope`; those of squares where matrices have as many rows as columns."""

    def both(self, A: str, i: str, j: str) -> list[str]:
        """Numbers to compute with at row `i` and column `j`."""
        scope = self.scope
        found = [f"{A}[{i}, {j}]", f"{A}[{i}, {j}]", f"{self.pick(scope.matrices)}[{i}, {j}]"]
        found += [f"{self.pick(scope.vectors)}[{j}]", f"{A}[{i}, ({j} + 1) % n]", f"{A}[({i} + 1) % m, {j}]"]
        if scope.is_square:
            found += [f"{self.pick(scope.vectors)}[{i}]", f"{self.pick(scope.matrices)}[{j}, {i}]"]
        if scope.indices:
            found.append(f"{A}[{i}, {self.pick(scope.indices)}[{j}]]")
        return [*found, *scope.floats]

    def grid(self) -> None:
        """Every element of a matrix, inner ones with their neighbours."""
        scope, A = self.scope, self.pick(self.scope.matrices)
        i, j = scope.fresh("i"), scope.fresh("j")
        items, rows, columns = self.both(A, i, j), f"range({self.pick(('m', '1, m', 'm - 1, -1, -1'))})", "range(n)"
        if self.chance(0.4):
            rows, columns = "range(1, m - 1)", "range(1, n - 1)"
            B = self.pick(scope.matrices)
            items += [f"{B}[{i} - 1, {j}]", f"{B}[{i} + 1, {j}]", f"{B}[{i}, {j} - 1]", f"{A}[{i}, {j} + 1]"]
        with scope.block(f"for {i} in {rows}:", i), scope.block(f"for {j} in {columns}:", j):
            scope.emit(self.update(f"{A}[{i}, {j}]", items))
            if self.chance(0.3):
                scope.emit(self.update(f"{self.pick(scope.vectors)}[{j}]", items, 1))

    def table(self) -> None:
        """A table of which each element is made from those above and before it, as alignments are scored."""
        scope, A = self.scope, self.pick(self.scope.matrices)
        i, j = scope.fresh("i"), scope.fresh("j")
        above, before, both = f"{A}[{i} - 1, {j}]", f"{A}[{i}, {j} - 1]", f"{A}[{i} - 1, {j} - 1]"
        with scope.block(f"for {i} in range(1, m):", i), scope.block(f"for {j} in range(1, n):", j):
            e = self.number(self.both(A, i, j), 1)
            best = f"{self.pick(('min', 'max'))}({above}, {before}, {both} + {self.constant()})"
            soft = f"0.4 * np.log(np.exp({above}) + np.exp({before}) + np.exp({both}))"
            scope.emit(f"{A}[{i}, {j}] = 0.5 * ({e}) + 0.5 * {self.pick((best, best, soft))}")

    def products(self) -> None:
        """A vector times a matrix, or of squares a matrix in place of its product with a triangle of another."""
        scope, A, x = self.scope, self.pick(self.scope.matrices), self.pick(self.scope.vectors)
        i, j, k, o = (scope.fresh(s) for s in "ijko")
        if not scope.is_square or self.chance(0.5):
            with scope.block(f"for {i} in range(m):", i):
                scope.emit(f"{o} = 0.0")
                with scope.block(f"for {j} in range(n):", j):
                    scope.emit(f"{o} += {A}[{i}, {j}] * {x}[{j}]")
                scope.emit(f"{self.pick(scope.vectors)}[{i} % n] {self.pick(('=', '+='))} np.tanh({o})")
            return
        B, rows = self.pick(scope.matrices), self.pick(TRIANGLES).format(i=i)
        with scope.block(f"for {i} in range(n):", i), scope.block(f"for {j} in range(n):", j):
            with scope.block(f"for {k} in {rows}:", k):
                scope.emit(f"{B}[{i}, {j}] += 0.3 * {A}[{k}, {i}] * {B}[{k}, {j}]")
            if self.chance(0.5):
                scope.emit(f"{B}[{i}, {j}] = {self.pick(('0.5 * ', 'np.sin', '0.4 * np.exp'))}({B}[{i}, {j}])")

    def triangle(self) -> None:
        """Loops whose bounds are those around them."""
        scope, x = self.scope, self.pick(self.scope.vectors)
        i, j = scope.fresh("i"), scope.fresh("j")
        is_of_matrix = scope.is_square and bool(scope.matrices)
        factor = f"{self.pick(scope.matrices)}[{i}, {j}]" if is_of_matrix else f"{self.pick(scope.vectors)}[{j}]"
        with scope.block(f"for {i} in range({self.pick(('n', 'n - 1, -1, -1'))}):", i):
            with scope.block(f"for {j} in {self.pick(TRIANGLES).format(i=i)}:", j):
                if is_of_matrix and self.chance(0.3):
                    scope.emit(self.update(factor, [factor, f"{x}[{i}]", f"{x}[{j}]", *scope.floats], 1))
                scope.emit(f"{x}[{i}] {self.pick(('+=', '-='))} 0.3 * {factor} * {x}[{j}]")
            if self.chance(0.6):
                scope.emit(f"{x}[{i}] = {self.number([f'{x}[{i}]', *self.places(i)])}")

    def elimination(self) -> None:
        """A square is factored in place, perhaps with rows that data choose."""
        scope, A = self.scope, self.pick(self.scope.matrices)
        i, j, k, r, t = (scope.fresh(s) for s in ("i", "j", "k", "best", "c"))
        with scope.block(f"for {k} in range(n - 1):", k):
            if self.chance(0.6):
                scope.emit(f"{r} = {k}")
                with scope.block(f"for {i} in range({k} + 1, n):", i), scope.block(
                    f"if abs({A}[{i}, {k}]) > abs({A}[{r}, {k}]):"
                ):  # fmt: skip
                    scope.emit(f"{r} = {i}")
                with scope.block(f"for {j} in range(n):", j):
                    scope.emit(f"{A}[{k}, {j}], {A}[{r}, {j}] = {A}[{r}, {j}], {A}[{k}, {j}]")
            pivot = self.pick((f"(1.5 + {A}[{k}, {k}] ** 2)", f"({A}[{k}, {k}] * abs({A}[{k}, {k}]) + 3.1)"))
            with scope.block(f"for {i} in range({k} + 1, n):", i):
                if self.chance(0.5):
                    scope.emit(f"{t} = {A}[{i}, {k}] / {pivot}")
                    scope.emit(f"{A}[{i}, {k}] = {t}")
                else:
                    t = f"{A}[{i}, {k}]"
                    scope.emit(f"{t} /= {pivot}")
                with scope.block(f"for {j} in range({k} + 1, n):", j):
                    scope.emit(f"{A}[{i}, {j}] -= {t} * {A}[{k}, {j}]")

    def paths(self) -> None:
        """All pairs of places, by way of others."""
        scope, A = self.scope, self.pick(self.scope.matrices)
        i, j, k = (scope.fresh(s) for s in "ijk")
        function = self.pick(("min", "max"))
        with scope.block(f"for {k} in range(n):", k), scope.block(f"for {i} in range(n):", i), scope.block(
            f"for {j} in range(n):", j
        ):  # fmt: skip
            by = self.pick((f"{A}[{i}, {k}] + {A}[{k}, {j}]", f"{A}[{i}, {k}] * {A}[{k}, {j}]"))
            scope.emit(f"{A}[{i}, {j}] = {function}({A}[{i}, {j}], {by})")
