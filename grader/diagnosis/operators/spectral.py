"""Mistakes in the vjps of complex operations: a product of spectra, a Fourier transform, a part of a complex number.

Complex numbers are pairs of a real and an imaginary part, along a last axis. The gradient of a complex value is
complex: the vjp of `z * w` by z multiplies by the conjugate of w.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.course.sampling import normal, sized
from grader.program.calls import COMPLEX
from grader.program.forward import Node, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, Program

from .contract import Example, operator
from .places import edges, expression_of

PRODUCTS = tuple(COMPLEX + name for name in ("mul", "matmul", "einsum", "outer"))
QUOTIENT = COMPLEX + "div"
PARTS = ("real", "imag", "view_as_real", "view_as_complex", "complex", "polar", "conj", "resolve_conj")
TRANSFORMS = ("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft")


def conjugate(array: Array) -> Array:
    """Return the conjugates of complex numbers, which are pairs along the last axis; same shape."""
    return np.asarray(array * np.array([1.0, -1.0]))


def has_conjugate(program: Program, place: Place) -> bool:
    """Return whether the vjp along the edge `place` has a conjugate: that of a complex function, such as `z * w`."""
    node = program.reader(place)
    return bool(node.operation.complex_slots & {-1, place[1]}) and node.name not in PARTS


def what_is_conjugated(program: Program, place: Place) -> str:
    """Return a clause on the conjugate in the vjp of the edge `place`: for z in `z * w`, "w must be conjugated".

    For a Fourier transform, that its conjugate transpose must be used; for any other function, that its derivative must
    be conjugated.
    """
    node = program.reader(place)
    if node.name.startswith("fft_"):
        return "the same transform is used again; its conjugate transpose must be used, which runs the other way"
    partner = node.operand(1 - place[1]) if len(node.values) == 2 else None
    if node.name in PRODUCTS and len(node.values) == 2:
        return f"{'the other factor' if partner is None else program.name_of(partner)} must be conjugated"
    return "the derivative must be conjugated"


@operator(
    "conjugate-missing",
    code="transposed",
    rank=1.6,
    at=edges.where(has_conjugate),
    choices=lambda program, place: (None,),
    fields=lambda program, place, choice: {"what": what_is_conjugated(program, place)},
    message="in the gradient of {operand} through {step}, {what}",
    hints=(
        "What does a nudge of the phase of one factor do to the phase of the product?",
        "The gradient of a complex product is complex, too: which factor of it must be conjugated?",
        "Multiplication by w is undone, in phase, by its conjugate: that of the other factor.",
    ),
)
def leave_out_conjugate(program: Program, place: Place, choice: None) -> Program:
    """Use the derivative of a complex function itself, and not its conjugate: g * w for z in `z * w`.

    Args:
        program: the right program.
        place: an edge of which the operand or the value is complex.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the conjugate of what the conjugate of g contributes; real arrays are their own conjugates."""
        slots = at.node.operation.complex_slots
        part = at.right(conjugate(at.g) if -1 in slots else at.g)
        return conjugate(part) if at.slot in slots else part

    return program.with_vjp(place, rule)


@leave_out_conjugate.example
def _() -> Example:
    """Show tanh(irfft(rfft(x) * rfft(k))), whose gradient of `x` multiplies by rfft(k), not by its conjugate."""

    def forward(x: Tensor, k: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x) * torch.fft.rfft(k)
        y: Tensor = torch.fft.irfft(spectrum, n=x.shape[1])
        return y.tanh()

    def wrong(x: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply by the spectrum of k and not by its conjugate."""
        n, fk = x.shape[1], torch.fft.rfft(k)
        y = torch.fft.irfft(torch.fft.rfft(x) * fk, n=n).tanh()
        return {"x": torch.fft.irfft(torch.fft.rfft(g * (1 - y**2)) * fk, n=n)}

    return Example(forward, wrong, {"x": "bs n", "k": "n"})


@leave_out_conjugate.example
def _() -> Example:
    """Show state = turn * state + x[t], turn complex, whose gradient is multiplied by turn, not by its conjugate."""

    def forward(x: Tensor, size: Tensor, angle: Tensor) -> Tensor:
        turn = torch.polar(size.sigmoid(), angle)
        state = torch.zeros_like(x[0]) * turn
        for step in x:
            state = turn * state + step
        return torch.stack((state.real, state.imag))

    def wrong(x: Tensor, size: Tensor, angle: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Multiply the gradient of the state by turn, and not by its conjugate, in each step."""
        turn = torch.polar(size.sigmoid(), angle)
        dx, state = torch.zeros_like(x), torch.complex(g[0], g[1])
        for t in reversed(range(len(x))):
            dx[t] = state.real
            state = state * turn
        return {"x": dx}

    return Example(forward, wrong, {"x": "t n", "size": "n", "angle": "n"})


def is_broadcast_in_product(program: Program, place: Place) -> bool:
    """Return whether broadcasting repeats the factor of the edge `place` in a product of complex numbers.

    The edge must lead into an entrywise product: the operation is not looked at.
    """
    node = program.reader(place)
    return place[1] < len(node.values) == 2 and bool(repeated_axes(node, place[1]))


def repeated_axes(node: Node, slot: int) -> tuple[int, ...]:
    """Return the axes of a product along which broadcasting repeats the factor in a slot, and not the other factor.

    They are counted from the front; the axis of the pairs is not among them.
    """
    shapes = [(*np.shape(value), *(() if i in node.operation.complex_slots else (1,)))
              for i, value in enumerate(node.values)]  # fmt: skip
    rank = node.value.ndim
    own, other = ((1,) * (rank - len(shape)) + shape for shape in (shapes[slot], shapes[1 - slot]))
    return tuple(axis for axis in range(rank - 1) if own[axis] == 1 < other[axis])


@operator(
    "spectra-summed-first",
    code="sum-of-products",
    rank=2.5,
    at=edges.of(COMPLEX + "mul").where(is_broadcast_in_product),
    choices=lambda program, place: (None,),
    fields=lambda program, place, choice: {
        "axes": " and ".join(
            program.name_of_axis(place[0], axis) for axis in repeated_axes(program.reader(place), place[1])
        )
    },
    message="in the gradient of {operand} through {step}, both factors are summed over {axes} before they are"
    " multiplied; multiply first, then sum",
)
def sum_spectra_first(program: Program, place: Place, choice: None) -> Program:
    """Multiply the sums of both factors over the axes along which an operand is repeated, in place of summing products.

    Args:
        program: the right program.
        place: the edge of the repeated operand of a complex product, entry by entry.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    node = program.reader(place)
    axes, other = repeated_axes(node, place[1]), 1 - place[1]
    end = node.value.ndim - (0 if other in node.operation.complex_slots else 1) - np.ndim(node.values[other])
    partner = np.asarray(node.values[other]).sum(tuple(axis - end for axis in axes), keepdims=True)
    return program.with_vjp(place, lambda at: at.right(at.g.sum(axes, keepdims=True), operands={other: partner}))


@sum_spectra_first.example
def _() -> Example:
    """Show tanh(irfft(rfft(x) * rfft(k))), whose gradient of `k` multiplies spectra summed over the batch."""

    def forward(x: Tensor, k: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x) * torch.fft.rfft(k)
        y: Tensor = torch.fft.irfft(spectrum, n=x.shape[1])
        return y.tanh()

    def wrong(x: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Sum both spectra over the batch before they are multiplied."""
        n, fx = x.shape[1], torch.fft.rfft(x)
        dy = g * (1 - torch.fft.irfft(fx * torch.fft.rfft(k), n=n).tanh() ** 2)
        return {"k": torch.fft.irfft(torch.fft.rfft(dy).sum(0) * fx.conj().sum(0), n=n)}

    return Example(forward, wrong, {"x": "bs n", "k": "n"})


@operator(
    "imaginary-part-dropped",
    code="missing-path",
    rank=2.5,
    at=edges.where(lambda program, place: place[1] in program.reader(place).operation.complex_slots
                   and program.reader(place).name not in PARTS),
    message="in the gradient of {operand} through {step}, the imaginary part is dropped",
)  # fmt: skip
def drop_imaginary_part(program: Program, place: Place, choice: None) -> Program:
    """Contribute the real part alone to the gradient of a complex operand.

    Args:
        program: the right program.
        place: the edge of a complex operand.
        choice: always `None`: there is nothing to choose.

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: at.right() * np.array([1.0, 0.0]))


@drop_imaginary_part.example
def _() -> Example:
    """Show the real part of fft(x) * fft(k), whose gradient of `x` keeps the real part of that of the spectrum of x."""

    def forward(x: Tensor, k: Tensor) -> Tensor:
        spectrum = torch.fft.fft(x)
        y: Tensor = (spectrum * torch.fft.fft(k)).real
        return y.tanh()

    def wrong(x: Tensor, k: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the real part of the spectrum's gradient before it is transformed back."""
        fx, fk = torch.fft.fft(x), torch.fft.fft(k)
        dy = g * (1 - (fx * fk).real.tanh() ** 2)
        return {"x": torch.fft.ifft((dy * fk.conj()).real).real * x.shape[1]}

    return Example(forward, wrong, {"x": "bs n", "k": "n"})


class TransformMistake(NamedTuple):
    """A wrong scale of the vjp of a Fourier transform over n entries.

    Args:
        message: what is wrong, in words, with the field `{n}`.
        twice: the inner frequencies of half a spectrum are multiplied by 2 to this power: -1, 0 or 1.
        power: the contribution is multiplied by n to this power: -1, 0 or 1.
    """

    message: str
    twice: int
    power: int


TRANSFORM_MISTAKES: Mapping[str, TransformMistake] = {
    "divided": TransformMistake("it is divided by {n}, the number of entries, as by an inverse transform", 0, -1),
    "not divided": TransformMistake("the division by {n}, the number of entries, is missing", 0, 1),
    "doubled": TransformMistake("the inner frequencies count twice; each must count once", 1, 0),
    "doubled and divided": TransformMistake(
        "the inverse transform is used, which divides by {n} and counts inner frequencies twice", 1, -1),
    "not doubled": TransformMistake(
        "the inner frequencies count once; each must count twice, as it stands for two", -1, 0),
    "not doubled, not divided": TransformMistake(
        "the transform is used as it is; it must be divided by {n}, and its inner frequencies must count twice", -1, 1),
}  # fmt: skip


def transform_mistakes(program: Program, place: Place) -> Iterator[str]:
    """Yield the keys of `TRANSFORM_MISTAKES` for the Fourier transform at the edge `place`, such as "divided" for fft.

    Nothing is yielded for a transform with another `norm` than torch's default.
    """
    node = program.reader(place)
    if node.options.get("norm") not in (None, "backward"):
        return
    yield from {
        "fft_fft": ("divided",),
        "fft_ifft": ("not divided",),
        "fft_rfft": ("divided", "doubled", "doubled and divided"),
        "fft_irfft": ("not divided", "not doubled", "not doubled, not divided"),
    }[node.name]


def transformed_axis(node: Node) -> int:
    """Return the axis that a Fourier transform runs along, counted from the front; the axis of pairs does not count."""
    dim = node.options.get("dim", -1)
    rank = node.value.ndim - (-1 in node.operation.complex_slots)
    return (dim if isinstance(dim, int) else -1) % rank


def transform_length(node: Node) -> int:
    """Return over how many entries a Fourier transform runs; of half a spectrum, the length of the real array."""
    is_real = node.name == "fft_rfft"
    return int((np.shape(node.values[0]) if is_real else node.value.shape)[transformed_axis(node)])


@operator(
    "transform-mistaken",
    code="wrong-factor",
    rank=2.0,
    at=edges.of(*TRANSFORMS),
    choices=transform_mistakes,
    fields=lambda program, place, choice: {
        "mistake": TRANSFORM_MISTAKES[choice].message.format(n=transform_length(program.reader(place))),
        "transform": expression_of(program, program.reader(place)),
    },
    message="in the gradient of {operand} through {transform}, {mistake}",
)
def scale_transform_wrongly(program: Program, place: Place, choice: str) -> Program | None:
    """Scale the vjp of a Fourier transform wrongly, such as by 1 / n, or count inner frequencies once or twice.

    In half a spectrum the inner frequencies stand for two each: the vjp of `irfft` doubles them, that of `rfft` does
    not.

    Args:
        program: the right program.
        place: the edge of a Fourier transform.
        choice: a key of `TRANSFORM_MISTAKES`.

    Returns:
        The rewritten program; `None` where half a spectrum has no inner frequency.
    """
    node, mistake = program.reader(place), TRANSFORM_MISTAKES[choice]
    n, axis = transform_length(node), transformed_axis(node)
    weights = np.ones(n // 2 + 1)
    weights[1 : (n + 1) // 2] = 2.0**mistake.twice
    if mistake.twice and (weights == 1).all():
        return None

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with inner frequencies weighted, times a power of n."""
        if not mistake.twice:
            return at.right() * float(n) ** mistake.power
        is_spectrum = at.node.name == "fft_rfft"
        spectrum = at.g if is_spectrum else at.right()
        own = np.concatenate([weights, np.ones(spectrum.shape[axis])])[: spectrum.shape[axis]]
        shaped = own.reshape(-1, *(1,) * (spectrum.ndim - axis - 1))
        return (at.right(spectrum * shaped) if is_spectrum else spectrum * shaped) * float(n) ** mistake.power

    return program.with_vjp(place, rule)


@scale_transform_wrongly.example
def _() -> Example:
    """Show log1p(abs(rfft(x))**2) * w, whose gradient of `x` is the irfft of that of the spectrum."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x)
        power: Tensor = spectrum.abs() ** 2
        return power.log1p() * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use irfft in place of the transpose of rfft."""
        spectrum = torch.fft.rfft(x)
        dspectrum = g * w / (1 + spectrum.abs() ** 2) * 2 * spectrum
        return {"x": torch.fft.irfft(dspectrum, n=x.shape[1])}

    return Example(forward, wrong, {"x": sized(normal("bs n"), n=(6, 8, 10)), "w": "1"})


@scale_transform_wrongly.example
def _() -> Example:
    """Show irfft(rfft(x) * a * w), a real filter a, whose gradient of `a` counts each frequency once."""

    def forward(x: Tensor, a: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x) * a[: x.shape[1] // 2 + 1]
        y: Tensor = torch.fft.irfft(spectrum, n=x.shape[1])
        return y.tanh()

    def wrong(x: Tensor, a: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use rfft(dy) / n in place of the transpose of irfft, which doubles the inner frequencies."""
        n, fx, half = x.shape[1], torch.fft.rfft(x), x.shape[1] // 2 + 1
        dy = g * (1 - torch.fft.irfft(fx * a[:half], n=n).tanh() ** 2)
        da = torch.zeros_like(a)
        da[:half] = (torch.fft.rfft(dy) / n * fx.conj()).real.sum(0)
        return {"a": da}

    return Example(forward, wrong, {"x": "bs n", "a": "n"})
