"""Operators on windows that slide along an array: convolutions, pooling, `unfold`, and the padding around them.

A tap is a position inside a window: a kernel of size 3 has three taps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from grader.course.sampling import Sampler, mask, normal, sized, spaced
from grader.diagnosis.hints import WHERE_WINDOWS_BEGIN, WHICH_POSITION
from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, NoCandidate
from grader.program.program import EdgeContext, Program
from grader.program.windows import windows_of

from .contract import Example, operator
from .places import edges, nodes
from .rearrangements import shift

Sizes = tuple[int, ...]
windows = edges.of("convolution", "max_pool", "mean_pool", "unfold")
convolutions = edges.of("convolution")
with_kernel = edges.of("convolution", "transposed_convolution")
INPUT, KERNEL, BIAS = 0, 1, 2  # the slots of a convolution


def _sizes(node: Node, option: str) -> Sizes:
    """Return an option of a windows operation, such as its stride, as one number for each axis of the windows.

    A stride of 2 is (2,) for `conv1d`, (2, 2) for `conv2d`.

    Args:
        node: the operation.
        option: the name of the option, such as `"stride"`; `"size"` for the size of the window, which may be that of a
            kernel. A `"dilation"` that the operation does not have is 1.
    """
    if option == "size" and node.name in ("convolution", "transposed_convolution"):
        return np.shape(node.values[KERNEL])[2:]
    if option == "dilation" and option not in node.options:
        return (1,) * len(_sizes(node, "size"))
    value = node.options["kernel_size" if option == "size" and node.name != "unfold" else option]
    return value if isinstance(value, tuple) else (int(str(value)),)


def _tap_numbers(entries: Array) -> Array:
    """Return the numbers 0, 1, ... of the taps, the positions in a window; shape: (taps, 1, ...).

    Args:
        entries: what each tap meets in each window; shape: (taps, ...).
    """
    return np.arange(len(entries)).reshape(-1, *(1,) * (entries.ndim - 1))


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contribution of each tap of each window to the array that the windows slide along.

    Args:
        parts: one contribution for each tap, each window, and each index of the other axes; shape: (taps, *other axes,
            *windows).
        places: the index in the flattened array of the entry that each tap meets, -1 in the padding; it broadcasts to
            the shape of `parts`.
        axes: the number of axes that the windows slide along.
        shape: the shape of the array.
    """

    parts: Array
    places: Array
    axes: int
    shape: tuple[int, ...]

    def sum(self, parts: Array | None = None, places: Array | None = None) -> Array:
        """Return the sum of the contributions to each entry of the array, of the shape `self.shape`: the right vjp.

        Args:
            parts: contributions to sum in place of `self.parts`, in its shape.
            places: for each contribution its position in the flattened array, in place of `self.places`.
        """
        parts = self.parts if parts is None else parts
        places = np.broadcast_to(self.places if places is None else places, parts.shape)
        inside = places >= 0
        return np.bincount(places[inside], parts[inside], math.prod(self.shape)).reshape(self.shape)

    def assign(self, order: str, where: Array | None = None) -> Array:
        """Return for each entry of the array the last contribution to it, as a loop does with `=` in place of `+=`.

        Args:
            order: the outer loop: `"window"`, one window after the other is written; or `"tap"`, one position in the
                window after the other, for all windows at once.
            where: a mask, shaped like `self.parts`, of the contributions that are assigned; all by default.

        Returns:
            Shape: `self.shape`; 0 where there is no contribution.
        """
        part = np.zeros(self.shape)
        last = tuple(range(-self.axes, 0)) if order == "window" else (0,)
        first = tuple(range(self.axes)) if order == "window" else (0,)
        parts, places = (np.moveaxis(array, last, first) for array in (self.parts, self.places))
        inside = (places >= 0) & (True if where is None else np.moveaxis(where, last, first))
        part.reshape(-1)[places[inside]] = parts[inside]  # of equal places the last one stays
        return part


def contributions(at: EdgeContext) -> Contributions:
    """Return the `Contributions` of the edge `at` into a windows operation: what each tap adds to the array.

    A tap is a position in the window: of conv1d with a kernel of 3, tap 1 of window t meets entry t + 1 of the array.
    The result has an array of these contributions, and for each its position in the flattened array.
    """
    node, x, g = at.node, np.asarray(at.x), at.g
    numbers = np.arange(x.size, dtype=float).reshape(x.shape)
    if node.name == "unfold":
        axis = int(str(node.options["dimension"])) % x.ndim
        taps = (
            np.moveaxis(np.moveaxis(array, -1, 0), axis + 1, -1)
            for array in (g, node.operation.run((numbers,), node.options))
        )
        parts, places = taps
        return Contributions(parts, places.astype(int), 1, x.shape)
    kernel, stride, padding, dilation = (_sizes(node, option) for option in ("size", "stride", "padding", "dilation"))
    count = g.shape[-len(kernel) :]
    places = windows_of(numbers, kernel, stride, padding, dilation, -1.0, count).astype(int)
    if node.name == "convolution":
        parts = _convolution_parts(g, np.asarray(node.values[KERNEL]), int(str(node.options["groups"])))
    elif node.name == "max_pool":
        parts = g * (_tap_numbers(places) == window_entries(at).argmax(0))
    else:
        inside = len(places) if node.options.get("count_include_pad", True) else (places >= 0).sum(0)
        parts = np.broadcast_to(g / inside, places.shape)
    return Contributions(parts, places, len(kernel), x.shape)


def _convolution_parts(g: Array, w: Array, groups: int) -> Array:
    """Return the upstream gradient times each entry (tap) of the kernel, summed over the output channels of each group.

    Args:
        g: the upstream gradient; shape: (examples, output channels, *windows).
        w: the kernel; shape: (output channels, channels of a group, *size).
        groups: the number of groups.

    Returns:
        Shape: (taps, examples, channels, *windows).
    """
    upstream = g.reshape(len(g), groups, -1, *g.shape[2:])
    taps = w.reshape(groups, len(w) // groups, w.shape[1], -1)
    parts = np.asarray(np.einsum("ngo...,goct->tngc...", upstream, taps))
    return parts.reshape(len(parts), len(g), -1, *g.shape[2:])


def window_entries(at: EdgeContext) -> Array:
    """Return the entries of each window of a pooling, -inf in the padding; shape: (taps, *other axes, *windows)."""
    options = [_sizes(at.node, option) for option in ("size", "stride", "padding", "dilation")]
    kernel, stride, padding, dilation = options
    return windows_of(np.asarray(at.x), kernel, stride, padding, dilation, -np.inf, at.g.shape[-len(kernel) :])


def sized_normal(spec: str, **sizes: tuple[int, ...]) -> Sampler:
    """Return a sampler of normal numbers in which the given axes have fixed sizes, so that the windows fit.

    Args:
        spec: the axes by name, such as `"bs c n"`.
        sizes: for the name of an axis the sizes that it may have, such as n=(6, 7).
    """
    return sized(normal(spec), **sizes)


# Stride, dilation, padding ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OptionMistake:
    """A wrong use of the options of a windows operation, such as its stride, in its backward pass.

    Args:
        how: a clause about the backward pass, such as `"ignores its stride"`.
        options: pairs of an option that is wrong and of what is used in its place: the name of a second option,
            `"size"` for the size of the window, or a number: (("stride", 1),).
    """

    how: str
    options: tuple[tuple[str, str | int], ...]

    def apply(self, node: Node) -> dict[str, Sizes | int]:
        """Return the wrong options for a node by name, in the form in which its operation takes them.

        For `(("stride", 1),)` and a `conv1d`: {"stride": (1,)}.
        """
        values: dict[str, Sizes | int] = {}
        for option, other in self.options:
            own = _sizes(node, option)
            sizes = (other,) * len(own) if isinstance(other, int) else _sizes(node, other)
            values[option] = sizes if isinstance(node.options[option], tuple) else sizes[0]
        return values


OPTION_MISTAKES = (
    *(OptionMistake(f"ignores its {option}", ((option, 1),)) for option in ("stride", "step", "dilation")),
    OptionMistake("exchanges its stride and its dilation", (("stride", "dilation"), ("dilation", "stride"))),
    OptionMistake("uses its dilation as its stride", (("stride", "dilation"),)),
    OptionMistake("uses its stride as its dilation", (("dilation", "stride"),)),
    OptionMistake("uses the window size as its stride", (("stride", "size"),)),
    OptionMistake("uses the window size as its step", (("step", "size"),)),
    OptionMistake("uses its stride as the window size", (("kernel_size", "stride"),)),
    OptionMistake("uses its padding as its stride", (("stride", "padding"),)),
    OptionMistake("uses its stride as its padding", (("padding", "stride"),)),
    OptionMistake("uses the same entries for every tap of the kernel", (("dilation", 0),)),
)


def option_mistakes(program: Program, place: Place) -> Iterator[OptionMistake]:
    """Yield the `OptionMistake`s in `OPTION_MISTAKES` that change an option of the reader of the edge `place`.

    An `OptionMistake` is a clause, and which options are wrong: for a convolution of stride 2, "ignores its stride",
    with the stride 1.
    """
    node = program.reader(place)
    for other in OPTION_MISTAKES:
        if all(option in node.options for option, _ in other.options):
            taken = {name for _, name in other.options if isinstance(name, str) and name != "size"}
            if taken <= set(node.options) and any(
                value != node.options[name] for name, value in other.apply(node).items()
            ):
                yield other


@operator(
    "window-option-mistaken",
    code=lambda choice: "hard-coded" if choice.how.startswith("ignores") else "wrong-local",
    rank=2.0,
    at=edges.of_family("window").where(lambda program, place: place[1] != BIAS),
    choices=option_mistakes,
    fields=lambda program, place, choice: {"how": choice.how},
    message="in the gradient of {operand}, the backward pass of {step} {how}",
    hints=WHERE_WINDOWS_BEGIN,
)
def use_wrong_window_option(program: Program, place: Place, choice: OptionMistake) -> Program:
    """Compute the contribution of the edge `place` with a wrong stride, dilation, padding or size of the windows.

    The choice says which option gets which value: `OptionMistake("ignores its stride", (("stride", 1),))` takes the vjp
    for a stride of 1.
    """
    return program.with_vjp(place, lambda at: at.node.vjp(at.slot, at.g, options=choice.apply(at.node)))


@use_wrong_window_option.example
def _() -> Example:
    """Show tanh(conv1d(x, w, stride=2)) whose gradient of the kernel takes windows of stride 1."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, stride=2).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Begin window i at entry i in place of entry 2 * i."""
        dz, dw = g * (1 - F.conv1d(x, w, stride=2).tanh() ** 2), torch.zeros_like(w)
        for i in range(g.shape[-1]):
            dw += torch.einsum("bo,bck->ock", dz[..., i], x[..., i : i + w.shape[-1]])
        return {"w": dw}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(8, 9)), "w": sized_normal("o c k", k=(2, 3))})


@use_wrong_window_option.example
def _() -> Example:
    """Show (x.unfold(-1, 3, 2)**2).sum(-1) whose gradient places the windows side by side."""

    def forward(x: Tensor) -> Tensor:
        return x.unfold(-1, 3, 2).square().sum(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Begin window i at entry 3 * i in place of entry 2 * i."""
        dx = torch.zeros_like(x)
        for i, window in enumerate(x.unfold(-1, 3, 2).unbind(-2)):
            inside = dx[..., 3 * i : 3 * i + 3]
            inside += (2 * window * g[..., i, None])[..., : inside.shape[-1]]
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(8, 9))})


@use_wrong_window_option.example
def _() -> Example:
    """Show tanh(conv_transpose1d(x, w, stride=2)) whose gradient of the input is taken with stride 1."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv_transpose1d(x, w, stride=2).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take for input i the outputs from entry i on, in place of entry 2 * i."""
        dz, dx = g * (1 - F.conv_transpose1d(x, w, stride=2).tanh() ** 2), torch.zeros_like(x)
        for k in range(w.shape[-1]):
            dx += torch.einsum("bon,co->bcn", dz[..., k : k + x.shape[-1]], w[..., k])
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(5, 6)), "w": sized_normal("c o k", k=(3, 4))})


Side = Literal["at the beginning", "at the end"]
SIDES: tuple[Side, Side] = ("at the beginning", "at the end")


def padded_sides(program: Program, place: Place) -> tuple[Side, ...]:
    """Return the ends of an axis at which the backward pass of the edge `place` may cut off all of the padding.

    The ends are those in `SIDES`, "at the beginning" and "at the end"; for a `pad` that adds entries at one end alone,
    only the wrong end. Empty where the operation pads nothing.
    """
    node = program.reader(place)
    if node.name == "pad":
        widths = _pad_widths(node)
        return tuple(side for i, side in enumerate(SIDES) if any(pair[1 - i] > 0 for pair in widths))
    return SIDES if any(_sizes(node, "padding")) else ()


def _pad_widths(node: Node) -> list[tuple[int, int]]:
    """Return how many entries a `pad` node adds before and after each axis, as pairs, the last axis first."""
    pad = node.options["pad"]
    assert isinstance(pad, tuple)
    return list(zip(pad[::2], pad[1::2], strict=True))


@operator(
    "padding-cut-at-one-end",
    code="wrong-local",
    rank=1.5,
    at=edges.of("convolution", "max_pool", "mean_pool", "pad"),
    choices=padded_sides,
    message="in the gradient of {operand}, the backward pass of {step} assumes that all padding is {choice}",
)
def cut_padding_at_one_end(program: Program, place: Place, choice: Side) -> Program:
    """Compute the contribution of the edge `place` as if the padding of both ends of an axis were at one end.

    The choice is one of `SIDES`. For padding 1, d being the gradient of the padded array: d[:-2] with "at
    the end", in place of d[1:-1].
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with all padding taken from the chosen end."""
        if at.node.name == "pad":
            both = [a + b for a, b in _pad_widths(at.node)]
            pad = [width for total in both for width in ((total, 0) if choice == "at the beginning" else (0, total))]
            return at.right(pad=tuple(pad))
        times = 2 if choice == "at the beginning" else 0  # each window begins that many entries before its tap
        return at.right(padding=tuple(times * width for width in _sizes(at.node, "padding")))

    return program.with_vjp(place, rule)


@cut_padding_at_one_end.example
def _() -> Example:
    """Show conv1d(x, w, padding=1) whose gradient of the input is cut off by 2 entries at the end."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, padding=1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Cut off both padding entries at the end, in place of one at each end."""
        dx = F.conv_transpose1d(g, w)
        return {"x": dx[..., : x.shape[-1]]}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(7, 8)), "w": sized_normal("o c k", k=(3,))})


@cut_padding_at_one_end.example
def _() -> Example:
    """Show pad(x, (2, 1)) * w whose gradient of `x` is cut off by 3 entries in front."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.pad(x, (2, 1)) * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * w)[..., 3:]}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(4, 6)), "w": "1"})


@operator(
    "padding-exchanged",
    code="wrong-operand",
    rank=2.0,
    at=edges.of("pad").where(lambda program, place: any(a != b for a, b in _pad_widths(program.reader(place)))),
    message="in the gradient of {operand} through {step}, the two widths of the padding are swapped",
    hints=WHICH_POSITION,
)
def exchange_padding(program: Program, place: Place, choice: None) -> Program:
    """Cut off in front as many entries as a `pad` adds at the end, and at the end as many as it adds in front.

    For pad(x, (2, 1)): g[1:-2] in place of g[2:-1].
    """

    def rule(at: EdgeContext) -> Array:
        return at.right(pad=tuple(width for pair in _pad_widths(at.node) for width in reversed(pair)))

    return program.with_vjp(place, rule)


@exchange_padding.example
def _() -> Example:
    """Show pad(x, (2, 1)) * w whose gradient of `x` is cut off by 1 entry in front and 2 at the end."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.pad(x, (2, 1)) * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * w)[..., 1:-2]}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(4, 6)), "w": "1"})


EDGES: Mapping[str, tuple[bool, bool]] = {
    "the first and the last entry": (True, True),
    "the first entry": (True, False),
    "the last entry": (False, True),
}


@operator(
    "padding-added-to-edges",
    code="wrong-local",
    rank=2.5,
    at=edges.of("pad"),
    choices=lambda program, place: EDGES,
    message="in {step}, the upstream gradient at the padding is added to {choice} of the gradient of {operand}, as if"
    " the padding were copies of these entries; the padding is a constant",
)
def add_padding_to_edges(program: Program, place: Place, choice: str) -> Program:
    """Add the upstream gradient at the padding of a `pad` to the entries at the edges, as for a repeated edge.

    The choice is a key of `EDGES`: whether it is added to the first entry, the last one or both. For pad(x, (2, 1)) and
    "the first entry": g[0] + g[1] + g[2] at the first entry. `place` is the edge of x.
    """

    def rule(at: EdgeContext) -> Array:
        """Return g without the padding, the sum of which is added to the chosen edges."""
        g, kept = np.array(at.g), [slice(None)] * np.ndim(at.g)
        for number, (before, after) in enumerate(_pad_widths(at.node)):
            rows, axis = np.moveaxis(g, -1 - number, 0), -1 - number
            last = len(rows) - after - 1
            if EDGES[choice][0]:
                rows[before] += rows[:before].sum(0)
            if EDGES[choice][1]:
                rows[last] += rows[last + 1 :].sum(0)
            kept[axis] = slice(before, last + 1)
        return np.asarray(g[tuple(kept)])

    return program.with_vjp(place, rule)


@add_padding_to_edges.example
def _() -> Example:
    """Show pad(x, (2, 1)) * w whose backward pass is that of a repeated edge."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.pad(x, (2, 1)) * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Add the gradient of the padding to the first and the last entry, in place of dropping it."""
        dz = g * w
        dx = dz[..., 2:-1].clone()
        dx[..., 0] += dz[..., :2].sum(-1)
        dx[..., -1] += dz[..., -1]
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(4, 6)), "w": "1"})


# Taps ---------------------------------------------------------------------------------------------------------------


def axis_in_words(axis: int) -> str:
    """Return an axis of a window in words: "the last axis" for -1.

    Args:
        axis: the axis, counted from the end.
    """
    return {-1: "the last axis", -2: "the second to last axis"}.get(axis, f"axis {axis}")


@dataclass(frozen=True)
class KernelTurn:
    """A wrong order of the entries of a kernel.

    Args:
        names: a clause that says how the kernel is turned, such as `"in reverse order along the last axis"`.
        axes: the axes of the kernel that this is about, counted from the end.
        exchanged: whether these two axes are swapped; otherwise the kernel is reversed along them.
    """

    names: str
    axes: Sizes
    exchanged: bool = False

    def turn(self, kernel: Array) -> Array:
        """Return the kernel reversed along `self.axes`, or, if `self.exchanged`, with these two axes exchanged."""
        return np.asarray(kernel.swapaxes(*self.axes) if self.exchanged else np.flip(kernel, self.axes))


def kernel_turns(program: Program, place: Place) -> Iterator[KernelTurn]:
    """Yield `KernelTurn`s: along which axes the kernel w of a convolution is reversed, or which two are swapped.

    w.flip(-1) for windows of one axis; for two, w reversed along both, along each of them, and, where these have one
    size, transposed. The convolution reads the edge `place`.
    """
    sizes = _sizes(program.reader(place), "size")
    count = len(sizes)
    if count == 1 and sizes[0] > 1:
        yield KernelTurn("the wrong way round", (-1,))
    elif count > 1:
        yield KernelTurn("the wrong way round along all spatial axes", tuple(range(-count, 0)))
        yield from (
            KernelTurn(f"the wrong way round along {axis_in_words(axis)}", (axis,)) for axis in range(-count, 0)
        )
        if sizes[-1] == sizes[-2]:
            yield KernelTurn("transposed", (-2, -1), exchanged=True)


@operator(
    "kernel-turned",
    code="wrong-operand",
    rank=2.0,
    at=with_kernel.at_slot(INPUT, KERNEL),
    choices=kernel_turns,
    fields=lambda program, place, choice: {
        "how": choice.names,
        "what": "the taps are" if place[1] == KERNEL else "the kernel is used",
        "task": "get the contributions of the entries that it multiplies in the forward pass"
        if place[1] == KERNEL
        else "carry the upstream gradient back to the entries that it multiplies in the forward pass",
    },
    message="in the gradient of {operand} through {step}, {what} {how}; each tap must {task}",
    hints=(
        "Which entry does each tap multiply in the forward pass, and which does your code multiply by it?",
        "Number the taps 0, 1, 2, ... and write down one output entry as a sum.",
    ),
)
def turn_kernel(program: Program, place: Place, choice: KernelTurn) -> Program:
    """Compute the contribution to the input with the kernel reversed or transposed, or turn the one to the kernel so.

    The choice is along which axes. For `KernelTurn("the wrong way round", (-1,))`, w.flip(-1) is used in place of w if
    the edge `place` is that of the input; if it is that of the kernel w, dw.flip(-1) is its contribution in place of
    dw.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution to the kernel, turned, or that of a turned kernel to the input."""
        if at.slot == KERNEL:
            return choice.turn(at.right())
        return at.right(operands={KERNEL: choice.turn(np.asarray(at.node.values[KERNEL]))})

    return program.with_vjp(place, rule)


@turn_kernel.example
def _() -> Example:
    """Show relu(conv1d(x, w)) whose gradient of the input is a convolution with the kernel not reversed."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w).relu()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (F.conv1d(x, w) > 0)
        return {"x": F.conv1d(dz, w.transpose(0, 1), padding=w.shape[-1] - 1)}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(7, 8)), "w": sized_normal("o c k", k=(2, 3))})


@turn_kernel.example
def _() -> Example:
    """Show conv_transpose1d(x, w) whose backward pass reverses the kernel, as that of a convolution does."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv_transpose1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": F.conv1d(g, w.flip(-1))}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(5, 6)), "w": sized_normal("c o k", k=(3, 4))})


@dataclass(frozen=True)
class Taps:
    """The taps of a window that are left out, or that alone are kept.

    Args:
        which: `"first"`, `"last"` or `"middle"`.
        axis: the axis of the window, counted from the end, along which the taps are chosen; `None` for a single tap,
            chosen along all axes.
        alone: whether only these taps are kept; otherwise these are left out.
    """

    which: Literal["first", "middle", "last"]
    axis: int | None
    alone: bool

    def mask(self, sizes: Sizes) -> Array:
        """Return 1 for the taps, the positions in a window, that are kept, else 0; shape: `sizes`, the window's.

        For `Taps("last", None, alone=False)` and (3,): [1, 1, 0].
        """
        place = [{"first": 0, "middle": size // 2, "last": size - 1}[self.which] for size in sizes]
        chosen = np.zeros(sizes)
        index: list[int | slice] = [*place] if self.axis is None else [slice(None)] * len(sizes)
        if self.axis is not None:
            index[self.axis] = place[self.axis]
        chosen[tuple(index)] = 1.0
        return chosen if self.alone else 1 - chosen

    def describe(self, owner: str) -> str:
        """Return a clause that says which taps are used or missing.

        Such as "the last tap of the kernel along the last axis is left out", or "only the last tap of the kernel is
        used"; an operation without a kernel has entries in place of taps.

        Args:
            owner: what has the taps: `the kernel`, or `each window` of an operation without one.
        """
        tap = f"the {self.which} {'tap' if 'kernel' in owner else 'entry'} of {owner}"
        tap += "" if self.axis is None else f" along {axis_in_words(self.axis)}"
        return f"only {tap} is used" if self.alone else f"{tap} is left out"


def some_taps(program: Program, place: Place) -> Iterator[Taps]:
    """Yield `Taps`: which positions in each window are left out, or are kept alone.

    The first, the last or the middle one, as a single position, or all that are first, last or in the middle along an
    axis of the windows: (0, 0), or column 0, of a window of 3 x 3. The windows are those that read the edge `place`.
    """
    sizes = _sizes(program.reader(place), "size")
    if math.prod(sizes) > 1:
        for alone in (False, True):
            for axis in (None,) if len(sizes) == 1 else (None, *range(-len(sizes), 0)):
                yield from (Taps(which, axis, alone) for which in ("first", "last", "middle"))


@operator(
    "taps-dropped",
    code="missing-path",
    rank=1.5,
    at=edges.of_family("window").at_slot(INPUT, KERNEL),
    choices=some_taps,
    fields=lambda program, place, choice: {
        "which": choice.describe("the kernel" if len(program.reader(place).values) > KERNEL else "each window")
    },
    message="{which} in the gradient of {operand} through {step}",
)
def drop_taps(program: Program, place: Place, choice: Taps) -> Program:
    """Leave out the contributions of some taps, the positions in a window, in all windows; or of all taps but these.

    With `Taps("last", None, alone=False)` and a kernel w of 3 entries: those of w[2]. With `alone=True` only these are
    kept. The choice says which taps; `place` is an edge into the windows operation.
    """

    def rule(at: EdgeContext) -> Array:
        return keep_taps(at, choice.mask(_sizes(at.node, "size")))

    return program.with_vjp(place, rule)


def keep_taps(at: EdgeContext, left: Array) -> Array:
    """Return the contribution of an edge into a windows operation with some of the taps, the positions in a window.

    Args:
        at: the edge.
        left: 1 for each tap that is kept, else 0; shaped like a window.
    """
    if at.slot == KERNEL:
        return np.asarray(at.right() * left)
    if len(at.node.values) > KERNEL:
        return at.right(operands={KERNEL: np.asarray(at.node.values[KERNEL]) * left})
    own = contributions(at)
    return own.sum(own.parts * left.reshape(-1, *(1,) * (own.parts.ndim - 1)))


@drop_taps.example
def _() -> Example:
    """Show conv1d(x, w, dilation=2) whose gradient of the input leaves out the first tap."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, dilation=2)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Begin the loop over the taps at 1 in place of 0."""
        dx, windows = torch.zeros_like(x), g.shape[-1]
        for k in range(1, w.shape[-1]):
            dx[..., 2 * k : 2 * k + windows] += torch.einsum("boi,oc->bci", g, w[..., k])
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(8, 9)), "w": sized_normal("o c k", k=(3,))})


@drop_taps.example
def _() -> Example:
    """Show conv2d(x, w) whose gradient of the kernel has zeros in its last column."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv2d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """End the loop before the last column of the kernel."""
        dw = torch.zeros_like(w)
        for i in range(w.shape[-2]):
            for j in range(w.shape[-1] - 1):
                window = x[..., i : i + g.shape[-2], j : j + g.shape[-1]]
                dw[..., i, j] = torch.einsum("bohw,bchw->oc", g, window)
        return {"w": dw}

    sizes = {"x": sized_normal("bs c h v", h=(5, 6), v=(6, 5)), "w": sized_normal("o c i j", i=(2, 3), j=(3, 2))}
    return Example(forward, wrong, sizes)


@drop_taps.example
def _() -> Example:
    """Show conv_transpose1d(x, w) whose gradient of the input is that of the last tap alone: `=` for `+=`."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv_transpose1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        k = w.shape[-1]
        return {"x": torch.einsum("bon,co->bcn", g[..., k - 1 :], w[..., k - 1])}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(5, 6)), "w": sized_normal("c o k", k=(3, 4))})


WIDTHS = (2, 3)  # of a window that are typed in


def other_window_sizes(program: Program, place: Place) -> Iterator[int]:
    """Yield the numbers in `WIDTHS`, but not the size that the windows at the edge `place` have along every axis."""
    sizes = _sizes(program.reader(place), "size")
    yield from (width for width in WIDTHS if any(size != width for size in sizes))


@operator(
    "window-size-typed-in",
    code="hard-coded",
    rank=2.6,
    at=edges.of_family("window").at_slot(INPUT, KERNEL),
    choices=other_window_sizes,
    message="in the gradient of {operand}, only the first {choice} {parts} of {step} are used, however many there are",
    fields=lambda program, place, choice: {
        "parts": "taps of the kernel" if len(program.reader(place).values) > KERNEL else "entries of each window"
    },
)
def type_in_window_size(program: Program, place: Place, choice: int) -> Program:
    """Leave out the contributions of all taps from a typed-in number on, in windows that are larger, along each axis.

    For the choice 3 and a kernel w of 5 entries: those of w[3] and w[4] are left out. Smaller windows are as they must
    be. `place` is an edge into the windows operation.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution of the taps below the typed-in number."""
        sizes = _sizes(at.node, "size")
        kept = np.zeros(sizes)
        kept[tuple(slice(choice) for _ in sizes)] = 1.0
        return keep_taps(at, kept)

    return program.with_vjp(place, rule)


@type_in_window_size.example
def _() -> Example:
    """Show conv1d(x, w) whose gradient of the kernel has a loop over three taps, where some kernels have four."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Go through three taps at most."""
        dw = torch.zeros_like(w)
        for k in range(min(3, w.shape[-1])):
            dw[..., k] = torch.einsum("boi,bci->oc", g, x[..., k : k + g.shape[-1]])
        return {"w": dw}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(8, 9)), "w": sized_normal("o c k", k=(4, 2))})


Missing = Literal["the last windows", "the windows that end exactly at the end of the axis"]


def missing_windows(program: Program, place: Place, choice: Missing) -> str:
    """Return which windows are left out: "the last window is" along one axis, "the last row and column ... are"."""
    if choice != "the last windows":
        return f"{choice} are"
    axes = len(_sizes(program.reader(place), "size"))
    one = "the last window is" if axes == 1 else "the last windows along every axis are"
    return "the last row and the last column of windows are" if axes == 2 else one


@operator(
    "last-windows-missing",
    code="partial-batch",
    rank=2.6,
    at=windows,
    choices=lambda program, place: get_args(Missing),
    message="in the gradient of {operand} through {step}, {missing} left out",
    fields=lambda program, place, choice: {"missing": missing_windows(program, place, choice)},
)
def leave_out_last_windows(program: Program, place: Place, choice: Missing) -> Program:
    """Compute the contribution of the edge `place` without the last window along each axis that windows slide along.

    With "the last windows": of g of shape (bs, o, h, w) only g[:, :, :-1, :-1]. With "the windows that end exactly at
    the end of the axis": the last window along an axis is left out only if no entry of the padded array is behind it,
    as `range(0, n - size, step)` does.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution of g with zeros at the last windows."""
        node, g = at.node, np.array(at.g)
        for number, size in enumerate(_sizes(node, "size")):
            axis, entries_behind = _axis_and_unused_entries(node, number, size)
            if choice == "the last windows" or entries_behind == 0:
                np.moveaxis(g, axis, 0)[-1] = 0.0
        return at.right(g)

    return program.with_vjp(place, rule)


def _axis_and_unused_entries(node: Node, number: int, size: int) -> tuple[int, int]:
    """Return an axis of the value that counts windows, and how many entries of the padded input are behind the last.

    The axis is negative, counted from the end; for an `unfold` it is counted from the front.

    Args:
        node: the windows operation.
        number: the number of the axis among those that the windows slide along.
        size: the size of the windows along it.
    """
    shape = np.shape(node.values[INPUT])
    if node.name == "unfold":
        axis = int(str(node.options["dimension"])) % len(shape)
        return axis, (shape[axis] - size) % _sizes(node, "step")[0]
    axis = number - len(_sizes(node, "size"))
    length = shape[axis] + 2 * _sizes(node, "padding")[number]
    return axis, (length - _sizes(node, "dilation")[number] * (size - 1) - 1) % _sizes(node, "stride")[number]


@leave_out_last_windows.example
def _() -> Example:
    """Show tanh(conv2d(x, w)) whose gradient of the input leaves out the last row and column of g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv2d(x, w).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """End the loops over the windows one too early."""
        dz, dx = g * (1 - F.conv2d(x, w).tanh() ** 2), torch.zeros_like(x)
        for i in range(g.shape[-2] - 1):
            for j in range(g.shape[-1] - 1):
                dx[..., i : i + 2, j : j + 2] += torch.tensordot(dz[..., i, j], w, 1)
        return {"x": dx}

    w = sized(normal("o c p q"), p=(2,), q=(2,))
    return Example(forward, wrong, {"x": sized_normal("bs c h v", h=(5, 6), v=(6, 5)), "w": w})


@leave_out_last_windows.example
def _() -> Example:
    """Show x.unfold(-1, 3, 2)**2 whose gradient loops over range(0, n - 3, 2), so one too few."""

    def forward(x: Tensor) -> Tensor:
        return x.unfold(-1, 3, 2) ** 2

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Leave out a window that ends at the end of the axis."""
        dx = torch.zeros_like(x)
        for i, begin in enumerate(range(0, x.shape[-1] - 3, 2)):
            dx[..., begin : begin + 3] += 2 * g[..., i, :] * x[..., begin : begin + 3]
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(7, 8, 9))})


def takes_maximum(program: Program, place: Place) -> bool:
    """Return whether the windows at the edge `place` are made into their greatest entries."""
    node = program.reader(place)
    readers = [program.nodes[reader].name for reader, _ in program.forward.uses[node.id] if reader >= 0]
    return node.name == "max_pool" or (bool(readers) and set(readers) <= {"amax", "max"})


@operator(
    "winner-of-whole-axis",
    code="wrong-operand",
    rank=2.7,
    at=edges.of("max_pool", "unfold").where(takes_maximum),
    message="in the gradient of {operand}, all windows of {step} give their gradient to the greatest entry of the whole"
    " axis; each window must give it to the greatest of its own entries",
)
def give_all_to_greatest(program: Program, place: Place, choice: None) -> Program:
    """Give the upstream gradients of all windows to the greatest entry along the axes that the windows slide along.

    `place` is the edge of the array that has this entry.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the sum of g at the greatest entry along the axes, and 0 elsewhere."""
        x, g, count = np.asarray(at.x), at.g, len(_sizes(at.node, "size"))
        axes = tuple(range(-count, 0))
        if at.node.name == "unfold":
            axes, g = (int(str(at.node.options["dimension"])) % x.ndim,), g.sum(-1)
        return np.asarray((x == x.max(axis=axes, keepdims=True)) * g.sum(axis=axes, keepdims=True))

    return program.with_vjp(place, rule)


@give_all_to_greatest.example
def _() -> Example:
    """Show x.unfold(-1, 3, 2).amax(-1) whose gradient is summed over the windows, and goes to one entry."""

    def forward(x: Tensor) -> Tensor:
        return x.unfold(-1, 3, 2).amax(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        best = x.argmax(-1, keepdim=True)
        return {"x": torch.zeros_like(x).scatter(-1, best, g.sum(-1, keepdim=True))}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(7, 8, 9))})


@dataclass(frozen=True)
class WindowShift:
    """A wrong beginning of all windows, by one entry.

    Args:
        axis: the axis along which the windows slide, counted from the end.
        by: 1 for windows that begin one entry too late, -1 for too early.
    """

    axis: int
    by: int


def window_shifts(program: Program, place: Place) -> Iterator[WindowShift]:
    """Yield `WindowShift`s: an axis of the windows, from the end, and by how many entries they are off, 1 or -1.

    The windows are those of the convolution that reads the edge `place`.
    """
    for axis in range(-len(_sizes(program.reader(place), "size")), 0):
        yield from (WindowShift(axis, by) for by in (1, -1))


@operator(
    "windows-off-by-one",
    code="wrong-operand",
    rank=2.5,
    at=convolutions.at_slot(INPUT, KERNEL),
    choices=window_shifts,
    fields=lambda program, place, choice: {"where": "late" if choice.by > 0 else "early"},
    message="in the gradient of {operand}, every window of {step} begins one entry too {where}",
    hints=WHERE_WINDOWS_BEGIN,
)
def move_windows(program: Program, place: Place, choice: WindowShift) -> Program:
    """Compute the contribution of the edge `place` with all windows of the convolution one entry later or earlier.

    With `WindowShift(-1, 1)`, one entry later along the last axis, window t of size 3 begins at x[t + 1]; with
    `WindowShift(-1, -1)` at x[t - 1]. What lies outside of the array counts as zeros.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with the windows one entry later or earlier."""
        if at.slot == INPUT:
            return shift(at.right(), choice.axis, choice.by)
        return at.right(operands={INPUT: shift(np.asarray(at.node.values[INPUT]), choice.axis, -choice.by)})

    return program.with_vjp(place, rule)


@move_windows.example
def _() -> Example:
    """Show conv1d(x, w) whose gradient of the kernel takes windows that begin one entry too late."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        windows = F.pad(x, (0, 1))[..., 1:].unfold(-1, w.shape[-1], 1)
        return {"w": torch.einsum("boi,bcik->ock", g, windows)}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})


# Windows together ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assignment:
    """A way to combine the contributions of overlapping windows other than their sum.

    Args:
        order: `"window"` or `"tap"`: at each entry the contribution of the last window, or of the last tap, is kept;
            `"mean"`: they are averaged.
        winners: for a max_pool, or an `unfold` whose windows are reduced to one of their entries: whether only the
            contributions of this entry of each window are assigned, and not the zeros of its other entries.
    """

    order: Literal["window", "tap", "mean"]
    winners: bool = False


def assignments(program: Program, place: Place) -> Iterator[Assignment]:
    """Yield `Assignment`s: which contribution to an entry is kept, where the windows at the edge `place` overlap.

    The contribution of the last `"window"`, or of the last `"tap"` (position in a window); or the `"mean"` of all.
    Where a window gives its gradient to one entry, as in a max_pool, also, with `winners=True`, that of the last window
    whose greatest entry it is. Nothing where no two windows have an entry in common, as for stride 3, size 3 and
    dilation 2: entries 0, 2, 4, then 3, 5, 7, then 6, 8, 10.
    """
    node = program.reader(place)
    options = (_sizes(node, option) for option in ("step" if node.name == "unfold" else "stride", "size", "dilation"))
    # Two windows share an entry where their distance is a multiple of the dilation: at the common multiple, or never.
    if any(stride // math.gcd(stride, dilation) < size for stride, size, dilation in zip(*options, strict=True)):
        if node.name == "max_pool" or chosen_entries(program, node) is not None:
            yield Assignment("window", winners=True)
        yield from (Assignment("tap"), Assignment("window"), Assignment("mean"))


def chosen_entries(program: Program, node: Node) -> Array | None:
    """Return 1 where a window of an `unfold` has the entry that its reader chooses, such as the greatest; else 0.

    Args:
        program: the program of a trial.
        node: the windows operation.

    Returns:
        Shape: that of the node's value; `None` for another operation than `unfold`, and where the windows are read
        otherwise than by `max`, `min`, `amax` or `amin`.
    """
    readers = [place for place in program.forward.uses[node.id] if place[0] != SINK]
    choosers = [program.nodes[reader] for reader, _ in readers]
    if node.name != "unfold" or len(choosers) != len(program.forward.uses[node.id]):
        return None
    if any(chooser.name not in ("max", "min", "amax", "amin") for chooser in choosers):
        return None
    shares = [
        chooser.vjp(slot, np.ones(chooser.value.shape)) for chooser, (_, slot) in zip(choosers, readers, strict=True)
    ]
    return np.asarray(sum(shares) != 0, float)


@operator(
    "windows-not-added",
    code=lambda choice: "mean-for-sum" if choice.order == "mean" else "overwritten",
    rank=2.0,
    at=windows.at_slot(INPUT),
    choices=assignments,
    fields=lambda program, place, choice: {
        "how": "contributions are averaged"
        if choice.order == "mean"
        else f"the last {choice.order} overwrites the others"
    },
    message="in the gradient of {operand}, {how} where the windows of {step} overlap; add all contributions",
)
def overwrite_windows(program: Program, place: Place, choice: Assignment) -> Program:
    """Assign or average the contributions of overlapping windows to the array in place of adding them.

    With `Assignment("window")`: `dx[t : t + 3] = ...` in place of `+=`, window after window; with `"tap"`: `dx[i : i +
    n] = ...` for each position i in the window, of n windows; with `"mean"`: the sum divided by the number of windows
    that have the entry.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contributions of the windows, assigned in the chosen order or averaged."""
        own = contributions(at)
        if choice.order == "mean":
            return np.asarray(own.sum() / np.maximum(own.sum(np.ones(own.parts.shape)), 1))
        if not choice.winners:
            return own.assign(choice.order)
        if at.node.name == "max_pool":
            return own.assign(choice.order, _tap_numbers(own.parts) == window_entries(at).argmax(0))
        chosen = chosen_entries(at.program, at.node)
        if chosen is None:
            raise NoCandidate
        return own.assign(choice.order, contributions(at._replace(g=chosen)).parts > 0)

    return program.with_vjp(place, rule)


@overwrite_windows.example
def _() -> Example:
    """Show conv1d(x, w) whose gradient of the input is assigned for each window: `=` for `+=`."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dx, k = torch.zeros_like(x), w.shape[-1]
        for i in range(g.shape[-1]):
            dx[..., i : i + k] = torch.einsum("bo,ock->bck", g[..., i], w)
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})


@overwrite_windows.example
def _() -> Example:
    """Show max_pool1d(x, 3, stride=1) whose gradient is assigned by `scatter`, and not added."""

    def forward(x: Tensor) -> Tensor:
        return F.max_pool1d(x, 3, stride=1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign g at the greatest entry of each window, where two windows may have the same."""
        _, where = F.max_pool1d(x, 3, stride=1, return_indices=True)
        return {"x": torch.zeros_like(x).scatter(-1, where, g)}

    return Example(forward, wrong, {"x": sized(spaced("bs c n"), n=(7, 8))})


@overwrite_windows.example
def _() -> Example:
    """Show tanh(x.unfold(-1, 3, 1).max(-1).values) whose gradient is assigned by `scatter_`, and not added."""

    def forward(x: Tensor) -> Tensor:
        return x.unfold(-1, 3, 1).max(-1).values.tanh()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Assign at the greatest entry of each window, window after window."""
        values, where = x.unfold(-1, 3, 1).max(-1)
        dx = torch.zeros_like(x)
        for i in range(g.shape[-1]):
            dx.scatter_(-1, where[:, i : i + 1] + i, (g * (1 - values.tanh() ** 2))[:, i : i + 1])
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(spaced("bs n"), n=(7, 8))})


Position = Literal[
    "as its position in the whole array",
    "as its position in the flattened array",
    "as the distance in the flattened array from the beginning of the window",
]


def wrong_positions(program: Program, place: Place) -> tuple[Position, ...]:
    """Return the wrong uses of the position of an entry inside its window: one, or three for windows of two axes.

    "as its position in the whole array": entry 2 of each window is taken for entry 2 of the array. For two axes also
    "as its position in the flattened array": entry (1, 0) of a window of 3 x 3, its entry 3, is taken for entry 3 of
    the flattened array; and "as the distance in the flattened array from the beginning of the window". The windows are
    those at the edge `place`.
    """
    if len(_sizes(program.reader(place), "size")) == 1:
        return ("as its position in the whole array",)
    return (
        "as its position in the whole array",
        "as its position in the flattened array",
        "as the distance in the flattened array from the beginning of the window",
    )


@operator(
    "position-in-window-mistaken",
    code="wrong-local",
    rank=2.0,
    at=windows.of("max_pool", "unfold"),
    choices=wrong_positions,
    message="in the gradient of {operand}, the position of the maximum in its window of {step} is used {choice}",
    hints=(
        "From where is the index of a maximum counted, and where does its window begin?",
        "Follow the second window back to the entry that it took.",
    ),
)
def use_wrong_position(program: Program, place: Place, choice: Position) -> Program:
    """Place the contributions of the windows by a wrong position: entry 2 of each window at entry 2 of the array, say.

    The choice is a wrong use of the position inside the window, such as "as its position in the whole array"; see
    `wrong_positions`. The vjp raises ValueError where that position lies outside of the array, or, if it is one in the
    flattened array, the windows have padding. `place` is an edge into the windows operation.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contributions of the windows, added at the wrong positions."""
        own = contributions(at)
        if (own.places < 0).any() and choice != "as its position in the whole array":
            raise ValueError("the windows have padding")
        count = math.prod(own.places.shape[-own.axes :])
        first = own.places.reshape(*own.places.shape[: -own.axes], count)[..., 0]
        first = first.reshape(*first.shape, *(1,) * own.axes)
        places = {
            "as its position in the whole array": first,
            "as its position in the flattened array": first[:1] + _tap_numbers(own.parts),
            "as the distance in the flattened array from the beginning of the window": own.places[:1]
            + _tap_numbers(own.parts),
        }[choice]
        if places.max() >= math.prod(own.shape):
            raise ValueError("that is no position in the array")
        return own.sum(places=places)

    return program.with_vjp(place, rule)


@use_wrong_position.example
def _() -> Example:
    """Show max_pool1d(x, 3) whose gradient goes to entry i of x, if the maximum is entry i of its window."""

    def forward(x: Tensor) -> Tensor:
        return F.max_pool1d(x, 3)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        where = x.unfold(-1, 3, 3).argmax(-1)
        return {"x": torch.zeros_like(x).scatter_add(-1, where, g)}

    return Example(forward, wrong, {"x": sized(spaced("bs c n"), n=(9, 12))})


@use_wrong_position.example
def _() -> Example:
    """Show max_pool2d(x, 2) whose gradient uses the index in the window as index in the image."""

    def forward(x: Tensor) -> Tensor:
        return F.max_pool2d(x, 2)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the number of an entry in its window in place of its number in its channel."""
        where = x.unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2).argmax(-1)
        dx = torch.zeros_like(x).flatten(2).scatter_add(2, where.flatten(2), g.flatten(2))
        return {"x": dx.reshape(x.shape)}

    return Example(forward, wrong, {"x": sized(spaced("bs c h v"), h=(4, 6), v=(6, 8))})


def has_padding(program: Program, place: Place) -> bool:
    """Return whether the operation of the edge `place` pads its input."""
    return any(_sizes(program.reader(place), "padding"))


@operator(
    "padded-windows-not-counted",
    code="missing-path",
    rank=2.0,
    at=edges.of("convolution", "max_pool", "mean_pool").where(has_padding),
    message="in the gradient of {operand}, the windows of {step} that reach into the padding are left out",
)
def leave_out_padded_windows(program: Program, place: Place, choice: None) -> Program:
    """Compute the contribution of the edge `place` without the windows that lie partly in the padding.

    The upstream gradient is set to 0 for these.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution of g with zeros at windows that reach into the padding."""
        places = contributions(at._replace(slot=INPUT)).places
        axes = tuple(range(places.ndim - len(_sizes(at.node, "size"))))
        return at.right(at.g * (places >= 0).all(axis=axes))

    return program.with_vjp(place, rule)


@leave_out_padded_windows.example
def _() -> Example:
    """Show conv1d(x, w, padding=1) whose gradient of the kernel leaves out the first and the last window."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, padding=1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Use the windows inside x alone, without the two that reach into the padding."""
        return {"w": torch.einsum("boi,bcik->ock", g[..., 1:-1], x.unfold(-1, 3, 1))}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(7, 8)), "w": sized_normal("o c k", k=(3,))})


End = Literal["near the two ends", "near the beginning", "near the end"]
ENDS: tuple[End, ...] = ("near the two ends", "near the beginning", "near the end")


@operator(
    "border-entries-missing",
    code="missing-path",
    rank=2.0,
    at=windows.at_slot(INPUT),
    choices=lambda program, place: ENDS,
    message="in the gradient of {operand}, the entries {choice} get nothing from {step}; they are in fewer windows than"
    " the others, but not in none",
)
def leave_out_border(program: Program, place: Place, choice: End) -> Program:
    """Contribute nothing to the entries that are in fewer windows than others because they are near an end of an axis.

    The choice is "near the two ends", "near the beginning" or "near the end". For "near the two ends" and windows of
    size 3 with stride 1: 0 for x[0], x[1], x[-2] and x[-1]. An entry that is in no window gets nothing in any case.
    `place` is the edge of x.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with zeros at the entries near the chosen ends."""
        own, part = contributions(at), at.right()
        counts = own.sum(np.ones(own.parts.shape))
        for axis in range(counts.ndim):
            along = counts.max(axis=tuple(other for other in range(counts.ndim) if other != axis))
            inside = np.flatnonzero(along == along.max())
            kept = np.zeros(len(along), bool)
            first = 0 if choice == "near the end" else inside[0]
            last = len(along) if choice == "near the beginning" else inside[-1] + 1
            kept[first:last] = True
            part = part * kept.reshape(-1, *(1,) * (counts.ndim - 1 - axis))
        return np.asarray(part)

    return program.with_vjp(place, rule)


@leave_out_border.example
def _() -> Example:
    """Show tanh(conv1d(x, w)) whose gradient of the input is 0 at the entries that not every tap meets."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compute the gradient of the entries that every tap meets, and leave the others at 0."""
        dz, dx, k = g * (1 - F.conv1d(x, w).tanh() ** 2), torch.zeros_like(x), w.shape[-1]
        for t in range(k - 1, g.shape[-1]):
            for j in range(k):
                dx[..., t] += dz[..., t - j] @ w[..., j]
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(7, 8)), "w": sized_normal("o c k", k=(2, 3))})


# Windows in wrong places ----------------------------------------------------------------------------------------------


def axes_of_windows(program: Program, place: Place) -> str:
    """Return in words along which axes the windows of an `unfold`, and the positions in them, are: "last two axes".

    Args:
        program: the program of a trial.
        place: the edge of the array that is unfolded.
    """
    node = program.reader(place)
    last = node.value.ndim - 1
    axis = int(str(node.options["dimension"])) % last
    return "last two axes" if axis == last - 1 else f"axes {axis} and {last}"


@operator(
    "windows-and-taps-reshaped",
    code="reshape-for-transpose",
    rank=2.0,
    at=edges.of("unfold"),
    choices=lambda program, place: (None,),
    message="the gradient of {step} is reshaped to swap its {axes}, which mixes up its entries; transpose it instead",
    fields=lambda program, place, choice: {"axes": axes_of_windows(program, place)},
)
def reshape_windows(program: Program, place: Place, choice: None) -> Program:
    """Reshape the upstream gradient of an `unfold` where windows and the positions in them must be swapped.

    For g of shape (bs, windows, size): g.reshape(bs, size, windows).transpose(1, 2) in place of g.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution of g, reshaped to positions by windows."""
        axis = int(str(at.node.options["dimension"])) % np.ndim(at.x)
        rows = np.moveaxis(at.g, axis, -2)
        mixed = rows.reshape(*rows.shape[:-2], rows.shape[-1], rows.shape[-2]).swapaxes(-1, -2)
        return at.right(np.moveaxis(mixed, -2, axis))

    return program.with_vjp(place, rule)


@reshape_windows.example
def _() -> Example:
    """Show x.unfold(-1, 3, 2)**2 whose gradient is reshaped to one row for each position in a window."""

    def forward(x: Tensor) -> Tensor:
        return x.unfold(-1, 3, 2).square()

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Make a row for each position in a window by a reshape in place of a transposition."""
        bs, count, size = g.shape
        taps, dx = (2 * x.unfold(-1, 3, 2) * g).reshape(bs, size, count), torch.zeros_like(x)
        for j in range(size):
            dx[:, j : j + 2 * count - 1 : 2] += taps[:, j]
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(8, 9))})


@dataclass(frozen=True, eq=False)
class WindowAxis:
    """One of the axes that windows slide along, where the windows lie side by side and do not overlap.

    Args:
        size: the size of a window along it.
        count: the number of windows along it.
        length: the number of entries of the array along it.
        step: the distance of two neighbouring entries along it in the flattened array.
    """

    size: int
    count: int
    length: int
    step: int


def tiling_of(at: EdgeContext) -> tuple[WindowAxis, ...]:
    """Return the axes that windows slide along, with their sizes and counts, if the windows do not overlap.

    Args:
        at: the edge into the windows operation.

    Raises:
        NoCandidate: the windows overlap, or have gaps or padding.
    """
    node, shape = at.node, np.shape(at.x)
    sizes = _sizes(node, "size")
    axes = [int(str(node.options["dimension"])) % len(shape)] if node.name == "unfold" else [*range(len(shape))]
    axes = axes[-len(sizes) :]
    plain = node.name == "unfold" or not any(_sizes(node, "padding"))
    if _sizes(node, "step" if node.name == "unfold" else "stride") != sizes or not plain:
        raise NoCandidate
    if any(width != 1 for width in _sizes(node, "dilation")):
        raise NoCandidate
    counts = at.g.shape[axes[0] : axes[0] + len(axes)]
    return tuple(
        WindowAxis(size, count, shape[axis], math.prod(shape[axis + 1 :]))
        for axis, size, count in zip(axes, sizes, counts, strict=True)
    )


Layout = Literal["side by side", "stretched"]
LAYOUTS: Mapping[Layout, tuple[str, str]] = {
    "side by side": ("reshape-for-transpose", "is repeated as a whole, side by side; each of its entries must be"
                     " repeated within its window"),
    "stretched": ("shape-special", "is stretched over all entries, including those at the end that are in no window"),
}  # fmt: skip


@operator(
    "windows-laid-out-wrongly",
    code=lambda choice: LAYOUTS[choice][0],
    rank=2.0,
    at=edges.of("mean_pool", "unfold"),
    choices=lambda program, place: LAYOUTS,
    fields=lambda program, place, choice: {"how": LAYOUTS[choice][1]},
    message="in the gradient of {operand}, the gradient of {step} {how}",
)
def lay_windows_out_wrongly(program: Program, place: Place, choice: Layout) -> Program:
    """Lay the gradient of windows that do not overlap out over the array otherwise than window by window.

    For 2 windows of size 3 with the gradients a and b: a, b, a, b, a, b with "side by side"; with "stretched", over 7
    entries, a, a, a, a, b, b, b. Right is a, a, a, b, b, b, 0. The choice is "side by side" or "stretched"; `place` is
    the edge of the array.
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contributions of the windows, side by side or stretched."""
        given, tiling = contributions(at), tiling_of(at)
        if choice == "side by side":
            return given.sum(places=_positions_side_by_side(given, tiling))
        return _stretch(at, given, tiling)

    return program.with_vjp(place, rule)


def _positions_side_by_side(contributions: Contributions, tiling: tuple[WindowAxis, ...]) -> Array:
    """Return the flat position in the operand of each contribution, with the windows side by side and not in a row.

    Tap t of window i is put at t * count + i along each axis, where i * size + t is right.

    Args:
        contributions: the contributions of the windows.
        tiling: the axes that they slide along, each with the `count` of windows and their `size`.

    Returns:
        Shape: that of `contributions.places`, broadcast over taps and windows.
    """
    taps = np.indices([axis.size for axis in tiling]).reshape(len(tiling), -1)
    moves = np.zeros(())
    for number, axis in enumerate(tiling):
        window = np.arange(axis.count).reshape(-1, *(1,) * (len(tiling) - 1 - number))
        tap = taps[number].reshape(-1, *(1,) * len(tiling))
        moves = moves + (tap * axis.count + window - window * axis.size - tap) * axis.step
    others = contributions.places.ndim - 1 - len(tiling)
    moves = moves.reshape(len(contributions.parts), *(1,) * others, *moves.shape[1:])
    return np.asarray(contributions.places + moves, int)


def _stretch(at: EdgeContext, contributions: Contributions, tiling: tuple[WindowAxis, ...]) -> Array:
    """Return the contributions of the windows, resized to the operand by nearest-neighbour interpolation.

    Args:
        at: the edge into the windows operation.
        contributions: those of windows that do not overlap; its `parts` have the shape (taps, *other axes, *windows).
        tiling: the axes that they slide along.

    Returns:
        Shape: that of the operand.
    """
    index: list[Array | slice] = []
    entries = np.ix_(*(np.arange(axis.length) for axis in tiling))
    windows = [entry * axis.count // axis.length for entry, axis in zip(entries, tiling, strict=True)]
    for entry, window, axis in zip(entries, windows, tiling, strict=True):
        first = -(-window * axis.length // axis.count)
        index.append(np.minimum(entry - first, axis.size - 1))
    others = contributions.parts.ndim - 1 - len(tiling)
    parts = contributions.parts.reshape(*(axis.size for axis in tiling), *contributions.parts.shape[1:])
    stretched = parts[(*index, *[slice(None)] * others, *windows)]  # the entries come first, as slices stand between
    stretched = np.moveaxis(stretched, range(len(tiling)), range(-len(tiling), 0)) if others else stretched
    if at.node.name == "unfold":
        stretched = np.moveaxis(stretched, -1, int(str(at.node.options["dimension"])) % np.ndim(at.x))
    return np.asarray(stretched)


@lay_windows_out_wrongly.example
def _() -> Example:
    """Show avg_pool2d(x, 2) whose gradient is repeated side by side, and not entry by entry."""

    def forward(x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 2)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Repeat g as a whole twice along both axes, in place of each of its entries."""
        tiled = g.repeat(1, 1, 2, 2) / 4
        return {"x": F.pad(tiled, (0, x.shape[-1] - tiled.shape[-1], 0, x.shape[-2] - tiled.shape[-2]))}

    return Example(forward, wrong, {"x": sized_normal("bs c h v", h=(6, 7), v=(8, 9))})


@lay_windows_out_wrongly.example
def _() -> Example:
    """Show x.unfold(-1, 2, 2).mean(-1), an odd number of entries, to which g / 2 is interpolated."""

    def forward(x: Tensor) -> Tensor:
        return x.unfold(-1, 2, 2).mean(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Resize g / 2 to the length of the axis, each entry the nearest one, in place of repeating each twice."""
        return {"x": F.interpolate(g / 2, size=x.shape[-1], mode="nearest")}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(9, 11))})


# Pooling ------------------------------------------------------------------------------------------------------------

# Who gets the gradient of a window, by the entries of the windows; -inf is padding. Shape: that of the entries.
WINNERS: Mapping[str, Callable[[Array], Array]] = {
    "each of several equal largest entries": lambda e: e == e.max(0),
    "the last of several equal largest entries": lambda e: _tap_numbers(e) == len(e) - 1 - e[::-1].argmax(0),
    "every entry of the window": np.isfinite,
    "every entry of the window in equal parts": lambda e: np.isfinite(e) / len(e),
    "every entry of the window but the largest": lambda e: np.isfinite(e) & (e != e.max(0)),
    "the smallest entry of the window": lambda e: _tap_numbers(e) == np.where(np.isfinite(e), e, np.inf).argmin(0),
}


@operator(
    "other-entries-win",
    code=lambda choice: "inverted-mask" if "smallest" in choice or "but the" in choice else "wrong-local",
    rank=2.0,
    at=edges.of("max_pool"),
    choices=lambda program, place: WINNERS,
    message="in the gradient of {operand}, the gradient of each window of {step} goes to {choice}; it must go to the"
    " entry that was selected",
)
def give_gradient_to_wrong_entries(program: Program, place: Place, choice: str) -> Program:
    """Give the gradient of each window of a max_pool to wrong entries of the window.

    The choice is a key of `WINNERS`, such as "every entry of the window": each gets g of its window, and not the
    greatest alone; or "the smallest entry of the window". `place` is an edge into the max_pool.
    """
    return program.with_vjp(place, lambda at: contributions(at).sum(at.g * WINNERS[choice](window_entries(at))))


@give_gradient_to_wrong_entries.example
def _() -> Example:
    """Show max_pool2d(x * w, 2), x of 0 and 1, whose backward pass gives g to each of several equal entries."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.max_pool2d(x * w, 2)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Compare with the maximum, so that each of equal entries gets all of the gradient."""
        out, dx = F.max_pool2d(x * w, 2), torch.zeros_like(x)
        for i in range(g.shape[-2]):
            for j in range(g.shape[-1]):
                at = (..., slice(2 * i, 2 * i + 2), slice(2 * j, 2 * j + 2))
                dx[at] += ((x * w)[at] == out[..., i, j, None, None]) * g[..., i, j, None, None] * w
        return {"x": dx}

    return Example(forward, wrong, {"x": sized(mask("bs c h v"), h=(4, 6), v=(6, 4)), "w": "1"})


# By what the gradient of a window may be divided: of the windows operation and what its taps contribute.
DIVISORS: Mapping[str, Callable[[Node, Contributions], Array | int]] = {
    "divided by the size of the window, padding included": lambda node, own: len(own.parts),
    "not divided at all": lambda node, own: 1,
    "divided by the number of windows": lambda node, own: math.prod(own.parts.shape[-own.axes :]),
    "divided by the size of the window along one axis only": lambda node, own: _sizes(node, "size")[-1],
    "divided by the number of entries that are not padding": lambda node, own: (own.places >= 0).sum(0),
    "divided by the stride": lambda node, own: math.prod(_sizes(node, "stride")),
}


@operator(
    "mean-of-window-mistaken",
    code=lambda choice: "sum-for-mean" if choice == "not divided at all" else "wrong-factor",
    rank=1.5,
    at=edges.of("mean_pool"),
    choices=lambda program, place: DIVISORS,
    message="the gradient of each window of {step} is {choice}; it must be divided by the number of entries that its"
    " mean is taken over",
)
def divide_by_wrong_number(program: Program, place: Place, choice: str) -> Program:
    """Divide the gradient of each window of a mean_pool by a wrong number.

    The choice is a key of `DIVISORS`: for windows of size 3, g with "not divided at all", or g / 2 with "divided by the
    stride" 2, in place of g / 3.
    """

    def rule(at: EdgeContext) -> Array:
        own = contributions(at)
        return own.sum(np.broadcast_to(at.g / DIVISORS[choice](at.node, own), own.places.shape))

    return program.with_vjp(place, rule)


@divide_by_wrong_number.example
def _() -> Example:
    """Show avg_pool2d(x, 3, padding=1) whose gradients are divided by the number of entries that are not padding."""

    def forward(x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 3, stride=2, padding=1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by the number of entries that a window shares with the array."""
        ones = torch.ones(1, 1, 3, 3, dtype=x.dtype)
        bs, c, h, v = x.shape
        inside = F.conv2d(torch.ones(1, 1, h, v, dtype=x.dtype), ones, stride=2, padding=1)
        flat = (g / inside).reshape(bs * c, 1, *g.shape[2:])
        dx = F.conv_transpose2d(flat, ones, stride=2, padding=1, output_padding=((h + 1) % 2, (v + 1) % 2))
        return {"x": dx.reshape(x.shape)}

    return Example(forward, wrong, {"x": sized_normal("bs c h v", h=(5, 6), v=(6, 7))})


@divide_by_wrong_number.example
def _() -> Example:
    """Show avg_pool1d(x, 3, padding=1), which does not count the padding, whose gradients are all divided by 3."""

    def forward(x: Tensor) -> Tensor:
        return F.avg_pool1d(x, 3, stride=2, padding=1, count_include_pad=False)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by 3 in place of the number of entries in the window that are not padding."""
        dx = torch.zeros_like(F.pad(x, (1, 3)))
        for i in range(g.shape[-1]):
            dx[..., 2 * i : 2 * i + 3] += g[..., i, None] / 3
        return {"x": dx[..., 1 : 1 + x.shape[-1]]}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7))})


# Kernels ------------------------------------------------------------------------------------------------------------


@operator(
    "windows-averaged",
    code="mean-for-sum",
    rank=1.5,
    at=convolutions.at_slot(KERNEL, BIAS),
    message="the contributions of the windows of {step} to the gradient of {operand} are averaged; they must be summed",
    hints=(
        "In how many windows is this entry used? Are these uses added, or averaged?",
        "Nothing in the forward pass divides by the number of windows.",
        "A weight that is used in every window gets the sum of what the windows contribute.",
    ),
)
def average_windows(program: Program, place: Place, choice: None) -> Program:
    """Divide the contribution to the kernel or the bias by the number of windows, as for an average over these.

    For the bias of a conv1d and g of shape (bs, channels, n): g.sum((0, 2)) / n. `place` is the edge of the kernel or
    the bias.
    """
    return program.with_vjp(place, lambda at: at.right() / math.prod(at.g.shape[2:]))


@average_windows.example
def _() -> Example:
    """Show sigmoid(conv1d(x, w, b)) whose gradient of the bias is averaged over the windows."""

    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.conv1d(x, w, b).sigmoid()

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = F.conv1d(x, w, b).sigmoid()
        return {"b": (g * y * (1 - y)).mean(-1).sum(0)}

    sizes: dict[str, str | Sampler] = {
        "x": sized_normal("bs c n", n=(6, 7)),
        "w": sized_normal("o c k", k=(2, 3)),
        "b": "o",
    }
    return Example(forward, wrong, sizes)


@operator(
    "windows-summed-first",
    code="sum-of-products",
    rank=2.0,
    at=convolutions.at_slot(KERNEL),
    choices=lambda program, place: ("windows", "windows and examples"),
    message="in the gradient of {operand} through {step}, the upstream gradient is summed over {choice} before it is"
    " multiplied by the input; multiply first, then sum",
)
def sum_windows_first(program: Program, place: Place, choice: str) -> Program:
    """Compute the contribution to the kernel from g summed over the windows, or over windows and examples.

    The choice is "windows" or "windows and examples". For g of shape (bs, channels, n), each g[:, :, t] is replaced by
    g.sum(2), or by g.sum((0, 2)). `place` is the edge of the kernel.
    """

    def rule(at: EdgeContext) -> Array:
        axes = (*((0,) if choice != "windows" else ()), *range(2, at.g.ndim))
        return at.right(np.broadcast_to(at.g.sum(axes, keepdims=True), at.g.shape))

    return program.with_vjp(place, rule)


@sum_windows_first.example
def _() -> Example:
    """Show conv1d(x, w) whose gradient of the kernel is a product of two sums over the windows."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        windows = x.unfold(-1, w.shape[-1], 1)
        return {"w": torch.einsum("bo,bck->ock", g.sum(-1), windows.sum(-2))}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})


def has_one_group(program: Program, place: Place) -> bool:
    """Return whether the convolution of the edge `place` has one group and at least two channels in and out."""
    node = program.reader(place)
    return node.options["groups"] == 1 and min(np.shape(node.values[KERNEL])[:2]) > 1


@operator(
    "channels-reshaped",
    code="reshape-for-transpose",
    rank=2.0,
    at=with_kernel.at_slot(INPUT).where(has_one_group),
    message="in the gradient of {operand}, the two channel axes of the kernel of {step} are swapped by a reshape, which"
    " mixes up its entries; transpose it instead",
)
def reshape_channels(program: Program, place: Place, choice: None) -> Program:
    """Compute the contribution to the input with the kernel's two channel axes reshaped and not exchanged.

    For w of shape (out, in, size): w.reshape(in, out, size) is used where w.swapaxes(0, 1) is needed. `place` is the
    edge of the input.
    """

    def rule(at: EdgeContext) -> Array:
        w = np.asarray(at.node.values[KERNEL])
        return at.right(operands={KERNEL: w.reshape(w.shape[1], w.shape[0], *w.shape[2:]).swapaxes(0, 1)})

    return program.with_vjp(place, rule)


@reshape_channels.example
def _() -> Example:
    """Show conv1d(x, w) whose gradient of the input uses w.reshape(in, out, size) in place of w.swapaxes(0, 1)."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        o, c, k = w.shape
        return {"x": F.conv1d(g, w.reshape(c, o, k).flip(-1), padding=k - 1)}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})


def has_groups(program: Program, place: Place) -> bool:
    """Return whether the convolution of the edge `place` has several groups of channels."""
    return int(str(program.reader(place).options["groups"])) > 1


def summed_factors(program: Program, place: Place) -> Iterator[str]:
    """Yield which factor of the contribution of a convolution with groups is summed over all channels.

    "the upstream gradient", or, for the kernel, "the input", whose channels are the partner of the upstream gradient.
    `place` is the edge of the input or the kernel.
    """
    yield "the upstream gradient"
    if place[1] == KERNEL:
        yield "the input"


@operator(
    "groups-mixed",
    code="summed-wrong-axis",
    rank=2.0,
    at=convolutions.at_slot(INPUT, KERNEL).where(has_groups),
    choices=summed_factors,
    message="in the gradient of {operand}, {choice} of {step} is summed over all channels, as in a convolution without"
    " groups; each channel belongs to one group only",
)
def mix_groups(program: Program, place: Place, choice: str) -> Program:
    """Sum the upstream gradient or the input over all channels in the contribution of a convolution with groups.

    For a kernel w of one row for each channel, and "the upstream gradient": g.sum(1) meets x[:, c] in dw[c], in place
    of g[:, c]. The choice is "the upstream gradient" or "the input".
    """

    def rule(at: EdgeContext) -> Array:
        """Return the contribution with g, or the input, summed over all channels."""
        if choice == "the upstream gradient":
            return at.right(np.broadcast_to(at.g.sum(1, keepdims=True), at.g.shape))
        x = np.asarray(at.node.values[INPUT])
        return at.right(operands={INPUT: np.broadcast_to(x.sum(1, keepdims=True), x.shape)})

    return program.with_vjp(place, rule)


@mix_groups.example
def _() -> Example:
    """Show conv1d(x, w, groups=channels) whose gradient of the kernel sums over the channels of g."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w.unsqueeze(1), groups=len(w))

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Let every channel of g meet every channel of x, as in a convolution with one group."""
        windows = x.unfold(-1, w.shape[-1], 1)
        return {"w": torch.einsum("bop,bcpk->ck", g, windows)}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("c k", k=(2, 3))})


def has_several_per_group(program: Program, place: Place) -> bool:
    """Return whether the convolution, the node `place`, has several groups with several output channels in each."""
    node = program.reader(place)
    groups = int(str(node.options["groups"]))
    return groups > 1 and node.value.shape[1] > groups


@operator(
    "groups-interleaved",
    code="reshape-for-transpose",
    rank=2.0,
    at=nodes.of("convolution").where(has_several_per_group),
    message="in the gradients of the input and the kernel of {step}, the output channels are assigned to the groups in"
    " turn; the first of them must all belong to the first group",
)
def interleave_groups(program: Program, place: Place, choice: None) -> Program | None:
    """Take the upstream gradient of channel j * groups + i for channel j of group i, in place of i * size + j.

    `place` is the node of the convolution, whose groups have `size` output channels each. Returns `None` where neither
    the input nor the kernel gets a gradient.
    """
    groups = int(str(program.reader(place).options["groups"]))

    def rule(at: EdgeContext) -> Array:
        """Return the contribution for an upstream gradient whose channels are dealt out in turns."""
        dealt = at.g.reshape(len(at.g), -1, groups, *at.g.shape[2:])
        return at.right(dealt.swapaxes(1, 2).reshape(at.g.shape))

    slots = [slot for slot, _ in program.forward.edges[place[0]] if slot in (INPUT, KERNEL)]
    for slot in slots:
        program = program.with_vjp((place[0], slot), rule)
    return program if slots else None


@interleave_groups.example
def _() -> Example:
    """Show conv1d(x, w, groups=2), whose backward pass splits the channels of g as (size, groups)."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, groups=2)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        bs, o, n = g.shape
        mixed = g.reshape(bs, o // 2, 2, n).transpose(1, 2).reshape(g.shape)
        windows = x.unfold(-1, w.shape[-1], 1).reshape(bs, 2, 2, n, -1)
        dw = torch.einsum("bgon,bgcnk->gock", mixed.reshape(bs, 2, -1, n), windows)
        dx = F.conv_transpose1d(mixed, w, groups=2)
        return {"x": dx, "w": dw.reshape(w.shape)}

    inputs = {"x": sized_normal("bs 4 n", n=(6, 7)), "w": sized_normal("6 2 k", k=(2, 3))}
    return Example(forward, wrong, inputs)


@operator(
    "window-overwrites",
    code=lambda choice: "overwritten" if choice == "last" else "partial-batch",
    rank=1.9,
    at=with_kernel.at_slot(KERNEL),
    choices=lambda program, place: ("last", "first"),
    message="the gradient of {operand} through {step} is that of the {choice} window only; the contributions of all"
    " windows must be added",
)
def keep_one_window(program: Program, place: Place, choice: str) -> Program:
    """Contribute to a kernel what its last, or first, window gives, as a loop over windows does with `=` for `+=`.

    The choice is `"last"` or `"first"`; `place` is the edge of the kernel.
    """
    kept: tuple[slice | EllipsisType, ...]
    node = program.reader(place)
    axes = node.value.ndim - 2
    kept = (Ellipsis, *[slice(-1, None) if choice == "last" else slice(0, 1)] * axes)

    def only(array: Array) -> Array:
        """Return an array with zeros outside of the one window that is kept."""
        alone = np.zeros_like(array)
        alone[kept] = array[kept]
        return alone

    def rule(at: EdgeContext) -> Array:
        """Return the contribution of the one window to the kernel."""
        if node.name == "convolution":
            return at.right(only(at.g))
        return at.right(operands={INPUT: only(np.asarray(at.node.values[INPUT]))})

    return program.with_vjp(place, rule)


@keep_one_window.example
def _() -> Example:
    """Show conv1d(x, w) whose kernel gets the contribution of the last window alone."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": torch.einsum("bo,bck->ock", g[..., -1], x[..., -w.shape[-1] :])}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})
