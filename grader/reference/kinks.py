"""The gradients that are right where a forward pass has a kink or a tie.

At a kink (relu at 0, abs at 0, equal entries under a maximum) torch's gradient is one of several. The others are found
by running torch's own backward pass beside the kink: a few times, with every operation that has kinks moved slightly
to one side or the other. An entry may have any value between the least and the greatest of these gradients. A linear
relation that holds for all of them must hold for any other: equal entries under a maximum may share the upstream
gradient in any way, but their shares must add up to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from grader.course.exercise import Answer, Exercise

from .references import autograd_answer, derivative_answers, plus_prior
from .trial import IMPOSSIBLE, Trial

# The functions of torch that have kinks, ties or jumps, without underscores at their ends.
KINKED = frozenset(
    "relu relu6 leaky_relu prelu rrelu threshold abs absolute fabs clamp clamp_min clamp_max clip hardtanh hardshrink "
    "softshrink hardsigmoid hardswish elu celu selu max min amax amin maximum minimum fmax fmin aminmax cummax cummin "
    "sort msort topk kthvalue median nanmedian mode quantile nanquantile norm vector_norm matrix_norm dist cdist "
    "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices "
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d argmax argmin argsort "
    "l1_loss smooth_l1_loss huber_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss triplet_margin_loss "
    "cosine_embedding_loss multilabel_margin_loss gt ge lt le greater greater_equal less less_equal heaviside "
    "searchsorted bucketize".split()
)
# Functions that are true of equal entries only: no entry equals a maximum that has been moved.
EXACT = frozenset(("eq", "ne", "isclose", "equal", "allclose"))
NUDGE = 1e-5  # of the largest entry: more than rounding to float32, so that entries which that makes equal are a tie
KINK = 1e-4  # of the largest entry: a gradient that varies by more is at a kink, and not curved
LEAST = 1e-6  # likewise: a gradient varies by more at any kink, and perhaps by curvature
FEW = 4  # gradients beside the input that show every kink of an operation from both sides
NEARBY = 16  # gradients beside the input that a comparison starts with
TRIES = 3  # for each nearby gradient: some moves give none
MOST_NUDGED = 256  # entries that are moved alone, where no nearby gradient has the value of the array
NUDGED_ALONE = 2  # the first moves of an entry: up and down, which show any kink that it is at itself
BESIDE_OTHERS = 5  # times that each move of an entry is tried among random moves of the others
BLOCK = 64  # entries that are compared together
SHARE = 0.03  # of the variation of an entry: how far an array may be from what all nearby gradients have in common

Pattern = Callable[[tuple[int, ...]], np.ndarray]  # takes a shape; returns numbers between -1 and 1 of that shape


@dataclass(frozen=True)
class Move:
    """Describe how a forward pass is moved off its kinks.

    Args:
        operations: the noise that is added to the operands of each operation with kinks, as a function of a shape that
            returns numbers between -1 and 1; `None` for no noise.
        values: the noise that is added to the input that is differentiated, likewise.
    """

    operations: Pattern | None
    values: Pattern | None


GradientOfMove = Callable[[Move], np.ndarray | None]


@dataclass(frozen=True)
class Comparison:
    """Hold the comparison of an array with the right gradient, entry by entry; all fields are shaped like the array.

    Args:
        wrong: the mask of the entries that differ from every right gradient.
        convention: the mask of the entries that differ from torch's gradient and are right by another convention.
        unjudged: the mask of the entries of which torch's gradient is not finite.
        kinks: the mask of the entries at a kink or in a tie; all False if the array is torch's gradient.
        low: the least value of each entry among torch's gradient and the nearby ones.
        high: the greatest value.
    """

    wrong: np.ndarray
    convention: np.ndarray
    unjudged: np.ndarray
    kinks: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class AllowedGradient:
    """Hold the right gradient of one input in one trial, and the ones that are right by other conventions at kinks.

    Args:
        expected: torch's own gradient at the input itself.
        gradient_of: takes a move; returns torch's gradient of the forward pass moved so, `None` where there is none.
        has_kinks: returns whether a value that depends on the input is an operand of an operation that may have kinks,
            or of an exact comparison.
    """

    expected: np.ndarray
    gradient_of: GradientOfMove
    has_kinks: Callable[[], bool] = lambda: True
    _drawn: list[np.ndarray | None] = field(default_factory=list, repr=False)
    _moves: Iterator[Move] = field(default_factory=lambda: _moves(np.random.default_rng(0)), repr=False)

    def accepts(self, array: np.ndarray, bound: float) -> bool:
        """Return whether an array has the right shape, and no entry that is wrong by every convention.

        Args:
            array: the array to judge, of any shape.
            bound: the tolerance, in proportion to the largest entry of the right gradient; absolute where that is zero.
        """
        return array.shape == self.expected.shape and not self.compare(array, bound).wrong.any()

    def compare(self, array: np.ndarray, bound: float) -> Comparison:
        """Return which entries of an array are wrong, right by another convention than torch's, or cannot be judged.

        Args:
            array: the array to judge, shaped like the right gradient.
            bound: the tolerance, in proportion to the largest entry of the right gradient; absolute where that is zero.
        """
        array = array.astype("float64")
        unjudged = ~np.isfinite(self.expected)
        right = np.where(unjudged, 0.0, self.expected)
        with np.errstate(all="ignore"):
            other = ~(np.abs(array - right) <= bound * (float(np.abs(right).max(initial=0.0)) or 1.0)) & ~unjudged
        nearby = _NearbyGradients(self)
        if not other.any() or nearby.is_smooth:
            nowhere = np.zeros_like(other)
            return Comparison(other, nowhere, unjudged, nowhere, self.expected, self.expected)
        fits = nearby.conventional_entries(array, other)
        return Comparison(other & ~fits, fits, unjudged, nearby.varies(KINK), *nearby.bounds())

    @property
    def is_smooth(self) -> bool:
        """Return whether the input is at no kink: moved slightly, the forward pass has the same gradient."""
        return _NearbyGradients(self).is_smooth

    def nearby_gradients(self, count: int) -> list[np.ndarray]:
        """Return the first `count` gradients of the forward pass moved slightly off its kinks, the same in each call.

        They are fewer if most moves give none. Each is an array shaped like the right gradient.
        """
        gradients: list[np.ndarray] = []
        for place in range(TRIES * count):
            if place == len(self._drawn):
                self._drawn.append(self.gradient_of(next(self._moves)))
            gradients.extend([gradient] if (gradient := self._drawn[place]) is not None else [])
            if len(gradients) == count:
                break
        return gradients


class _NearbyGradients:
    """Hold the gradients that one comparison looks at: those of the forward pass moved slightly off its kinks.

    Args:
        allowed: the right gradient and its source of nearby ones.
    """

    def __init__(self, allowed: AllowedGradient) -> None:
        """Begin without any gradient near the one that `allowed` describes."""
        self.allowed = allowed
        self.expected = allowed.expected
        self._drawn: list[np.ndarray] = []
        self._alone: list[np.ndarray] = []  # beside a single entry

    @property
    def is_smooth(self) -> bool:
        """Return whether each gradient of the forward pass moved off its kinks equals the one at the input itself.

        True if it has no kinks; False if it has some, but no move off them gives a gradient.
        """
        if not self.allowed.has_kinks():
            return True
        self._draw(FEW)
        return bool(self._drawn) and not self.varies(LEAST).any()

    def conventional_entries(self, array: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return a mask of the entries of a gradient that are right by another convention than torch's.

        Such an entry lies between the least and the greatest of torch's gradient and the nearby ones, where these
        differ. If all entries of `other` do, those are taken out whose sum along some axes is the same in all of these
        gradients and another in `array`, or that together are no affine combination of theirs.

        Args:
            array: the gradient to judge, shaped like the right one.
            other: the mask of its entries that differ from torch's gradient.

        Returns:
            The mask, shaped like `array`; True only where `other` is.
        """
        fits = other & np.isfinite(array) & self._is_between(array, other)
        if array.ndim and fits.any() and not (other & ~fits).any():  # a number is related to no other entries
            fits &= ~self._breaks_common_relations(array, other)
        return np.asarray(fits)

    def _draw(self, count: int) -> None:
        """Hold the first `count` nearby gradients of `self.allowed`, in place of those that are held."""
        self._drawn = self.allowed.nearby_gradients(count)

    def _known_gradients(self) -> np.ndarray:
        """Return torch's gradient at the input, then all nearby ones; shape: `(1 + nearby, *gradient)`, nan for inf."""
        known = np.stack([self.expected, *self._drawn, *self._alone])
        return np.where(np.isfinite(known), known, np.nan)

    @property
    def _scale(self) -> float:
        """Return the largest absolute entry of torch's gradient and all nearby ones drawn so far; 1 if they are 0."""
        return float(np.abs(np.nan_to_num(self._known_gradients())).max(initial=0.0)) or 1.0

    def varies(self, least: float) -> np.ndarray:
        """Return a mask, shaped like the gradient, of the finite entries whose two `bounds` differ noticeably.

        Args:
            least: the difference that is still none, as a part of the largest absolute entry of all gradients so far.
        """
        low, high = self.bounds()
        return np.asarray(np.isfinite(self.expected) & (high - low > least * self._scale))

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest value of each entry among torch's gradient and the nearby ones so far.

        They are two arrays shaped like the gradient; nan and infinite values are passed over.
        """
        known = self._known_gradients()
        return np.fmin.reduce(known, 0), np.fmax.reduce(known, 0)

    def _is_between(self, array: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return a mask of the entries of a gradient that are between the least and the greatest nearby gradient.

        For each entry of the mask `other` that is not, further nearby gradients are drawn: first for the entries
        furthest from torch's gradient. At the first one that stays outside this stops, and the entries after it count
        as outside.

        Args:
            array: the gradient to judge, shaped like the right one.
            other: the mask of its entries that differ from torch's gradient.
        """
        self._draw(NEARBY)
        missing = other & ~self._within(array)
        gap = np.nan_to_num(np.where(missing, np.abs(array - self.expected), -1.0), nan=np.inf, posinf=np.inf)
        order = np.argsort(-gap, axis=None, kind="stable")[: int(missing.sum())][:MOST_NUDGED]
        for place in order:
            index = tuple(map(int, np.unravel_index(int(place), array.shape)))
            for number, move in enumerate(_moves_of_entry(index) if np.isfinite(array[index]) else ()):
                if self._within(array)[index] or (number == NUDGED_ALONE and self._is_far_from_kinks(gap[index])):
                    break
                self._alone.extend([near] if (near := self.allowed.gradient_of(move)) is not None else [])
            if not self._within(array)[index]:
                break
        return self._within(array)

    def _is_far_from_kinks(self, gap: float) -> bool:
        """Return whether no kink explains an entry's error `gap`: it is large, and no two nearby gradients differ."""
        return gap > KINK * self._scale and not self.varies(KINK).any()

    def _within(self, array: np.ndarray) -> np.ndarray:
        """Return a mask of the entries of `array` that lie between nearby gradients, where these differ."""
        (low, high), slack = self.bounds(), LEAST * self._scale
        return self.varies(LEAST) & (array >= low - slack) & (array <= high + slack)

    def _breaks_common_relations(self, array: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return a mask of the entries that break a linear relation between the entries of every nearby gradient.

        Where equal entries share an upstream gradient, their sum along an axis is the same in every nearby gradient. In
        general, the entries must be an affine combination of the nearby gradients.

        Args:
            array: the gradient to judge, shaped like the right one.
            other: the mask of its entries that differ from torch's gradient.
        """
        broken = np.zeros(array.shape, bool)
        self._draw(min(int(self.varies(KINK).sum()), BLOCK) * 3 // 2 + NEARBY)
        varies = self.varies(KINK)
        for axes in _choices_of_axes(array.ndim):
            sums = self._known_gradients().sum(tuple(axis + 1 for axis in axes), keepdims=True)
            agreed = np.ptp(sums, 0) <= KINK * self._scale
            missed = np.abs(array.sum(axes, keepdims=True) - sums[0]) > SHARE * self._scale
            broken |= np.broadcast_to(agreed & missed, array.shape) & varies & np.any(other, axes, keepdims=True)
        for block in _blocks(varies):
            broken[block] |= self._is_no_combination(array, block) & other[block].any()
        return broken

    def _is_no_combination(self, array: np.ndarray, block: tuple[np.ndarray, ...]) -> bool:
        """Return whether some entries of a gradient are no affine combination of those of the nearby gradients.

        Args:
            array: the gradient to judge, shaped like the right one.
            block: the indices of these entries: one array of positions for each axis.
        """
        every = np.stack([gradient[block] for gradient in self._known_gradients()])
        known = every[np.isfinite(every).all(1)]
        size = np.ptp(known, 0)
        moves, move = (known[1:] - known[0]) / size, (array[block] - known[0]) / size
        # By torch, for numpy's threads get into each other's way on a busy machine.
        _, sizes, directions = (part.numpy() for part in torch.linalg.svd(torch.from_numpy(moves), full_matrices=False))
        kept = directions[sizes > SHARE]
        return bool(np.linalg.norm(move - kept.T @ (kept @ move)) > SHARE)


def allowed_gradient(exercise: Exercise, answer: Answer, trial: Trial) -> AllowedGradient:
    """Return the gradients that are right for an answer in a trial; the same object in each call.

    Gradients near a kink are computed when they are first needed, which they are not to judge torch's own gradient.

    Args:
        exercise: the exercise.
        answer: a gradient or a Jacobian that may be stored in this trial.
        trial: the trial.
    """
    return trial.remember(("allowed", answer.name), lambda: _allowed_in_trial(exercise, answer, trial))  # type: ignore[no-any-return]


def _allowed_in_trial(exercise: Exercise, answer: Answer, trial: Trial) -> AllowedGradient:
    """Return the gradients that are right for an answer in a trial, with none near a kink computed yet."""
    expected = trial.expected[answer.name]
    assert expected is not None

    def gradient_of(move: Move) -> np.ndarray | None:
        """Return torch's gradient with the input moved off its kinks; `None` if it cannot be computed or compared."""
        leaf = trial.inputs[answer.wrt]
        inputs: Mapping[str, Any] = {**trial.inputs, answer.wrt: _with_noise(leaf, move.values)}
        mode = _Moving(move.operations)
        try:
            with mode:
                gradient = autograd_answer(exercise, answer, inputs, trial.out_g)
        except IMPOSSIBLE:
            return None
        unsound = mode.compares_exactly and move.operations is not None
        return None if unsound else plus_prior(gradient, answer, trial.arguments)

    return AllowedGradient(expected, gradient_of, partial(_has_kinks, exercise, answer, trial))


def _has_kinks(exercise: Exercise, answer: Answer, trial: Trial) -> bool:
    """Return whether a value that depends on an answer's input is an operand of an operation with kinks.

    An exact comparison counts as well. `True` also where the forward pass cannot be run with an input that requires a
    gradient. One run serves all answers of an exercise in which no input meets such an operation.
    """
    own, steps = (answer.wrt,), exercise.step_names
    every = tuple(other.wrt for other in derivative_answers(exercise) if other.wrt not in steps)
    groups = (own,) if answer.wrt in steps else (every, own)
    try:
        return all(trial.remember(("kinks", wrt), partial(_meets_kinks, exercise, trial, wrt)) for wrt in groups)
    except ValueError:
        return True  # it cannot be run: neither can nearby gradients be computed


def _meets_kinks(exercise: Exercise, trial: Trial, wrt: Sequence[str]) -> bool:
    """Return whether an operation with kinks, or an exact comparison, has an operand that depends on some inputs.

    Args:
        exercise: the exercise.
        trial: the trial.
        wrt: the names of these inputs, or the name of one step.
    """
    leaves = {name: trial.inputs[name].detach().requires_grad_() for name in wrt}
    with _Moving(None) as mode:
        exercise.run({**trial.inputs, **leaves}, wrt[0])
    return bool(mode.has_kinks or mode.compares_exactly)


def wrong_shares(
    exercise: Exercise, trial: Trial, arrays: Mapping[Answer, np.ndarray], bound: float
) -> dict[Answer, np.ndarray]:
    """Return the entries of gradients that are right by themselves, but share an upstream gradient wrongly.

    Where `a` and `b` are equal, `a.maximum(b)` gives them the upstream gradient in shares, which must add up to it.

    Args:
        exercise: the exercise.
        trial: one trial.
        arrays: by answer, the learner's array, which is right by itself. Answers that are no gradients of an input are
            ignored.
        bound: the tolerance, in proportion to the largest entry of the right gradient; absolute where that is zero.

    Returns:
        By answer, a mask of the entries that do not add up with those of the answers before it, shaped like its array.
        Answers without such an entry are left out.
    """
    wrong: dict[Answer, np.ndarray] = {}
    sound: dict[Answer, np.ndarray] = {}
    for answer, array in arrays.items():
        if answer.kind != "gradient" or answer.wrt not in exercise.forward_names:
            continue
        together = {**sound, answer: array}
        mask = _wrong_shares_of_last(exercise, trial, together, bound) if sound else np.zeros(array.shape, bool)
        if mask.any():
            wrong[answer] = mask
        else:
            sound = together
    return wrong


def _wrong_shares_of_last(
    exercise: Exercise, trial: Trial, arrays: Mapping[Answer, np.ndarray], bound: float
) -> np.ndarray:
    """Return a mask of the entries of the last gradient that do not fit the other gradients at a kink.

    Where a = b, the gradients of a and b through their maximum may divide the upstream gradient between them in any
    way, but must add up to it.

    Args:
        exercise: the exercise.
        trial: one trial.
        arrays: by answer, an array that is right by itself; all but the last fit together.
        bound: the tolerance, in proportion to the largest entry of the right gradient; absolute where that is zero.
    """
    order = _joint_order([array.size for array in arrays.values()])
    names = tuple(answer.name for answer in arrays)
    allowed: AllowedGradient = trial.remember(
        ("allowed", names), lambda: _joint_gradient(exercise, list(arrays), trial, order)
    )
    compared, last = allowed.compare(_join_arrays(list(arrays.values()), order), bound), list(arrays.values())[-1]
    if not (compared.wrong & compared.kinks).any():
        return np.zeros(last.shape, bool)
    # Where it has torch's own choice, it is the others' choice that it does not fit.
    masks = (compared.wrong & compared.kinks, compared.kinks)
    of_last = [mask[np.argsort(order)][-last.size :].reshape(last.shape) for mask in masks]
    return of_last[0] if of_last[0].any() else of_last[1]


def _joint_gradient(exercise: Exercise, answers: Sequence[Answer], trial: Trial, order: np.ndarray) -> AllowedGradient:
    """Return the right gradients of several answers, joined into one vector, with all that a kink allows for it.

    At a kink, all answers must follow one choice of the derivative: those that choose differently are not allowed
    together.

    Args:
        exercise: the exercise.
        answers: gradients of inputs.
        trial: one trial.
        order: the permutation of the entries of the gradients, which are flattened and joined.
    """
    names = [answer.wrt for answer in answers]
    leaves = [trial.inputs[name] for name in names]
    sizes = [leaf.numel() for leaf in leaves]
    back = np.argsort(order)

    def gradient_of(move: Move) -> np.ndarray | None:
        """Return torch's gradients with all inputs moved at once, joined; `None` if there are none to compare with."""
        whole = np.zeros(len(order)) if move.values is None else move.values((len(order),))[back]
        pieces = np.split(whole, np.cumsum(sizes)[:-1])
        moved = [
            _with_noise(leaf, partial(np.reshape, piece)).detach().requires_grad_()
            for leaf, piece in zip(leaves, pieces, strict=True)
        ]
        try:
            with _Moving(move.operations) as mode:
                out = exercise.run({**trial.inputs, **dict(zip(names, moved, strict=True))})
                scalar = out.sum() if trial.out_g is None else (out * trial.out_g).sum()
                computed = torch.autograd.grad(scalar, moved, allow_unused=True)
        except IMPOSSIBLE:
            return None
        if mode.compares_exactly and move.operations is not None:
            return None
        gradients = [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, computed, strict=True)]
        pairs = zip(gradients, answers, strict=True)
        return _join_arrays([plus_prior(g.numpy(), answer, trial.arguments) for g, answer in pairs], order)

    expected = [array for answer in answers if (array := trial.expected[answer.name]) is not None]
    return AllowedGradient(_join_arrays(expected, order), gradient_of)


def _join_arrays(arrays: Sequence[np.ndarray], order: np.ndarray) -> np.ndarray:
    """Return the entries of all arrays in one vector, permuted by the indices `order`; shape: `(entries,)`."""
    return np.asarray(np.concatenate([array.ravel() for array in arrays])[order])


def _joint_order(sizes: Sequence[int]) -> np.ndarray:
    """Return the permutation that brings entries at the same relative position of several arrays together.

    For arrays of 2 and 2 entries: 0, 2, 1, 3.

    Args:
        sizes: the number of entries of each array.

    Returns:
        Indices of the entries of all arrays joined; shape: `(entries,)`.
    """
    places = [(np.arange(size) + 0.5) / size for size in sizes if size]
    return np.argsort(np.concatenate(places), kind="stable") if places else np.zeros(0, int)


class _Moving(TorchFunctionMode):
    """Add noise to the arguments of every torch function with kinks, if they require a gradient.

    Afterwards the attributes `has_kinks` and `compares_exactly` say whether any function with kinks, or any exact
    comparison such as `eq`, was called with such an argument.

    Args:
        pattern: the noise; `None` for none.
    """

    def __init__(self, pattern: Pattern | None) -> None:
        """Begin before the first call of a function; `pattern` is the noise to add, `None` for none."""
        super().__init__()
        self.pattern = pattern
        self.has_kinks = False
        self.compares_exactly = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call a function of torch; if it has kinks, with noise added to those arguments that require a gradient.

        A function that works in place gets the noise into the tensor that it changes. Whether a function has kinks, or
        compares exactly, is kept in `has_kinks` and `compares_exactly`.
        """
        name = getattr(func, "__name__", "").removeprefix("linalg_")
        self.compares_exactly |= name.strip("_") in EXACT and any(map(_requires_gradient, args))
        if name.strip("_") in KINKED and torch.is_grad_enabled():
            moving = [_requires_gradient(value) for value in args]
            self.has_kinks |= any(moving)
            if name.endswith("_") and not name.startswith("_"):
                if any(moving[:1]) and not args[0].is_leaf:
                    args[0].add_(_noise(args[0], self.pattern))
            else:
                pairs = zip(args, moving, strict=True)
                args = tuple(_with_noise(value, self.pattern) if moves else value for value, moves in pairs)
                kwargs = {
                    key: _with_noise(value, self.pattern) if _requires_gradient(value) else value
                    for key, value in (kwargs or {}).items()
                }
        return func(*args, **(kwargs or {}))


def _requires_gradient(value: Any) -> bool:
    """Return whether a value is a tensor that requires a gradient."""
    return isinstance(value, torch.Tensor) and value.requires_grad


def _with_noise(value: torch.Tensor, pattern: Pattern | None) -> torch.Tensor:
    """Return a tensor plus the noise of a pattern, which is in proportion to the tensor's largest entry.

    Return the tensor itself without a pattern.
    """
    return value if pattern is None else value + _noise(value, pattern)


def _noise(value: torch.Tensor, pattern: Pattern | None) -> torch.Tensor:
    """Return noise of a pattern, shaped like a value, in proportion to its largest entry; zeros without a pattern."""
    noise = torch.zeros(value.shape) if pattern is None else torch.from_numpy(np.asarray(pattern(tuple(value.shape))))
    largest = float(value.detach().abs().nan_to_num(0, 0, 0).max()) if value.numel() else 0.0
    return NUDGE * (largest or 1.0) * noise.to(value)


def _moves(rng: np.random.Generator) -> Iterator[Move]:
    """Yield endless moves off the kinks, the first two of which see both sides of the kinks of each operation.

    These two move all operands of operations with kinks up, then down, and not the input. The next six move operands,
    the input or both, by fixed or random numbers; all others are random. At a tie, one of the equal entries becomes the
    largest.

    Args:
        rng: the random numbers.
    """

    def ramp(shape: tuple[int, ...]) -> np.ndarray:
        """Return numbers that rise from 0.5 to 1, so that no two operands move alike."""
        return np.linspace(0.5, 1, int(np.prod(shape))).reshape(shape)

    def at_random(shape: tuple[int, ...]) -> np.ndarray:
        """Return random numbers between -1 and 1."""
        return rng.uniform(-1, 1, shape)

    yield Move(ramp, None)
    yield Move(lambda shape: -ramp(shape), None)  # so the first two see both sides of each operation's kinks
    yield Move(lambda shape: -(at_random(shape) ** 2), lambda shape: -ramp(shape))
    yield Move(at_random, at_random)
    yield Move(lambda shape: 1.5 - ramp(shape), None)
    yield Move(lambda shape: ramp(shape) - 1.5, None)
    yield Move(None, ramp)
    yield Move(None, lambda shape: -ramp(shape))
    while True:
        yield Move(at_random, at_random)
        yield Move(None, at_random)


def _moves_of_entry(index: tuple[int, ...]) -> Iterator[Move]:
    """Yield moves of one entry of the input: up, down, and then up or down while all other entries move at random.

    In a random move the entry is the largest in some of the pooling windows that contain it, and not in others.

    Args:
        index: the index of an entry of the gradient, or of the Jacobian, whose last axes are those of the input.
    """
    rng = np.random.default_rng(0)

    def moved(side: float, others: float) -> Pattern:
        """Return a pattern with `side` at the entry, and random numbers up to `others` at all further ones."""

        def pattern(shape: tuple[int, ...]) -> np.ndarray:
            """Return the noise of this shape."""
            noise = np.asarray(others * rng.uniform(-1, 1, shape))  # a product of numbers is no array
            if len(index) >= len(shape):  # of a Jacobian, the last axes are those of the input
                noise[index[len(index) - len(shape) :]] = side
            return noise

        return pattern

    yield Move(None, moved(1.0, 0.0))
    yield Move(None, moved(-1.0, 0.0))
    for side in (0.9, 0.5, 0.7, 0.3, -0.5, -0.9, 0.8, 0.0) * BESIDE_OTHERS:
        yield Move(None, moved(side, 1.0))


def _choices_of_axes(count: int) -> Iterator[tuple[int, ...]]:
    """Yield every choice of one or more of `count` axes: (0,), (1,), (0, 1) for 2."""
    for size in range(1, count + 1):
        yield from itertools.combinations(range(count), size)


def _blocks(varies: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the indices of at most `BLOCK` entries at a time: neighbours along the last axis, then along the first.

    Args:
        varies: the mask of the entries.

    Yields:
        One array of positions for each axis; shape: `(entries of the block,)`.
    """
    rows = np.argwhere(varies)
    orders = [rows] if len(rows) <= BLOCK or varies.ndim < 2 else [rows, rows[np.lexsort(rows.T)]]
    for order in orders:
        for start in range(0, len(order), BLOCK):
            yield tuple(order[start : start + BLOCK].T)
