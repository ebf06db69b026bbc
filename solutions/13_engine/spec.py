"""Exercises of unit 13: an autograd of one's own."""

import math
from collections import Counter
from functools import lru_cache

from grader.exercise import Exercise, Misconception, Routine, stored
from grader.sampling import Sampler, normal, output, sized, weights
from grader.trial_sizes import LARGER_KIND

_LONG = 1050  # steps of the chain on which a recursion ends: Python allows 1000
_PLACES = ("first", "second")


# A small engine, in which any rule can be edited and the walk back taken in another way. By operation: its value, and
# what it hands to each value that it takes, of the upstream gradient g, its own value y, and what it took.
def _as_it_is(g, _y, *_taken):
    return g


_NUMBERS = {
    "add": (lambda a, b: a + b, (_as_it_is, _as_it_is)),
    "sub": (lambda a, b: a - b, (_as_it_is, lambda g, y, a, b: -g)),
    "mul": (lambda a, b: a * b, (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)),
    "div": (lambda a, b: a / b, (lambda g, y, a, b: g / b, lambda g, y, a, b: -g * a / b**2)),
    "pow": (lambda a, k: a**k, (lambda g, y, a, k: g * k * a ** (k - 1),)),
    "exp": (math.exp, (lambda g, y, a: g * y,)),
    "log": (math.log, (lambda g, y, a: g / a,)),
    "tanh": (math.tanh, (lambda g, y, a: g * (1 - y * y),)),
    "relu": (lambda a: max(a, 0.0), (lambda g, y, a: g * (a > 0),)),
    "const": (lambda c: c, ()),
}


def _swept(program, inputs, rules, **how):
    """The gradient of a program's last value for each input; see `_gradients`."""
    found = zip(inputs, _gradients(program, inputs, rules, **how), strict=False)
    return [value * 0 if gradient is None else gradient for value, gradient in found]


def _gradients(program, inputs, rules, walk=None, keep=None, seed=None, start=None, before=(), latest=()):
    """The gradient of a program's last value for each value; None for one that the walk does not come to.

    Args:
        walk: the steps' uses in the order in which they are gone through, as pairs of a value and a place in its step.
        keep: what becomes of an earlier contribution and a new one, by a step of this name: their sum.
        seed: of the last value, the gradient that the walk begins with: 1.
        start: the gradient that every other value begins with: None, which is 0 in the end.
        before: the gradients that the first values have already, from another walk.
        latest: of these names, each step has kept what the last one of the name has.
    """
    values, steps = list(inputs), [((), (), (), "", value) for value in inputs]
    for name, *operands in program:
        value, backs = rules[name]
        taken = [*(values[i] for i in operands[: len(backs)]), *operands[len(backs) :]]
        values.append(value(*taken))
        steps.append((backs, operands, taken, name, values[-1]))
    gradients = [*before, *[start] * len(values)][: len(values)]
    gradients[-1] = seed(values[-1]) if seed else values[-1] * 0 + 1
    for number, place in (walk or _back)(steps):
        backs, operands, _, name, _ = steps[number]
        if gradients[number] is None:
            continue
        kept = max(i for i, step in enumerate(steps) if step[3] == name) if name in latest else number
        new, to = backs[place](gradients[number], values[kept], *steps[kept][2]), operands[place]
        old = gradients[to]
        gradients[to] = new if old is None else keep(old, new, name) if keep else old + new
    return gradients


def _uses(steps, number):
    return [(number, place) for place in range(len(steps[number][0]))]


def _back(steps):
    """From the last value to the first: all uses of a value come before it."""
    return (use for number in range(len(steps) - 1, -1, -1) for use in _uses(steps, number))


def _forth(steps):
    return (use for number in range(len(steps)) for use in _uses(steps, number))


def _last_uses(steps):
    """Of each value the last use alone, also where the last value is not made from that."""
    last = {steps[number][1][place]: (number, place) for number, place in _forth(steps)}
    return ((number, place) for number, place in _back(steps) if last[steps[number][1][place]] == (number, place))


def _each_parent_once(*names):
    """Where a step, of one of these names, takes the same value twice, one of the two uses."""

    def walk(steps):
        for number, place in _back(steps):
            _, operands, _, name, _ = steps[number]
            if operands[place] not in operands[place + 1 :] or (names and name not in names):
                yield number, place

    return walk


def _made_from(steps):
    """The numbers of all that the last value is made from, and its own."""
    found = {len(steps) - 1}
    for number in range(len(steps) - 1, -1, -1):
        if number in found:
            found.update(steps[number][1][: len(steps[number][0])])
    return found


def _needed(steps):
    """Without the steps that the last value is not made from."""
    needed = _made_from(steps)
    return (use for use in _back(steps) if use[0] in needed)


def _broken_off(steps):
    """Up to the first step that the last value is not made from."""
    last = max(set(range(len(steps))) - _made_from(steps), default=-1)
    return (use for use in _back(steps) if use[0] > last)


def _told_by_number(steps):
    """Of values that are the same number, the last one made alone is visited."""
    seen = set()
    for number in range(len(steps) - 1, -1, -1):
        if steps[number][-1] not in seen:
            seen.add(steps[number][-1])
            yield from _uses(steps, number)


def _all_awaited(steps):
    """A value waits for every step that takes it, those that the last value is not made from among them."""
    left = Counter(to for backs, operands, *_ in steps for to in operands[: len(backs)])
    for number in range(len(steps) - 1, -1, -1):
        if number == len(steps) - 1 or (number in left and not left[number]):
            yield from _uses(steps, number)
            left.subtract(steps[number][1][: len(steps[number][0])])


def _visited(place, seen_once, turn=list):
    """From the last value on to whatever it was made from; of those that wait, the one at `place` is next.

    Args:
        turn: what becomes of a step's operands before they wait; turned round, calls in calls are taken for a model.
    """

    def walk(steps):
        waiting, seen = [len(steps) - 1], set()
        while waiting:
            number = waiting.pop(place)
            if number not in seen:
                yield from _uses(steps, number)
                waiting += turn(steps[number][1][: len(steps[number][0])])
            if seen_once:
                seen.add(number)

    return walk


def _use_by_use(steps):
    """Each contribution is followed to the inputs before the next one is made."""
    waiting = list(reversed(_uses(steps, len(steps) - 1)))
    while waiting:
        number, place = use = waiting.pop()
        yield use
        waiting += reversed(_uses(steps, steps[number][1][place]))


def _spelt_out(program, n, which):
    """The program with differences and quotients made of other steps, as many engines make them."""
    if not which:
        return program
    steps, numbers = [], list(range(n))

    def put(*step):
        steps.append(step)
        return n + len(steps) - 1

    for name, *operands in program:
        count = len(_NUMBERS[name][1])
        a, b = [*(numbers[i] for i in operands[:count]), *operands[count:], None, None][:2]
        if name == "sub" and name in which:
            numbers.append(put("add", a, put("mul", b, put("const", -1.0))))
        elif name == "div" and name in which:
            numbers.append(put("mul", a, put("pow", b, -1)))
        else:
            numbers.append(put(name, *(each for each in (a, b) if each is not None)))
    return steps


# What goes wrong in a rule: the operation, the code, in words, and the rule for each operand (None leaves it as it is).
_OF_NUMBERS = (
    ("mul", "forward-value", "it hands its own value, the product, to both operands", (lambda g, y, a, b: g * y,) * 2),
    ("mul", "wrong-operand", "it hands each operand the sum of the two", (lambda g, y, a, b: g * (a + b),) * 2),
    ("div", "wrong-local", "the square is missing in what it hands to its second operand",
     (None, lambda g, y, a, b: -g * a / b)),
    ("div", "missing-local", "the numerator is missing in what it hands to its second operand",
     (None, lambda g, y, a, b: -g / b**2)),
    ("div", "wrong-local", "neither the minus nor the square is in what it hands to its second operand",
     (None, lambda g, y, a, b: g * a / b)),
    ("div", "wrong-local", "it hands 1 over the second operand to both", (None, lambda g, y, a, b: g / b)),
    ("div", "wrong-operand", "it is that of mul", (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)),
    ("div", "wrong-operand", "its first operand gets the second one, not 1 over it", (lambda g, y, a, b: g * b, None)),
    ("div", "missing-local", "its first operand gets the upstream gradient as it is", (_as_it_is, None)),
    ("pow", "missing-local", "the exponent is not there as a factor", (lambda g, y, a, k: g * a ** (k - 1),)),
    ("pow", "wrong-local", "the exponent is not one less than before", (lambda g, y, a, k: g * k * y,)),
    ("pow", "wrong-local", "it multiplies by k - 1, where k belongs",
     (lambda g, y, a, k: g * (k - 1) * a ** (k - 1),)),
    ("pow", "wrong-local", "it multiplies the value by the exponent, and no power is left",
     (lambda g, y, a, k: g * k * a,)),
    ("pow", "hard-coded", "it takes every exponent for 2", (lambda g, y, a, k: g * 2 * a,)),
    ("pow", "missing-local", "it hands on the exponent, and nothing of the value", (lambda g, y, a, k: g * k,)),
    ("pow", "wrong-local", "it is the derivative for the exponent, with a logarithm",
     (lambda g, y, a, k: g * y * math.log(a),)),
    ("exp", "wrong-point", "its derivative is taken at its output, exp of exp", (lambda g, y, a: g * math.exp(y),)),
    ("exp", "wrong-local", "it is treated as a power: its input is a factor and the exponent",
     (lambda g, y, a: g * a * math.exp(a - 1),)),
    ("exp", "wrong-local", "it multiplies by its input, where its derivative belongs", (lambda g, y, a: g * a,)),
    ("exp", "wrong-local", "it divides by its output", (lambda g, y, a: g / y,)),
    ("log", "wrong-point", "it divides by its output, where its input belongs", (lambda g, y, a: g / y,)),
    ("log", "wrong-local", "it multiplies by its input, where it should divide", (lambda g, y, a: g * a,)),
    ("log", "forward-value", "it multiplies by its own value", (lambda g, y, a: g * y,)),
    ("log", "wrong-local", "it divides by the square of its input", (lambda g, y, a: g / a**2,)),
    ("tanh", "wrong-point", "its slope is taken at its input, where its output belongs",
     (lambda g, y, a: g * (1 - a * a),)),
    ("tanh", "wrong-point", "its slope is taken at its output as if that were its input: tanh was taken twice",
     (lambda g, y, a: g * (1 - math.tanh(y) ** 2),)),
    ("tanh", "wrong-local", "the square is missing in its slope", (lambda g, y, a: g * (1 - y),)),
    ("tanh", "wrong-local", "its slope has a plus before the square", (lambda g, y, a: g * (1 + y * y),)),
    ("tanh", "wrong-local", "its slope is that of a sigmoid", (lambda g, y, a: g * y * (1 - y),)),
    ("tanh", "wrong-local", "its slope is the square alone", (lambda g, y, a: g * y * y,)),
    ("tanh", "forward-value", "it multiplies by its own value", (lambda g, y, a: g * y,)),
    ("relu", "inverted-mask", "it hands on the gradient where its input is negative, and keeps it elsewhere",
     (lambda g, y, a: g * (a <= 0),)),
    ("relu", "forward-value", "it multiplies by its own value", (lambda g, y, a: g * y,)),
    ("relu", "inverted-mask", "it looks at the sign of the upstream gradient, not of its input",
     (lambda g, y, a: g * (g > 0),)),
)  # fmt: skip
# Steps that compute something else, and whose rules fit that: the operation, in words, its value, and its rules.
_OTHER_NUMBERS = (
    ("sub", "its operands have changed places", lambda a, b: b - a, (lambda g, y, a, b: -g, _as_it_is)),
    ("sub", "it adds", lambda a, b: a + b, (_as_it_is, _as_it_is)),
    ("div", "its operands have changed places", lambda a, b: b / a,
     (lambda g, y, a, b: -g * b / a**2, lambda g, y, a, b: g / a)),
    ("pow", "its exponent is cut to a whole number", lambda a, k: a ** int(k),
     (lambda g, y, a, k: g * int(k) * a ** (int(k) - 1),)),
    ("log", "its base is 10", math.log10, (lambda g, y, a: g / a / math.log(10),)),
    ("log", "its base is 10, and its backward rule is that of base e", math.log10, (lambda g, y, a: g / a,)),
    ("tanh", "it is a sigmoid", lambda a: 1 / (1 + math.exp(-a)), (lambda g, y, a: g * y * (1 - y),)),
)  # fmt: skip
# Of the whole engine: the code, in words, and how `_swept` is asked for it.
_LAST_USE = "where a value is used several times, only the contribution of its last use counts"
_LAST_ONE = "where a value is used several times, the last contribution that arrives replaces the others"
_TOO_EARLY = "each value is visited once, as it is met: it passes on what it has before all uses have contributed"
_AGAIN = "a value passes on all that it has whenever something arrives: what came before is passed on again"
_OF_THE_WALK = (
    *(("overwritten", _LAST_ONE, {"keep": keep, "start": start})
      for keep in (lambda old, new, name: new, lambda old, new, name: old if name == "relu" and _is_zero(new) else new)
      for start in (None, 0.0)),
    ("missing-path", _LAST_USE, {"keep": lambda old, new, name: old}),
    ("missing-path", "where a step takes the same value twice, as v * v does, only one of the two uses counts",
     {"walk": _each_parent_once()}),
    ("wrong-order", "the steps are gone through from first to last: nothing has arrived when a value passes it on",
     {"walk": _forth}),
    *(("wrong-order", _TOO_EARLY if seen_once else _AGAIN, {"walk": _visited(place, seen_once, turn)})
      for seen_once in (True, False) for place, turn in ((0, list), (-1, list), (-1, reversed))),
    ("wrong-order", _AGAIN, {"walk": _use_by_use}),
    ("value-for-gradient", "the walk back begins with the last value itself, where its gradient belongs",
     {"seed": lambda y: y}),
    ("missing-upstream", "every gradient is 0: none was given to begin with, or it was cleared on its way",
     {"seed": lambda y: y * 0}),
    *(("hard-coded", "every gradient begins at 1, where only that of the last value does", {"start": 1.0, "walk": walk})
      for walk in (_back, _needed)),
)  # fmt: skip
# With steps that the last value is not made from; and with steps that are apart from the others of their name.
_OF_DEAD_STEPS = (
    ("missing-path", _LAST_USE, {"walk": _last_uses}),
    ("missing-path", "a value passes nothing on if a step takes it that the last value is not made from",
     {"walk": _all_awaited}),
    ("missing-path", "the walk back ends where it comes to a step that the last value is not made from",
     {"walk": _broken_off}),
)  # fmt: skip
_OF_ONE_NAME = (
    *(("missing-path", f"where {name} takes the same value twice, only one of the two uses counts",
       {"walk": _each_parent_once(name)}) for name in ("add", "mul")),
    ("wrong-point", "what a step keeps for its way back is kept once for its name: each has what the last one took",
     {"latest": tuple(_NUMBERS)}),
    ("wrong-point", "what mul keeps for its way back is kept once for all steps: each has what the last one took",
     {"latest": ("mul",)}),
)  # fmt: skip


def _is_zero(gradient):
    return isinstance(gradient, float) and not gradient


def _edits(rules, particular, of_shape=()):
    """What can go wrong in one operation's rule: the code, in words, the operation, and the edited rules.

    Args:
        of_shape: operations whose operands have shapes of their own: whatever else is handed to them does not fit.
    """
    for name, (value, backs) in rules.items():
        whose = f"the backward rule of {name} is wrong:"

        def edited(*new, name=name, value=value, backs=backs):
            return {**rules, name: (value, tuple(n or old for n, old in zip(new, backs, strict=True)))}

        yield from ((code, f"{whose} {says}", name, edited(*new)) for op, code, says, new in particular if op == name)
        several = len(backs) > 1
        for place, back in enumerate(backs):
            alone = [None] * place, [None] * (len(backs) - place - 1)
            to = f"to its {_PLACES[place]} operand" if several else "on"
            yield "missing-path", f"{whose} it hands nothing {to}", name, edited(*alone[0], _nothing(place), *alone[1])
            says = f"{whose} what it hands {to} has the wrong sign"
            yield "wrong-sign", says, name, edited(*alone[0], _negative(back), *alone[1])
        if set(backs) - {_as_it_is} and name not in ("sub", *of_shape):
            says = f"{whose} it hands the upstream gradient on as it is, without its own derivative"
            yield "missing-local", says, name, edited(*[_as_it_is] * len(backs))
        if backs:
            says = f"{whose} it hands its own derivative on, without the upstream gradient"
            yield "missing-upstream", says, name, edited(*map(_alone, backs))
        if several and set(backs) - {_as_it_is} and name not in of_shape:
            says = f"{whose} each operand gets what belongs to the other"
            yield "wrong-operand", says, name, edited(*reversed(backs))


def _others(rules, others):
    """Steps that compute something else: the code, in words, and the rules with them."""
    for name, says, value, backs in others:
        yield "wrong-graph", f"the step {name} computes something else: {says}", {**rules, name: (value, backs)}


def _declared(code, says, rule):
    """A misconception; about the rule of an operation, it asks for just that, and else what the exercise asks."""
    if not says.startswith("the backward rule of "):
        computed = f"Run {says.split()[2]} alone, forward, on numbers of your own. Is its value what the exercise says?"
        hints = {"shared-array": _OF_ARRAYS, "wrong-graph": (computed,) if says.startswith("the step ") else ()}
        return Misconception(code, "return", rule, says, hints.get(code, ()))
    name = says.split()[4]
    hints = (
        f"Take one {name} alone, with numbers of your own. What must each value that it takes hear, by hand?",
        f"Nudge what {name} takes by 0.001, and see how far its own value moves. Which line of your engine says that?",
    )
    return Misconception(code, "return", rule, says, hints)


_OF_ARRAYS = (
    "`a = b` makes no second array: where a and b are one array, `a += 1` changes b as well.",
    "Which arrays does your engine hand on as they are? Into which does it write later on, by `+=`, `add_` or `out=`?",
    "Write `a = a + b` in place of `a += b`, or hand on a copy.",
)


def _nothing(place):
    return lambda g, y, *taken: taken[place] * 0


def _negative(back):
    return lambda *given: -back(*given)


def _alone(back):
    return lambda g, *given: back(g * 0 + 1, *given)


def _misconceptions():
    def by(rules=_NUMBERS, spelt_out="", **how):
        return lambda program, x: _swept(_spelt_out(program, len(x), spelt_out), x.tolist(), rules, **how)

    for code, says, how in (*_OF_THE_WALK, *_OF_DEAD_STEPS, *_OF_ONE_NAME):
        for which in _SPELT["mul"]:
            yield code, says, by(spelt_out=which, **how)
    every = {name: (value, tuple(map(_alone, backs))) for name, (value, backs) in _NUMBERS.items()}
    for which in _SPELT["mul"]:
        for start in (None, 0.0):
            yield "missing-upstream", _NO_UPSTREAM, by(every, which, start=start)
    yield "missing-path", _SAME_NUMBER, by(walk=_told_by_number)
    for code, says, rules in _others(_NUMBERS, _OTHER_NUMBERS):
        yield code, says, by(rules)
    for code, says, name, rules in _edits(_NUMBERS, _OF_NUMBERS):
        for which in _SPELT.get(name, ("",)):
            yield code, says, by(rules, which)
            if code == "missing-upstream":  # then a step that nothing depends on counts, if the walk comes there
                yield code, says, by(rules, which, start=0.0)
    for name, (_, backs) in _NUMBERS.items():
        for which in _SPELT.get(name, ("",)) if backs else ():
            yield "overwritten", f"the backward rule of {name} {_SETS}", by(spelt_out=which, keep=_set_by(name))


def _set_by(name):
    return lambda old, new, by: new if by == name else old + new


_SAME_NUMBER = "of values that are the same number only one passes anything on: they are taken for one value"
_SETS = "is wrong: it sets the gradient of what it takes, where it has to add to it"
_NO_UPSTREAM = "no step multiplies by the upstream gradient: each hands on its own derivative alone"
_SPELT = {"add": ("", "sub"), "mul": ("", "sub", "div", "sub div"), "pow": ("", "div")}

_SMALL = (
    "p = mul a b, q = add p a, r = tanh q",
    "p = tanh a, q = mul p p, r = sub q b",
    "p = div a b, q = exp p, r = mul q a",
    "p = sub a b, q = mul p a, r = mul q p",
)
# In these nearly every step takes what the step before it made: so there is but one order of the walk back, and which
# contribution comes last can be told. What is taken away or divided by is used once, however that is spelt out.
_MIXED = (
    "one = exp c, side = relu one, k = const 3.0, m = sub a k, z = relu m, p = add z b, q = mul p a, l = log q, "
    "t = tanh l, e = exp t, s = mul e e, w = add s e, r = pow w -0.5, y = relu r, two = const 2.0, d = div y two, "
    "u = sub d side, o = mul u t, f = add o q, g = mul f l, h = add g w, i = mul h m",
    "one = exp c, side = relu one, dead = mul a a, m = mul a b, v = add m a, k = const 4.0, h = div v k, g = mul h m, "
    "j = const 1.0, n = sub g j, same = mul n j, t = tanh same, f = add t k, r = pow f 2.5, gone = exp m, l = log r, "
    "q = mul l v, d = add q q, o = div d side, u = relu o, w = mul u d",
)


def _numbered(text, setting, rng):
    """A program of n inputs; `a`, `b` and `c` are three of them."""
    n = setting.sizes["n"]
    return _named(text, dict(zip("abc", map(int, rng.permutation(n)), strict=False)), n, setting)


def _named(text, numbers, n, setting):
    """A program, of whose inputs these have names; what is added or multiplied changes places in every other step.

    Other steps do in the next trials. In the last one, which has the sizes of an earlier one, it is as in that one.
    """
    numbers, program = dict(numbers), []
    for line in text.split(", "):
        made, _, step = line.rpartition(" = ")
        name, *taken = step.split()
        operands = [numbers[one] if one in numbers else int(one) if one.isdigit() else float(one) for one in taken]
        if made:
            numbers[made], n = n, n + 1
        program.append(
            (name, *(operands[::-1] if name in ("add", "mul") and (n + setting.index // 2) % 2 else operands))
        )
    return program


def _chain(n, rng):
    """A chain of many steps, each of which takes the one before it; one value is used over and over."""
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
    """The numbers, parents first."""
    left = [len(taken) for taken in parents]
    users = [[] for _ in parents]
    for number, taken in enumerate(parents):
        for parent in taken:
            users[parent].append(number)
    order = [number for number, count in enumerate(left) if not count]
    for number in order:  # which grows
        for user in users[number]:
            left[user] -= 1
            if not left[user]:
                order.append(user)
    return order


def _order_slip(says, fits, example, code="wrong-order"):
    """What is wrong with an order, told by looking at it: there are many orders with the same fault."""

    def rule(parents, answer):
        if answer is None:
            return example(parents)
        order = answer.astype(int).tolist() if (answer == answer.round()).all() else []
        if not order or not (_is_in_order(order, parents) or fits(order, parents)):
            raise ValueError("another fault")
        return answer

    return Misconception(code, "return", rule, says)


def _inputs_left_out(parents):
    return [number for number in _in_order(parents) if parents[number]]


def _parents(rng, setting, _shape):
    """What each value is made from: a few values with a diamond and a square, or a long chain."""
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
    """The same graph with other numbers: value i is called `place[i]`."""
    parents = [()] * len(made)
    for number, taken in enumerate(made):
        parents[place[number]] = tuple(place[parent] for parent in taken)
    return parents


topological_order = Routine(
    title="Every value behind its parents",
    inputs={"parents": Sampler("", _parents, turns=3)},
    reference=_in_order,
    accepts=lambda answer, parents: _is_in_order(answer.tolist(), parents),
    listed=True,
    hints={
        "return": (
            "Which values can stand first, whatever the rest looks like?",
            "A value may be entered once all of its parents are. How do you know that they are?",
            "Go to the parents first, and enter a value on the way back from them; remember whom you have seen.",
        )
    },
    misconceptions=(
        _order_slip(
            "each value stands in front of its parents: it is an order for the way back",
            lambda order, parents: _is_in_order(order[::-1], parents),
            lambda parents: _in_order(parents)[::-1],
        ),
        _order_slip(
            "the values that are made from nothing, the inputs, are left out",
            lambda order, parents: sorted(order) == sorted(_inputs_left_out(parents)),
            _inputs_left_out,
            "missing-path",
        ),
        _order_slip(
            "some values are left out",
            lambda order, parents: len(set(order)) == len(order) and set(order) < set(range(len(parents))),
            lambda parents: _in_order(parents)[1:],
            "missing-path",
        ),
        _order_slip(
            "the values stand in the order of their numbers",
            lambda order, parents: order == sorted(order) and _is_complete(order, parents),
            lambda parents: list(range(len(parents))),
        ),
        _order_slip(
            "it tells the place of each value, where the value at each place is asked for",
            lambda order, parents: (
                _is_complete(order, parents) and _is_in_order(sorted(range(len(order)), key=order.__getitem__), parents)
            ),
            lambda parents: sorted(range(len(parents)), key=_in_order(parents).__getitem__),
        ),
        _order_slip(
            "there is a value in it that stands in front of one of its parents",
            _is_complete,
            lambda parents: _swapped(_in_order(parents), parents),
        ),
        _order_slip(
            "some values stand in it more than once",
            lambda order, parents: set(order) <= set(range(len(parents))),
            lambda parents: [*_in_order(parents), 0],
        ),
    ),
)


def _swapped(order, parents):
    """An order in which the last value has changed places with a parent of it."""
    last = max(i for i, number in enumerate(order) if parents[number])
    first = order.index(parents[order[last]][0])
    order[first], order[last] = order[last], order[first]
    return order


value_engine = Routine(
    title="An engine for numbers",
    inputs={"program": Sampler("", _program, turns=4), "x": _X},
    reference=lambda program, x: _swept(program, x.tolist(), _NUMBERS),
    listed=True,
    hints={
        "return": (
            "What must a value remember of the step that made it, so that it can pass a gradient on?",
            "When may a value pass its gradient on? Where does what it passes on have to be added?",
            "Begin with 1 on the last value, and go through the values so that all users of one come before it.",
        )
    },
    misconceptions=tuple(_declared(*slip) for slip in _misconceptions()),
)


# Tensors: the same engine with other rules.
def _unbroadcast(g, like):
    g = g.sum(tuple(range(g.dim() - like.dim()))) if g.dim() > like.dim() else g
    copied = tuple(i for i, size in enumerate(like.shape) if size == 1 and g.shape[i] > 1)
    return g.sum(copied, keepdim=True) if copied else g


def _spread(g, a, *axis):
    return (g.unsqueeze(axis[0]) if axis else g).expand(a.shape)


def _mean_back(*axes):
    """A sum's rule that divides, where it is over so many axes; 0 is over all entries."""
    return lambda g, y, a, *axis: _spread(g, a, *axis) * (y.numel() / a.numel() if len(axis) in axes else 1)


def _by_rows(y, g, row):
    """A softmax's gradient, with `row` in the place of each row's average of the upstream gradient."""
    return y * (g - row(g * y))


_TENSORS = {
    "add": (lambda a, b: a + b, (lambda g, y, a, b: _unbroadcast(g, a), lambda g, y, a, b: _unbroadcast(g, b))),
    "mul": (lambda a, b: a * b, (lambda g, y, a, b: _unbroadcast(g * b, a), lambda g, y, a, b: _unbroadcast(g * a, b))),
    "matmul": (lambda a, b: a @ b, (lambda g, y, a, b: g @ b.mT, lambda g, y, a, b: a.mT @ g)),
    "sum": (lambda a, *axis: a.sum(*axis), (lambda g, y, a, *axis: _spread(g, a, *axis),)),
    "relu": (lambda a: a.clamp_min(0), (lambda g, y, a: g * (a > 0),)),
    "softmax": (lambda a: a.softmax(-1), (lambda g, y, a: _by_rows(y, g, lambda gy: gy.sum(-1, keepdim=True)),)),
}
_OF_TENSORS = (
    ("mul", "forward-value", "it hands its own value, the product, to both operands",
     (lambda g, y, a, b: _unbroadcast(g * y, a), lambda g, y, a, b: _unbroadcast(g * y, b))),
    ("mul", "wrong-operand", "it hands each operand its own value, where that of the other belongs",
     (lambda g, y, a, b: _unbroadcast(g * a, a), lambda g, y, a, b: _unbroadcast(g * b, b))),
    ("mul", "missing-local", "it hands the upstream gradient on as it is, without its own derivative",
     (lambda g, y, a, b: _unbroadcast(g, a), lambda g, y, a, b: _unbroadcast(g, b))),
    ("matmul", "reshape-for-transpose", "its second operand is reshaped, where it should be transposed",
     (lambda g, y, a, b: g @ b.reshape(b.shape[::-1]), None)),
    ("matmul", "reshape-for-transpose", "its first operand is reshaped, where it should be transposed",
     (None, lambda g, y, a, b: a.reshape(a.shape[::-1]) @ g)),
    ("sum", "mean-for-sum", "it divides by the number of entries, as a mean would", (_mean_back(0, 1),)),
    ("sum", "mean-for-sum", "over one axis, it divides by the number of entries, as a mean would", (_mean_back(1),)),
    ("sum", "mean-for-sum", "over all entries, it divides by their number, as a mean would", (_mean_back(0),)),
    ("relu", "inverted-mask", "it hands on the gradient where its input is negative, and keeps it elsewhere",
     (lambda g, y, a: g * (a <= 0),)),
    ("relu", "forward-value", "it multiplies by its own value", (lambda g, y, a: g * y,)),
    ("relu", "inverted-mask", "it looks at the sign of the upstream gradient, not of its input",
     (lambda g, y, a: g.clamp_min(0),)),
    ("softmax", "diagonal-only", "only the diagonal of its Jacobian is there, p (1 - p)",
     (lambda g, y, a: g * y * (1 - y),)),
    ("softmax", "missing-path", "it multiplies by its value alone: each entry moves the others of its row as well",
     (lambda g, y, a: g * y,)),
    ("softmax", "wrong-local", "the row's plain sum is taken away, where the sum weighted with its values belongs",
     (lambda g, y, a: y * (g - g.sum(-1, keepdim=True)),)),
    ("softmax", "mean-for-sum", "the row's mean is taken away, where the sum weighted with its values belongs",
     (lambda g, y, a: _by_rows(y, g, lambda gy: gy.mean(-1, keepdim=True)),)),
    ("softmax", "mean-for-sum", "the plain mean of the row is taken away, where its values are the weights",
     (lambda g, y, a: y * (g - g.mean(-1, keepdim=True)),)),
    ("softmax", "summed-wrong-axis", "its sum runs over the columns, not over each row",
     (lambda g, y, a: _by_rows(y, g, lambda gy: gy.sum(0, keepdim=True)),)),
    ("softmax", "summed-wrong-axis", "its sum runs over all entries, not over each row",
     (lambda g, y, a: _by_rows(y, g, lambda gy: gy.sum()),)),
    ("softmax", "missing-local", "its own value is missing as a factor",
     (lambda g, y, a: g - (g * y).sum(-1, keepdim=True),)),
    ("softmax", "wrong-sign", "the row's sum is added, where it should be taken away",
     (lambda g, y, a: y * (g + (g * y).sum(-1, keepdim=True)),)),
)  # fmt: skip


_OTHER_TENSORS = (
    ("sum", "it is a mean", lambda a, *axis: a.mean(*axis), (_mean_back(0, 1),)),
    ("sum", "it takes axis 0 for no axis, as `if axis` does", lambda a, *axis: a.sum(*filter(None, axis)),
     (lambda g, y, a, *axis: _spread(g, a, *filter(None, axis)),)),
    ("sum", "it takes every axis for axis 0", lambda a, *axis: a.sum(*(0 for _ in axis)),
     (lambda g, y, a, *axis: _spread(g, a, *(0 for _ in axis)),)),
    ("relu", "below 0 it has a slope of 0.01, as a leaky one", lambda a: a.clamp_min(0) + 0.01 * a.clamp_max(0),
     (lambda g, y, a: g * ((a > 0) + 0.01 * (a <= 0)),)),
    ("softmax", "it runs over all entries", lambda a: a.flatten().softmax(0).reshape(a.shape),
     (lambda g, y, a: _by_rows(y, g, lambda gy: gy.sum()),)),
    ("softmax", "it runs along the columns", lambda a: a.softmax(0),
     (lambda g, y, a: _by_rows(y, g, lambda gy: gy.sum(0, keepdim=True)),)),
)  # fmt: skip


def _in_place(value):
    def written(a, *others):
        y = value(a, *others)
        return a.copy_(y) if y.shape == a.shape else y

    return written


def _first_axes_only(g, like):
    return g.sum(tuple(range(g.dim() - like.dim()))) if g.dim() > like.dim() else g


def _averaged(g, like):
    return _unbroadcast(g, like) * like.numel() / g.numel()


# What becomes of a gradient whose tensor was broadcast: the code, in words, and what is done to it.
_NOT_SUMMED = (
    ("missing-batch-sum", "is not added up over the axes along which it was copied", lambda g, like: g),
    ("missing-batch-sum", "is added up over the axes that it lacks, but not over those of size 1", _first_axes_only),
    ("mean-for-sum", "is averaged over its copies, where they should be added up", _averaged),
    ("summed-wrong-axis", "is one number for all of its entries: it is added up over everything",
     lambda g, like: (g.sum() if g.shape != like.shape else g).expand(like.shape)),
)  # fmt: skip


def _tensor_edits():
    """Everything that can go wrong: the code, in words, and how `_swept` is asked for it."""
    says = "every gradient is 0: look at where the walk back begins, and at what the last step hands on"
    yield "missing-upstream", says, {"rules": _TENSORS, "seed": lambda y: y * 0}
    for code, says, how in (*_OF_THE_WALK, *_OF_DEAD_STEPS):
        if how.get("walk") is not _forth and "every gradient is 0" not in says:
            yield code, says, {"rules": _TENSORS, **how}
    yield "shared-array", _ONE_ARRAY, {"rules": _TENSORS, "keep": lambda old, new, name: old.add_(new)}
    for name in ("add", "mul", "relu", "softmax"):
        value, backs = _TENSORS[name]
        says = f"the step {name} writes its result into the array that it takes, and other steps need that as it was"
        yield "shared-array", says, {"rules": {**_TENSORS, name: (_in_place(value), backs)}}
    for code, says, rules in _others(_TENSORS, _OTHER_TENSORS):
        yield code, says, {"rules": rules}
    for names in (("add", "mul"), ("add",), ("mul",)):
        for code, says, summed in _NOT_SUMMED:
            rules = dict(_TENSORS)
            if "add" in names:
                rules["add"] = (_TENSORS["add"][0], _each_summed(summed, lambda g, a, b: g, lambda g, a, b: g))
            if "mul" in names:
                rules["mul"] = (_TENSORS["mul"][0], _each_summed(summed, lambda g, a, b: g * b, lambda g, a, b: g * a))
            whose = "" if len(names) > 1 else f" in the backward rule of {names[0]}"
            yield code, f"the gradient of a tensor that was broadcast {says}{whose}", {"rules": rules}
    for code, says, name, rules in _edits(_TENSORS, _OF_TENSORS, ("matmul", "sum", "add", "mul")):
        if (code, name) not in (("missing-path", "sum"), ("missing-upstream", "softmax")):  # as good as nothing at all
            yield code, says, {"rules": rules}
    for name in ("add", "mul", "relu", "softmax"):
        yield "overwritten", f"the backward rule of {name} {_SETS}", {"rules": _TENSORS, "keep": _set_by(name)}


_ONE_ARRAY = "tensors share an array as their gradient: what is added in place to that of one, the others get as well"


def _each_summed(summed, first, second):
    return lambda g, y, a, b: summed(first(g, a, b), a), lambda g, y, a, b: summed(second(g, a, b), b)


_EDITS = tuple(_tensor_edits())


@lru_cache(4096)
def _wrong_gradients(edit, program, *tensors):
    """All gradients that an edit gives, computed once for all of the answers."""
    return _swept(program, [tensor.clone() for tensor in tensors], **_EDITS[edit][2])


def _by_edit(edit):
    return lambda program, tensors: _wrong_gradients(edit, tuple(program), *tensors)


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
    title="An engine for tensors",
    inputs={
        "program": Sampler("", _tensor_program, turns=5),
        "tensors": tuple(normal(spec, dtype="float64") for spec in ("bs n", "n m", "m", "bs 1")),
    },
    reference=lambda program, tensors: _swept(program, tensors, _TENSORS),
    returns=4,
    hints={
        f"return.{place}": (
            "Write the shape of this tensor's gradient beside the shape of each contribution to it.",
            "Which axes does the one have that the other lacks, or has with size 1? What happened along them, forward?",
            "A step has a rule for each tensor that it takes; behind the rule the copies are added up, in any step.",
        )
        for place in range(4)
    },
    misconceptions=(
        Misconception("forward-value", "return", lambda tensors: tensors, "these are the inputs, not their gradients"),
        *(_declared(code, says, _by_edit(edit)) for edit, (code, says, _) in enumerate(_EDITS)),
    ),
)


# Several walks.
_SCRIPT = {name: _NUMBERS[name] for name in ("add", "mul", "tanh")}
_SCRIPT |= {f"{name} cut": (value, tuple(map(_nothing, range(len(backs))))) for name, (value, backs) in _SCRIPT.items()}
_SCRIPT["detach"] = (lambda a: a, (_nothing(0),))


def _scripted(
    program,
    x,
    rules=_SCRIPT,
    kept=None,
    cleared=None,
    apart=False,
    grown=False,
    cut=False,
    newest=False,
    used_up="",
    **how,
):
    """What the inputs have in the end.

    Args:
        kept: of all gradients that there are, those with which the next walk begins: those of the inputs.
        cleared: what zero_grad leaves of all gradients: zeros for the inputs.
        apart: each walk begins with nothing, and what it gives the inputs is added behind it.
        grown: the 1 with which a walk begins is added to what its last value has.
        cut: who is detached is cut off itself.
        newest: each walk begins at the newest value.
        used_up: no walk goes through the steps that were "made" before an earlier one, or "walked" by it.
    """
    inputs, made = x.tolist(), []
    n = len(inputs)
    state, gone = [0.0] * n, set()

    def what_is_left(steps):
        uses = list(_needed(steps))
        yield from (use for use in uses if use[0] not in gone)
        gone.update(range(n + len(made)) if used_up == "made" else (number for number, _ in uses))

    if used_up:
        how["walk"] = what_is_left
    for step in program:
        name, *operands = step
        if name == "zero_grad":
            state = cleared(state, n) if cleared else [0.0] * n
        elif name == "backward":
            before = () if apart else kept(state, n) if kept else state[:n]
            if grown:
                has = before[operands[0]] if operands[0] < len(before) else 0.0
                how["seed"] = lambda y, has=has: 1.0 + has
            walked = made if newest else made[: operands[0] - n + 1]
            found = _gradients(walked, inputs, rules, before=before, **how)
            if apart:
                found = [old + (new or 0.0) for old, new in zip(state[:n], found, strict=False)]
            state = [0.0 if each is None and i < n else each for i, each in enumerate([*found, *state[len(found) :]])]
        else:
            made.append(step)
            if cut and name == "detach":
                made[operands[0] - n] = (f"{made[operands[0] - n][0]} cut", *made[operands[0] - n][1:])
    return state[:n]


def _script_slips():
    def by(**how):
        return lambda program, x: _scripted(program, x, **how)

    replaced = "a call of backward replaces what an earlier one has left: calls add, until zero_grad"
    yield "overwritten", replaced, by(kept=lambda state, n: ())
    between = "values between the inputs and the end keep their gradients from call to call, and hand them on once more"
    for cleared in (lambda state, n: [0.0] * n + state[n:], lambda state, n: [0.0] * n):
        for grown in (False, True):
            yield "stale-gradient", between, by(kept=lambda state, n: state, cleared=cleared, grown=grown)
    yield "stale-gradient", "zero_grad leaves the inputs what they have", by(cleared=lambda state, n: state)
    for used_up in ("made", "walked"):
        yield (
            "missing-path",
            "a walk does not go through steps that an earlier one has gone through",
            by(used_up=used_up),
        )
    yield "wrong-operand", "each walk begins at the newest value, not at the one that it is asked for", by(newest=True)
    passes = {**_SCRIPT, "detach": (_SCRIPT["detach"][0], (_as_it_is,))}
    yield "wrong-graph", "a gradient passes through detach to the value that was detached", by(rules=passes)
    yield "missing-path", "detach cuts off the value itself, also for the steps that take it undetached", by(cut=True)
    for code, says, how in _OF_THE_WALK:
        if code != "hard-coded":
            yield code, says, by(apart=True, **how)
        if code not in ("hard-coded", "missing-path"):  # what was there before is no first contribution
            yield code, says, by(**how)
    for code, says, _, rules in _edits({name: _SCRIPT[name] for name in ("add", "mul", "tanh")}, _OF_NUMBERS):
        yield code, says, by(rules={**_SCRIPT, **rules})


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
    title="An engine that walks back more than once",
    inputs={"program": Sampler("", _script, turns=3), "x": _X},
    reference=_scripted,
    listed=True,
    hints={
        "return": (
            "Which gradients has anybody asked for, once a walk is over? What becomes of the others?",
            "Call backward twice on one value. What should a value between it and the inputs hand on the second time?",
            "Clear what is between before each walk, and leave the inputs what they have.",
        )
    },
    misconceptions=tuple(_declared(*slip) for slip in _script_slips()),
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


def _in_pieces(
    x,
    w,
    b,
    every,
    g,
    *,
    turn=reversed,
    most=None,
    anew=False,
    within=False,
    before=0,
    shift=1,
    whole=False,
    fresh=False,
):
    """The gradients for x, w and b, made from pieces of the chain.

    Args:
        turn: the order of the pieces.
        most: how many of them are walked back.
        anew: each of them begins with the upstream gradient.
        within: rows of b's gradient are counted in the piece.
        before: 1 for the slope of tanh at the state before.
        shift: 0 where b is forgotten when states are made again.
        whole: a last piece that is shorter than the others is left out.
        fresh: each piece begins with a gradient of 0 for w.
    """
    kept, h, upstream, w_g, b_g = {}, x, g, w * 0, b * 0
    for i in range(len(b)):
        if i % every == 0:
            kept[i] = h
        h = (h @ w + b[i]).tanh()
    starts = [start for start in sorted(kept) if not whole or start + every <= len(b)]
    for start in list(turn(starts))[:most]:
        w_g = w_g * 0 if fresh else w_g
        g, states = upstream if anew else g, [kept[start]]
        for row in b[start : start + every]:
            states.append((states[-1] @ w + shift * row).tanh())
        for i in reversed(range(len(states) - 1)):
            s = g * (1 - states[i + 1 - before] ** 2)
            w_g = w_g + states[i].mT @ s
            b_g[i if within else start + i] = s.sum(0)
            g = s @ w.mT
    return {"x.g": g, "w.g": w_g, "b.g": b_g}


def _piece_slips():
    for code, says, answers, how in (
        ("missing-local", "every piece begins with out.g, where what the piece behind it gave belongs", "x w b",
         {"anew": True}),
        ("missing-path", "only the last piece of the chain is walked back", "x w b", {"most": 1}),
        ("missing-path", "the last piece is left out where it is shorter than the others", "x w b", {"whole": True}),
        ("overwritten", "each piece begins with 0 for w, where what the piece behind it gave has to stay", "w",
         {"fresh": True}),
        ("wrong-order", "the pieces are walked back from the first to the last", "x w b", {"turn": list}),
        ("overwritten", "its rows are counted in each piece from 0, so that pieces overwrite each other", "b",
         {"within": True}),
        ("wrong-point", "the slope of tanh is taken at the state before the step, not at the one behind it", "x w b",
         {"before": 1}),
        ("wrong-point", "the states of a piece are made again without b", "x w b", {"shift": 0}),
    ):  # fmt: skip
        for name in answers.split():
            yield Misconception(code, f"{name}.g", _piece_rule(f"{name}.g", how), says)


def _piece_rule(answer, how):
    return lambda x, w, b, every, out_g: _in_pieces(x, w, b, every, out_g, **how)[answer]


checkpoint_grad = Exercise(
    title="Back through a chain, holding few states",
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
    misconceptions=tuple(_piece_slips()),
    hints={
        "x.g": (
            "Which states does the way back need, and in which order?",
            "From a state that was kept, the states up to the next kept one can be made again.",
            "Take the pieces from the last to the first: make the states of one piece, walk it back, and forget them.",
        ),
        "w.g": (
            "At how many steps is w used? Which state does it meet at each of them?",
            "Inside of a piece it is the loop of a recurrent network, as in unit 11.",
            "Begin with zeros before the first piece, and add a product at every step of every piece.",
        ),
        "b.g": (
            "How many rows does b have, and at how many steps is each of them used?",
            "What arrives in front of the tanh of step i belongs into row i.",
            "Add up over the batch, and look at which step of the whole chain a step of your piece is.",
        ),
    },
)
