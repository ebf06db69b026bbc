"""Mistakes in windows on an array: convolutions, pooling, unfolding, and the padding around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from grader.program.forward import Node, Place
from grader.program.operation import Array
from grader.program.program import EdgeContext, Program
from grader.program.windows import windows_of
from grader.sampling import Sampler, mask, normal, sized, spaced

from .contract import Example, operator
from .places import edges

Sizes = tuple[int, ...]
windows = edges.of("convolution", "max_pool", "mean_pool", "unfold")
convolutions = edges.of("convolution")
with_kernel = edges.of("convolution", "transposed_convolution")
INPUT, KERNEL, BIAS = 0, 1, 2  # the slots of a convolution


def _sizes(node: Node, option: str) -> Sizes:
    """Return an option of a windows operation for each axis, or the sizes of the window itself for `"size"`."""
    if option == "size" and node.name in ("convolution", "transposed_convolution"):
        return np.shape(node.values[KERNEL])[2:]
    value = node.options["kernel_size" if option == "size" and node.name != "unfold" else option]
    return value if isinstance(value, tuple) else (int(str(value)),)


def _taps(entries: Array) -> Array:
    """Return the number of each tap; it broadcasts with entries whose first axis is that of the taps."""
    return np.arange(len(entries)).reshape(-1, *(1,) * (entries.ndim - 1))


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each tap of each window contributes to the array that the windows slide along.

    Args:
        parts: shape: (taps, *other axes, *windows).
        places: the place of the tap in the flattened array, -1 in the padding; shape: that of `parts`.
        axes: the number of axes that the windows slide along.
        shape: that of the array.
    """

    parts: Array
    places: Array
    axes: int
    shape: tuple[int, ...]

    def sum(self, parts: Array | None = None, places: Array | None = None) -> Array:
        """Return the sum of the contributions to each entry, with other parts or places if they are given."""
        parts = self.parts if parts is None else parts
        places = np.broadcast_to(self.places if places is None else places, parts.shape)
        inside = places >= 0
        return np.bincount(places[inside], parts[inside], math.prod(self.shape)).reshape(self.shape)

    def assign(self, order: str, where: Array | None = None) -> Array:
        """Return for each entry the last contribution alone.

        Args:
            order: `"window"` where one window follows the other, `"tap"` where one tap does.
            where: the contributions that there are, as a mask shaped like `parts`; all by default.
        """
        part = np.zeros(self.shape)
        last = tuple(range(-self.axes, 0)) if order == "window" else (0,)
        first = tuple(range(self.axes)) if order == "window" else (0,)
        parts, places = (np.moveaxis(array, last, first) for array in (self.parts, self.places))
        inside = (places >= 0) & (True if where is None else np.moveaxis(where, last, first))
        part.reshape(-1)[places[inside]] = parts[inside]  # of equal places the last one stays
        return part


def contributions(at: EdgeContext) -> Contributions:
    """Return what each tap of each window contributes along an edge to the array, for its upstream gradient."""
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
    kernel, stride, padding = (_sizes(node, option) for option in ("size", "stride", "padding"))
    dilation = _sizes(node, "dilation") if "dilation" in node.options else (1,) * len(kernel)
    count = g.shape[-len(kernel) :]
    places = windows_of(numbers, kernel, stride, padding, dilation, -1.0, count).astype(int)
    if node.name == "convolution":
        parts = _convolution_parts(g, np.asarray(node.values[KERNEL]), int(str(node.options["groups"])))
    elif node.name == "max_pool":
        parts = g * (_taps(places) == window_entries(at).argmax(0))
    else:
        inside = len(places) if node.options.get("count_include_pad", True) else (places >= 0).sum(0)
        parts = np.broadcast_to(g / inside, places.shape)
    return Contributions(parts, places, len(kernel), x.shape)


def _convolution_parts(g: Array, w: Array, groups: int) -> Array:
    """Return the gradient times each tap of a kernel; shape: (taps, examples, channels, *windows)."""
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
    """Return a sampler of normal numbers with some sizes fixed, so that the windows fit."""
    return sized(normal(spec), **sizes)


# Stride, dilation, padding ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OtherOption:
    """Options of a windows operation that its backward pass takes otherwise.

    Args:
        how: a clause about the backward pass.
        options: for each option the one that is taken in its place, `"size"` for the sizes of the window; or a number.
    """

    how: str
    options: tuple[tuple[str, str | int], ...]

    def of(self, node: Node) -> dict[str, Sizes | int]:
        """Return the options that are taken otherwise, by name."""
        values: dict[str, Sizes | int] = {}
        for option, other in self.options:
            own = _sizes(node, option)
            sizes = (other,) * len(own) if isinstance(other, int) else _sizes(node, other)
            values[option] = sizes if isinstance(node.options[option], tuple) else sizes[0]
        return values


OTHER_OPTIONS = (
    *(OtherOption(f"ignores its {option}", ((option, 1),)) for option in ("stride", "step", "dilation")),
    OtherOption("takes its stride and its dilation for each other", (("stride", "dilation"), ("dilation", "stride"))),
    OtherOption("takes its dilation for its stride", (("stride", "dilation"),)),
    OtherOption("takes its stride for its dilation", (("dilation", "stride"),)),
    OtherOption("takes the size of the window for its stride", (("stride", "size"),)),
    OtherOption("takes the size of the window for its step", (("step", "size"),)),
    OtherOption("takes its stride for the size of the window", (("kernel_size", "stride"),)),
    OtherOption("takes its padding for its stride", (("stride", "padding"),)),
    OtherOption("takes its stride for its padding", (("padding", "stride"),)),
    OtherOption("takes the same entries for every tap of the kernel", (("dilation", 0),)),
)


def other_options(program: Program, place: Place) -> Iterator[OtherOption]:
    """Yield the options that a windows operation may have in the backward pass, and does not have."""
    node = program.reader(place)
    for other in OTHER_OPTIONS:
        if all(option in node.options for option, _ in other.options):
            taken = {name for _, name in other.options if isinstance(name, str) and name != "size"}
            if taken <= set(node.options) and any(
                value != node.options[name] for name, value in other.of(node).items()
            ):
                yield other


@operator(
    "window-option-mistaken",
    code=lambda choice: "hard-coded" if choice.how.startswith("ignores") else "wrong-local",
    rank=2.0,
    at=edges.of_family("window").where(lambda program, place: place[1] != BIAS),
    choices=other_options,
    fields=lambda program, place, choice: {"how": choice.how},
    message="for {operand}, the backward pass of {step} {how}",
)
def mistake_window_option(program: Program, place: Place, choice: OtherOption) -> Program | None:
    """Take the vjp with another stride, dilation or size of the windows."""
    return program.with_vjp(place, lambda at: at.node.vjp(at.slot, at.g, options=choice.of(at.node)))


@mistake_window_option.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, stride=2).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take window i from entry i on."""
        dz, dw = g * (1 - F.conv1d(x, w, stride=2).tanh() ** 2), torch.zeros_like(w)
        for i in range(g.shape[-1]):
            dw += torch.einsum("bo,bck->ock", dz[..., i], x[..., i : i + w.shape[-1]])
        return {"w": dw}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(8, 9)), "w": sized_normal("o c k", k=(2, 3))})


@mistake_window_option.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return x.unfold(-1, 3, 2).square().sum(-1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Set window i down behind window i - 1."""
        dx = torch.zeros_like(x)
        for i, window in enumerate(x.unfold(-1, 3, 2).unbind(-2)):
            inside = dx[..., 3 * i : 3 * i + 3]
            inside += (2 * window * g[..., i, None])[..., : inside.shape[-1]]
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(8, 9))})


@mistake_window_option.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv_transpose1d(x, w, stride=2).tanh()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the entries that entry i was spread over from entry i on."""
        dz, dx = g * (1 - F.conv_transpose1d(x, w, stride=2).tanh() ** 2), torch.zeros_like(x)
        for k in range(w.shape[-1]):
            dx += torch.einsum("bon,co->bcn", dz[..., k : k + x.shape[-1]], w[..., k])
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(5, 6)), "w": sized_normal("c o k", k=(3, 4))})


Side = Literal["in front", "at the end"]
SIDES: tuple[Side, Side] = ("in front", "at the end")


def padded_sides(program: Program, place: Place) -> tuple[Side, ...]:
    """Return the sides of an array at which all of its padding may be cut off."""
    node = program.reader(place)
    if node.name == "pad":
        widths = _widths(node)
        return tuple(side for i, side in enumerate(SIDES) if any(pair[1 - i] > 0 for pair in widths))
    return SIDES if any(_sizes(node, "padding")) else ()


def _widths(node: Node) -> list[tuple[int, int]]:
    """Return the numbers of entries that are added in front of an axis and behind it, the last axis first."""
    pad = node.options["pad"]
    assert isinstance(pad, tuple)
    return list(zip(pad[::2], pad[1::2], strict=True))


@operator(
    "padding-cut-at-one-end",
    code="wrong-local",
    rank=1.5,
    at=edges.of("convolution", "max_pool", "mean_pool", "pad"),
    choices=padded_sides,
    message="for {operand}, the backward pass of {step} takes all of the padding to be {choice}",
)
def cut_padding_at_one_end(program: Program, place: Place, choice: Side) -> Program | None:
    """Take the padding of both ends to be at one end."""

    def rule(at: EdgeContext) -> Array:
        if at.node.name == "pad":
            both = [a + b for a, b in _widths(at.node)]
            pad = [width for total in both for width in ((total, 0) if choice == "in front" else (0, total))]
            return at.right(pad=tuple(pad))
        times = 2 if choice == "in front" else 0  # each window begins that many entries before its tap
        return at.right(padding=tuple(times * width for width in _sizes(at.node, "padding")))

    return program.with_vjp(place, rule)


@cut_padding_at_one_end.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, padding=1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Cut the padding off at the end alone."""
        dx = F.conv_transpose1d(g, w)
        return {"x": dx[..., : x.shape[-1]]}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(7, 8)), "w": sized_normal("o c k", k=(3,))})


@cut_padding_at_one_end.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.pad(x, (2, 1)) * w

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": (g * w)[..., 3:]}

    return Example(forward, wrong, {"x": sized_normal("bs n", n=(4, 6)), "w": "1"})


# Taps ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axes:
    """Some of the axes that a kernel has.

    Args:
        names: how they are called.
        axes: counted from the end.
        exchanged: whether two axes are exchanged in place of being reversed.
    """

    names: str
    axes: Sizes
    exchanged: bool = False

    def turn(self, kernel: Array) -> Array:
        """Return a kernel reversed along these axes, or with them exchanged."""
        return np.asarray(kernel.swapaxes(*self.axes) if self.exchanged else np.flip(kernel, self.axes))


def kernel_axes(program: Program, place: Place) -> Iterator[Axes]:
    """Yield the axes along which a kernel may be reversed: all, or one of them; and the two that may be exchanged."""
    sizes = _sizes(program.reader(place), "size")
    count = len(sizes)
    if count == 1 and sizes[0] > 1:
        yield Axes("reversed", (-1,))
    elif count > 1:
        yield Axes("reversed along all of its axes", tuple(range(-count, 0)))
        yield from (Axes(f"reversed along axis {axis} alone", (axis,)) for axis in range(-count, 0))
        if sizes[-1] == sizes[-2]:
            yield Axes("transposed", (-2, -1), exchanged=True)


@operator(
    "kernel-turned",
    code="wrong-operand",
    rank=2.0,
    at=with_kernel.at_slot(INPUT, KERNEL),
    choices=kernel_axes,
    fields=lambda program, place, choice: {"how": choice.names},
    message="in the gradient of {operand}, the kernel of {step} is {how}: each tap belongs to the entry that it met",
)
def turn_kernel(program: Program, place: Place, choice: Axes) -> Program | None:
    """Turn the kernel in the contribution to the input, or the contribution to the kernel itself."""

    def rule(at: EdgeContext) -> Array:
        if at.slot == KERNEL:
            return choice.turn(at.right())
        return at.right(operands={KERNEL: choice.turn(np.asarray(at.node.values[KERNEL]))})

    return program.with_vjp(place, rule)


@turn_kernel.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w).relu()

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        dz = g * (F.conv1d(x, w) > 0)
        return {"x": F.conv1d(dz, w.transpose(0, 1), padding=w.shape[-1] - 1)}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(7, 8)), "w": sized_normal("o c k", k=(2, 3))})


@turn_kernel.example
def _() -> Example:
    """Show a transposed convolution whose backward pass reverses the kernel, as that of a convolution does."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv_transpose1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": F.conv1d(g, w.flip(-1))}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(5, 6)), "w": sized_normal("c o k", k=(3, 4))})


@dataclass(frozen=True)
class Taps:
    """Some of the taps of a window.

    Args:
        which: `"first"`, `"last"` or `"middle"`.
        axis: along which axis of the window, counted from the end; `None` for a single tap of all.
        alone: whether these alone are left, in place of being left out.
    """

    which: Literal["first", "middle", "last"]
    axis: int | None
    alone: bool

    def mask(self, sizes: Sizes) -> Array:
        """Return 1 for the taps that are left, and 0 for the others; shape: `sizes`."""
        place = [{"first": 0, "middle": size // 2, "last": size - 1}[self.which] for size in sizes]
        chosen = np.zeros(sizes)
        index: list[int | slice] = [*place] if self.axis is None else [slice(None)] * len(sizes)
        if self.axis is not None:
            index[self.axis] = place[self.axis]
        chosen[tuple(index)] = 1.0
        return chosen if self.alone else 1 - chosen

    def clause(self) -> str:
        """Return how many taps are left, in words."""
        along = "" if self.axis is None else f" along axis {self.axis}"
        return f"only the {self.which} tap{along} is there" if self.alone else f"the {self.which} tap{along} is missing"


def some_taps(program: Program, place: Place) -> Iterator[Taps]:
    """Yield the taps that may be left out, or left alone."""
    sizes = _sizes(program.reader(place), "size")
    if math.prod(sizes) > 1:
        for alone in (False, True):
            for axis in (None,) if len(sizes) == 1 else (None, *range(-len(sizes), 0)):
                yield from (Taps(which, axis, alone) for which in ("first", "last", "middle"))


@operator(
    "taps-dropped",
    code="missing-path",
    rank=1.5,
    at=edges.of("convolution", "transposed_convolution", "max_pool", "mean_pool", "unfold").at_slot(INPUT, KERNEL),
    choices=some_taps,
    fields=lambda program, place, choice: {"which": choice.clause()},
    message="of the windows of {step}, {which} in the gradient of {operand}",
)
def drop_taps(program: Program, place: Place, choice: Taps) -> Program | None:
    """Leave out some taps of all windows."""

    def rule(at: EdgeContext) -> Array:
        left = choice.mask(_sizes(at.node, "size"))
        if at.slot == KERNEL:
            return np.asarray(at.right() * left)
        if len(at.node.values) > KERNEL:
            return at.right(operands={KERNEL: np.asarray(at.node.values[KERNEL]) * left})
        own = contributions(at)
        return own.sum(own.parts * left.reshape(-1, *(1,) * (own.parts.ndim - 1)))

    return program.with_vjp(place, rule)


@drop_taps.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, dilation=2)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Begin at tap 1."""
        dx, windows = torch.zeros_like(x), g.shape[-1]
        for k in range(1, w.shape[-1]):
            dx[..., 2 * k : 2 * k + windows] += torch.einsum("boi,oc->bci", g, w[..., k])
        return {"x": dx}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(8, 9)), "w": sized_normal("o c k", k=(3,))})


@drop_taps.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv2d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """End before the last column of the kernel."""
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
    """Show a transposed convolution in whose backward pass each tap replaces the gradient of the one before."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv_transpose1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        k = w.shape[-1]
        return {"x": torch.einsum("bon,co->bcn", g[..., k - 1 :], w[..., k - 1])}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(5, 6)), "w": sized_normal("c o k", k=(3, 4))})


def turn_by_one(x: Array, axis: int, by: int) -> Array:
    """Return an array moved along an axis by one entry, with zeros where it was."""
    moved = np.roll(x, by, axis)
    np.moveaxis(moved, axis, 0)[0 if by > 0 else -1] = 0.0
    return moved


@dataclass(frozen=True)
class Shift:
    """A move by one entry.

    Args:
        axis: along which axis, counted from the end.
        by: 1 or -1.
    """

    axis: int
    by: int


def shifts(program: Program, place: Place) -> Iterator[Shift]:
    """Yield a move by one entry along each axis of the windows, in both directions."""
    for axis in range(-len(_sizes(program.reader(place), "size")), 0):
        yield from (Shift(axis, by) for by in (1, -1))


@operator(
    "windows-off-by-one",
    code="wrong-operand",
    rank=2.5,
    at=convolutions.at_slot(INPUT, KERNEL),
    choices=shifts,
    fields=lambda program, place, choice: {"where": "late" if choice.by > 0 else "early"},
    message="in the gradient of {operand}, every window of {step} begins one entry too {where}",
)
def move_windows(program: Program, place: Place, choice: Shift) -> Program | None:
    """Begin every window one entry later or earlier."""

    def rule(at: EdgeContext) -> Array:
        if at.slot == INPUT:
            return turn_by_one(at.right(), choice.axis, choice.by)
        return at.right(operands={INPUT: turn_by_one(np.asarray(at.node.values[INPUT]), choice.axis, -choice.by)})

    return program.with_vjp(place, rule)


@move_windows.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        windows = F.pad(x, (0, 1))[..., 1:].unfold(-1, w.shape[-1], 1)
        return {"w": torch.einsum("boi,bcik->ock", g, windows)}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})


# Windows together ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """How contributions are assigned where they must add.

    Args:
        order: which of them follows the other; or `"mean"` where they are averaged.
        winners: whether those of the greatest entries alone are assigned, of a maximum.
    """

    order: Literal["window", "tap", "mean"]
    winners: bool = False


def orders(program: Program, place: Place) -> Iterator[Order]:
    """Yield the orders in which windows that overlap may be assigned."""
    node = program.reader(place)
    stride, size = _sizes(node, "step" if node.name == "unfold" else "stride"), _sizes(node, "size")
    if any(a < b for a, b in zip(stride, size, strict=True)):
        if node.name == "max_pool":
            yield Order("window", winners=True)
        yield from (Order("tap"), Order("window"), Order("mean"))


@operator(
    "windows-not-added",
    code=lambda choice: "mean-for-sum" if choice.order == "mean" else "overwritten",
    rank=2.0,
    at=windows.at_slot(INPUT),
    choices=orders,
    fields=lambda program, place, choice: {
        "how": "their contributions are averaged"
        if choice.order == "mean"
        else f"the last {choice.order} replaces the contributions of the others"
    },
    message="where the windows of {step} overlap, {how} in the gradient of {operand}: they must add",
)
def overwrite_windows(program: Program, place: Place, choice: Order) -> Program | None:
    """Assign or average the contributions in place of adding them."""

    def rule(at: EdgeContext) -> Array:
        own = contributions(at)
        if choice.order == "mean":
            return np.asarray(own.sum() / np.maximum(own.sum(np.ones(own.parts.shape)), 1))
        if not choice.winners:
            return own.assign(choice.order)
        return own.assign(choice.order, _taps(own.parts) == window_entries(at).argmax(0))

    return program.with_vjp(place, rule)


@overwrite_windows.example
def _() -> Example:
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
    def forward(x: Tensor) -> Tensor:
        return F.max_pool1d(x, 3, stride=1)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Write the gradient to the greatest entry, also where two windows have the same."""
        _, where = F.max_pool1d(x, 3, stride=1, return_indices=True)
        return {"x": torch.zeros_like(x).scatter(-1, where, g)}

    return Example(forward, wrong, {"x": sized(spaced("bs c n"), n=(7, 8))})


Position = Literal[
    "as that in the whole array",
    "as that in the flattened array",
    "as the distance in the flattened array from the beginning of the window",
]


def positions(program: Program, place: Place) -> tuple[Position, ...]:
    """Return how the position inside a window may be used for that in the array; as a number, if it has two axes."""
    if len(_sizes(program.reader(place), "size")) == 1:
        return ("as that in the whole array",)
    return (
        "as that in the whole array",
        "as that in the flattened array",
        "as the distance in the flattened array from the beginning of the window",
    )


@operator(
    "position-in-window-mistaken",
    code="wrong-local",
    rank=2.0,
    at=windows.of("max_pool", "unfold"),
    choices=positions,
    message="in the gradient of {operand}, the position inside a window of {step} is used {choice}",
)
def mistake_position(program: Program, place: Place, choice: Position) -> Program | None:
    """Put the contributions of all windows where those of the first one belong, or count the taps without rows."""

    def rule(at: EdgeContext) -> Array:
        own = contributions(at)
        if (own.places < 0).any() and choice != "as that in the whole array":
            raise ValueError("the windows have padding")
        count = math.prod(own.places.shape[-own.axes :])
        first = own.places.reshape(*own.places.shape[: -own.axes], count)[..., 0]
        first = first.reshape(*first.shape, *(1,) * own.axes)
        places = {
            "as that in the whole array": first,
            "as that in the flattened array": first[:1] + _taps(own.parts),
            "as the distance in the flattened array from the beginning of the window": own.places[:1]
            + _taps(own.parts),
        }[choice]
        if places.max() >= math.prod(own.shape):
            raise ValueError("that is no position in the array")
        return own.sum(places=places)

    return program.with_vjp(place, rule)


@mistake_position.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return F.max_pool1d(x, 3)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        where = x.unfold(-1, 3, 3).argmax(-1)
        return {"x": torch.zeros_like(x).scatter_add(-1, where, g)}

    return Example(forward, wrong, {"x": sized(spaced("bs c n"), n=(9, 12))})


@mistake_position.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return F.max_pool2d(x, 2)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the number of an entry in its window for that in its channel."""
        where = x.unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2).argmax(-1)
        dx = torch.zeros_like(x).flatten(2).scatter_add(2, where.flatten(2), g.flatten(2))
        return {"x": dx.reshape(x.shape)}

    return Example(forward, wrong, {"x": sized(spaced("bs c h v"), h=(4, 6), v=(6, 8))})


def has_padding(program: Program, place: Place) -> bool:
    """Return whether some windows reach into padding."""
    return any(_sizes(program.reader(place), "padding"))


@operator(
    "padded-windows-not-counted",
    code="missing-path",
    rank=2.0,
    at=edges.of("convolution", "max_pool", "mean_pool").where(has_padding),
    message="in the gradient of {operand}, the windows of {step} that reach into the padding are left out",
)
def leave_out_padded_windows(program: Program, place: Place, choice: None) -> Program | None:
    """Leave out what arrives at windows that lie partly outside the array."""

    def rule(at: EdgeContext) -> Array:
        places = contributions(at._replace(slot=INPUT)).places
        axes = tuple(range(places.ndim - len(_sizes(at.node, "size"))))
        return at.right(at.g * (places >= 0).all(axis=axes))

    return program.with_vjp(place, rule)


@leave_out_padded_windows.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w, padding=1)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the windows of the array without its padding."""
        return {"w": torch.einsum("boi,bcik->ock", g[..., 1:-1], x.unfold(-1, 3, 1))}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(7, 8)), "w": sized_normal("o c k", k=(3,))})


# Pooling ------------------------------------------------------------------------------------------------------------

# Who gets the gradient of a window, by the entries of the windows; -inf is padding. Shape: that of the entries.
WINNERS: Mapping[str, Callable[[Array], Array]] = {
    "every one of several equal greatest entries": lambda e: e == e.max(0),
    "the last of several equal greatest entries": lambda e: _taps(e) == len(e) - 1 - e[::-1].argmax(0),
    "every entry of the window": np.isfinite,
    "every entry of the window, in equal shares,": lambda e: np.isfinite(e) / len(e),
    "every entry of the window but the greatest": lambda e: np.isfinite(e) & (e != e.max(0)),
    "the least entry of the window": lambda e: _taps(e) == np.where(np.isfinite(e), e, np.inf).argmin(0),
}


@operator(
    "other-entries-win",
    code=lambda choice: "inverted-mask" if "least" in choice or "but the" in choice else "wrong-local",
    rank=2.0,
    at=edges.of("max_pool"),
    choices=lambda program, place: WINNERS,
    message="in the gradient of {operand}, {choice} gets what arrives at a window of {step}",
)
def let_others_win(program: Program, place: Place, choice: str) -> Program | None:
    """Hand the gradient of a window to other entries than the first of the greatest."""
    return program.with_vjp(place, lambda at: contributions(at).sum(at.g * WINNERS[choice](window_entries(at))))


@let_others_win.example
def _() -> Example:
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
    "divided by the size of one axis alone": lambda node, own: _sizes(node, "size")[-1],
    "divided by the number of entries that are not padding": lambda node, own: (own.places >= 0).sum(0),
    "divided by the stride": lambda node, own: math.prod(_sizes(node, "stride")),
}


@operator(
    "mean-of-window-mistaken",
    code=lambda choice: "sum-for-mean" if choice == "not divided at all" else "wrong-factor",
    rank=1.5,
    at=edges.of("mean_pool"),
    choices=lambda program, place: DIVISORS,
    message="in the gradient of {operand}, what arrives at a window of {step} is {choice}: it must be divided by the "
    "number of entries that the mean is of",
)
def mistake_mean(program: Program, place: Place, choice: str) -> Program | None:
    """Divide by another number than that of the entries of a window."""

    def rule(at: EdgeContext) -> Array:
        own = contributions(at)
        return own.sum(np.broadcast_to(at.g / DIVISORS[choice](at.node, own), own.places.shape))

    return program.with_vjp(place, rule)


@mistake_mean.example
def _() -> Example:
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


@mistake_mean.example
def _() -> Example:
    def forward(x: Tensor) -> Tensor:
        return F.avg_pool1d(x, 3, stride=2, padding=1, count_include_pad=False)

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Divide by 3 at the ends, too."""
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
    message="the contributions of the windows of {step} to {operand} are averaged: they must add",
)
def average_windows(program: Program, place: Place, choice: None) -> Program | None:
    """Divide by the number of windows."""
    return program.with_vjp(place, lambda at: at.right() / math.prod(at.g.shape[2:]))


@average_windows.example
def _() -> Example:
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
    message="in the gradient of {operand}, {step} is summed over {choice} before it is multiplied by the upstream "
    "gradient: it must be multiplied first",
)
def sum_windows_first(program: Program, place: Place, choice: str) -> Program | None:
    """Sum the upstream gradient before it is multiplied by the entries of the windows."""

    def rule(at: EdgeContext) -> Array:
        axes = (*((0,) if choice != "windows" else ()), *range(2, at.g.ndim))
        return at.right(np.broadcast_to(at.g.sum(axes, keepdims=True), at.g.shape))

    return program.with_vjp(place, rule)


@sum_windows_first.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        windows = x.unfold(-1, w.shape[-1], 1)
        return {"w": torch.einsum("bo,bck->ock", g.sum(-1), windows.sum(-2))}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})


def has_one_group(program: Program, place: Place) -> bool:
    """Return whether a convolution reads all channels for each output, and there are several of both."""
    node = program.reader(place)
    return node.options["groups"] == 1 and min(np.shape(node.values[KERNEL])[:2]) > 1


@operator(
    "channels-reshaped",
    code="reshape-for-transpose",
    rank=2.0,
    at=with_kernel.at_slot(INPUT).where(has_one_group),
    message="for {operand}, the two channel axes of the kernel of {step} are reshaped: they must be exchanged",
)
def reshape_channels(program: Program, place: Place, choice: None) -> Program | None:
    """Reshape the kernel as if its channel axes had been exchanged."""

    def rule(at: EdgeContext) -> Array:
        w = np.asarray(at.node.values[KERNEL])
        return at.right(operands={KERNEL: w.reshape(w.shape[1], w.shape[0], *w.shape[2:]).swapaxes(0, 1)})

    return program.with_vjp(place, rule)


@reshape_channels.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return F.conv1d(x, w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        o, c, k = w.shape
        return {"x": F.conv1d(g, w.reshape(c, o, k).flip(-1), padding=k - 1)}

    return Example(forward, wrong, {"x": sized_normal("bs c n", n=(6, 7)), "w": sized_normal("o c k", k=(2, 3))})
