"""Random bodies of functions of structures: statements over what is in scope, and gradients of other functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from loopdiff.fuzz.interfaces.specs import NUMBER, VECTOR, Spec
from loopdiff.immutable import immutable

Form = tuple[float, Callable[[], None]]  # how likely a statement is, and what writes it


@immutable
class Inner:
    """A decorated function that programs may ask for gradients: how it is called, what it takes, and how ("*" for any
    number of arguments), and the fields of its gradients, each with the leaves that have one. `is_clear`: gradients may
    be unpacked and go by place."""

    called: str
    params: tuple[tuple[str, Spec, str], ...]
    fields: tuple[tuple[str, tuple[tuple[str, Spec], ...]], ...]
    is_clear: bool
    has_aux: bool = False

    @property
    def is_default_asked(self) -> bool:
        """Whether there is a gradient by an argument with a default, which has to be given then."""
        return any(how == "default" and name in dict(self.fields) for name, _, how in self.params)


@dataclass(slots=True)
class Names:
    """Expressions in scope, by what they are."""

    vectors: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    counts: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    perhaps: list[str] = field(default_factory=list)  # vectors, or None
    many: list[str] = field(default_factory=list)  # lists of as many vectors as a call gives
    structures: list[tuple[str, Spec]] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)  # of a vector, which give one
    inners: list[Inner] = field(default_factory=list)

    def add(self, text: str, spec: Spec) -> None:
        for read, part in spec.nodes(text):
            match part.kind:
                case "vector":
                    self.vectors.append(read)
                case "matrix":
                    self.matrices.append(read)
                case "number" | "either":
                    self.numbers.append(read)
                case "count":
                    self.counts.append(read)
                case "text":
                    self.texts.append(read)
                case "none":
                    self.perhaps.append(read)
                case "many":
                    self.many.append(read)
                case _:
                    self.structures.append((read, part))

    def copied(self) -> Names:
        return Names(
            list(self.vectors), list(self.matrices), list(self.numbers), list(self.counts), list(self.texts),
            list(self.perhaps), list(self.many), list(self.structures), list(self.functions), list(self.inners),
        )  # fmt: skip

    def without(self, name: str) -> None:
        """Forget what a name that is bound anew held."""
        inside = (f"{name}[", f"{name}.")
        for held in (self.vectors, self.matrices, self.numbers, self.counts, self.texts, self.perhaps, self.many):
            held[:] = [text for text in held if text != name and not text.startswith(inside)]
        self.structures = [(t, s) for t, s in self.structures if t != name and not t.startswith(inside)]


class Body:
    """Writes the lines of one function; `s` is the number that it collects."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.made = rng, 0
        self.lines: list[str] = []
        self.margin = "    "

    def emit(self, text: str) -> None:
        self.lines.append(self.margin + text)

    def fresh(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # -- expressions -----------------------------------------------------------------------------------------
    def vector(self, names: Names, depth: int = 2) -> str:
        rng = self.rng
        leaf = rng.choice(names.vectors) if names.vectors else f"np.ones({rng.choice(('3', '4'))})"
        if depth == 0 or not names.vectors or self.chance(0.3):
            return leaf
        a, b = self.vector(names, depth - 1), rng.choice(names.vectors)
        forms = [
            f"np.tanh({a})", f"{self.number(names, 0)} * {b}", f"({a} + {b})", f"({a} * {b})", f"({a} - {b})",
            f"np.sin({a})", f"{b}[::-1]", f"np.exp(-({b} ** 2))", f"np.maximum({a}, 0.3137 * {b})",
            f"np.where({b} > 0.0371, {a}, {b})", f"({a}) / (1.3 + {b} ** 2)",
        ]  # fmt: skip
        forms += [f"{rng.choice(names.matrices)} @ {b}"] * 2 if names.matrices else []
        forms += [f"{rng.choice(names.functions)}({b})"] * 3 if names.functions else []
        return rng.choice(forms)

    def number(self, names: Names, depth: int = 2) -> str:
        rng = self.rng
        leaf = rng.choice(names.numbers) if names.numbers and self.chance(0.8) else rng.choice(("0.5", "-0.7", "1.3"))
        if names.counts and self.chance(0.1):
            leaf = rng.choice(names.counts)
        if depth == 0:
            return leaf
        forms = [leaf, f"np.sin({self.number(names, depth - 1)})", f"{leaf} * {self.number(names, depth - 1)}"]
        forms += [f"({leaf} + {self.number(names, depth - 1)})"]
        if names.vectors:
            a, b = self.vector(names, depth - 1), rng.choice(names.vectors)
            forms += [f"({a} * {b}).sum()", f"{b} @ {b}", f"{b}[{rng.choice(('0', '-1'))}]", f"({a}).mean()"]
            forms += [f"np.tanh({a}).sum()", f"np.dot({b}, {rng.choice(names.vectors)})", f"{b}.max()"]
        return rng.choice(forms)

    def condition(self, names: Names) -> str:
        if names.texts and self.chance(0.5):
            return f'{self.rng.choice(names.texts)} == "sum"'
        if names.counts and self.chance(0.5):
            return f"{self.rng.choice(names.counts)} {self.rng.choice(('> 1', '== 2', '< 3'))}"
        return f"{self.number(names, 1)} > {self.rng.choice(('0.0713', '0.517', '-0.391'))}"

    def value(self, names: Names, spec: Spec) -> str:
        """An expression for an argument."""
        match spec.kind:
            case "vector":
                return self.vector(names, 1)
            case "number":
                text = self.number(names, 1)
                return f"1.0 * {text}" if text in names.counts else text
            case "matrix":
                known = self.rng.choice(names.matrices) if names.matrices else None
                return known or f"np.outer({self.vector(names, 0)}, {self.vector(names, 0)})"
            case "count":
                return self.rng.choice((*names.counts, "2"))
            case "either":
                return self.rng.choice((*names.numbers, "2", "0.3"))
            case "many":
                return self.rng.choice((*names.many, f"[{self.vector(names, 0)}]"))
            case "text":
                return self.rng.choice((*names.texts, '"sum"'))
            case "none":
                return self.rng.choice((*names.perhaps, "None"))
        known = [text for text, other in names.structures if other == spec]
        if known and self.chance(0.75):
            return self.rng.choice(known)
        return spec.written([self.value(names, part) for _, part in spec.parts])

    # -- statements ------------------------------------------------------------------------------------------
    def statements(self, names: Names, count: int, depth: int = 2) -> None:
        for _ in range(count):
            self.statement(names, depth)

    def statement(self, names: Names, depth: int) -> None:
        forms = [
            *self.simple(names),
            *self.about_structures(names, depth),
            *(self.nested(names, depth) if depth else ()),
        ]
        weights, writers = zip(*forms, strict=True)
        self.rng.choices(writers, weights)[0]()

    def simple(self, names: Names) -> Iterator[Form]:
        yield 4.0, lambda: self.emit(f"s {self.rng.choice(('+=', '-='))} {self.number(names)}")
        yield 2.0, lambda: self.bind(names, "h", self.vector(names), VECTOR)
        yield 1.0, lambda: self.bind(names, "t", f"1.0 * {self.number(names)}", NUMBER)
        if names.vectors:
            yield 0.7, lambda: self.element(names)
        if names.perhaps:
            yield 2.0, lambda: self.where_there(names)

    def about_structures(self, names: Names, depth: int) -> Iterator[Form]:
        if self.dictionaries(names):
            yield 2.0, lambda: self.items(names)
        if uniform := [(t, s) for t, s in names.structures if s.is_uniform]:
            yield 3.0, lambda: self.parts(names, *self.rng.choice(uniform), depth)
        if names.many:
            yield 3.0, lambda: self.each_of_many(names)
        if pairs := self.pairs(names):
            yield 2.0, lambda: self.combined(names, *self.rng.choice(pairs))
        if names.structures:
            yield 1.0, lambda: self.rebuilt(names)
        if names.inners:
            yield 6.0, lambda: self.gradient(names, self.rng.choice(names.inners))

    def nested(self, names: Names, depth: int) -> Iterator[Form]:
        yield 1.2, lambda: self.branch(names, depth)
        yield 0.8, lambda: self.steps(names, depth)
        if names.vectors:
            yield 1.2, lambda: self.loop(names)
        if names.inners and names.vectors:
            yield 2.0, lambda: self.descent(names)

    def element(self, names: Names) -> None:
        name = self.fresh("y")
        self.emit(f"{name} = {self.rng.choice(names.vectors)}.copy()")
        self.emit(f"{name}[{self.rng.choice(('0', '-1', '1:', '::2'))}] *= {self.number(names, 1)}")
        names.add(name, VECTOR)

    def each_of_many(self, names: Names) -> None:
        many, one = self.rng.choice(names.many), self.fresh("one")
        forms = (
            f"s += sum(({one} * {one}).sum() for {one} in {many})",
            f"for {one} in {many}:\n{self.margin}    s += ({one} * {self.vector(names, 0)}).sum()",
            f"s += len({many}) * {many}[-1].sum() + {many}[0][0]",
            f"for i in range(len({many})):\n{self.margin}    s += (i + 0.5) * np.sin({many}[i]).sum()",
        )
        self.emit(self.rng.choice(forms))

    def where_there(self, names: Names) -> None:
        """What is done with a vector that may be None."""
        one = self.rng.choice(names.perhaps)
        self.emit(f"if {one} is not None:")
        self.emit(f"    s += ({one} * {self.vector(names, 0)}).sum()")

    def bind(self, names: Names, letter: str, text: str, spec: Spec) -> None:
        name = self.fresh(letter)
        self.emit(f"{name} = {text}")
        names.add(name, spec)

    def dictionaries(self, names: Names) -> list[str]:
        of = (t for t, s in names.structures if s.kind == "dict" and all(part == VECTOR for _, part in s.parts))
        return list(of)

    def items(self, names: Names) -> None:
        name = self.rng.choice(self.dictionaries(names))
        forms = (
            f"s += sum((v * v).sum() for v in {name}.values())",
            f"for key, v in {name}.items():\n{self.margin}    s += {self.number(names, 0)} * v.sum()",
            f"for key in {name}:\n{self.margin}    s -= np.sin({name}[key]).sum()",
        )
        self.emit(self.rng.choice(forms))

    def parts(self, names: Names, name: str, spec: Spec, depth: int) -> None:
        """A loop over a list of equal things."""
        one, (_, part) = self.fresh("one"), spec.parts[0]
        header = self.rng.choice((f"for {one} in {name}:", f"for k, {one} in enumerate({name}):"))
        self.emit(header)
        inner = names.copied()
        inner.add(one, part)
        self.indented(inner, self.rng.choice((1, 1, 2)), min(depth - 1, 1))

    def indented(self, names: Names, count: int, depth: int) -> None:
        margin, self.margin = self.margin, self.margin + "    "
        self.statements(names, count, depth)
        self.emit(f"s += {self.number(names, 1)}")
        self.margin = margin

    def rebuilt(self, names: Names) -> None:
        """A structure made anew of what one holds."""
        name, spec = self.rng.choice(names.structures)
        changed = [(key, part) for key, part in spec.parts if part in (VECTOR, NUMBER)]
        if not changed:
            self.emit(f"s += {self.number(names)}")
            return
        key, part = self.rng.choice(changed)
        new = f"1.0 * {self.number(names, 1)}" if part == NUMBER else self.vector(names, 1)
        others = [new if k == key else name + spec.read(k) for k, _ in spec.parts]
        text = f'{{**{name}, "{key}": {new}}}' if spec.kind == "dict" and self.chance(0.6) else spec.written(others)
        text = f"{name}._replace({key}={new})" if spec.made == "Pair" and self.chance(0.5) else text
        if name.isidentifier() and name != "self" and self.chance(0.4) and self.margin == "    ":
            names.without(name)
            self.emit(f"{name} = {text}")
            names.add(name, spec)
        else:
            self.bind(names, "q", text, spec)

    def pairs(self, names: Names) -> list[tuple[str, str, Spec]]:
        """Two structures of the same kind, as one and its gradient are, whose parts are numbers and vectors."""
        known = [(text, spec) for text, spec in names.structures if spec.has_only_floats and spec.parts]
        flat = [(text, spec) for text, spec in known if all(part in (VECTOR, NUMBER) for _, part in spec.parts)]
        return [(a, b, spec) for a, spec in flat for b, other in flat if a != b and spec == other]

    def combined(self, names: Names, one: str, other: str, spec: Spec) -> None:
        """A step from one structure along another."""
        match spec.kind:
            case "dict":
                text = f"{{key: {one}[key] - 0.1 * {other}[key] for key in {one}}}"
            case "list":
                text = f"[a - 0.1 * b for a, b in zip({one}, {other})]"
            case "tuple":
                text = f"tuple(a - 0.1 * b for a, b in zip({one}, {other}))"
            case _:
                parts = [f"{one}.{key} - 0.1 * {other}.{key}" for key, _ in spec.parts]
                text = spec.written(parts)
        self.bind(names, "q", text, spec)

    def descent(self, names: Names) -> None:
        """Steps down a gradient, until the function is small."""
        inner = self.rng.choice(names.inners)
        by = [name for name, leaves in inner.fields if dict(leaves).get("") == VECTOR and name != "self"]
        places = [name for name, _, how in inner.params if how == ""]
        if not by or inner.has_aux or any(how for _, _, how in inner.params):
            self.gradient(names, inner)
            return
        self.bind(names, "x", f"1.0 * {self.rng.choice(names.vectors)}", VECTOR)
        moved, target = names.vectors[-1], self.rng.choice(by)
        texts = [self.value(names, spec) for _, spec, _ in inner.params]
        texts[places.index(target)] = moved
        call = f"({', '.join(texts)})"
        if self.chance(0.5):
            self.emit("for _ in range(2):")
        else:
            self.emit("k = 0")
            self.emit(f"while {inner.called}{call} > -1.317 and k < 3:")
            self.emit("    k += 1")
        self.emit(f"    {moved} = {moved} - 0.1 * {inner.called}.grad{call}.{target}")

    def branch(self, names: Names, depth: int) -> None:
        self.emit(f"if {self.condition(names)}:")
        self.indented(names.copied(), 1, depth - 1)
        if self.chance(0.5):
            self.emit("else:")
            self.indented(names.copied(), 1, depth - 1)

    def loop(self, names: Names) -> None:
        name = self.rng.choice(names.vectors)
        self.emit(f"for i in range(len({name})):")
        other = self.rng.choice(names.vectors)
        term = self.rng.choice((f"np.sin({name}[i]) * {other}[i]", f"{name}[i] ** 2", f"abs({other}[i])"))
        self.emit(f"    s += {self.number(names, 0)} * {term}")

    def steps(self, names: Names, depth: int) -> None:
        """A few steps in which a vector changes, perhaps down a gradient."""
        if not names.vectors:
            self.emit(f"s += {self.number(names)}")
            return
        self.bind(names, "x", f"1.0 * {self.rng.choice(names.vectors)}", VECTOR)
        name = names.vectors[-1]
        count = self.rng.choice((*names.counts, "2", "3"))
        self.emit(f"for _ in range({count}):")
        inner = names.copied()
        self.indented(inner, self.rng.choice((0, 1)), min(depth - 1, 1))
        self.emit(f"    {name} = {name} - 0.1 * {self.vector(names, 1)}")

    # -- gradients -------------------------------------------------------------------------------------------
    def gradient(self, names: Names, inner: Inner) -> None:
        """The gradient of another function, or its value beside it, under a name; what it holds is in scope then."""
        call, record = f"({', '.join(self.arguments(names, inner))})", self.fresh("g")
        form = self.rng.choices(("grad", "both", "unpacked", "call"), (4, 3, 2 if inner.is_clear else 0, 1))[0]
        match form:
            case "call" if not inner.has_aux:
                self.emit(f"s += {inner.called}{call}")
                return
            case "unpacked":
                self.unpacked(names, inner, call)
                return
            case "both":
                value = self.fresh("v")
                target = f"({value}, aux{value})" if inner.has_aux else value
                self.emit(f"{target}, {record} = {inner.called}.value_and_grad{call}")
                names.numbers.append(value)
            case _:
                target = f"{record}, aux{record}" if inner.has_aux else record
                self.emit(f"{target} = {inner.called}.grad{call}")
        by_place = inner.is_clear and self.chance(0.3)
        for place, (name, leaves) in enumerate(inner.fields):
            self.known(names, f"{record}[{place}]" if by_place else f"{record}.{name}", inner, name, leaves)
        self.emit(f"s += {self.number(names, 1)}")

    def arguments(self, names: Names, inner: Inner) -> list[str]:
        """What an inner function is called with, some of it by name."""
        given = [
            (name, how, self.value(names, spec)) for name, spec, how in inner.params if how in ("", "default", "name")
        ]
        by_position = [text for _, how, text in given if how == ""]
        by_name = [
            f"{name}={text}" for name, how, text in given if how == "name" or (how == "default" and self.chance(0.5))
        ]
        if any(how == "default" for _, _, how in inner.params) and not by_name and inner.is_default_asked:
            by_name = [f"{name}={text}" for name, how, text in given if how == "default"]
        rest = [self.value(names, part) for _, spec, how in inner.params if how == "*" for _, part in spec.parts]
        rest += [f"*{self.value(names, spec)}" for _, spec, how in inner.params if how == "*" and spec.kind == "many"]
        if not rest and self.chance(0.3):
            split = self.rng.randint(0, len(by_position))
            by_name += [f"{name}={text}" for name, how, text in given if how == ""][split:]
            by_position = by_position[:split]
        for _, spec, how in inner.params:
            by_name += [f"{key}={self.value(names, part)}" for key, part in spec.parts if how == "**"]
        return [*by_position, *rest, *self.rng.sample(by_name, len(by_name))]

    def unpacked(self, names: Names, inner: Inner, call: str) -> None:
        targets = [self.fresh("d") for _ in inner.fields]
        text = f"{', '.join(targets)}{',' if len(targets) == 1 else ''}"
        if inner.has_aux:
            text = f"({text}), aux{targets[0]}"
        self.emit(f"{text} = {inner.called}.grad{call}")
        for target, (name, leaves) in zip(targets, inner.fields, strict=True):
            self.known(names, target, inner, name, leaves)

    def known(self, names: Names, text: str, inner: Inner, name: str, leaves: tuple[tuple[str, Spec], ...]) -> None:
        """The gradient by an argument, called `text`: all of it, or the leaves that it has."""
        spec = next((s for n, s, _ in inner.params if n == name), None)
        if spec is not None and spec.has_only_floats and len(leaves) == sum(1 for _ in spec.leaves()):
            names.add(text, spec)
            return
        for read, leaf in leaves:
            names.add(text + read, leaf)


def gradients_in_scope(body: Body, names: Names) -> list[str]:
    """A term of each thing that gradients gave, so that none is for nothing."""
    found = [f"({v} * {body.rng.choice(names.vectors)}).sum()" for v in names.vectors if v[0] in "gd"]
    found += [f"({m} * {m}).sum()" for m in names.matrices if m[0] in "gd"]
    return found + [n for n in names.numbers if n[0] in "gd"]
