"""Random programs about interfaces: functions, methods and closures, what they take and give, and what `wrt` names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from textwrap import indent

from loopdiff.fuzz.interfaces.bodies import Body, Inner, Names, gradients_in_scope
from loopdiff.fuzz.interfaces.program import InterfaceProgram
from loopdiff.fuzz.interfaces.specs import (
    COUNT,
    MANY,
    MATRIX,
    NUMBER,
    VECTOR,
    GivenText,
    Spec,
    draw_structure,
    used_classes,
)
from loopdiff.fuzz.settings import draw_setting
from loopdiff.immutable import immutable, replace

Fields = tuple[tuple[str, tuple[tuple[str, Spec], ...]], ...]
FLOATING = ("vector", "matrix", "number")
SIZES = ((2, 3), (2, 4), (3, 5), (1, 2))


@immutable
class Parameter:
    """One of a function. `how`: by position, with a default, by name alone, or of the kind `*rest` and `**options`."""

    name: str
    spec: Spec
    how: str = ""

    @property
    def text(self) -> str:
        return {"*": f"*{self.name}", "**": f"**{self.name}", "default": f"{self.name}=0.7"}.get(self.how, self.name)


@immutable
class Asked:
    """What a function is differentiated by: `wrt` as it is spelt, if it is, and the fields of gradients."""

    wrt: str
    fields: Fields
    is_clear: bool


@dataclass(slots=True)
class Function:
    """A function that is being written: its parameters, the names of its body, and decorated ones that it can call."""

    name: str
    parameters: list[Parameter]
    names: Names
    has_self: bool = False
    own: list[tuple[str, Spec]] = field(default_factory=list)  # attributes of `self`


def generate_interface(seed: int) -> InterfaceProgram:
    """The program of a seed."""
    rng = Random(f"interfaces {seed}")
    writer = Writer(rng)
    match rng.choices(("function", "method", "closure"), (4, 4, 2))[0]:
        case "function":
            text, entry = writer.functions()
        case "method":
            text, entry = writer.methods()
        case _:
            text, entry = writer.closures()
    setting = replace(draw_setting(seed, ""), target="cpu", processor="", callers=1)
    return InterfaceProgram(text, (), (), (rng.choice(SIZES),), seed, setting, entry)


class Writer:
    def __init__(self, rng: Random) -> None:
        self.rng, self.given = rng, GivenText(rng)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # -- whole programs --------------------------------------------------------------------------------------
    def functions(self) -> tuple[str, str]:
        """A function, and perhaps one before it whose gradients it takes; or it gets objects that have such methods."""
        structures = [draw_structure(self.rng, 2) for _ in range(self.rng.choice((1, 1, 2)))]
        parts, inners = list[str](), list[Inner]()
        for name in ("energy", "other")[: self.rng.choice((0, 1, 1, 1, 2))]:
            inner = Function(name, self.parameters(structures, is_plain=self.chance(0.8)), Names())
            parts.append(self.written(inner, is_inner=True, inners=inners))
        outer = Function("f", self.parameters(structures, is_plain=False), Names(inners=inners))
        if self.chance(0.3):
            text, spec, part = self.part("m")
            several = self.chance(0.4)
            outer.parameters.insert(0, Parameter("m", Spec("list", (("0", spec), ("1", spec))) if several else spec))
            inners.append(replace(part, called=self.rng.choice(("m[0].energy", "m[-1].energy"))) if several else part)
            parts.insert(0, text)
        parts.append(self.written(outer, is_inner=False, inners=[]))
        return self.module(parts, "None", outer), "f"

    def part(self, name: str) -> tuple[str, Spec, Inner]:
        """A class with a decorated method, what its objects are made of, and the method of one that is called so."""
        own = [("u", VECTOR), ("k", NUMBER), ("n", COUNT)]
        own = self.rng.sample(own, self.rng.choice((1, 2)))
        spec = Spec("object", tuple(own), "Part")
        names, inners = Names(), list[Inner]()
        for key, part in own:
            names.add(f"self.{key}", part)
        function = Function("energy", self.parameters([], is_plain=True), names, True, own)
        text = self.written(function, is_inner=True, inners=inners)
        keys = [key for key, _ in own]
        lines = [f"def __init__(self, {', '.join(keys)}):", *(f"    self.{key} = {key}" for key in keys), "", text]
        return "class Part:\n" + indent("\n".join(lines), "    "), spec, replace(inners[0], called=f"{name}.energy")

    def closures(self) -> tuple[str, str]:
        """Functions that read arrays and structures from around them, and others that take their gradients."""
        around = [("A", MATRIX), ("b", VECTOR), ("m", draw_structure(self.rng, 1))]
        around = self.rng.sample(around, self.rng.choice((1, 2, 3)))
        inners: list[Inner] = []
        inner = Function("energy", self.parameters([draw_structure(self.rng, 1)], is_plain=self.chance(0.8)), Names())
        for name, spec in around:
            inner.names.add(name, spec)
        is_global = self.chance(0.4)
        text = self.written(inner, is_inner=True, inners=inners)
        values = [self.given.text(spec) for _, spec in around]
        names = ", ".join(name for name, _ in around)
        if is_global:
            lines = [f"{name} = {value}" for (name, _), value in zip(around, values, strict=True)]
            parts = ["\n".join(lines), text]
        else:
            parts = [f"def make({names}):\n{indent(text, '    ')}\n    return energy\n"]
            parts.append(f"energy = make({', '.join(values)})\n")
        structures = [spec for _, spec, how in inners[0].params if not spec.is_leaf and "*" not in how]
        outer = Function("f", self.parameters(structures, is_plain=False), Names(inners=inners))
        if is_global:
            for name, spec in around:
                outer.names.add(name, spec)
        parts.append(self.written(outer, is_inner=False, inners=[]))
        return self.module(parts, "None", outer), "f"

    def methods(self) -> tuple[str, str]:
        """A class with decorated methods, which call each other and take gradients of each other."""
        own = [("w", VECTOR), ("k", NUMBER), ("A", MATRIX), ("n", COUNT), ("p", draw_structure(self.rng, 2))]
        own = sorted(self.rng.sample(own, self.rng.choice((2, 3, 4))))
        attributes, names = ", ".join(name for name, _ in own), Names()
        for name, spec in own:
            names.add(f"self.{name}", spec)
        lines = [f"def __init__(self, {attributes}):"]
        lines += [f"    self.{name} = {name}" for name, _ in own]
        lines += ["    self.log = []"] if self.chance(0.3) else []
        parts, head = ["\n".join(lines) + "\n"], list[str]()
        if self.chance(0.4):
            head.append("    rate = 0.7\n")
            names.numbers.append("self.rate")
        if self.chance(0.5):
            helper = Body(self.rng)
            inside = names.copied()
            inside.vectors.append("u")
            parts.append(f"def force(self, u):\n    return {helper.vector(inside)}\n")
            names.functions.append("self.force")
        if self.chance(0.3):
            inside = names.copied()
            inside.functions.clear()
            parts.append(f"@property\ndef half(self):\n    return 0.5 * {Body(self.rng).number(inside, 1)}\n")
            names.numbers.append("self.half")
        inners: list[Inner] = []
        before = list[str]()
        if self.chance(0.25):
            text, spec, part = self.part("self.part")
            before.append(text)
            inners.append(part)
            own = [*own, ("part", spec)]
            parts[0] = "\n".join([lines[0].replace("):", ", part):"), *lines[1:], "    self.part = part"]) + "\n"
        structures = [draw_structure(self.rng, 1)]
        for name in ("energy", "other")[: self.rng.choice((0, 1, 1, 1, 2))]:
            inner = Function(name, self.parameters(structures, is_plain=self.chance(0.8)), names.copied(), True, own)
            parts.append(self.written(inner, is_inner=True, inners=inners))
        outer = Function("f", self.parameters(structures, is_plain=False), names.copied(), True, own)
        outer.names.inners = inners
        parts.append(self.written(outer, is_inner=False, inners=[]))
        text = "class Model:\n" + "".join(head) + "\n".join(indent(part, "    ") for part in parts)
        owner = f"Model({', '.join(self.given.text(spec) for _, spec in own)})"
        return self.module([*before, text], owner, outer), "f"

    def module(self, parts: Sequence[str], owner: str, outer: Function) -> str:
        by_position, by_name = self.call(outer.parameters)
        given = (
            f"def given():\n    return {owner}, ({''.join(f'{a}, ' for a in by_position)}), {{{', '.join(by_name)}}}\n"
        )
        text = "\n".join([*parts, given])
        return "\n".join([*used_classes(text), text])

    def call(self, parameters: list[Parameter]) -> tuple[list[str], list[str]]:
        """The arguments, by position and by name."""
        by_position, by_name = list[str](), list[str]()
        has_rest = any(p.how == "*" for p in parameters)
        for p in parameters:
            match p.how:
                case "*" if p.spec == MANY:
                    by_position.append(f"*{self.given.text(p.spec)}")
                case "*":
                    by_position += [self.given.text(part) for _, part in p.spec.parts]
                case "**":
                    by_name += [f'"{key}": {self.given.text(part)}' for key, part in p.spec.parts]
                case "default":
                    by_name += [f'"{p.name}": {self.given.text(p.spec)}'] if self.chance(0.5) else []
                case "name":
                    by_name.append(f'"{p.name}": {self.given.text(p.spec)}')
                case _ if by_name or (not has_rest and self.chance(0.1)):
                    by_name.append(f'"{p.name}": {self.given.text(p.spec)}')
                case _:
                    by_position.append(self.given.text(p.spec))
        return by_position, by_name

    # -- functions -------------------------------------------------------------------------------------------
    def parameters(self, structures: Sequence[Spec], is_plain: bool) -> list[Parameter]:
        """At least one has derivatives; `is_plain`: all of them go by position."""
        found = [Parameter("x", VECTOR)]
        found += [Parameter(name, spec) for name, spec in zip("pq", structures, strict=False)]
        found += [Parameter("y", VECTOR)] if self.chance(0.3) else []
        found += [Parameter("c", NUMBER)] if self.chance(0.4) else []
        found += [Parameter("n", COUNT)] if self.chance(0.25) else []
        if len(found) > 1 and self.chance(0.3):
            found.pop(self.rng.randrange(len(found)))
        if not any(p.spec.is_floating for p in found):
            found.append(Parameter("z", VECTOR))
        self.rng.shuffle(found)
        if is_plain:
            return found
        if self.chance(0.25):
            part = self.rng.choice((VECTOR, VECTOR, NUMBER, draw_structure(self.rng, 1)))
            count = self.rng.choice((0, 1, 2, 2, 3))
            several = Spec("tuple", tuple((str(k), part) for k in range(count)))
            found.append(Parameter("rest", MANY if self.chance(0.3) else several, "*"))
        if self.chance(0.25):
            found.append(Parameter("scale", NUMBER, "default"))
        elif found[-1].how == "*" and self.chance(0.4):
            found.append(Parameter("by_name", self.rng.choice((VECTOR, NUMBER)), "name"))
        if self.chance(0.2):
            keys = self.rng.sample(("a", "b", "rate"), self.rng.choice((0, 1, 2, 3)))
            part = self.rng.choice((NUMBER, VECTOR))
            found.append(Parameter("options", Spec("dict", tuple((key, part) for key in keys)), "**"))
        return found

    def written(self, function: Function, is_inner: bool, inners: list[Inner]) -> str:
        """The text of a function; what programs can call of it joins `inners`."""
        names, body = function.names, Body(self.rng)
        for p in function.parameters:
            names.add(p.name, p.spec)
        asked = self.asked(function, is_inner)
        has_aux = self.chance(0.0 if is_inner else 0.3)
        body.emit(f"s = {self.rng.choice(('0.0', '0.5', f'1.0 * {body.number(names, 1)}'))}")
        body.statements(names, self.rng.choice((1, 1, 2) if is_inner else (1, 2, 3, 4)))
        if names.inners:
            body.gradient(names, self.rng.choice(names.inners))
            body.statements(names, self.rng.choice((0, 1, 2)))
            for term in gradients_in_scope(body, names)[-3:]:
                body.emit(f"s += 0.5 * {term}")
        loss = self.rng.choice(("s", "0.7 * s", f"s + {body.number(names, 1)}"))
        beside = self.beside(body, names) if has_aux else ""
        both = f"Pair({loss}, {beside})" if "," not in beside and self.chance(0.2) else f"{loss}, {beside}"
        body.emit(f"return {both if has_aux else loss}")
        settings = [*([f"wrt={asked.wrt}"] if asked.wrt else []), *(["has_aux=True"] if has_aux else [])]
        decorator = f"@vectorize_grad({', '.join(settings)})" if settings else "@vectorize_grad"
        parameters = ", ".join([*(["self"] if function.has_self else []), *(p.text for p in function.parameters)])
        called = f"self.{function.name}" if function.has_self else function.name
        given = tuple((p.name, p.spec, p.how) for p in function.parameters)
        inners.append(Inner(called, given, asked.fields, asked.is_clear, has_aux))
        return "\n".join([decorator, f"def {function.name}({parameters}):", *body.lines]) + "\n"

    def beside(self, body: Body, names: Names) -> str:
        """What goes with a loss."""
        forms = [body.number(names), body.vector(names), f"{body.vector(names)}, {body.number(names)}"]
        forms += [f'{{"a": {body.vector(names)}, "s": s}}', f"[{body.number(names)}, ({body.vector(names)}, s)]"]
        forms += [text for text, _ in names.structures if not text.startswith("self")]
        forms += [f"{n}, {body.vector(names, 0)}" for n in names.counts]
        forms += ["None", "()", '"done"']
        return self.rng.choice(forms)

    # -- what is differentiated ------------------------------------------------------------------------------
    def asked(self, function: Function, is_inner: bool) -> Asked:
        floating = [p for p in function.parameters if p.spec.is_floating]
        of_self = Spec("object", tuple(function.own), "Model")
        whole = {p.name: p.spec for p in floating}
        if function.has_self and of_self.is_floating and (self.chance(0.3) or not whole):
            whole["self"] = of_self
        elif self.chance(0.35) and (not is_inner or self.chance(0.1) or all(p.spec.has_only_floats for p in floating)):
            by_default = tuple((p.name, chosen(p.spec)) for p in floating)
            return Asked("", by_default, len(function.parameters) == 1 and not function.has_self)
        names = self.rng.sample(list(whole), self.rng.randint(1, len(whole)))
        if "self" in whole and "self" not in names:
            names.append("self")
        parts = [part for name in names for part in self.parts(name, whole[name], function, is_inner)]
        self.rng.shuffle(parts)
        fields: dict[str, list[tuple[str, Spec]]] = {}
        for _, root, leaves in parts:
            fields.setdefault(root, []).extend(leaves)
        spelt = [text for text, _, _ in parts]
        alone = len(spelt) == 1 and self.chance(0.6)
        wrt = spelt[0] if alone else f"({', '.join(spelt)},)" if self.chance(0.7) else f"[{', '.join(spelt)}]"
        return Asked(wrt, tuple((root, tuple(dict.fromkeys(leaves))) for root, leaves in fields.items()), True)

    def parts(
        self, name: str, spec: Spec, function: Function, is_inner: bool
    ) -> list[tuple[str, str, tuple[tuple[str, Spec], ...]]]:
        """What `wrt` says of one argument: its name or place, or one or two things in it; with the leaves of each."""
        inside = [(text, read, part) for text, read, part in self.paths(name, "", spec) if read and part.is_floating]
        if inside and (self.chance(0.45) or (is_inner and not spec.has_only_floats)):
            picked: list[tuple[str, str, Spec]] = []
            for one in self.rng.sample(inside, min(len(inside), self.rng.choice((1, 1, 2)))):
                if not any(one[1].startswith(r) or r.startswith(one[1]) for _, r, _ in picked):
                    picked.append(one)
            return [(f"'{text}'", name, chosen(part, read)) for text, read, part in picked]
        own = [p.name for p in function.parameters]
        if name in own and self.chance(0.3):
            place = own.index(name)
            return [(str(self.rng.choice((place, place - len(own)))), name, chosen(spec))]
        return [(f'"{name}"', name, chosen(spec))]

    def paths(self, text: str, read: str, spec: Spec) -> Iterator[tuple[str, str, Spec]]:
        """All that a structure holds, as `wrt` may spell it and as it is read."""
        yield text, read, spec
        for key, part in spec.parts:
            step = spec.read(key)
            is_negative = spec.kind in ("list", "tuple") and self.chance(0.4)
            spelt = f"[{int(key) - len(spec.parts)}]" if is_negative else step
            if spec.made == "Pair" and self.chance(0.3):
                spelt = f"[{[k for k, _ in spec.parts].index(key)}]"
            yield from self.paths(text + spelt, read + step, part)


def chosen(spec: Spec, text: str = "") -> tuple[tuple[str, Spec], ...]:
    """The floating leaves of a part, as they are read behind the name of the argument."""
    return tuple((read, leaf) for read, leaf in spec.leaves(text) if leaf.kind in FLOATING)
