"""Wrong rules for one operation of a forward pass: what a slip in its local derivative would compute.

Each function takes the first trial's trace and one use of a value (a step and an operand position) and yields
`Fault`s. Their rules only refer to steps and keys, so they can be run on every trial's trace.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from .shapes import Sizes, name_axes
from .trace import Position, Rule, Step, Trace

UPSTREAM = "out_g"
CONTRACTIONS = {"matmul", "mm", "bmm", "__matmul__", "__rmatmul__"}
AVERAGES = {"mean"}
REDUCTIONS = {"sum", *AVERAGES}
PARTS = {
    "the first": slice(0, 1),
    "the last": slice(-1, None),
    "all but the first": slice(1, None),
    "all but the last": slice(0, -1),
}
RESHAPED: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda q: q.mT.reshape(q.shape),
    lambda q: q.reshape(q.mT.shape).mT,
    lambda q: q.reshape(q.shape[-1], *q.shape[:-1]).movedim(0, -1),
)
RESHAPES = {"squeeze", "unsqueeze", "reshape", "view", "flatten", "transpose", "t", "permute", "expand", "__getitem__"}
QUOTIENTS = {"div", "__rdiv__", "__rtruediv__", "reciprocal"}


@dataclass(frozen=True)
class Fault:
    """A wrong rule at one place of the reverse sweep.

    Args:
        code: the mistake's public code.
        says: a clause about the answer.
        step: the step it happens at.
        position: the operand, `None` for the upstream gradient of the whole step.
        rule: what is computed instead.
    """

    code: str
    says: str
    step: int
    position: Position | None
    rule: Rule


def name_of(trace: Trace, key: str) -> str:
    """What a learner calls a value: `inp`, `out`, or the result of an operation."""
    if key == trace.out:
        return "out"
    if key == UPSTREAM:
        return "out.g"
    return f"the result of {words(trace.steps[int(key[1:])])}" if key.startswith("%") else key


def words(step: Step) -> str:
    """An operation in a learner's words: `mean`, `** 2`, `3 *`."""
    constants = [value for value in step.args if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if not constants or step.name in RESHAPES | REDUCTIONS:
        return f"`{step.label}`"
    if step.name == "pow":
        return f"`** {constants[0]:g}`"
    if step.name in {"__rdiv__", "__rtruediv__"}:
        return f"`{constants[0]:g} /`"
    return f"`{step.label} {constants[0]:g}`"


def local_faults(
    trace: Trace, step: Step, position: Position, sizes: Sizes, *, upstream_given: bool = True
) -> Iterator[Fault]:
    """Every wrong contribution of `step` to its operand at `position`."""

    def fault(code: str, says: str, rule: Rule) -> Fault:
        return Fault(code, says, step.index, position, rule)

    if step.name in CONTRACTIONS:
        yield from _contraction(step, position, sizes, fault)
    elif step.name in REDUCTIONS:
        yield from _reduction(step, position, fault)
    elif step.name not in RESHAPES and _is_pointwise(step):
        yield from _pointwise(trace, step, position, fault)
        yield from _unbroadcast(step, position, sizes, fault)
    if upstream_given and len(step.operands) > 1:
        yield fault("missing-upstream", f"the upstream gradient is missing where {words(step)} hands it on",
                    lambda trace, step, g: step.vjp(position, torch.ones_like(g)))  # fmt: skip
    if step.name not in RESHAPES:
        yield from _exchanged(trace, step, position, fault)
        yield fault("wrong-sign", f"the sign of the part that comes through {words(step)} is wrong", _negative(position))


def upstream_faults(trace: Trace, step: Step, upstream_given: bool) -> Iterator[Fault]:
    """Every wrong upstream gradient of `step`."""
    last = step.key == trace.out
    gradient = "out.g" if last else f"the gradient that arrives at {words(step)}"
    missing = "missing-upstream" if upstream_given else "missing-local"
    value = name_of(trace, step.key)
    yield Fault(missing, f"{gradient} is missing: this is what 1 in its place gives", step.index, None, _ones)
    if last and not upstream_given:
        return
    says = f"{value} stands where {'out.g' if last else 'its gradient'} belongs"
    yield Fault("value-for-gradient", says, step.index, None, lambda trace, step, g: step.value)
    if last:
        yield Fault("extra-factor", "out.g is applied twice", step.index, None, lambda trace, step, g: g * g)


Make = Callable[[str, str, Rule], Fault]


def _negative(position: Position) -> Rule:
    return lambda trace, step, g: -step.vjp(position, g)


def _ones(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(g)


def _is_pointwise(step: Step) -> bool:
    shapes = [step.operand(where).shape for where, _ in step.operands]
    return bool(shapes) and torch.broadcast_shapes(*shapes) == step.value.shape


def local_derivative(step: Step, position: Position, at: torch.Tensor | None = None) -> torch.Tensor:
    """d value / d operand of a pointwise operation, entry by entry; shape: that of the value."""
    operand = step.operand(position) if at is None else at
    wide = operand.expand(step.value.shape)
    return step.vjp(position, torch.ones_like(step.value), {position: wide})


def unbroadcast(g: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Sum `g` over the axes that broadcasting added to reach its shape from `shape`."""
    return g.sum_to_size(shape) if shape else g.sum()


def _pointwise(trace: Trace, step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    derivative = local_derivative(step, position)
    what = words(step)

    def scaled(change: Callable[[torch.Tensor, Step], torch.Tensor]) -> Rule:
        def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
            wrong = g * change(local_derivative(step, position), step)
            return unbroadcast(wrong, step.operand(position).shape)

        return rule

    if bool(((derivative == 0) | (derivative == 1)).all()) and not bool((derivative == 1).all()):
        yield fault("inverted-mask", f"the mask of {what} is the wrong way round", scaled(lambda d, s: 1 - d))
    yield fault("missing-local", f"the derivative of {what} is left out", scaled(lambda d, s: torch.ones_like(d)))
    yield fault("extra-factor", f"the derivative of {what} is applied twice", scaled(lambda d, s: d * d))
    yield from _known_slips(step, position, fault, scaled)
    yield fault(
        "wrong-local", f"the value of {what} stands where its derivative belongs", scaled(lambda d, s: s.value)
    )
    yield fault(
        "wrong-local", f"it is divided by the derivative of {what} instead of multiplied", scaled(lambda d, s: 1 / d)
    )


Scaled = Callable[[Callable[[torch.Tensor, Step], torch.Tensor]], Rule]


def _known_slips(step: Step, position: Position, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    """Slips that belong to one function: a power's exponent, a quotient's square."""
    if step.name == "pow" and position == (0,) and not isinstance(step.args[1], torch.Tensor):
        yield from _power_slips(step, fault, scaled)
    if step.name in QUOTIENTS and position == ((1,) if step.name == "div" else (0,)):

        def below(s: Step) -> torch.Tensor:
            return s.operand(position)

        yield fault("wrong-local", "the denominator is not squared", scaled(lambda d, s: d * below(s)))
        yield fault("wrong-local", "the denominator is cubed, not squared", scaled(lambda d, s: d / below(s)))
        yield fault("wrong-local", "the sign is wrong and the denominator not squared", scaled(lambda d, s: -d * below(s)))
        yield fault("missing-local", "the numerator is left out", scaled(lambda d, s: -1 / below(s) ** 2))
        yield fault("wrong-local", "it is differentiated as if it were a product", _as_product(position))
        yield fault("wrong-local", "the logarithm is the antiderivative", scaled(lambda d, s: below(s).abs().log()))
    if step.name == "exp":
        yield fault("wrong-local", "exp is no power: x * exp(x - 1) is not its derivative",
                    scaled(lambda d, s: s.operand(position) * (s.operand(position) - 1).exp()))  # fmt: skip
        yield fault("wrong-local", "the derivative of exp(x) has no factor x", scaled(lambda d, s: d * s.operand(position)))
    if step.name == "log":
        yield fault("wrong-local", "exp undoes the logarithm; its derivative is something else",
                    scaled(lambda d, s: s.operand(position).exp()))  # fmt: skip
        yield fault("wrong-local", "1 / x**2 is not the derivative of the logarithm", scaled(lambda d, s: d * d))


def _as_product(position: Position) -> Rule:
    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        (other,) = [step.operand(where) for where, _ in step.operands if where != position] or [torch.ones_like(g)]
        return g * other

    return rule


def _power_slips(step: Step, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    def power(change: Callable[[torch.Tensor, float], torch.Tensor]) -> Rule:
        return scaled(lambda d, s: change(s.operand((0,)), s.args[1]))

    k = f"{step.args[1]:g}"
    yield fault("missing-local", f"the {k} that the power brings down is left out", power(lambda x, n: x ** (n - 1)))
    yield fault("missing-local", f"only the {k} of the power is there, not what it multiplies", power(lambda x, n: n + 0 * x))
    yield fault("wrong-local", "the exponent is not lowered", power(lambda x, n: n * x**n))
    yield fault("wrong-local", "the exponent is raised instead of lowered", power(lambda x, n: n * x ** (n + 1)))
    yield fault("wrong-local", "the exponent is lowered twice", power(lambda x, n: n * x ** (n - 2)))
    yield fault("wrong-local", "the new exponent came down, not the old", power(lambda x, n: (n - 1) * x ** (n - 1)))
    yield fault("extra-factor", f"the {k} that the power brings down is there twice", power(lambda x, n: n * n * x ** (n - 1)))
    yield fault("wrong-local", "this belongs to the absolute value, not to a power", power(lambda x, n: x.sign()))
    yield fault("wrong-local", "this is the antiderivative", power(lambda x, n: x ** (n + 1) / (n + 1)))


def _exchanged(trace: Trace, step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    """The local derivative evaluated at other values of the same shape."""
    pool = _pool(trace)
    for where, source in step.operands:
        shape = step.operand(where).shape
        for key, value in pool.items():
            if key == source or value.shape != shape:
                continue
            rule = _evaluated_at(position, where, key)
            there, here = name_of(trace, key), name_of(trace, source)
            if where == position:
                yield fault("wrong-point", f"the derivative of {words(step)} is taken at {there} instead of {here}", rule)
            else:
                yield fault("wrong-operand", f"{there} stands where {here} belongs", rule)
        if where != position and shape == step.operand(position).shape:
            yield fault("wrong-operand", f"the parts of {words(step)} are swapped", _swapped(position, where))
        if where != position and len(step.operands) > 1:
            left_out = f"{name_of(trace, source)} is left out"
            yield fault("missing-local", left_out, _with_operand(position, where, torch.ones_like))


def _swapped(position: Position, other: Position) -> Rule:
    return lambda trace, step, g: step.vjp(
        position, g, {position: step.operand(other), other: step.operand(position)}
    )


def _pool(trace: Trace) -> dict[str, torch.Tensor]:
    """Everything a learner may have at hand: values, the upstream gradient, the inputs' own gradients."""
    gradients = {f"{name}.g": trace.memo.get(f"{name}.g") for name in trace.inputs}
    for key in gradients:
        if gradients[key] is None:
            gradients[key] = trace.memo[key] = trace.backward(key.removesuffix(".g"))
    return {**trace.values(), UPSTREAM: trace.out_g, **{k: v for k, v in gradients.items() if v is not None}}


def _evaluated_at(position: Position, where: Position, key: str) -> Rule:
    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        value = _pool(trace)[key]
        if value.shape != step.operand(where).shape:
            raise ValueError("the values have different shapes in this trial")
        return step.vjp(position, g, {where: value})

    return rule


def _with_operand(position: Position, where: Position, change: Callable[[torch.Tensor], torch.Tensor]) -> Rule:
    return lambda trace, step, g: step.vjp(position, g, {where: change(step.operand(where))})


def _unbroadcast(step: Step, position: Position, sizes: Sizes, fault: Make) -> Iterator[Fault]:
    """Slips in undoing a broadcast: an operand used once per row, column, ..."""
    operand, value = step.operand(position), step.value
    if operand.shape == value.shape:
        return
    summed = _summed_axes(operand.shape, value.shape)

    def full(step: Step, g: torch.Tensor) -> torch.Tensor:
        return g * local_derivative(step, position)

    names = name_axes([value.shape[axis] for axis in summed], sizes)
    yield fault("missing-batch-sum", f"{names} is still there: it was not summed over", lambda t, s, g: full(s, g))
    yield from _partial_sums(value.shape, summed, sizes, fault, full)


def _summed_axes(shape: torch.Size, wide: torch.Size) -> tuple[int, ...]:
    added = len(wide) - len(shape)
    stretched = [i + added for i, size in enumerate(shape) if size == 1 and wide[i + added] != 1]
    return (*range(added), *stretched)


Full = Callable[[Step, torch.Tensor], torch.Tensor]


def _partial_sums(
    shape: torch.Size, summed: tuple[int, ...], sizes: Sizes, fault: Make, full: Full, batch: int = 0
) -> Iterator[Fault]:
    """Sums over other axes than `summed`, or over only one entry of them."""
    every = tuple(range(len(shape)))
    for count in range(1, len(every) + 1):
        for axes in itertools.combinations(every, count):
            if axes == summed:
                continue
            names = name_axes([shape[axis] for axis in axes], sizes)
            code = "missing-batch-sum" if set(axes) < set(summed) else "summed-wrong-axis"
            if set(summed) < set(axes) and batch in axes and batch not in summed:
                code = "extra-batch-sum"
            yield fault(code, f"the sum runs over {names}", lambda t, s, g, axes=axes: full(s, g).sum(axes))
    for axes in _subsets(summed):
        for which, part in PARTS.items():

            def rule(t: Trace, s: Step, g: torch.Tensor, part: slice = part, axes: Sequence[int] = axes) -> torch.Tensor:
                chosen = tuple(part if axis in axes else slice(None) for axis in range(len(shape)))
                return full(s, g)[chosen].sum(summed)

            names = name_axes([shape[axis] for axis in axes], sizes)
            yield fault("partial-batch", f"of {names}, only {which} counted", rule)
        yield _averaged(fault, summed, axes, [shape[axis] for axis in axes], sizes, full)


def _averaged(
    fault: Make, summed: Sequence[int], axes: Sequence[int], shape: Sequence[int], sizes: Sizes, full: Full
) -> Fault:
    rest = tuple(axis for axis in summed if axis not in axes)

    def rule(t: Trace, s: Step, g: torch.Tensor) -> torch.Tensor:
        mean = full(s, g).mean(tuple(axes), keepdim=True)
        return (mean.sum(rest, keepdim=True) if rest else mean).squeeze(tuple(summed))

    says = f"this is the mean over {name_axes(shape, sizes)} where the sum belongs"
    if len(axes) == 1 == len(summed):
        axis = name_axes(shape, sizes).split(" (")[0]
        says = f"every entry is 1/{shape[0]} of what it should be, and {axis} = {shape[0]} here"
    return fault("mean-for-sum", says, rule)


def _subsets(axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for count in range(len(axes), 0, -1):
        yield from itertools.combinations(axes, count)


def _reduction(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    what = words(step)

    def times(factor: Callable[[int], float]) -> Rule:
        def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
            return step.vjp(position, g) * factor(step.operand(position).numel() // max(step.value.numel(), 1))

        return rule

    n = step.operand(position).numel() // max(step.value.numel(), 1)
    if step.name in AVERAGES:
        yield fault("sum-for-mean", f"the 1/{n} from {what} is left out", times(lambda n: n))
        yield fault("extra-factor", f"the 1/{n} from {what} is applied twice", times(lambda n: 1 / n))
    else:
        yield fault("mean-for-sum", f"it is divided by {n}, but {what} does not average", times(lambda n: 1 / n))


def _contraction(step: Step, position: Position, sizes: Sizes, fault: Make) -> Iterator[Fault]:
    """Slips in the gradient of a matrix product: which partner, which transpose, which sum."""
    product = Contraction.of(step, position)
    partner = product.partner
    all_sizes = [product.size(step, letter) for letter in product.letters]
    summed = tuple(i for i, letter in enumerate(product.letters) if letter not in product.own)
    names = name_axes([all_sizes[i] for i in summed], sizes)
    over_batch = product.letters[summed[0]] == product.value[0] and len(product.value) > 1 if summed else False

    def full(s: Step, g: torch.Tensor) -> torch.Tensor:
        return product.products(s, g)

    if not summed:
        return
    not_summed = "missing-batch-sum" if over_batch else "elementwise-for-matmul"
    for order in itertools.permutations(range(len(product.letters))):
        yield fault(not_summed, f"{names} is still there: the products were not summed over it",
                    lambda t, s, g, order=order: full(s, g).permute(order))  # fmt: skip
    yield from _partial_sums(torch.Size(all_sizes), summed, sizes, fault, full)
    for axes in _subsets(summed):
        early = "".join(product.letters[axis] for axis in axes)
        over = name_axes([all_sizes[axis] for axis in axes], sizes)
        yield fault("sum-of-products", f"both factors are summed over {over} first and multiplied afterwards",
                    lambda t, s, g, early=early: product.summed_first(s, g, early))  # fmt: skip
    for reshape in RESHAPED:
        yield fault("reshape-for-transpose", "a factor is reshaped where it must be transposed",
                    _with_operand(position, partner, reshape))  # fmt: skip
    yield fault("inverse-for-transpose", "an inverse stands where a transpose belongs",
                _with_operand(position, partner, lambda q: torch.linalg.pinv(q).mT))  # fmt: skip


@dataclass(frozen=True)
class Contraction:
    """The gradient of a matrix product with respect to one operand, as an einsum.

    Args:
        own: the operand's axes as letters.
        other: its partner's.
        value: the product's.
        partner: where the partner stands.
    """

    own: str
    other: str
    value: str
    partner: Position

    @classmethod
    def of(cls, step: Step, position: Position) -> Contraction:
        left, right = (step.operand((i,)).dim() for i in (0, 1))
        batch = "xyz"[: max(left, right, 2) - 2]
        a = batch[len(batch) - max(left - 2, 0) :] + ("ik" if left > 1 else "k")
        b = batch[len(batch) - max(right - 2, 0) :] + ("kj" if right > 1 else "k")
        value = batch + ("i" if left > 1 else "") + ("j" if right > 1 else "")
        return cls(a, b, value, (1,)) if position == (0,) else cls(b, a, value, (0,))

    @property
    def letters(self) -> str:
        """Every axis of the products before any is summed."""
        return "".join(letter for letter in "xyzikj" if letter in self.own + self.other + self.value)

    def size(self, step: Step, letter: str) -> int:
        """The size of an axis."""
        tensor, letters = (step.value, self.value) if letter in self.value else (step.operand(self.partner), self.other)
        return tensor.shape[letters.index(letter)]

    def products(self, step: Step, g: torch.Tensor) -> torch.Tensor:
        """Partner times upstream, nothing summed; axes: `letters`."""
        return torch.einsum(f"{self.value},{self.other}->{self.letters}", g, step.operand(self.partner))

    def summed_first(self, step: Step, g: torch.Tensor, early: str) -> torch.Tensor:
        """Each factor summed on its own over the axes `early`, then the product; axes: `own`."""
        kept = ["".join(letter for letter in letters if letter not in early) for letters in (self.value, self.other)]
        left = torch.einsum(f"{self.value}->{kept[0]}", g)
        right = torch.einsum(f"{self.other}->{kept[1]}", step.operand(self.partner))
        return torch.einsum(f"{kept[0]},{kept[1]}->{self.own}", left, right)
