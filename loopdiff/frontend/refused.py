"""What the parser refuses outright, and with which rewrite."""

from __future__ import annotations

import ast

REFUSED_EXPRESSIONS: dict[type[ast.expr], tuple[str, str | None]] = {
    ast.Lambda: ("a lambda is not a number", "write its body where it is used"),
    ast.ListComp: (
        "a comprehension builds a list",
        "give it a name first, or make an array of it: `np.array([...])`",
    ),
    ast.SetComp: (
        "a comprehension builds a set",
        "give it a name of its own, and make it of numbers, or of tuples as `(i, j)`",
    ),
    ast.DictComp: ("a comprehension builds a dictionary", "write a `for` loop that stores into an array"),
    ast.GeneratorExp: ("a generator is not a number", "give it to `sum`, `max`, `min`, `any` or `all`"),
    ast.List: ("a list is not a number", "use a local array: `np.empty(n)`"),
    ast.Tuple: ("a tuple is not a number", "use one variable for each element"),
    ast.Set: ("a set is not a number", "give it a name of its own, for `k in s`, `s.add(k)` and `len(s)` alone"),
    ast.Dict: ("a dictionary is not a number", "use one variable for each value"),
    ast.JoinedStr: ("a formatted string is not a number", "move it out of the decorated function"),
    ast.NamedExpr: ("`:=` assigns inside an expression", "assign on a line of its own first"),
    ast.Starred: ("`*` unpacks a sequence", "write the values one by one"),
}
BY_DRAWING = "draw outside of the function, and pass the numbers as an argument"
BY_TRANSFORM = "call the function of that name in `np.fft`, or give it a rule: `@loopdiff.rule(f, ...)`"
# By the name of the function or method.
REFUSED_METHODS: dict[str, str] = {
    "sum": "write `x.sum()`, or add the elements in a loop",
    "append": "append to a list that the function makes, or allocate an array and store by subscript",
    "item": "leave it out: an element `A[i]` is a number, and so is a sum",
    "tolist": "give what it makes a name first, or leave it out: the elements of an array are numbers",
    **dict.fromkeys(("list", "tuple"), "give what it makes a name first, or use the array"),
    "deque": "do nothing with it that lists alone can do, as slices and `sort`; a `maxlen` takes no `insert`, `extend`",
    "sort": "make another: `w = sorted(v)`, or `np.sort(v)`",
    **dict.fromkeys(("set", "frozenset"), "give it a name of its own, for `k in s`, `s.add(k)` and `len(s)` alone"),
    "fsum": "write `np.sum(x)`, which rounds after each addition",
    "sorted": "write `np.sort(x)`, or `x[np.argsort(key)]`",
    **dict.fromkeys(
        ("map", "filter"), "give it to `sum`, `max`, `list` or a `for` loop at once, with a function's name"
    ),
    "vectorize": "call the function with arrays, or in a loop",
}
# By the module, for functions and methods that have no row of their own.
REFUSED_MODULES: dict[str, str] = {
    **dict.fromkeys(("numpy.random", "random"), BY_DRAWING),
    "scipy.fft": BY_TRANSFORM,
    "numpy.linalg": "call it in a function that stores what it gives into arrays, and give that a rule",
    "scipy": "write it as loops, or call it in a function that stores into arrays, and give that a rule",
}
REFUSED_ATTRIBUTES: dict[str, str] = {
    "flat": "write `A.ravel()`, and for what is stored `A[i, j]`",
}
REFUSED_STATEMENTS: dict[type[ast.stmt], tuple[str, str, str | None]] = {
    ast.With: ("LD103", "`with` is not supported", "move it out of the function; `np.errstate` may `ignore` or `warn`"),
    ast.Try: ("LD103", "`try` is not supported", "check the condition with `if` instead"),
    ast.TryStar: ("LD103", "`try` is not supported", "check the condition with `if` instead"),
    ast.Raise: (
        "LD103",
        "`raise` without an exception, or from another one, is not supported",
        'write `raise ValueError("...")`',
    ),
    ast.Delete: ("LD103", "`del` is not supported", "leave it out"),
    ast.Global: (
        "LD103",
        "`global` is not supported",
        "pass the value as an argument and return the new one",
    ),
    ast.Nonlocal: (
        "LD103",
        "`nonlocal` is not supported",
        "pass the value as an argument and return the new one",
    ),
    ast.Import: ("LD103", "`import` inside the function is not supported", "import at the top of the file"),
    ast.ImportFrom: (
        "LD103",
        "`import` inside the function is not supported",
        "import at the top of the file",
    ),
    ast.AsyncFunctionDef: ("LD103", "`async def` is not supported", "write a plain `def`"),
    ast.ClassDef: ("LD103", "classes inside the function are not supported", None),
    ast.Match: ("LD103", "`match` is not supported", "use `if` / `elif`"),
}
