"""What the parser refuses outright, and with which rewrite."""

from __future__ import annotations

import ast

REFUSED_EXPRESSIONS: dict[type[ast.expr], tuple[str, str | None]] = {
    ast.Lambda: ("a lambda is not a number", "write its body where it is used"),
    ast.ListComp: ("a comprehension builds a list", "write a `for` loop that stores into an array"),
    ast.SetComp: ("a comprehension builds a set", "write a `for` loop that stores into an array"),
    ast.DictComp: ("a comprehension builds a dictionary", "write a `for` loop that stores into an array"),
    ast.GeneratorExp: ("a generator is not a number", "give it to `sum`, `max`, `min`, `any` or `all`"),
    ast.List: ("a list is not a number", "use a local array: `np.empty(n)`"),
    ast.Tuple: ("a tuple is not a number", "use one variable for each element"),
    ast.Set: ("a set is not a number", None),
    ast.Dict: ("a dictionary is not a number", "use one variable for each value"),
    ast.JoinedStr: ("a formatted string is not a number", "move it out of the decorated function"),
    ast.NamedExpr: ("`:=` assigns inside an expression", "assign on a line of its own first"),
    ast.Starred: ("`*` unpacks a sequence", "write the values one by one"),
}
REFUSED_METHODS: dict[str, str] = {
    "sum": "write `x.sum()`, or add the elements in a loop",
    "append": "allocate the array with its final size and store by subscript",
    "print": "move it out of the decorated function",
    "item": "use the element itself: `A[i]`",
    "divmod": "unpack it: `q, r = divmod(a, b)`",
}
REFUSED_STATEMENTS: dict[type[ast.stmt], tuple[str, str, str | None]] = {
    ast.With: ("LD103", "`with` is not supported", None),
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
