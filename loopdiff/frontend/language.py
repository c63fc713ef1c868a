"""The accepted language as data.

`ACCEPTED` is the table the documentation shows, one row for each construct; its examples are bodies of
`def f(A, x, y, idx, n, s)`: a float matrix, two float vectors, integer indices, an integer and a float.
"""

from __future__ import annotations

from loopdiff.frontend.array_language import ARRAYS, Construct
from loopdiff.frontend.list_language import LISTS

ACCEPTED: tuple[Construct, ...] = (
    Construct(
        "for over range",
        "for i in range(1, n):\n    x[i] = 2.0 * y[i - 1]",
        "0.1",
        "Bounds are evaluated once, when the loop is entered. `numba.prange` means `range`. Names and parameters stand "
        "for ranges, `r = range(n)`, `f(x, r)`, `len(r)`; functions give them back, and objects keep them.",
    ),
    Construct("negative step", "for i in range(len(x) - 1, -1, -1):\n    x[i] += y[i]", "0.1"),
    Construct("run-time step", "for i in range(0, len(x), n):\n    x[i] = 1.0", "0.1", "Not zero (LD330)."),
    Construct("triangular bounds", "for i in range(n):\n    for j in range(i + 1):\n        A[i, j] *= 0.5", "0.1"),
    Construct(
        "indirect bounds",
        "for i in range(n):\n    for p in range(idx[i], idx[i + 1]):\n        y[i] += x[p]",
        "0.1",
    ),
    Construct(
        "imperfect and sibling nests",
        "for i in range(n):\n    y[i] = 0.0\n    for j in range(n):\n        y[i] += A[i, j]\n"
        "    for j in range(n):\n        A[i, j] /= 1.0 + y[i] ** 2",
        "0.1",
    ),
    Construct(
        "for over an array",
        "t = 0.0\nfor v in x:\n    t += v * v\ny[0] = t",
        "0.1",
        "The array has one axis.",
    ),
    Construct(
        "for over a slice",
        "t = 0.0\nfor v in x[1:-1]:\n    t = 0.5 * t + v\ny[0] = t",
        "0.1",
        "The step of the slice is a constant; a row `A[i]` or column `A[:, j]` is a slice too.",
    ),
    Construct("enumerate", "for i, v in enumerate(x):\n    y[i] = v + i", "0.1"),
    Construct("zip", "t = 0.0\nfor a, b in zip(x, y):\n    t += a * b\ny[0] = t", "0.1"),
    Construct(
        "loops over several ranges",
        "for i, j in np.ndindex(3, 4):\n    A[i, j] *= x[j]\nfor (i, j), v in np.ndenumerate(A):\n"
        "    if i > n:\n        continue\n    y[j] += v * s",
        "0.1",
        "Also `np.ndindex(A.shape)`, and `itertools.product` and `combinations` of ranges; one name stands for all, "
        "`for ij in np.ndindex(A.shape)`, where it is known how many there are. They are one loop inside another: "
        "without `break`, and nothing else, no loop around them either, changes their variables, or reads them later.",
    ),
    Construct(
        "of which class an argument is",
        "def total(v):\n    if isinstance(v, np.ndarray):\n        return v.sum()\n"
        "    return v if np.isscalar(v) else v[0] + v[1]\n"
        "k = (n, n) if isinstance(n, int | np.integer) else n\ny[0] = total(x) + total((s, x[1])) * total(s) + k[1]",
        "0.1",
        "`isinstance`, `callable` and `np.isscalar` of arguments, arrays, structures and functions: the branch for "
        "others is left out. Of numbers that were computed, and of lists of any length, it is not known.",
    ),
    Construct("values that nobody uses", "x.shape, n\nx[n]\ny[0] = s", "0.1", "They have Python's errors."),
    Construct("reversed", "for i in reversed(range(n)):\n    x[i] += x[i + 1]", "0.1"),
    Construct(
        "loop variable after the loop",
        "for i in range(n):\n    x[i] = 1.0\ny[i] = 2.0",
        "0.1",
        "If the loop, also a `while`, did not run, reading a variable it should have set raises ArgumentError (LD331).",
    ),
    Construct(
        "if, elif, else",
        "for i in range(n):\n    if x[i] > 1.0:\n        t = 1.0\n    elif x[i] < 0.0:\n"
        "        t = 0.0\n    else:\n        t = x[i]\n    y[i] = t",
        "0.1",
        "A variable read after it that has no value there is an error (LD331), as in Python.",
    ),
    Construct(
        "names that some ways bind",
        "for i in range(n + 2):\n    if i > 0 and x[i] > 1.0:\n        break\n    last, part = x[i] * s, x[:3] * s\n"
        "y[0] = last + part.sum()",
        "0.1",
        "Numbers and arrays that a name stands for after a `break`, a `continue` or a branch. A variable beside it "
        "says whether it has a value; where it has none, reading it raises ArgumentError (LD331, LD332). Not of names "
        "that functions inside mention.",
    ),
    Construct(
        "names that the first iteration binds",
        "for i in range(n):\n    if i == 0:\n        first = x * s\n    else:\n"
        "        y[i] = first[i] * (x[i] - last)\n    last = x[i]",
        "0.1",
        "Of loops over `range` and `enumerate` without `break`, by a question about their number: `i == 0`, `i > 0`, "
        "also in `a if i == 0 else b`, and in functions that are called. That iteration is compiled apart.",
    ),
    Construct(
        "while",
        "while s > 1.0:\n    s *= 0.5\n    x[0] += s",
        "0.1",
        "What the reverse sweep needs is kept for the iterations that run, however many they are.",
    ),
    Construct(
        "break and continue",
        "for i in range(n):\n    if x[i] < 0.0:\n        continue\n    if x[i] > 9.0:\n        break\n    y[i] = x[i]",
        "0.1",
    ),
    Construct(
        "else of a loop",
        "for i in range(n):\n    if x[i] > 1.0:\n        break\nelse:\n    y[0] = s",
        "0.1",
        "It runs unless the loop was left by `break`.",
    ),
    Construct(
        "conditional expression",
        "for i in range(n):\n    y[i] = x[i] if x[i] > 0.0 else 0.0\nz = s * x[:n] if s > 0.0 else y[n:]\n"
        "y[:n] += x[:n] if n > 2 else np.ones(1)\ny[0] = z.sum() * np.mean(x if n > 9 else A)",
        "0.1",
        "Also of arrays that differ in shape, as what is stored, gets a name, or is an operand.",
    ),
    Construct(
        "comparisons, chained and boolean",
        "for i in range(n):\n    if 0.0 < x[i] <= 1.0 and i not in (2, 5):\n        y[i] = 1.0",
        "0.1",
        "`in` of a name, for numbers that are written out.",
    ),
    Construct(
        "assert",
        'assert n > 0, "n must be positive"\nx[0] = n',
        "0.1",
        "Checked at every call; raises ArgumentError (LD332).",
    ),
    Construct(
        "raise",
        'if n < 0:\n    raise ValueError(f"n is {n}")\nx[0] = n',
        "0.1",
        "As `assert` of what leads there: ArgumentError, whose message has the name of the exception and its text.",
    ),
    Construct(
        "with np.errstate(...)",
        'with np.errstate(divide="ignore", invalid="ignore"):\n    y[:] = np.where(x > 0.0, s / x, 0.0)',
        "0.1",
        "With `ignore` and `warn`: there are no warnings here. Others are refused (LD103).",
    ),
    Construct(
        "print",
        'print("start", x[:3], x.shape)\nfor i in range(n):\n'
        '    print(f"{i:3d} {x[i]:.4f} {s=}", "%5.2f" % y[i], sep=";")',
        "0.1",
        "Numbers, arrays, shapes, and texts of them in all formats of Python. It prints as often as the function does, "
        "once in `value_and_grad`, and loops around it run one iteration after the other. Not on a GPU (LD603).",
    ),
    Construct("scalar locals", "t = 0.0\nfor i in range(n):\n    t += x[i]\ny[0] = t", "0.1"),
    Construct(
        "tuple assignment and swap",
        "x[0], x[1] = x[1], x[0]\na, b = s, 2.0\na, b = b, a + b\ny[0] = a - b",
        "0.1",
        "All values are computed before the first is stored.",
    ),
    Construct(
        "unpacking of arrays",
        "a, b, c = x[:3]\nfor u, v in A[:, :2]:\n    y[0] += u * v - a * b * c\n"
        "first, *rest = x\ny[1] = first * sum(rest)",
        "0.1",
        "The name with a star is a list.",
    ),
    Construct(
        "assignment in an expression",
        "if (m := len(x)) > 2:\n    y[0] = m\ni = 0\nwhile i < m and (v := x[i]) > s:\n    y[0] += v\n    i += 1",
        "0.1",
        "Where it is evaluated whenever the statement is, in conditions joined by `and`, and in the first condition of "
        "a comprehension, if nothing else reads the name.",
    ),
    Construct(
        "augmented assignments",
        "x[0] += s\nx[1] -= s\nx[2] *= s\nx[3] /= s\nidx[0] //= 2\nidx[1] %= 3\nidx[2] <<= 1",
        "0.1",
    ),
    Construct(
        "accumulation spelt out",
        "m = x[0]\nfor i in range(n):\n    m = max(m, x[i])\ny[0] = m",
        "0.1",
        "`m = max(m, e)` and `m = min(m, e)` are reductions: a tie shares the derivative evenly.",
    ),
    Construct("reassigned argument", "s = s * 2.0\nx[0] = s", "0.1", "Scalars only; the caller does not see it."),
    Construct(
        "affine, shifted, strided subscripts",
        "for i in range(1, n):\n    y[2 * i - 1] = x[i - 1] + x[n - i]",
        "0.1",
    ),
    Construct(
        "negative subscripts",
        "x[-1] = y[-2]",
        "0.1",
        "Subscripts that are negative in some iterations are refused, or count from the end where that is asked for: "
        '`negative="from_end"`.',
    ),
    Construct(
        "indirect subscripts",
        "for i in range(n):\n    y[idx[i]] += x[idx[n - i]]",
        "0.1",
        "Duplicates are allowed. Each subscript is checked.",
    ),
    Construct(
        "computed subscripts",
        "for i in range(n):\n    y[(5 * i + 1) % n] += x[i // 2] + x[i ^ 1] + x[int(abs(s))]",
        "0.1",
    ),
    Construct(
        "arrays laid out by hand",
        "m = 2\nfor i in range(n):\n    for j in range(m):\n        y[i * m + j] += 0.5 * x[i * m + j]",
        "0.1",
        "`x[i * m + j]` is row `i`, column `j`, where `0 <= j < m`: known to be apart, and checked once per call.",
    ),
    Construct(
        "shape, ndim, size, len",
        "r = range(1, n)\nx[0] = A.shape[1] + np.ones((*x.shape, 2)).size + A.ndim + len(x) + min(A.shape) + len(r)\n"
        "B = 2.0 * A\nn, m = shape = B.shape\nx[1] = np.zeros(shape).sum() + n * m",
        "0.1",
        "Shapes are tuples where the text says how many axes there are: of arguments, their parts, what is made of a "
        "shape, and of what operators and functions of elements make of these.",
    ),
    *ARRAYS,
    Construct(
        "global and closure constants",
        "x[0] = np.pi * math.e",
        "0.1",
        "Numbers, tuples of numbers, and members of enumerations, `Move.UP.value`; as they are when it is decorated.",
    ),
    Construct(
        "global and closure arrays",
        'y[:3] = WEIGHTS * x[:3]\nfor f in CONFIG["functions"]:\n    y[3] += CONFIG["rate"] * f(s)',
        "0.1",
        "Read at each call as arguments are, not differentiated by; also attributes, lists, dictionaries and records.",
    ),
    Construct(
        "modules under any name",
        "x[0] = np.sqrt(s) + math.sqrt(s)",
        "0.1",
        "Functions are known by value: `from math import exp` and `import numpy` work.",
    ),
    Construct(
        "elementary functions",
        "y[0] = np.exp(s) + math.log1p(s) + math.erf(s) + math.lgamma(s) + np.hypot(s, 1.0)",
        "0.1",
        "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan, their inverses, hyperbolic forms and "
        "inverses, erf erfc gamma lgamma atan2 hypot copysign fmod.",
    ),
    Construct(
        "rounding and sign",
        "y[0] = np.floor(s) + math.ceil(s) + round(s) + np.sign(s) + abs(s)\n"
        "y[1:3] = np.round(x[1:3], 2) + round(x[0], 1)",
        "0.1",
        "Decimals are NumPy's: of `np.round`, `np.around`, `x.round`, and of `round(v, 2)` of NumPy's numbers; of "
        "Python's it gives the nearest decimal, as Python does. Of a number that may be either, as "
        "an element of a list, or `math.sqrt(v)`, both have to agree (LD332).",
    ),
    Construct(
        "min and max",
        "y[0] = max(s, x[0], 0.0) + np.minimum(s, 1.0) + np.clip(s, 0.0, 1.0)",
        "0.1",
        "A tie shares the derivative evenly. The first of equals. Only np.fmax and np.fmin ignore NaN.",
    ),
    Construct("powers", "y[0] = s**2 + s**-1 + s**1.5 + s**n + 2**n + pow(s, 2)", "0.1"),
    Construct(
        "conversions",
        "y[0] = int(s) + float(n) + np.float64(n) + bool(n) + np.int32(s)",
        "0.1",
        "`int` truncates; it carries no derivative. What does not fit in np.int8 and the like is an error (LD332).",
    ),
    Construct(
        "stop_gradient",
        "y[0] = loopdiff.stop_gradient(s) * x[0]",
        "0.1",
        "The value, declared constant: no derivative passes, of any order.",
    ),
    Construct(
        "complex numbers",
        "z = complex(s, 2.0) * np.exp(1j * s)\nw = np.zeros(n, dtype=np.complex128)\nw[0] = z / (1j + s)\n"
        "y[0] = abs(w[0])",
        "0.1",
        "complex64 and complex128 arrays, Python and NumPy scalars, literals; `==` and `!=`, no order.",
    ),
    Construct(
        "parts of complex numbers",
        "z = s + 1j\ny[0] = z.real + z.imag + np.angle(z) + (z * z.conjugate()).real + abs(z)",
        "0.1",
        "Also `np.real`, `np.imag`, `np.conj`, `A.real[i]`, `cmath.phase`.",
    ),
    Construct(
        "functions of complex numbers",
        "z = np.sqrt(s + 1j) ** 1.5 + np.log(1j * s) - cmath.sin(s + 1j) ** n\ny[0] = abs(z) + np.arcsin(z).imag",
        "0.1",
        "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh, arcsin arccos arctan arcsinh arccosh "
        "arctanh and powers, with NumPy's branch cuts.",
    ),
    Construct("tests of floats", "y[0] = 1.0 if math.isnan(s) or np.isinf(s) else 2.0", "0.1"),
    Construct("and, or of numbers", "y[0] = (n or 3) + (n and 2)", "0.1"),
    Construct("operators as functions", "y[0] = np.add(s, 1.0) * np.where(n > 2, s, 0.0)", "0.1"),
    Construct(
        "integer arithmetic",
        "idx[0] = (n // 2) % 3 + (n << 1) + (n & 6) - (n | 1)",
        "0.1",
        "64 bits. Where one of Python's may outgrow these, as `h = h * 33 + i` in a loop, it is checked (LD335). "
        "Elements wrap as NumPy's do, those of int32 when they are stored.",
    ),
    Construct(
        "narrow integers",
        "narrow = idx.astype(np.uint8)\ny[0] = (narrow - 3)[0] * s",
        "0.1",
        "Arithmetic of int8, int16, uint8, uint16 and uint32 wraps as NumPy's does, also that of numbers taken out of "
        "arrays; Python's integers take the type that they meet. A name for one or the other is refused there (LD214).",
    ),
    Construct(
        "integer and boolean arrays",
        "if idx[0] == 0:\n    idx[1] = idx[1] + 2",
        "0.1",
        "Arithmetic of narrow integers wraps as NumPy's does; that of int32 has 64 bits, and wraps when stored.",
    ),
    Construct("arrays of any rank", "t = np.zeros((2, 2, 2))\nt[1, 0, 1] = s\nx[0] = t[1][0][1]", "0.1"),
    Construct(
        "call of a function",
        "def half(v):\n    if v < 0.0:\n        return 0.0\n    return 0.5 * v\n"
        "for i in range(n):\n    y[i] = half(x[i])",
        "0.1",
        "Any Python function whose source can be read, from any module, also `@njit` and `@vectorize_grad` ones. It is "
        "written out where it is called. What names mean is fixed when the calling function is decorated: a function "
        "bound to the name later is not seen.",
    ),
    Construct(
        "function that changes its arrays",
        "def add(v, w, c):\n    for i in range(n):\n        v[i] += c * w[i]\nadd(y, x, s)\nadd(x, x, 2.0)",
        "0.1",
        "Two parameters may be the same array. Operands are evaluated in Python's order.",
    ),
    Construct(
        "function that returns an array or several values",
        "def doubled(v):\n    w = np.empty_like(v)\n    for i in range(len(v)):\n        w[i] = 2.0 * v[i]\n"
        "    return w, len(v)\nz, k = doubled(x)\ny[0] = z[k - 1]",
        "0.1",
    ),
    Construct(
        "function inside the function, lambda",
        "def shifted(v):\n    return v + t\nt = 2.0\nsquare = lambda v: v * v\ny[0] = square(shifted(s))",
        "0.1",
        "Names from around it mean what they do at the call, as in Python.",
    ),
    Construct(
        "default and keyword arguments",
        "def power(v, *, by=2, of=None):\n    return v**by if of is None else of**by\n"
        "y[0] = power(s) + power(1.0, of=s, by=3)",
        "0.1",
        "Positional, keyword-only and positional-only parameters. Defaults: numbers, None, texts, functions.",
    ),
    Construct(
        "function as an argument or result",
        "def scaled(c):\n    return lambda v: c * v\ndef step(f, u):\n    return [a + b for a, b in zip(u, f(u))]\n"
        "g = scaled(3.0)\nu, v = step(lambda u: (u[1], g(u[0])), (s, 1.0))\ny[0] = u + v",
        "0.1",
    ),
    Construct(
        "derivative of a function",
        "e, g = chain.value_and_grad(x, s)\ny[0] = e * g.q[1]\ny[1:] = chain.grad(x[1:], s).q",
        "0.1",
        "Of what `@vectorize_grad` made; it is [written out](howto/derivatives_inside.md) with what it gives outside.",
    ),
    Construct(
        "function with a rule",
        "for i in range(n):\n    y[i] = power(x[i], s)",
        "0.1",
        "`@loopdiff.rule(power, ...)` states the derivatives of a function that is called. It gets numbers and arrays.",
    ),
    Construct(
        "lists, tuples and dictionaries of known length",
        "shape = (n, n + 1)\nB = np.zeros(shape)\nparts = [x[:3], y[:3]]\nparts.append(parts[0] * s)\n"
        'd = {"a": s, "b": B[0]}\nd["a"] *= 2.0\nd = {**d, "a": d["a"] + 1.0, **dict.fromkeys(("c", "e"), s)}\n'
        'first, *rest = parts\ny[0] = d["a"] * d["e"] + first[0] + len(rest) + shape[1]',
        "0.1",
        "Names become variables, one for each value. Subscripts are known. What others may have is not changed. "
        "Also `if parts:`, `a, b = (x, s) if s > 0.0 else (y, 1.0)`, and `reduce` and `partial` of `functools`.",
    ),
    Construct(
        "elements of lists and tuples that the run says",
        "w, order = [0.5, s, 2.0], (2, 0, 1)\nfor i in range(n):\n    y[i] = w[i % 3] * x[order[i % 3]]\n"
        "    w[idx[i] % 3] += x[i]\nfor v, c, k in zip(x, (1.0, s, w[1]), order):\n    y[k] += c * v",
        "0.1",
        "Of numbers, arrays of one shape, and lists and tuples of as many of these; also of parameters that get such "
        "lists, and of tuples and lists outside. They are kept in arrays, and are lists of any length from then on.",
    ),
    Construct(
        "dictionaries by integers that the run says",
        "d = {k: x[k] * s for k in range(3)}\nfor i in range(n):\n    d[idx[i] % 3] += y[i]\n"
        "    y[i] = d[(i + 1) % 3]\n    d[i % 3], d[idx[i] % 3] = d[idx[i] % 3], d[i % 3]",
        "0.1",
        "Of up to 16 numbers or arrays, by keys that are integers. Another key is an error (LD332). Not inside "
        "comprehensions, nor where the expression may not be evaluated.",
    ),
    Construct(
        "dictionaries of any keys",
        "totals = {}\nfor k, v in zip(idx, y):\n    totals[k] = totals.get(k, 0.0) + v * s\n"
        "groups, links, seen = {}, {}, set()\nfor i, v in enumerate(x):\n    seen.add(i // 2)\n"
        "    groups.setdefault(i % n, []).append(v)\n"
        "    links[i, i % n] = v * y[i]\ny[0] = sum(totals.values()) * len(totals) * len(seen)\n"
        "for k in sorted(groups):\n    y[1] += k * sum(groups[k]) / len(groups[k])\n"
        "for (i, j), v in links.items():\n    if i in totals:\n        y[2] += v * totals[i] * j",
        "0.1",
        "Of numbers, arrays of one shape, or lists that grow, by keys that are numbers, or up to three in a tuple; "
        "kept as lists, in the order of insertion. Also `d[k] += v`, `d = {k: f(k) for k in r}`, "
        "`defaultdict(float)`, `defaultdict(list)`, `Counter(labels)`, `dict(zip(idx, x))`, `dict.fromkeys(idx, 0.0)`, "
        "`d.copy()`, `d.get(k) is None`, `max(d, key=d.get)`, "
        "and sets, `set(idx)` among them, of which nobody asks the order. A look-up goes through a "
        "256th of the keys, and through all that lie between the same two integers. They grow as lists do, "
        "in the function that makes them. A key that is not there is an error (LD310, LD332), and so is NaN.",
    ),
    Construct(
        "for over lists, zip, enumerate and dictionaries",
        "for v, c in zip((x, y), (1.0, 2.0)):\n    v *= c\nfor k, w in enumerate([x, y]):\n    w[k] = s\n"
        'for name, v in {"x": x, "y": y}.items():\n    if name == "x":\n        v[0] += 1.0',
        "0.1",
        "Written out, without `break`; so are `range` loops over numbers that choose elements of lists, and the "
        "members of an `Enum`.",
    ),
    Construct(
        "comprehensions of known length",
        "d = {k: k * s for k in range(3)}\ny[0] = sum(v.sum() for v in [w * w for w in (x, y)]) + max(d.values())",
        "0.1",
        "Over lists, dictionaries and `range` of numbers.",
    ),
    *LISTS,
    Construct(
        "map, filter, item",
        "a, b = map(abs, (s, x[0]))\nfor v in map(math.sin, x):\n    a += v\n"
        "y[0] = sum(map(lambda u, v: u * v, x, y)) + max(filter(lambda v: v < 9.0, x)) + x[:1].item() * a * b",
        "0.1",
        "`map` and `filter` where all items are taken at once: in sum, max, min, any, all, `list(...)`, `[*...]`, as "
        "what a loop goes over (`map` in `enumerate` and `zip` as well), and unpacked from a display. They are the "
        "comprehensions that they are short for. `item` of a number, and of the only element of an array.",
    ),
    Construct("np.array of a comprehension", "y[:] = np.array([v * s for v in x])", "0.1", "Of numbers, without `if`."),
    Construct("np.ix_, and ends in lists", "x[np.array([0, -1])] = A[np.ix_(idx[:2], idx[1:3])][0]", "0.1"),
    Construct(
        "structures as arguments and results of functions",
        'def step(state, p, *, rate=0.1):\n    u, v = state\n    return u - rate * p["k"] * v, v + rate * u\n'
        'def norms(*vectors):\n    return {"each": [np.sum(v * v) for v in vectors]}\nstate = (x[0], y[0])\n'
        'for i in range(n):\n    state = step(state, {"k": s})\ny[1] = state[0] + norms(x, y)["each"][1]',
        "0.1",
        "Also [of the decorated function](howto/structures.md). Records and objects of plain classes, too, with their "
        "methods; `*` and `**`. Where nobody else has an object, a list or a dictionary, methods and functions may "
        "change it, also several in a line, one after the other as in Python; so may loops over lists of such.",
    ),
    Construct(
        "objects of classes",
        "w, v = Walker(x[0], s), Walker(x[1], 2.0 * s)\nfor u in y[:3]:\n    w.step(u)\nw += v\nw.pace *= 2.0\n"
        "best = w if w.at > v.at else v\ny[0] = best.at + sum(u.at for u in [Walker(u, s) for u in x[:3]])",
        "0.1",
        "Of plain classes and dataclasses: methods, properties and what sets them, operators, classes of classes; "
        "`Layer(p)(x)` where it is made. An object that others may have, too, is not changed: that it has two names, "
        "stands in a list and has a name, or was chosen by a branch. As many are made in a comprehension as the text "
        "says.",
    ),
    Construct(
        "arrays behind stars",
        "def blend(a, b, c):\n    return a * b - c\npairs = [(u, v * s) for u, v in zip(x, y)]\n"
        "first, second = zip(*pairs)\ny[0] = blend(*x[:3]) + max(*x) * first[1] - second[2]",
        "0.1",
        "Where the function says how many values it takes; that there are as many is checked.",
    ),
    Construct(
        "copies of lists, dictionaries and objects",
        'd = {"rate": s, "log": [x[0], x[1]]}\ne, f = copy.copy(d), copy.deepcopy([x])\ne["rate"] = 2.0\n'
        'f[0][1] = s\nlog = d["log"].copy()\nlog.append(s)\ny[0] = d["rate"] * e["rate"] + sum(log) * f[0].sum()',
        "0.1",
        "Of lists and dictionaries of known length; `deepcopy` where there is one array at most.",
    ),
    Construct(
        "return from inside",
        "for i in range(n):\n    if x[i] > s:\n        return x[i]\nreturn 0.0",
        "0.1",
        "Every way returns the same number of values; arrays in the same place have one shape and type.",
    ),
    Construct("return of a scalar", "return x[0] + s", "0.1"),
    Construct("return of a tuple", "t = s * x[:n]\nreturn t, s, n, x", "0.1", "Arrays that are given are copied."),
    Construct("return of nothing", "x[0] = s\nreturn", "0.1"),
)


def language_table() -> str:
    """`ACCEPTED` as a Markdown table."""
    rows = ["| construct | example | since | note |", "| --- | --- | --- | --- |"]
    for c in ACCEPTED:
        example = "<br>".join(map(table_code, c.example.splitlines()))
        rows.append(f"| {c.name} | {example} | {c.since} | {c.note} |")
    return "\n".join(rows) + "\n"


def table_code(line: str) -> str:
    """One line of code in a table cell, its indentation kept."""
    text = line.lstrip()
    return "&emsp;" * ((len(line) - len(text)) // 4) + f"`{text.replace('|', chr(92) + '|')}`"
