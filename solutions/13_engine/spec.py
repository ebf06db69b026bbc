"""Exercises of unit 13: an autograd engine of your own."""

import math
from functools import partial
from graphlib import TopologicalSorter

from handgrad import (
    LARGER_KIND,
    Engine,
    Exercise,
    Misconception,
    Routine,
    Sampler,
    edited,
    normal,
    output,
    right_gradients,
    sized,
    stored,
    weights,
)

_LONG = 1050  # steps of the chain on which a recursion ends: Python allows 1000
_PLACES = ("first", "second")

# How many values a step takes.
_NUMBERS = {"add": 2, "sub": 2, "mul": 2, "div": 2, "pow": 1, "exp": 1, "log": 1, "tanh": 1, "relu": 1}
_TENSORS = {"add": 2, "mul": 2, "matmul": 2, "sum": 1, "relu": 1, "softmax": 1}
# What goes wrong in a rule: the operation, the code, in words, and the rule for each operand (None leaves it as it is).
# A rule takes the upstream gradient g, the value y of the step, and what the step took.
_OF_NUMBERS = (
    ("mul", "forward-value", "the gradients of both operands are multiplied by the product itself",
     (lambda g, y, a, b: g * y,) * 2),
    ("mul", "wrong-operand", "the gradients of both operands are multiplied by the sum of the operands",
     (lambda g, y, a, b: g * (a + b),) * 2),
    ("div", "wrong-local", "in the gradient of its second operand, the denominator is not squared",
     (None, lambda g, y, a, b: -g * a / b)),
    ("div", "missing-local", "in the gradient of its second operand, the numerator is missing",
     (None, lambda g, y, a, b: -g / b**2)),
    ("div", "wrong-local",
     "in the gradient of its second operand, the minus sign is missing and the denominator is not squared",
     (None, lambda g, y, a, b: g * a / b)),
    ("div", "wrong-local",
     "both operands get the upstream gradient divided by the second operand", (None, lambda g, y, a, b: g / b)),
    ("div", "wrong-operand", "it is the rule of mul", (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)),
    ("div", "wrong-operand",
     "in the gradient of its first operand, it multiplies by the second operand; it must divide by it",
     (lambda g, y, a, b: g * b, None)),
    ("div", "missing-local",
     "its first operand gets the upstream gradient as it is; it must be divided by the second operand",
     ("upstream", None)),
    ("pow", "missing-local", "the factor k, the exponent, is missing", (lambda g, y, a, k: g * a ** (k - 1),)),
    ("pow", "wrong-local", "the exponent is not lowered by one", (lambda g, y, a, k: g * k * y,)),
    ("pow", "wrong-local", "the factor is k - 1; it must be k",
     (lambda g, y, a, k: g * (k - 1) * a ** (k - 1),)),
    ("pow", "wrong-local", "the input is multiplied by the exponent, but not raised to a power",
     (lambda g, y, a, k: g * k * a,)),
    ("pow", "hard-coded", "it treats every exponent as 2", (lambda g, y, a, k: g * 2 * a,)),
    ("pow", "missing-local", "the power of the input is missing; only the exponent is used",
     (lambda g, y, a, k: g * k,)),
    ("pow", "wrong-local", "the derivative with respect to the exponent is used, with a logarithm",
     (lambda g, y, a, k: g * y * math.log(a),)),
    ("exp", "wrong-point",
     "its derivative is taken at its output, so that exp is applied twice", (lambda g, y, a: g * math.exp(y),)),
    ("exp", "wrong-local", "exp is treated as a power, whose exponent comes down and is lowered by one",
     (lambda g, y, a: g * a * math.exp(a - 1),)),
    ("exp", "wrong-local", "it multiplies by the input in place of the derivative", (lambda g, y, a: g * a,)),
    ("exp", "wrong-local", "it divides by its output; it must multiply by it", (lambda g, y, a: g / y,)),
    ("log", "wrong-point", "it divides by its output; it must divide by its input", (lambda g, y, a: g / y,)),
    ("log", "wrong-local", "it multiplies by its input; it must divide by it", (lambda g, y, a: g * a,)),
    ("log", "forward-value", "it multiplies by its output in place of its derivative", (lambda g, y, a: g * y,)),
    ("log", "wrong-local",
     "it divides by the square of its input; it must divide by its input", (lambda g, y, a: g / a**2,)),
    ("tanh", "wrong-point", "its derivative uses the square of the input in place of the square of the output",
     (lambda g, y, a: g * (1 - a * a),)),
    ("tanh", "wrong-point", "its derivative is taken at its output as if that were its input, so tanh is applied twice",
     (lambda g, y, a: g * (1 - math.tanh(y) ** 2),)),
    ("tanh", "wrong-local", "the square in its derivative is missing", (lambda g, y, a: g * (1 - y),)),
    ("tanh", "wrong-local",
     "its derivative has a plus in front of the square; it must be a minus", (lambda g, y, a: g * (1 + y * y),)),
    ("tanh", "wrong-local", "the derivative of a sigmoid is used", (lambda g, y, a: g * y * (1 - y),)),
    ("tanh", "wrong-local",
     "its derivative is the square of the output; it must be 1 minus that square", (lambda g, y, a: g * y * y,)),
    ("tanh", "forward-value", "it multiplies by its output in place of its derivative", (lambda g, y, a: g * y,)),
    ("relu", "inverted-mask", "its mask is inverted, so the gradient passes where the input is negative",
     (lambda g, y, a: g * (a <= 0),)),
    ("relu", "forward-value", "it multiplies by its output in place of its derivative", (lambda g, y, a: g * y,)),
    ("relu", "wrong-point", "its mask uses the sign of the upstream gradient in place of the sign of its input",
     (lambda g, y, a: g * (g > 0),)),
    ("relu", "not-linear", "the gradient passes only where both the gradient and the input are positive",
     (lambda g, y, a: g * ((g > 0) & (a > 0)),)),
)  # fmt: skip
# Steps that compute something else, and whose rules fit that: the operation, in words, its value, and its rules.
_OTHER_NUMBERS = (
    ("sub", "its operands are swapped", lambda a, b: b - a, (lambda g, y, a, b: -g, lambda g, y, a, b: g)),
    ("sub", "it adds", lambda a, b: a + b, ("upstream", "upstream")),
    ("div", "its operands are swapped", lambda a, b: b / a,
     (lambda g, y, a, b: -g * b / a**2, lambda g, y, a, b: g / a)),
    ("pow", "its exponent is truncated to an integer", lambda a, k: a ** int(k),
     (lambda g, y, a, k: g * int(k) * a ** (int(k) - 1),)),
    ("log", "its base is 10", math.log10, (lambda g, y, a: g / a / math.log(10),)),
    ("log", "its base is 10, and its backward rule is that of base e", math.log10, (lambda g, y, a: g / a,)),
    ("tanh", "it is a sigmoid", lambda a: 1 / (1 + math.exp(-a)), (lambda g, y, a: g * y * (1 - y),)),
)  # fmt: skip
# Of the whole engine: the code, in words, and how it goes back.
_LAST_USE = "where a value is used several times, only the contribution of its last use is kept"
_LAST_ONE = "where a value is used several times, the last contribution to be computed replaces the others"
_TOO_EARLY = (
    "each value is visited as soon as it is reached: it passes its gradient on before all the values that use it have"
    " added their contributions"
)
_NOTHING_ARRIVES = "the gradient of every input is 0: the gradient of the last value never reaches the inputs"
_AGAIN = (
    "a value passes on its whole gradient at every new contribution, so that earlier contributions are passed on again"
)
_OF_THE_WALK = (
    *(("overwritten", _LAST_ONE, {"keep": keep, "start": start})
      for keep in (lambda old, new, name, slot: new,
                   lambda old, new, name, slot: old if name == "relu" and _is_zero(new) else new)
      for start in (None, 0.0)),
    ("missing-path", _LAST_USE, {"keep": lambda old, new, name, slot: old}),
    ("missing-path", "where a step takes the same value twice, as v * v does, only one of the two uses contributes",
     {"skip": "repeated"}),
    ("wrong-order",
     "the backward pass visits the steps from first to last: gradients are still 0 when they are passed on",
     {"order": "earliest first"}),
    *(("wrong-order", _AGAIN if again else _TOO_EARLY, {"order": order, "again": again})
      for again in (False, True)
      for order in ("oldest met first", "newest met first", "newest met last operand first")),
    ("wrong-order", _AGAIN, {"order": "edge by edge"}),
    ("value-for-gradient",
     "the backward pass starts from the last value itself; it must start from the gradient of that value, 1",
     {"first": lambda y: y}),
    ("missing-upstream", _NOTHING_ARRIVES, {"first": lambda y: y * 0}),
    *(("hard-coded",
       "every gradient starts at 1; only the gradient of the last value must start at 1", {"start": 1.0, "skip": skip})
      for skip in ("", "dead")),
)  # fmt: skip
# With steps that the last value is not made from; and with steps that are apart from the others of their name.
_OF_DEAD_STEPS = (
    ("missing-path", _LAST_USE, {"skip": "all but the last"}),
    ("missing-path", "a value passes nothing on if it is also used by a step that the last value does not depend on",
     {"skip": "awaiting"}),
    ("missing-path", "the backward pass stops at a step that the last value does not depend on",
     {"skip": "before dead"}),
)  # fmt: skip
_OF_ONE_NAME = (
    *(("missing-path", f"where {name} takes the same value twice, only one of the two uses contributes",
       {"skip": "repeated", "skip_names": (name,)}) for name in ("add", "mul")),
    ("wrong-point",
     "what a step saves for the backward pass is stored once per operation: all steps of it use the operands of the"
     " last",
     {"shared": tuple(_NUMBERS)}),
    ("wrong-point",
     "what mul saves for the backward pass is stored once for all mul steps: all use the operands of the last",
     {"shared": ("mul",)}),
)  # fmt: skip


def _is_zero(gradient):
    return not gradient.ndim and not gradient


def _rule_slips(operations, particular, of_shape=()):
    """Yield the mistakes in the rule of one operation: the code, the message, the operation, and the rules.

    Args:
        operations: the number of values that each takes.
        of_shape: operations whose operands differ in shape, so that the gradient of another operand does not fit.
    """
    for name, count in operations.items():
        whose = f"the backward rule of {name} is wrong:"
        yield from ((code, f"{whose} {says}", name, rules) for op, code, says, rules in particular if op == name)
        for place in range(count):
            alone = [None] * count
            to = f"to its {_PLACES[place]} operand" if count > 1 else "on"
            yield "missing-path", f"{whose} it passes nothing {to}", name, _with(alone, place, "nothing")
            says = f"{whose} what it passes {to} has the wrong sign"
            yield "wrong-sign", says, name, _with(alone, place, "negated")
        if name not in ("add", "sub", *of_shape):
            says = f"{whose} it passes the upstream gradient on unchanged, without the local derivative"
            yield "missing-local", says, name, ("upstream",) * count
        says = f"{whose} it passes only the local derivative on, without the upstream gradient"
        yield "missing-upstream", says, name, ("without upstream",) * count
        if count > 1 and name not in ("add", *of_shape):
            says = f"{whose} each operand gets the gradient of the other"
            yield "wrong-operand", says, name, ("exchanged",) * count


def _with(rules, place, rule):
    return (*rules[:place], rule, *rules[place + 1 :])


def _other_steps(others):
    """Yield the steps that are computed wrongly: the code, the message, and the engine that has them."""
    for name, says, forward, rules in others:
        engine = Engine(forwards={name: forward}, rules={name: rules})
        yield "wrong-graph", f"the step `{name}` is computed wrongly: {says}", engine


_OF_SUMS = (
    "What does your engine do when a value gets a second gradient, from another step or another call?",
    "Contributions are added, and the gradients of the inputs add up over all calls.",
)
_PRINT_GRADIENTS = "Print the gradient of every value at the moment when it is passed on. Which is the first wrong one?"
_OF_ORDER = (
    "Draw the graph of a short program. In which order does your backward pass visit the values, and which "
    "ones does it never visit?",
    "How does your backward pass decide whether a value was visited already, and whether it is complete?",
    _PRINT_GRADIENTS,
)
_OF_SAVED = (
    "Where does a step keep what its backward rule needs? What if the same operation is used twice?",
    "Print what each step reads when its backward rule runs. Is it what this step has saved?",
    _PRINT_GRADIENTS,
)
_OF_START = (
    "What does the gradient of the last value start with, and that of every other value?",
    "Take a program of a single step. By what does its backward rule multiply, and what is that in your engine?",
    _PRINT_GRADIENTS,
)
_OF_NOTHING = (
    "What does the gradient of the last value start with, and in which order does your backward pass visit the steps?",
    "Take a program of two steps. When the first is visited, what has the second one passed on to it?",
    _PRINT_GRADIENTS,
)
_OF_OVERWRITTEN_VALUES = (
    "Which operation of yours changes a value that already existed?",
    "Print the value of every operand before and after each step.",
    "Return a new value, and leave the operand as it is. In torch, a method whose name ends in `_` changes its tensor.",
)
_OF_PAIRS = (
    'Take the step `("mul", 0, 0)`. How many contributions does its backward rule return, and how many arrive?',
    "What does a dictionary or a set do with two equal keys?",
    _PRINT_GRADIENTS,
)
_OF_COPIES = (
    "What is the shape of this tensor's gradient, and what is the shape of each contribution to it?",
    "Which axes does the tensor lack, or have with size 1? What happened along them in the forward pass?",
    "After applying a step's rule, sum each gradient over the axes along which its operand was copied.",
)
_OF_CALLS = (
    "Which gradients are still needed when a backward pass is over? What happens to the others?",
    "What does each gradient contain just before a backward pass, and just after `zero_grad`?",
    _PRINT_GRADIENTS,
)
_OF_START_VALUE = (
    "On which value is `backward` called, and with which value does your backward pass begin?",
    "Which values must a backward pass visit that is called in the middle of the program?",
    _PRINT_GRADIENTS,
)
_OF_DETACH = (
    "As far as the backward pass is concerned, which values does a detached value depend on?",
    "A detached value has the same number, and no parents.",
)


def _declared(code, says, rule):
    """Return a misconception, with hints about the operation if the message is about the rule of one."""
    if not says.startswith("the backward rule of "):
        computed = f"Run {says.split()[2]} forward on numbers of your own. Is its value what the exercise says?"
        hints = {
            "overwritten": _OF_SUMS,
            "shared-array": _OF_ARRAYS,
            "missing-path": _OF_ORDER,
            "wrong-order": _OF_ORDER,
            "wrong-point": _OF_SAVED,
            "missing-upstream": _OF_START,
            "value-for-gradient": _OF_START,
            "hard-coded": _OF_START,
            "stale-gradient": _OF_CALLS,
            "wrong-operand": _OF_START_VALUE,
            "wrong-graph": (computed,) if says.startswith("the step ") else _OF_DETACH,
        }
        about = {
            "was broadcast": _OF_COPIES,
            "detach": _OF_DETACH,
            "an earlier backward pass": _OF_SECOND_PASS,
            "never reaches": _OF_NOTHING,
            "overwrites its": _OF_OVERWRITTEN_VALUES,
            "the same value twice": _OF_PAIRS,
        }
        own = next((asked for words, asked in about.items() if words in says), hints.get(code, ()))
        return Misconception(code, "return", rule, says, own)
    name = says.split()[4]
    has_one = name in ("exp", "log", "pow", "tanh", "relu", "sum", "softmax")
    each, an = ("its operand", "the operand") if has_one else ("each operand", "an operand")
    hints = (
        f"Take a single `{name}`, with numbers of your own, and work out the gradient of {each} by hand.",
        f"Nudge {an} of `{name}` by 0.001: how far does the result move? Which line of your engine computes this rate?",
    )
    return Misconception(code, "return", rule, says, hints)


_OF_SECOND_PASS = (
    "What does your backward pass change, apart from the gradients?",
    "Is what it changes or marks still needed when a second backward pass comes?",
)
_OF_ARRAYS = (
    "After `a = b`, where both are arrays: what does `a += 1` do to `b`?",
    "Which arrays does your engine pass on as they are? Which does it write into later, by `+=`, `add_` or `out=`?",
    "Write `a = a + b` in place of `a += b`, or pass on a copy.",
)


def _of_numbers(engine):
    return lambda program, x: engine.gradients(program, x.tolist())


def _number_slips():
    """Yield every mistake that can be named: the code, the message, and the engine that makes it."""
    for code, says, walk in (*_OF_THE_WALK, *_OF_DEAD_STEPS, *_OF_ONE_NAME):
        for made_of in _SPELT["mul"]:
            yield code, says, Engine(walk=walk, made_of=made_of)
    every = {name: ("without upstream",) * count for name, count in _NUMBERS.items()}
    for made_of in _SPELT["mul"]:
        for start in (None, 0.0):
            yield "missing-upstream", _NO_UPSTREAM, Engine(every, made_of=made_of, walk={"start": start})
    yield "missing-path", _SAME_NUMBER, Engine(walk={"skip": "same number"})
    yield "shared-array", _OVERWRITES.format("relu"), Engine(in_place=("relu",))
    yield from _other_steps(_OTHER_NUMBERS)
    for code, says, name, rules in _rule_slips(_NUMBERS, _OF_NUMBERS):
        for made_of in _SPELT.get(name, ({},)):
            yield code, says, Engine({name: rules}, made_of=made_of)
            if code == "missing-upstream":  # then a step that nothing depends on counts, if the walk comes there
                yield code, says, Engine({name: rules}, made_of=made_of, walk={"start": 0.0})
    for name in _NUMBERS:
        for made_of in _SPELT.get(name, ({},)):
            yield "overwritten", f"the backward rule of {name} {_SETS}", Engine(walk=_set_by(name), made_of=made_of)
            for place in range(_NUMBERS[name] if _NUMBERS[name] > 1 else 0):
                says = f"the backward rule of {name} {_SETS_ONE.format(_PLACES[place])}"
                for start in ({}, {"start": 0.0}):  # a step that nothing depends on may set a gradient to 0
                    walk = _set_by(name, (place,)) | start
                    yield "overwritten", says, Engine(walk=walk, made_of=made_of)


def _set_by(name, slots=(0, 1)):
    return {"keep": lambda old, new, by, slot: new if by == name and slot in slots else old + new}


_OVERWRITES = "the step `{}` overwrites its operand, which other steps still need"
_SAME_NUMBER = "of several values that are equal, only one passes its gradient on: they are treated as one value"
_SETS = "is wrong: it overwrites the gradients of its operands; it must add to them"
_SETS_ONE = "is wrong: it overwrites the gradient of its {} operand; it must add to it"
_NO_UPSTREAM = "no step multiplies by the upstream gradient: each passes on only its local derivative"
# Many engines make differences and quotients of other steps; -1 and -2 are what is taken, 0 and 1 what has been made.
_SUB = {"sub": (("const", -1.0), ("mul", -2, 0), ("add", -1, 1))}
_DIV = {"div": (("pow", -2, -1), ("mul", -1, 0))}
_SPELT = {"add": ({}, _SUB), "mul": ({}, _SUB, _DIV, {**_SUB, **_DIV}), "pow": ({}, _DIV)}

_SMALL = (
    "p = mul a b, q = add p a, r = tanh q",
    "p = tanh a, q = mul p p, r = sub q b",
    "p = div a b, q = exp p, r = mul q a, k = const 50.0, s = sub r k, t = relu s, u = add t r, v = mul u a",
    "p = sub a b, q = mul p a, r = mul q p",
)
# In these nearly every step takes the value of the step before it: the backward pass has but one order, and which
# contribution comes last can be told. What is taken away or divided by is used once, however that is spelt out.
_MIXED = (
    "one = exp c, side = relu one, k = const 3.0, m = sub a k, z = relu m, p = add z b, q = mul p a, l = log q, "
    "t = tanh l, e = exp t, s = mul e e, w = add s e, r = pow w -0.5, y = relu r, two = const 2.0, d = div two y, "
    "u = sub d side, v = mul u y, o = mul v t, f = add o q, g = mul f l, h = add g w, i = mul h m, j = sub m i, "
    "n = mul j i",
    "one = exp c, side = relu one, dead = mul a a, m = mul a b, v = add m a, k = const 4.0, h = div v k, g = mul h m, "
    "j = const 1.0, n = sub g j, same = mul n j, t = tanh same, f = add t k, r = pow f 2.5, gone = exp m, l = log r, "
    "q = mul l v, d = add q q, o = div d side, u = relu o, w = mul u d",
)


def _numbered(text, setting, rng):
    """Return a program of n inputs; `a`, `b` and `c` are three of them."""
    n = setting.sizes["n"]
    return _named(text, dict(zip("abc", map(int, rng.permutation(n)), strict=False)), n, setting)


def _named(text, numbers, n, setting):
    """Return a program from its text; the operands of `add` and `mul` are swapped in every other step.

    In the next trials it is the other steps. The last trial, which has the sizes of an earlier one, does as that one.
    """
    numbers, program = dict(numbers), []
    for line in text.split(", "):
        made, _, step = line.rpartition(" = ")
        name, *taken = step.split()
        operands = [numbers[one] if one in numbers else int(one) if one.isdigit() else float(one) for one in taken]
        if made:
            numbers[made], n = n, n + 1
        program.append(
            (
                name,
                *(
                    operands[::-1]
                    if name in ("add", "mul") and (len(program) + setting.index // 2) % 2 == 0
                    else operands
                ),
            )
        )
    return program


def _chain(n, rng):
    """Return a chain of many steps, each of which takes the one before it; one value is used over and over."""
    program, often = [("const", 0.9), ("tanh", 0)], n + 1
    for last, other in enumerate(rng.integers(-n, n, size=_LONG).tolist(), often):
        step = ("add", last, often) if other < 0 else ("add", other, last)
        program.append({0: ("mul", last, n), 30: ("sub", abs(other) % n, last)}.get(last % 60, step))
    return program


def _program(rng, setting, _shape):
    n, turn = setting.sizes["n"], setting.turn % 4
    if turn == 0:
        return _numbered(_SMALL[setting.index // 2 % len(_SMALL)], setting, rng)
    return _chain(n, rng) if turn == 3 else _numbered(_MIXED[turn - 1], setting, rng)


_X = sized(
    Sampler(
        "n",
        lambda rng, _, shape: rng.uniform(0.5, 1.5, shape),
        differentiable=True,
        exact=((0.5, 1.0, 1.5),),  # equal numbers are still different nodes
    ),
    n=(3, 4, 5),
)


# Orders
def _is_in_order(order, parents):
    place = {number: i for i, number in enumerate(order)}
    return _is_complete(order, parents) and all(
        place[parent] < place[number] for number, taken in enumerate(parents) for parent in taken
    )


def _is_complete(order, parents):
    return sorted(order) == list(range(len(parents)))


def _in_order(parents):
    """Return the numbers, parents first."""
    return list(TopologicalSorter(dict(enumerate(parents))).static_order())


def _order_slip(says, fits, example, code="wrong-order", hints=()):
    """Return a misconception that is named by looking at the answer: many orders have the same fault."""

    def rule(parents, answer):
        if answer is None:
            return example(parents)
        order = answer.astype(int).tolist() if (answer == answer.round()).all() else []
        if not order or not (_is_in_order(order, parents) or fits(order, parents)):
            raise ValueError("another fault")
        return answer

    return Misconception(code, "return", rule, says, hints)


def _inputs_left_out(parents):
    return [number for number in _in_order(parents) if parents[number]]


def _parents(rng, setting, _shape):
    """Return the parents of each value: a few values with a diamond and a square, or a long chain."""
    turn = setting.turn % 3
    if turn == 2:  # its end is the first number, and what is made from that the last: a recursion is deep from either
        chain = [(), *((i,) if i % 3 else (i, i // 2) for i in range(_LONG))]
        return [*_placed(chain, range(_LONG, -1, -1)), (0,)]  # no longer: who looks at all that are left is slow
    made = [(), (), (0, 1), (2, 0), (2, 2), (3, 4) if turn else (4, 3)]
    made += [(1, 1, 5), ()] if turn else []
    place = rng.permutation(len(made)).tolist()
    while _is_in_order(place, made) or _is_in_order(list(range(len(made))), _placed(made, place)):
        place = rng.permutation(len(made)).tolist()
    return _placed(made, place)


def _placed(made, place):
    """Return the same graph with other numbers: value i is called `place[i]`."""
    parents = [()] * len(made)
    for number, taken in enumerate(made):
        parents[place[number]] = tuple(place[parent] for parent in taken)
    return parents


topological_order = Routine(
    title="A topological order of a graph",
    inputs={"parents": Sampler("", _parents, turns=3)},
    reference=_in_order,
    accepts=lambda answer, parents: _is_in_order(answer.tolist(), parents),
    listed=True,
    hints={
        "return": (
            "Which values can come first, whatever the rest of the graph looks like?",
            "A value may be appended once all its parents are in the list. How do you know that they are?",
            "Visit the parents first, and append a value after them; remember which values you have visited.",
        )
    },
    misconceptions=(
        _order_slip(
            "each value comes before its parents: this is the order of the backward pass",
            lambda order, parents: _is_in_order(order[::-1], parents),
            lambda parents: _in_order(parents)[::-1],
            hints=(
                "Which value comes first in your list, and where are its parents?",
                "Which order does the forward pass need, and which the backward pass?",
            ),
        ),
        _order_slip(
            "the values without parents, the inputs, are left out",
            lambda order, parents: sorted(order) == sorted(_inputs_left_out(parents)),
            _inputs_left_out,
            "missing-path",
            hints=("Take a value without parents. Which line of your code should put it in the list, and does it?",),
        ),
        _order_slip(
            "some values are left out",
            lambda order, parents: len(set(order)) == len(order) and set(order) < set(range(len(parents))),
            lambda parents: _in_order(parents)[1:],
            "missing-path",
            hints=(
                "Which values does your list lack? What must be true before your code puts one of them in?",
                "Try a value with the same parent twice, such as (3, 3), and a graph with several ends.",
            ),
        ),
        _order_slip(
            "the values are in the order of their numbers",
            lambda order, parents: order == sorted(order) and _is_complete(order, parents),
            lambda parents: list(range(len(parents))),
            hints=(
                "What does the number of a value say about its parents? Try [(1,), ()].",
                "Which line of your code reads the parents of a value?",
            ),
        ),
        _order_slip(
            "the list holds the position of each value; it must hold the value at each position",
            lambda order, parents: (
                _is_complete(order, parents) and _is_in_order(sorted(range(len(order)), key=order.__getitem__), parents)
            ),
            lambda parents: sorted(range(len(parents)), key=_in_order(parents).__getitem__),
            hints=("What does entry 0 of your list say: which value comes first, or where value 0 comes?",),
        ),
        _order_slip(
            "one of the values comes before one of its parents",
            _is_complete,
            lambda parents: _swapped(_in_order(parents), parents),
            hints=(
                "Which value comes too early in your list? What does your code know of its parents at that point?",
                "Try a value with the same parent twice, such as (3, 3), and a chain of several values.",
            ),
        ),
        _order_slip(
            "some values occur more than once",
            lambda order, parents: set(order) <= set(range(len(parents))),
            lambda parents: [*_in_order(parents), 0],
            hints=("Which number is in your list more than once? How did it get there the second time?",),
        ),
    ),
)


def _swapped(order, parents):
    """Return an order in which the last value has changed places with a parent of it."""
    last = max(i for i, number in enumerate(order) if parents[number])
    first = order.index(parents[order[last]][0])
    order[first], order[last] = order[last], order[first]
    return order


value_engine = Routine(
    title="An autograd engine for numbers",
    inputs={"program": Sampler("", _program, turns=4), "x": _X},
    reference=lambda program, x: right_gradients(program, x.unbind()),
    listed=True,
    hints={
        "return": (
            "What must a value remember about the step that computed it, so that it can pass its gradient on?",
            "When is the gradient of a value complete, so that it may be passed on? Are contributions assigned, or "
            "added?",
            "Start with 1 at the last value, and visit the values in an order in which all uses of a value come "
            "before it.",
        )
    },
    misconceptions=tuple(_declared(code, says, _of_numbers(engine)) for code, says, engine in _number_slips()),
)


# Tensors: the same engine with other rules, which are numpy's.
def _spread(g, a, dim=None):
    """Return what a sum passes on: its upstream gradient, copied along the axis that was summed."""
    import numpy as np

    return np.broadcast_to(g if dim is None else np.expand_dims(g, dim), a.shape)


def _mean_back(over_axis, over_all):
    """Return the rule of a sum that divides, over an axis or over all entries."""
    divides = {True: over_all, False: over_axis}
    return lambda g, y, a, dim=None: _spread(g, a, dim) * (y.size / a.size if divides[dim is None] else 1)


def _by_rows(y, g, row):
    """Return the gradient of a softmax, with `row` in place of each row's average of the upstream gradient."""
    return y * (g - row(g * y))


def _softmax(a, axes):
    """Return a softmax over some axes."""
    import numpy as np

    powers = np.exp(a - a.max())
    return powers / powers.sum(axes, keepdims=True)


def _row_by_row(g, a):
    """Return what a sum passes on if the numbers of its upstream gradient are repeated in order, and reshaped."""
    import numpy as np

    return np.tile(g.ravel(), a.size // g.size).reshape(a.shape)


def _pseudo_inverse(a):
    import numpy as np

    return np.linalg.pinv(a)


def _summed_to(g, like):
    """Return a gradient that is summed to the shape of a tensor that was broadcast."""
    g = _first_axes_only(g, like)
    return g.sum(tuple(i for i, size in enumerate(like.shape) if size == 1), keepdims=True)


_OF_TENSORS = (
    ("mul", "forward-value", "the gradients of both operands are multiplied by the product itself",
     (lambda g, y, a, b: g * y,) * 2),
    ("mul", "wrong-operand",
     "the gradient of each operand is multiplied by that operand; it must be multiplied by the other one",
     (lambda g, y, a, b: g * a, lambda g, y, a, b: g * b)),
    ("mul", "missing-local", "it passes the upstream gradient on unchanged, without the local derivative",
     ("upstream", "upstream")),
    ("mul", "sum-of-products", "the gradient of a tensor that was broadcast is summed before it is multiplied",
     (lambda g, y, a, b: _summed_to(g, a) * b, lambda g, y, a, b: _summed_to(g, b) * a)),
    ("matmul", "inverse-for-transpose", "its first operand is inverted; it must be transposed",
     (None, lambda g, y, a, b: _pseudo_inverse(a) @ g)),
    ("matmul", "inverse-for-transpose", "its second operand is inverted; it must be transposed",
     (lambda g, y, a, b: g @ _pseudo_inverse(b), None)),
    ("matmul", "inverse-for-transpose", "its operands are inverted; they must be transposed",
     (lambda g, y, a, b: g @ _pseudo_inverse(b), lambda g, y, a, b: _pseudo_inverse(a) @ g)),
    ("sum", "reshape-for-transpose", "the gradient is repeated row by row, whichever axis was summed",
     (lambda g, y, a, dim=None: _row_by_row(g, a),)),
    ("matmul", "reshape-for-transpose", "its second operand is reshaped; it must be transposed",
     (lambda g, y, a, b: g @ b.reshape(b.shape[::-1]), None)),
    ("matmul", "reshape-for-transpose", "its first operand is reshaped; it must be transposed",
     (None, lambda g, y, a, b: a.reshape(a.shape[::-1]) @ g)),
    ("sum", "mean-for-sum", "it divides by the number of entries, as a mean would", (_mean_back(True, True),)),
    ("sum", "mean-for-sum", "over one axis it divides by the number of entries, as a mean would",
     (_mean_back(True, False),)),
    ("sum", "mean-for-sum", "over all entries it divides by their number, as a mean would",
     (_mean_back(False, True),)),
    ("relu", "inverted-mask", "its mask is inverted, so the gradient passes where the input is negative",
     (lambda g, y, a: g * (a <= 0),)),
    ("relu", "forward-value", "it multiplies by its output in place of its derivative", (lambda g, y, a: g * y,)),
    ("relu", "wrong-point", "its mask uses the sign of the upstream gradient in place of the sign of its input",
     (lambda g, y, a: g * (g > 0),)),
    ("relu", "not-linear", "the gradient passes only where both the gradient and the input are positive",
     (lambda g, y, a: g * ((g > 0) & (a > 0)),)),
    ("softmax", "diagonal-only", "only the diagonal of its Jacobian is used, p * (1 - p)",
     (lambda g, y, a, dim: g * y * (1 - y),)),
    ("softmax", "missing-path",
     "it only multiplies by its output; each entry affects the other entries of its row as well",
     (lambda g, y, a, dim: g * y,)),
    ("softmax", "wrong-local", "the plain sum of each row is subtracted in place of the sum weighted by the output",
     (lambda g, y, a, dim: y * (g - g.sum(-1, keepdims=True)),)),
    ("softmax", "mean-for-sum", "the mean of the weighted row is subtracted in place of the sum of the weighted row",
     (lambda g, y, a, dim: _by_rows(y, g, lambda gy: gy.mean(-1, keepdims=True)),)),
    ("softmax", "mean-for-sum", "the plain mean of each row is subtracted in place of the sum weighted by the output",
     (lambda g, y, a, dim: y * (g - g.mean(-1, keepdims=True)),)),
    ("softmax", "summed-wrong-axis", "its sum is taken down each column; it must be taken along each row",
     (lambda g, y, a, dim: _by_rows(y, g, lambda gy: gy.sum(0, keepdims=True)),)),
    ("softmax", "summed-wrong-axis", "its sum runs over all entries; it must run over each row",
     (lambda g, y, a, dim: _by_rows(y, g, lambda gy: gy.sum()),)),
    ("softmax", "missing-local", "the factor that is its output is missing",
     (lambda g, y, a, dim: g - (g * y).sum(-1, keepdims=True),)),
    ("softmax", "wrong-sign", "the weighted sum of the row is added; it must be subtracted",
     (lambda g, y, a, dim: y * (g + (g * y).sum(-1, keepdims=True)),)),
)  # fmt: skip


_OTHER_TENSORS = (
    ("sum", "it is a mean", lambda a, dim=None: a.mean(dim), (_mean_back(True, True),)),
    ("sum", "axis 0 is treated as if no axis were given, as in `if axis:`", lambda a, dim=None: a.sum(dim or None),
     (lambda g, y, a, dim=None: _spread(g, a, dim or None),)),
    ("sum", "every axis is treated as axis 0", lambda a, dim=None: a.sum(None if dim is None else 0),
     (lambda g, y, a, dim=None: _spread(g, a, None if dim is None else 0),)),
    ("relu", "it has a slope of 0.01 below 0, as a leaky relu has", lambda a: a * (0.01 + 0.99 * (a > 0)),
     (lambda g, y, a: g * (0.01 + 0.99 * (a > 0)),)),
    ("softmax", "it runs over all entries; it must run over each row", lambda a, dim: _softmax(a, None),
     (lambda g, y, a, dim: _by_rows(y, g, lambda gy: gy.sum()),)),
    ("softmax", "it runs over the columns; it must run over the rows", lambda a, dim: _softmax(a, 0),
     (lambda g, y, a, dim: _by_rows(y, g, lambda gy: gy.sum(0, keepdims=True)),)),
)  # fmt: skip
_BY_VALUE = {"softmax": (lambda g, y, a, dim: _by_rows(y, g, lambda gy: gy.sum(-1, keepdims=True)),)}
_HANDED_ON = {"add": (lambda g, y, a, b: g,) * 2, "mul": (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)}


def _first_axes_only(g, like):
    return g.sum(tuple(range(g.ndim - like.ndim)))


def _first_row(g, like):
    return _summed_to(g[(0,) * (g.ndim - like.ndim)], like)


def _first_copy(g, like):
    first = g[(0,) * (g.ndim - like.ndim)]
    return first[tuple(slice(0, 1) if size == 1 else slice(None) for size in like.shape)]


def _averaged(g, like):
    axes = tuple(i - g.ndim for i in range(g.ndim) if i < g.ndim - like.ndim or like.shape[i - g.ndim] < g.shape[i])
    return g.mean(axes, keepdims=True).reshape(like.shape)


def _averaged_over_first_axes(g, like):
    return _summed_to(g.mean(tuple(range(g.ndim - like.ndim))), like)


def _one_number(g, like):
    return g if g.shape == like.shape else _spread(g.sum(), like)


# What becomes of a gradient whose tensor was broadcast: the code, in words, and what is done to it.
_NOT_SUMMED = (
    ("missing-batch-sum", "is not summed over the axes along which it was copied", lambda g, like: g),
    ("missing-batch-sum",
     "is summed over the axes that the tensor lacked, but not over its axes of size 1", _first_axes_only),
    ("mean-for-sum", "is averaged over the copies; it must be summed", _averaged),
    ("mean-for-sum", "is averaged over the axes that the tensor lacked; it must be summed over them",
     _averaged_over_first_axes),
    ("partial-batch", "is that of the first copy alone; it must be the sum over all copies", _first_copy),
    ("partial-batch", "is that of the first row alone; the tensor was copied for every row", _first_row),
    ("summed-wrong-axis", "is the same number in every entry, summed over all axes", _one_number),
)  # fmt: skip


def _in_place(old, new, name, slot):
    old += new
    return old


def _tensor_slips():
    """Yield every mistake that can be named: the code, the message, and the engine that makes it."""
    for code, says, walk in (*_OF_THE_WALK, *_OF_DEAD_STEPS):
        if walk.get("order") != "earliest first":  # by that, too, the gradient of every input is 0
            yield code, says, Engine(walk=walk)
    yield "shared-array", _ONE_ARRAY, Engine({"add": ("upstream", "upstream")}, walk={"keep": _in_place})
    for name in ("add", "mul", "relu", "softmax"):
        yield "shared-array", _OVERWRITES.format(name), Engine(_BY_VALUE, in_place=(name,))
    yield from _other_steps(_OTHER_TENSORS)
    for names in (("add", "mul"), ("add",), ("mul",)):
        for code, says, summed in _NOT_SUMMED:
            where = "" if len(names) > 1 else f"in the backward rule of {names[0]}, "
            engine = Engine({name: _HANDED_ON[name] for name in names}, summed=dict.fromkeys(names, summed))
            yield code, f"{where}the gradient of a tensor that was broadcast {says}", engine
    for code, says, name, rules in _rule_slips(_TENSORS, _OF_TENSORS, ("matmul", "sum", "add", "mul")):
        if (code, name) not in (("missing-path", "sum"), ("missing-upstream", "softmax")):  # as good as nothing at all
            yield code, says, Engine({name: rules})
    for name in ("add", "mul", "relu", "softmax"):
        yield "overwritten", f"the backward rule of {name} {_SETS}", Engine(walk=_set_by(name))


_ONE_ARRAY = (
    "several tensors share one array as their gradient: what is added in place to one is added to the others as well"
)


def _of_tensors(engine):
    return lambda program, tensors: engine.gradients(program, tensors)


# The last one does not need b. Gradients of k, p and s may share one array there, and steps take what others need.
_TENSOR_PROGRAMS = (
    "h = matmul x w, p = add h b, r = relu p, q = mul r c, s = softmax q, t = mul s p, u = add b t, v = mul u s, "
    "y = mul v v, j = sum y 1, i = mul j j, e = sum i",
    "h = matmul x w, y = mul c h, s = softmax y, p = mul s b, r = relu p, o = add r c, q = mul o h, k = sum q 0, "
    "l = mul k b, e = sum l",
    "h = matmul x w, k = softmax h, p = mul k c, q = mul p p, s = softmax q, o = add p s, u = add o k, "
    "gone = softmax k, v = mul u h, e = sum v",
)


def _tensor_program(rng, setting, _shape):
    return _named(_TENSOR_PROGRAMS[setting.turn % 3], {name: i for i, name in enumerate("xwbc")}, 4, setting)


tensor_engine = Routine(
    title="An autograd engine for tensors",
    inputs={
        "program": Sampler("", _tensor_program, turns=5),
        "tensors": tuple(normal(spec, dtype="float64") for spec in ("bs n", "n m", "m", "bs 1")),
    },
    reference=lambda program, tensors: right_gradients(program, tensors),
    returns=4,
    hints={f"return.{place}": _OF_COPIES for place in range(4)},
    misconceptions=(
        Misconception(
            "forward-value",
            "return",
            lambda tensors: tensors,
            "these are the inputs, not their gradients",
            ("What do you return at the end? Where does your engine keep the gradients of the inputs?",),
        ),
        *(_declared(code, says, _of_tensors(engine)) for code, says, engine in _tensor_slips()),
    ),
)


# Several backward passes.
def _script_slips():
    """Yield every mistake that can be named: the code, the message, and the engine that makes it."""
    replaced = "a call of backward replaces the gradients of an earlier call; the gradients must add up until zero_grad"
    yield "overwritten", replaced, Engine(session={"kept": "nothing"})
    between = "intermediate values keep their gradients from one backward pass to the next, and pass them on again"
    for cleared in ("inputs", "all"):
        for grown in (False, True):
            yield "stale-gradient", between, Engine(session={"kept": "all", "cleared": cleared, "grown": grown})
    yield "stale-gradient", "zero_grad does not clear the inputs' gradients", Engine(session={"cleared": "nothing"})
    for done in ("made", "walked"):
        says = "a backward pass skips the steps that an earlier backward pass has visited"
        yield "missing-path", says, Engine(session={"done": done})
    says = "a second call of backward on the same value adds nothing; it must add the gradients once more"
    yield "missing-path", says, Engine(session={"done": "called"})
    says = "each backward pass starts at the newest value; it must start at the value that it is called on"
    yield "wrong-operand", says, Engine(session={"newest": True})
    says = "a gradient passes through detach to the value that was detached"
    yield "wrong-graph", says, Engine({"detach": ("upstream",)})
    says = "detach cuts off the value itself, even for the steps that use it without detach"
    yield "missing-path", says, Engine(session={"cut": True})
    for code, says, walk in _OF_THE_WALK:
        if code != "hard-coded":
            yield code, says, Engine(walk=walk, session={"apart": True})
        if code not in ("hard-coded", "missing-path"):  # what was there before is no first contribution
            yield code, says, Engine(walk=walk)
    for code, says, name, rules in _rule_slips({"add": 2, "mul": 2, "tanh": 1}, _OF_NUMBERS):
        yield code, says, Engine({name: rules})


def _of_scripts(engine):
    return lambda program, x: engine.script_gradients(program, x.tolist())


_SCRIPTS = (
    "p = mul a b, q = tanh p, backward q, backward q",
    "p = mul a b, q = add p a, r = tanh q, backward r, d = detach q, s = mul d r, t = mul s s, u = add t q, "
    "backward u, backward u",
    "p = mul a b, q = tanh p, backward q, zero_grad, d = detach p, r = mul q d, s = mul r p, backward s, t = add s q, "
    "backward q, u = mul t a, backward u",
)


def _script(rng, setting, _shape):
    return _numbered(_SCRIPTS[setting.turn % 3], setting, rng)


engine_twice = Routine(
    title="An engine with repeated backward passes",
    inputs={"program": Sampler("", _script, turns=3), "x": _X},
    reference=lambda program, x: right_gradients(program, x.unbind()),
    listed=True,
    hints={
        "return": (
            "Which gradients are still needed when a backward pass is over? What happens to the others?",
            "Call `backward` twice on one value. What should an intermediate value pass on the second time?",
            "Clear the gradients of intermediate values before each backward pass, and keep those of the inputs.",
        )
    },
    misconceptions=tuple(_declared(code, says, _of_scripts(engine)) for code, says, engine in _script_slips()),
)


# A chain of states
def _states(x, w, b, every):
    """h = x, then h = (h @ w + b[i]).tanh() for each i; out is the last h, whatever `every` is"""
    h = x
    for i in range(len(b)):
        h = (h @ w + b[i]).tanh()
    return h


def _every(_rng, setting, _shape):
    return 7 if setting.kind == LARGER_KIND else (2, 3, 1, 10)[setting.index % 4]


# What mistakes in the backward pass of segments make of the program of the whole chain.
def _joints(program, every):
    """Return the edges by which the segments take the states that they start from."""
    return [(step, 0) for step in program.nodes_of("matmul")[::every]]


def _begun_anew(program, every):
    for joint in _joints(program, every)[1:]:
        program = program.with_vjp(joint, lambda at: at.program.upstreams[0])
    return program


def _last_piece_alone(program, every):
    joint = _joints(program, every)[-1]
    return program.without(joint).with_result("x", lambda edited, g: edited.right.sweep.contribution(joint))


def _short_piece_left_out(program, every):
    steps, rows = program.nodes_of("matmul"), program.nodes_of("getitem")
    whole = len(steps) - len(steps) % every
    if whole == len(steps):
        return program
    dropped = [*((step, 1) for step in steps[whole:]), *((row, 0) for row in rows[whole:])]
    return program.without(*dropped).with_vjp((steps[whole], 0), lambda at: at.program.upstreams[0])


def _rest_left_out(program, every):
    """Leave out the last segment if it is shorter, but not where it is the only one."""
    return _short_piece_left_out(program, min(every, len(program.nodes_of("matmul"))))


def _weights_of_first_piece(program, every):
    return program.without(*((step, 1) for step in program.nodes_of("matmul")[every:]))


def _first_rows_alone(program, every):
    return program.without(*((row, 0) for row in program.nodes_of("getitem")[every:]))


def _from_first_piece(program, every):
    steps = range(len(program.nodes_of("matmul")))
    gone_through = [step for start in steps[::every] for step in steps[start : start + every][::-1]]
    return program.with_iterations(gone_through[::-1])


def _from_first_piece_and_last_state(name, x, w, b, every, out_g):
    """Return the gradient of an input where pieces are visited from the first one, and kept states from the last."""
    import torch

    states = [x]
    for row in b:
        states.append(torch.tanh(states[-1] @ w + row))
    kept, grads = states[:-1][:: int(every)], {"x": out_g, "w": torch.zeros_like(w), "b": torch.zeros_like(b)}
    for start in range(0, len(b), int(every)):
        piece = [kept.pop()]
        for row in b[start : start + int(every)]:
            piece.append(torch.tanh(piece[-1] @ w + row))
        for i in reversed(range(len(piece) - 1)):
            sums_g = grads["x"] * (1 - piece[i + 1] ** 2)
            grads["w"] += piece[i].t() @ sums_g
            grads["b"][start + i] = sums_g.sum(0)
            grads["x"] = sums_g @ w.t()
    return grads[name]


def _slope_before(program):
    for step, tanh in zip(program.nodes_of("matmul"), program.nodes_of("tanh"), strict=True):
        before = program.nodes[step].values[0]
        program = program.with_vjp((tanh, 0), lambda at, before=before: at.right(value=before))
    return program


def _made_again_without_b(program, every):
    kept = {step: program.nodes[step].values[0] for step, _ in _joints(program, every)}
    return _made_again(program, kept, {i: lambda node: node.with_operand(1, 0.0) for i in program.nodes_of("add")})


def _made_again(program, kept, changes):
    """Return the program whose segments are recomputed from other states or other rows of b; products with w as well.

    Args:
        kept: for the first step of each segment, the state that it starts from.
        changes: other changes of nodes, as in `Program.with_nodes`.
    """
    changes = changes | {step: lambda node, state=state: node.with_operand(0, state) for step, state in kept.items()}
    program = program.with_nodes(changes, "values")
    for step, state in kept.items():
        program = program.with_vjp((step, 1), lambda at, state=state: at.right(operands={0: state}))
    return program


def _made_again_with_first_rows(program, every):
    rows = [program.nodes[row].value for row in program.nodes_of("getitem")]
    changes = {
        add: lambda node, row=rows[i % every]: node.with_operand(1, row)
        for i, add in enumerate(program.nodes_of("add"))
    }
    return _made_again(program, {step: program.nodes[step].values[0] for step, _ in _joints(program, every)}, changes)


def _made_again_from_last_state(program, every):
    last = program.nodes[program.nodes_of("tanh")[-1]].value
    return _made_again(program, {step: last for step, _ in _joints(program, every)}, {})


_ASK_FOR_PIECES = (
    "How many pieces does your loop visit if t = 7 and `every` = 3, and how many steps are in each?",
    "And how many does it visit if `every` is larger than t?",
)
_FROM_FIRST = "the backward pass visits the pieces from the first to the last; it must begin with the last"
_PIECE_SLIPS = (
    ("missing-local",
     "every piece starts from out.g; it must start from the gradient that the piece after it passes back", "x w b",
     _begun_anew),
    ("missing-path", "only the last piece of the chain is used in the backward pass", "x w b", _last_piece_alone),
    ("missing-path", "if t is not a multiple of `every`, the steps after the last full piece are left out", "x w b",
     _short_piece_left_out, *_ASK_FOR_PIECES),
    ("missing-path", "if t is not a multiple of `every`, the steps after the last full piece are left out, "
     "unless there is no full piece", "x w b", _rest_left_out, *_ASK_FOR_PIECES),
    ("overwritten", "each piece starts w.g at 0; it must add to the contributions of the pieces after it", "w",
     _weights_of_first_piece),
    ("wrong-order", _FROM_FIRST, "x w b", _from_first_piece),
    ("overwritten", "the rows of b.g are counted from 0 in each piece, so that pieces overwrite each other", "b",
     _first_rows_alone, "Which row of `b` does the first step of the second piece use?",
     "In which row of `b.g` does your code store the gradient of that step?"),
    ("wrong-point", "the derivative of tanh uses the state before the step; it must use the state after it", "x w b",
     _slope_before),
    ("wrong-point", "the states of a piece are recomputed without b", "x w b", _made_again_without_b),
    ("wrong-point", "the states of every piece are recomputed with the first rows of b", "x w b",
     _made_again_with_first_rows),
    ("shared-array", "every piece is recomputed from the last state: the checkpoints share its array", "x w b",
     _made_again_from_last_state),
)  # fmt: skip

checkpoint_grad = Exercise(
    title="Gradient checkpointing",
    forward=_states,
    inputs={
        "x": normal("bs n"),
        "w": weights("n n"),
        "b": normal("t n", scale=0.5),
        "out": output("bs n"),
        "every": Sampler("", _every, turns=4),
    },
    answers=stored("x.g", "w.g", "b.g"),
    never_holds="t bs n",
    held_by_forward=True,
    misconceptions=tuple(
        misconception
        for code, says, targets, edit, *hints in _PIECE_SLIPS
        for misconception in edited(_states, targets, code, edit, says, *hints)
    )
    + tuple(
        Misconception("wrong-order", f"{name}.g", partial(_from_first_piece_and_last_state, name), _FROM_FIRST)
        for name in "xwb"
    ),
    hints={
        "x.g": (
            "Which states does the backward pass need at the same time, and in which order?",
            "From a checkpoint, the states up to the next checkpoint can be recomputed.",
            "From the last piece to the first: recompute its states, run its backward pass, and drop the states.",
        ),
        "w.g": (
            "In how many steps is `w` used? Which state does it multiply in each of them?",
            "Recompute the states of one piece at a time; within it, the loop is that of unit 11.",
            "Start from zeros before the first piece, and add a product in every step of every piece.",
        ),
        "b.g": (
            "How many rows does `b` have, and in how many steps is each of them used?",
            "Recompute the states of one piece at a time; the gradient before the tanh of step `i` belongs in row `i`.",
            "Sum over the batch, and work out which step of the whole chain a step of your piece is.",
        ),
    },
)
