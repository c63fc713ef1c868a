"""Programs with objects of plain classes, as people write them, and arguments for each."""

# Loops and branches are written the way users write them.
# ruff: noqa: B905, SIM, PLR

from __future__ import annotations

import dataclasses

import numpy as np

from tests.frontend import structured
from tests.frontend.structured import draw

OBJECTS: dict[str, structured.Program] = {}
given = structured.registering(OBJECTS)


class Sphere:
    """What is given: its class does not matter but for its methods."""

    UNIT = 2.0

    def __init__(self, center, radius):
        self.center = center
        self.radius = radius

    def distance(self, p):
        d = p - self.center
        return np.sqrt(d @ d) - self.radius * self.UNIT

    @property
    def area(self):
        return 4.0 * np.pi * self.radius**2

    @staticmethod
    def unit(center):
        return Sphere(center, 1.0)


@given([Sphere(draw(3), 0.5), Sphere(draw(3), 0.7)], draw(3))
def objects_as_arguments(spheres, p):
    best = np.inf
    for s in spheres:
        best = min(best, s.distance(p) * s.area)
    return best + spheres[0].radius


@given(Sphere(draw(3), 0.5), draw(3))
def objects_as_results(sphere, p):
    moved = Sphere(sphere.center + p, 2.0 * sphere.radius)
    return moved, Sphere.unit(p).distance(sphere.center)


class Counter:
    """Numbers that methods change."""

    def __init__(self, start, step=0.5):
        self.total: float = start
        self.step, self.count = step, 0
        if start > 100.0:
            self.step = 2.0 * step

    def add(self, v):
        self.total += v * self.step
        self.count += 1
        return self.total

    def mean(self):
        return self.total / self.count if self.count > 0 else 0.0


@given(draw(4), 0.3)
def changed_by_methods(x, s):
    c = Counter(s)
    e = 0.0
    for v in x:
        c.add(v)
        e += c.mean()
    last = c.add(1.0) * 2.0
    e += c.add(s)
    if last > -50.0:
        c.add(last)
    return e + c.total * c.count


class Generator:
    """A linear congruential generator, and a sum that each number goes into."""

    def __init__(self, seed, x):
        self.seed, self.total = seed, x
        self.cells = np.zeros(2)

    def next(self):
        self.seed = (1103515245 * self.seed + 12345) % 2147483648
        return (self.seed + 0.5) / 2147483648.0

    def add(self, v):
        self.total = 0.5 * self.total + v
        self.cells[self.seed % 2] += v
        return self.total

    def both(self):
        self.seed += 1
        return self.total, self.next()


@given(0.7, 3)
def calls_that_change_objects_in_a_line(x, n):
    g, h = Generator(7, x), Generator(11, x * x)
    t = g.next() - x * g.next() * h.next()
    u, v = g.add(t), g.total * g.add(h.add(x)) + g.total
    g.total += g.add(u)
    g.cells[int(2.0 * g.next())] += x * g.next()
    w = [h.next() * x for _ in range(n) if h.next() > 0.2]
    t += sum(g.add(q) for q in w) + max(h.add(x), -h.add(v=h.total))
    t -= g.both()[1] * h.both()[0] + {"a": g.add(x), "b": g.total}["b"]
    return t + u * v, g.total, h.total, g.cells


@given(0.7, 3)
def calls_that_change_objects_where_they_may_not_run(x, n):
    g, count, t = Generator(7, x), 0, 0.0
    while g.next() > 0.1 and count < 2 * n:
        count += 1
        if x > 2.0 or g.next() > 0.5:
            t += x * g.next() if g.next() < 0.6 else g.both()[0]
        elif x > g.next() and g.next() > 0.2:
            t -= x * x
    return t, count, g.total


class Rope:
    """Arrays that methods replace, and change in place."""

    def __init__(self, n, length, gravity):
        self.pos = np.stack([np.linspace(0, length, n), np.zeros(n)], axis=1)
        self.prev = self.pos.copy()
        self.rest = length / (n - 1)
        self.gravity = gravity

    def step(self, dt):
        new = 2 * self.pos - self.prev
        new[:, 1] -= self.gravity * dt**2
        self.prev = self.pos
        self.pos = new
        for _ in range(2):
            self.constrain()

    def constrain(self):
        self.pos[0] = 0.0
        for i in range(len(self.pos) - 1):
            delta = self.pos[i + 1] - self.pos[i]
            corr = 0.5 * delta * (1.0 - self.rest / np.sqrt(delta @ delta))
            self.pos[i] += corr
            self.pos[i + 1] -= corr

    def energy(self):
        return np.sum((self.pos - self.prev) ** 2)


@given(1.3, 9.81, 0.03)
def arrays_in_objects(length, gravity, dt):
    rope = Rope(4, length, gravity)
    e = 0.0
    for _ in range(3):
        rope.step(dt)
        e += rope.energy()
    return e + np.sum(rope.pos[-1] ** 2)


class Body:
    def __init__(self, x, v, m=1.0):
        self.x, self.v, self.m = x, v, m

    def kick(self, a, h):
        self.v = self.v + a * h

    def drift(self, h):
        self.x = self.x + self.v * h


class System:
    """Objects in a list in an object."""

    def __init__(self, xs, vs):
        self.bodies = [Body(xs[k], vs[k], 1.0 + k) for k in range(3)]
        self.t = 0.0

    def step(self, h):
        for i, a in enumerate(self.bodies):
            for b in self.bodies[i + 1 :]:
                d = b.x - a.x
                f = d / (d * d + 0.5)
                a.kick(f * b.m, h)
                b.kick(-f * a.m, h)
        for b in self.bodies:
            b.drift(h)
        self.t += h

    def energy(self):
        return sum(0.5 * b.m * b.v * b.v for b in self.bodies)


@given(draw(3), draw(3), 0.1)
def objects_in_objects(x, v, h):
    system = System(x, v)
    e = 0.0
    for _ in range(4):
        system.step(h)
        e += system.energy() * system.t
    return e


def moved(body, h):
    body.x += h * body.v
    return body.x


def all_moved(bodies, h):
    for b in bodies:
        moved(b, h)


@given(draw(3), 0.1)
def changed_by_functions(x, h):
    bodies = [Body(x[0], x[1]), Body(x[1], x[2])]
    e = moved(bodies[0], h)
    all_moved(bodies, h)
    for k, (b, w) in enumerate(zip(bodies, (0.5, 2.0))):
        b.m = w * x[k]
    return e + bodies[0].x * bodies[1].x * bodies[0].m + bodies[1].m


@dataclasses.dataclass
class Point:
    x: float
    seen: list

    def visit(self, v):
        self.seen.append(v)
        self.x = self.x + v


@given(draw(3))
def records_that_methods_change(x):
    p = Point(x[0], [])
    p.visit(x[1])
    p.visit(x[2])
    d = {"a": x[0]}
    scale_values(d, 3.0)
    return p.x * len(p.seen) + sum(p.seen) + d["a"]


def scale_values(d, c):
    d["a"] = d["a"] * c


class Shape:
    def __init__(self, name, size):
        self.name = name
        self.size = size

    def area(self):
        if self.name == "circle":
            return np.pi * self.size**2
        return self.size**2


@given(draw(3), [Shape("circle", 0.5), Shape("square", 1.5)])
def kinds_of_objects(x, shapes):
    total = 0.0
    for u, s in zip(x, shapes):
        total += u * s.area()
    for u, name in zip(x, ["z", "y"]):
        total += u * u if name == "z" else 3.0 * u
    return total


class Heavy(Body):
    """A class of another one."""

    def __init__(self, x, v, extra):
        super().__init__(x, v, 2.0 + extra)
        self.extra = extra

    def momentum(self):
        return self.m * self.v * self.extra


class Empty:
    """An object without attributes, at first."""


@given(draw(2), 0.4)
def classes_of_others(x, s):
    h = Heavy(x[0], x[1], s)
    h.kick(s, 2.0)
    e = Empty()
    e.value = h.momentum()
    return h.momentum() * e.value


class Pair:
    """A vector, whose operators change it or make another one."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __iadd__(self, other):
        self.a += other.a
        self.b += other.b
        return self

    def __mul__(self, c):
        return Pair(c * self.a, c * self.b)

    def turned(self):
        self.a, self.b = -self.b, self.a
        return self

    def norm(self):
        return self.a * self.a + self.b * self.b

    @property
    def mean(self):
        return 0.5 * (self.a + self.b)

    @mean.setter
    def mean(self, value):
        self.a = self.b = value


class Moving:
    """Two of them."""

    def __init__(self, p, v):
        self.p, self.v = p, v


@given(draw(4), 0.3)
def operators_in_place(x, h):
    pairs = [Moving(Pair(x[i], x[i + 1]), Pair(x[3], h)) for i in range(2)]
    for _ in range(3):
        for i in range(2):
            for j in range(2):
                if i != j:
                    pairs[i].v += pairs[j].p * h
        for m in pairs:
            m.p += m.v * h
    p = pairs[0].p * 2.0
    p.turned()
    p.mean += x[1]
    p.mean *= p.norm()
    return sum(m.p.norm() for m in pairs) + p.a


@given(draw(4), 0.3)
def operators_between_items(x, h):
    rows = [Pair(x[i], x[i + 1]) for i in range(3)]
    for r in rows:
        r += Pair(h, x[0])
    rows[0] += rows[1]
    first, second = rows[2] * 2.0, Pair(h, h)
    n = 0
    while n < 3:
        first += second
        n += 1
        if first.norm() > h:
            second += first
    return sum(r.norm() for r in rows) * first.a + second.b


@given(draw(4), 0.3)
def one_of_two_objects(x, h):
    best = Pair(h, x[0])
    for u in x:
        one = Pair(u, u * h)
        best = one if one.norm() > best.norm() else best
    first, second = Pair(x[0], h), Pair(x[1], h)
    chosen = first if h > x[2] else second
    return best.a * best.b + chosen.a


@given(draw(5), 0.3)
def objects_of_elements(x, h):
    pairs = [Pair(u, k * v) for k, (u, v) in enumerate(zip(x[:3], x[:3]))] + [Pair(u, h) for u in x[:2]]
    for p in pairs:
        p.a *= h
    rows = [(float(k), u * h) for k, u in enumerate(x)]
    places, values = zip(*rows)
    return sum(p.norm() for p in pairs) + sum(k * u for k, u in zip(places, values)) + max(*values) * values[1]


class Layer:
    """Callable; counts the calls."""

    def __init__(self, p, width=2):
        self.w, self.width, self.calls = p["w"], width, 0

    def __call__(self, x):
        self.calls += 1
        wide = np.pad(x @ self.w, ((self.width - 1, 0), (0, 0)))
        return np.tanh(wide[: len(x)] + wide[-len(x) :]) * self.calls


@given([{"w": draw(3, 3)}, {"w": draw(3, 3)}], draw(2, 3))
def objects_called_where_they_are_made(layers, x):
    for p in layers:
        x = Layer(p)(x)
    for k in range(2):
        if x[0, k] > 0.0:
            x = x + Layer(layers[0], 1)(Layer(layers[1])(x)) * x[1, k]
    return x.sum()


class Stage:
    """Deliveries on their way to a stock."""

    def __init__(self, start, lead):
        self.level, self.weights = start, [start, 1.0]
        self.pipeline = [start * (k + 1) for k in range(lead)]
        self.log = {"late": [start, 2.0], "cost": 0.0}

    def step(self, d):
        self.level += self.pipeline.pop(0)
        self.level -= d
        return self.level

    def closed(self):
        self.log["cost"] -= self.log["late"].pop(0)
        self.weights[1] *= self.log["late"].pop()
        return self.log["cost"] * self.weights[1] + len(self.log["late"]) + sum(self.pipeline)


@given(draw(5), 1.3)
def taken_into_fields(demand, s):
    shop, total = Stage(s, 2), 0.0
    for d in demand:
        level = shop.step(d)
        total += level**2
        shop.pipeline.append(np.tanh(s - level))
    return total, shop.closed()
