"""Every error code with its title, explanation and the rewrite that works: the source of the error index."""

from __future__ import annotations

import re

from loopdiff.errors import Diagnostic, Span
from loopdiff.errors.machine_codes import MACHINE_CODES, Code

CODES: dict[str, Code] = {
    # -- LD1xx: outside the language, refused when decorated -----------------------------------------------
    "LD100": Code(
        "source not available",
        "loopdiff reads the text of the function, and of those it calls. Built-in functions and functions made by "
        "`exec` without a registered source have none.",
        "write it as a `def` in a file or a notebook cell, or hand over the text: `vectorize_grad(source=text)(f)`",
    ),
    "LD101": Code(
        "the text is not what Python runs",
        "loopdiff compiles the text of a function, and Python runs what it made of that when it loaded the file. The "
        "file was edited since and not loaded again, or something else than Python made the function.",
        "load it again: `importlib.reload(module)`, run the cell again, or start Python again",
    ),
    "LD103": Code(
        "unsupported statement",
        "Loop nests are made of assignments, `for`, `while`, `if`, jumps, `assert`, `raise` and `pass`.",
        "move it out of the decorated function",
    ),
    "LD104": Code(
        "returns that do not match",
        "Every way through the function returns the same number of values. Arrays in the same place have one shape and "
        "type; of several arrays one of which is altered afterwards, a helper may give one of at most 8.",
        "assign the results to variables and return them at the end of the function",
    ),
    "LD105": Code(
        "unsupported iterable",
        "A `for` loop goes over `range`, an array or a part of one, `enumerate`, `zip` or `reversed` of these.",
        "loop over `range(...)` and read the elements by subscript",
    ),
    "LD107": Code(
        "unsupported assignment target",
        "Values are assigned to local names and array elements.",
        "assign to a local name or to an element such as `A[i, j]`",
    ),
    "LD108": Code(
        "array used as a number",
        "This place takes a number: a condition, a bound, an operand of `and`, a function of numbers.",
        "use an element, or a reduction such as `A.sum()` or `A.any()`",
    ),
    "LD109": Code(
        "call of an unknown function",
        "Functions of `math` and `numpy` on numbers and arrays, a few builtins, array allocations, and Python "
        "functions whose source can be read can be called, and functions with a rule that states their derivatives.",
        "write its body in place of the call, or give it a rule: `@loopdiff.rule(f, ...)`",
    ),
    "LD110": Code(
        "unsupported call arguments",
        "A known function is called with arguments it does not take here.",
        "call it with plain positional arguments",
    ),
    "LD111": Code(
        "unsupported expression",
        "Expressions are made of numbers, names, array elements, operators, comparisons and calls.",
        "compute the value with loops and scalar variables",
    ),
    "LD112": Code(
        "unsupported literal",
        "Literals are booleans, integers of 64 bits and floating-point numbers.",
        "use a number",
    ),
    "LD113": Code(
        "name without a usable value",
        "Names from outside the function must be numbers, arrays, modules or known functions when it is decorated.",
        "pass the value as an argument",
    ),
    "LD114": Code(
        "variable may be unassigned",
        "On some way through the function the variable is read before it has a value.",
        "assign it before the `if` or the loop",
    ),
    "LD115": Code(
        "unsupported allocation",
        "Local arrays come from np.empty, zeros, ones, full and their `_like` forms, with shape and dtype.",
        "write it as `name = np.zeros((M, N), dtype=np.float64)`",
    ),
    "LD116": Code(
        "name bound to too many arrays",
        "Names may stand for different arrays from one iteration to the next, or after a branch. Where these differ in "
        "shape or type, or one is altered that has several names, there are at most 8 combinations of them.",
        "use two names and copy elements in a loop",
    ),
    "LD117": Code(
        "unsupported kind of function",
        "Functions and methods are decorated, but no generators, coroutines and methods of classes.",
        "decorate, and call, plain functions with a parameter for each argument",
    ),
    "LD118": Code(
        "unsupported return value",
        "A function returns nothing, a number, an array, or a tuple of these; of an argument, a copy.",
        "return numbers and arrays",
    ),
    "LD119": Code(
        "unsupported attribute",
        "Arrays have `.shape`, `.ndim`, `.size`, `.T` and, in allocations, `.dtype`.",
        "use `.shape`, `.ndim` or `.size`",
    ),
    "LD120": Code(
        "unsupported subscript",
        "Arrays take integers, slices with constant steps, `None`, `...`, integer arrays, or one boolean mask.",
        "write the part of the array with slices, or the loop over its elements",
    ),
    "LD121": Code(
        "too many axes for the target",
        "What is assigned to a part of an array has at most as many axes as the part.",
        "reduce it, or take a part of it",
    ),
    "LD122": Code(
        "reshape of an array that is not contiguous",
        "NumPy gives a view or a copy, depending on strides, and a write to one of the two tells them apart.",
        "copy it first: `x.copy().reshape(...)`",
    ),
    "LD123": Code(
        "an array without axes, changed in place",
        "`np.where` and others make numbers that are arrays: `+=` changes one for all names, and leaves it its type.",
        "write `t = t + ...`, or a conditional expression `a if c else b`",
    ),
    "LD130": Code(
        "recursion",
        "Functions that are called are written out where they are called, which has no end for one that calls itself.",
        "write the recursion as a `while` loop",
    ),
    "LD131": Code(
        "too many statements of helpers",
        "Functions that are called are written out at every call, and this program would become very large.",
        "call helpers in a loop, or from fewer places",
    ),
    # -- LD2xx: the types of a call decide -----------------------------------------------------------------
    "LD132": Code(
        "call of a ruled function with what it cannot take",
        "A function with a rule gets numbers, arrays, and rows of arrays: memory as it lies, which it may change.",
        "pass a copy: `row = np.copy(...)`",
    ),
    "LD134": Code(
        "structure that cannot be followed",
        "Tuples, lists, dictionaries and records are taken apart before the loops are read: names of them become many "
        "variables, loops over them are written out. So which elements and keys there are, and which is meant, is "
        "known everywhere, on all ways alike, and a list or dictionary that others may have, too, is not changed.",
        "use variables, or arrays, for what changes, and name elements and keys as they are",
    ),
    "LD201": Code(
        "array expected",
        "The function uses this argument as an array.",
        "pass a NumPy array",
    ),
    "LD203": Code(
        "wrong number of subscripts",
        "An element needs one subscript for each axis.",
        "give one subscript for each axis",
    ),
    "LD204": Code(
        "subscript is not an integer",
        "Subscripts are integers.",
        "convert it: `A[int(x)]`",
    ),
    "LD205": Code(
        "loop bound is not an integer",
        "`range` takes integers.",
        "convert it: `range(int(x))`",
    ),
    "LD206": Code(
        "bit operation on a floating-point number",
        "`&`, `|`, `^`, `~`, `<<` and `>>` work on integers and booleans.",
        "convert the operand with `int(...)`",
    ),
    "LD207": Code(
        "shape does not fit",
        "The number of axes, or of elements that are unpacked, differs from what the function says.",
        "pass an array with as many axes, or elements, as the function unpacks",
    ),
    "LD208": Code(
        "extent not known at entry",
        "Local arrays are allocated once, when the function is entered, so their extents must follow from "
        "shapes, integer arguments and elements of arguments that are not written.",
        "allocate with an upper bound computed from shapes and arguments",
    ),
    "LD209": Code(
        "unsupported dtype",
        "Arrays hold float64, float32, float16, bfloat16, complex128, complex64, bool, int8 to int64, uint8 to uint32.",
        "convert the array, for example with `x.astype(np.float64)`",
    ),
    "LD210": Code(
        "unsupported argument",
        "Arguments are NumPy arrays and numbers.",
        "pass a NumPy array or a number",
    ),
    "LD211": Code(
        "extent is not an integer",
        "Extents of arrays are integers.",
        "convert it: `np.zeros(int(x))`",
    ),
    "LD212": Code(
        "arithmetic on booleans",
        "Python's `True + True` is 2 and its `~True` is -2; for the booleans of NumPy both mean something else.",
        "convert them: `int(a) + int(b)`; for the opposite write `not a`",
    ),
    "LD213": Code(
        "operation in place would change the type",
        "NumPy's `x += y` stores in the array `x`, and refuses floats for integers and numbers for booleans.",
        "make a new array: `x = x + y`, or convert: `x += y.astype(x.dtype)`",
    ),
    "LD214": Code(
        "integer of Python's or of NumPy's",
        "NumPy's narrow integers wrap, and Python's take their type where they meet: where a name holds one or the "
        "other, what `v + 1` is depends on which of both `v` is.",
        "say which is meant: `int(v)` of each, or `v.astype(...)`",
    ),
    "LD220": Code(
        "no such function of complex numbers",
        "Complex numbers are not ordered, and have no remainder, rounding or sign.",
        "use the parts `z.real` and `z.imag`, or `abs(z)`",
    ),
    "LD221": Code(
        "complex number for a real one",
        "A complex number becomes a real one only where it is written which part is meant.",
        "take `z.real`, `z.imag` or `abs(z)`, or store it into an array of `dtype=np.complex128`",
    ),
    "LD222": Code(
        "complex numbers, or halves, for a ruled function",
        "Rules state derivatives of real functions of real numbers, and nothing computes with float16 and bfloat16.",
        "pass the parts `z.real` and `z.imag`; of a half a copy, `x.astype(np.float32)`",
    ),
    # -- LD30x: the arguments of a call, checked before memory is touched -----------------------------------
    "LD301": Code(
        "missing argument",
        "A parameter without a default was not given.",
        "pass it by position or by name",
    ),
    "LD302": Code(
        "unexpected argument",
        "An argument fits no parameter, or a parameter was given twice.",
        "pass each parameter once",
    ),
    "LD303": Code(
        "read-only array is written",
        "The function writes this array, and the array does not allow it.",
        "pass a copy: `x.copy()`",
    ),
    "LD304": Code(
        "a written array overlaps another argument",
        "Results would depend on the order of reads and writes.",
        "pass a copy of one of the two",
    ),
    "LD305": Code(
        "array is not aligned",
        "Compiled code reads elements at addresses that are multiples of their size.",
        "pass a copy: `x.copy()`",
    ),
    "LD306": Code(
        "integer too large",
        "Integers have 64 bits.",
        "pass a smaller integer, or a float",
    ),
    "LD307": Code(
        "masked array",
        "Loops read elements, and would not see the mask.",
        "pass `x.data`, or `x.filled(value)`",
    ),
    "LD308": Code(
        "a written array overlaps itself",
        "Writing one element would change another.",
        "pass a copy: `x.copy()`",
    ),
    "LD309": Code(
        "setting with an impossible value",
        "A setting of `vectorize_grad` has a value it cannot have.",
        "choose one of the values named",
    ),
    # -- LD31x: subscripts, checked before the loop nest that uses them ------------------------------------
    "LD310": Code(
        "subscript outside its array",
        "An access would leave its array for these shapes and arguments, or for values of an index array, "
        "where negative values do not count from the end.",
        "pass larger arrays, or correct the loop bounds",
    ),
    "LD311": Code(
        "negative subscript",
        "A subscript that depends on a loop would be negative in some iterations, and there count from the end.",
        'start the loop later, or wrap it: `x[(i - 1) % n]`, or ask for it: `vectorize_grad(negative="from_end")`',
    ),
    # -- LD32x: shapes, checked before the work that relies on them ----------------------------------------
    "LD320": Code(
        "shapes do not fit together",
        "Arrays in one expression, or on the two sides of an assignment, have the same extents. An axis of one element "
        "is repeated if it is an axis of an argument, or has the extent 1 by its making.",
        "pass arrays whose shapes fit",
    ),
    "LD321": Code(
        "reduction without elements",
        "`max`, `min`, `argmax` and `argmin` need at least one element.",
        "pass arrays that are not empty",
    ),
    "LD322": Code(
        "reshape to another number of elements",
        "The extents of the new shape multiply to the number of elements there are.",
        "pass an array of a size that fits",
    ),
    "LD324": Code(
        "array of a negative extent",
        "`np.zeros(n)` and its like need an extent that is not negative, as in Python.",
        "pass a larger number, or start from `max(n, 0)`",
    ),
    "LD325": Code(
        "range whose bounds overflow",
        "Python's integers have no end, those of compiled loops have 64 bits: where a bound is a sum or a product of "
        "numbers that the call gives, these must be so small that it cannot overflow.",
        "pass smaller numbers, or write the product as two loops",
    ),
    # -- LD33x: checks the program itself asks for, made while it runs -------------------------------------
    "LD330": Code(
        "step is zero",
        "Python's `range` raises ValueError for a step of zero, as slices do. The step of a slice that is an argument "
        "must be above zero.",
        "pass a step other than zero; for a negative one write the slice in the other direction",
    ),
    "LD331": Code(
        "variable read that has no value",
        "It gets one in a loop, which has no iterations for these arguments, or in a branch that is not taken.",
        "give the variable a value of its kind before the loop",
    ),
    "LD332": Code(
        "assertion failed",
        "An `assert` of the function does not hold for these arguments, or they lead to a `raise`.",
        "call with arguments that satisfy the assertion",
    ),
    "LD333": Code(
        "division by zero of which nothing is used",
        "Python raises ZeroDivisionError for an integer that is divided by zero, also where nobody uses the quotient.",
        "leave the division out, or write it under the condition under which it has a value",
    ),
    "LD334": Code(
        "list longer than there is room for",
        "Nothing in the program says how many elements the list may come to have, as in `while t < T: ts.append(t)`. "
        "Such a list has room for 4096.",
        "make an array that is large enough first, as `np.empty(n)`, and count what is stored in it",
    ),
    "LD335": Code(
        "integer that is too large",
        "Loops that multiply an integer, and powers, are checked to stay in 64 bits, if numbers of a call, extents and "
        "counters of a million may make them larger; and integers of a call in lists of floats to be 2**26 at most.",
        "take remainders, as `h = (h * 33 + i) % m`, or the last bits: `& 0xFFFFFFFF`; `float(...)` for lists",
    ),
    # -- LD34x: seeds, cotangents, directions and types given by the caller --------------------------------
    "LD340": Code(
        "seed does not fit",
        "The seed is the cotangent of the return value, with its structure, shape and a dtype that fits.",
        "pass a value like the result; a tuple for a tuple",
    ),
    "LD341": Code(
        "cotangent does not fit",
        "A cotangent has the shape of its array, and a dtype that fits.",
        "pass an array like the argument",
    ),
    "LD342": Code(
        "cotangent of an array that is not written",
        "Only final values of written floating arrays have cotangents.",
        "leave it out",
    ),
    "LD343": Code(
        "direction of something that is not differentiated",
        "Directions go with arguments named in `wrt` and with written floating arrays.",
        "add the argument to `wrt`",
    ),
    "LD344": Code(
        "direction does not fit",
        "A direction has the shape of its argument, and a dtype that fits.",
        "pass an array like the argument, a number for a scalar",
    ),
    "LD345": Code(
        "memory limit exceeded",
        "Even recomputing what can be recomputed, the arrays between the sweeps exceed `memory_limit`.",
        "raise `memory_limit`, or call with smaller arrays",
    ),
    "LD346": Code(
        "type that no argument can have",
        "Types of arguments are Numba array types, `ArrayType`, and Python and NumPy scalar types.",
        "pass an example of the argument instead",
    ),
    "LD347": Code(
        "workspace too small",
        "The arrays between the sweeps have room for the iterations that the loops make with certain arguments.",
        "make the workspace with `k.workspace(*args)` for the arguments that `forward` gets",
    ),
    "LD348": Code(
        "an array changed before the pullback",
        "The reverse sweep reads arguments as the forward sweep left them; others would give a wrong gradient.",
        "call the pullback before they change, or give `vjp` copies: `f.vjp(x.copy())`",
    ),
    "LD349": Code(
        "buffer that does not fit",
        "A generated function takes numbers and arrays as it was compiled for: of the same dtype, axes and order. "
        "Arrays between the sweeps, adjoints and tangents have the extents that the arguments say.",
        "`k.workspace(*args)` makes the arrays between the sweeps, `f.compile(*args)` functions for other arguments",
    ),
    "LD350": Code(
        "argument that JAX or PyTorch cannot pass on",
        "Arguments of a wrapped function are numbers and arrays of the dtypes loopdiff compiles; "
        "outputs are arrays it writes.",
        "convert the argument, or name a written array",
    ),
    "LD351": Code(
        "size that is not known when tracing",
        "Shapes of outputs and of what is kept between the sweeps must be known when JAX or PyTorch traces the call.",
        "pass integers that decide sizes as Python ints",
    ),
    "LD352": Code(
        "tape that JAX cannot hold",
        "What is kept between the sweeps must have a static size and a dtype that JAX has.",
        "decorate with `tape='recompute'`, or enable 64-bit types",
    ),
    "LD360": Code(
        "parameters that are no vector",
        "SciPy's functions have one vector, which stands for parameters of a function made by `vectorize_grad`: for "
        "numbers and arrays like those that were given for it.",
        "`like=` the first values of the parameters, and vectors that `pack` makes",
    ),
    # -- LD4xx: differentiation ----------------------------------------------------------------------------
    "LD353": Code(
        "rule that contradicts itself",
        "A rule names parameters of its function, and its own functions take those, their derivatives `x_tan` and "
        "`x_adj`, and what is kept.",
        "see the page on rules",
    ),
    "LD401": Code(
        "`wrt` does not name arguments",
        "`wrt` names arguments of the function, or what stands in one, each once.",
        "name arguments, by their names or places in the `def` line",
    ),
    "LD402": Code(
        "argument without derivative",
        "Only floating-point arguments can be differentiated.",
        "pass floating-point values, or leave it out of `wrt`",
    ),
    "LD403": Code(
        "nothing to differentiate",
        "There is no floating-point argument that the result can depend on.",
        "name one in `wrt`",
    ),
    "LD404": Code(
        "result is not a floating-point number",
        "`grad` and `value_and_grad` need a function that returns one floating-point number.",
        "use `vjp`, and pass seeds and cotangents to the pullback",
    ),
    "LD405": Code(
        "derivative with respect to an argument outside `wrt`",
        "JAX or PyTorch differentiates an argument that the decorator's `wrt` leaves out; "
        "its gradient is not zero, it is not computed.",
        "add the argument to `wrt`",
    ),
    "LD406": Code(
        "forward and reverse mode disagree",
        'With `check="first"`, derivatives of each new signature are compared in both modes on the arguments of its '
        "first call.",
        "report this, with the program; `check_grads` says which pair of arrays is off",
    ),
    "LD407": Code(
        "Jacobian of complex numbers",
        "A function of complex numbers that is not holomorphic has no complex Jacobian: by the real and the imaginary "
        "part it changes differently.",
        "use `jvp` and `vjp`, which take complex directions and cotangents, or pass the two parts as real arrays",
    ),
    "LD408": Code(
        "structure of a Jacobian",
        "A Jacobian is dense, or sparse: then it is made of SciPy's arrays, and what depends on what is found without "
        "computing derivatives.",
        "leave `structure` out: a dense Jacobian is always there",
    ),
    "LD410": Code(
        "operation without a derivative rule",
        "The derivative table has no rule for an operation that a differentiated value passes through.",
        "leave the argument out of `wrt`",
    ),
    "LD411": Code(
        "rule without this derivative",
        "loopdiff does not look into a function with a rule: it has the derivatives that the rule states, and no "
        "others. Those of second order go through `partials` that have a rule.",
        "add it to the rule, or declare it zero with `nondifferentiable`",
    ),
    **MACHINE_CODES,
}


Related = tuple[tuple[str, Span], ...]
VALUE = re.compile(r"<(?:built-in )?(?:function (\w+)(?: at 0x\w+)?|ufunc '(\w+)')>")


def reject(code: str, message: str, span: Span, hint: str | None = None, related: Related = ()) -> Diagnostic:
    """A Diagnostic of `code`, with the catalogue's rewrite unless `hint` says something more precise. Functions that
    stand in expressions as values are shown by their names."""
    text = VALUE.sub(lambda found: found[1] or found[2], message)
    return Diagnostic(code, text, span, CODES[code].rewrite if hint is None else hint, related)
