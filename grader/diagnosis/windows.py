"""Slips in windows on an array: slices of it, and convolutions, of which each tap adds its contribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from grader.reference.cuts import CUTS, PARTS, at_another_place, is_slice, siblings, slice_of
from grader.reference.operand_view import At
from grader.reference.trace import Line, Step, Trace

from .operator import Changes, Kind, Operator, Parameters, Spot, as_chosen, one_of

CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"}
INPUT, KERNEL = (0,), (1,)
MOST_TAPS, MOST_WINDOWS = 16, 64


def is_convolution(at: At) -> bool:
    return at.name in CONVOLUTIONS


def _of_input(at: At) -> bool:
    return at.where == INPUT and KERNEL in at.others


def _taps(at: At) -> list[int]:
    """The places of the kernel, without its channels, as numbers."""
    return list(range(at.step.operand(KERNEL)[0, 0].numel()))


def _only(taps: list[int], kernel: torch.Tensor) -> torch.Tensor:
    kept = torch.zeros_like(kernel.flatten(2))
    kept[:, :, taps] = kernel.flatten(2)[:, :, taps]
    return kept.view(kernel.shape)


def _overwritten(at: At) -> torch.Tensor:
    """The contribution of each tap replaces those of the taps before it."""
    found, kernel = torch.zeros_like(at.x), at.step.operand(KERNEL)
    for tap in _taps(at):
        part = at.back(replaced={KERNEL: _only([tap], kernel)})
        reached = at.back(at.ones, {KERNEL: _only([tap], torch.ones_like(kernel))})
        found = torch.where(reached != 0, part, found)
    return found


def _windows_overwritten(at: At) -> torch.Tensor:
    """The contribution of each window replaces those of the windows before it."""
    found, whole = torch.zeros_like(at.x), torch.ones_like(at.step.operand(KERNEL))
    for place in torch.eye(at.y[0, 0].numel(), dtype=at.g.dtype):
        here = place.view(at.y.shape[2:])
        found = torch.where(at.back(at.ones * here, {KERNEL: whole}) != 0, at.back(at.g * here), found)
    return found


def _summed_first(at: At, first: int) -> torch.Tensor:
    """What arrives is summed over the places, or over these and the examples, and so is the input."""
    axes = (*((0,) if first == 0 else ()), *range(2, at.g.dim()))
    return at.back(at.g.sum(axes, keepdim=True).expand(at.g.shape))


def _kernel(name: str, code: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    return Operator(name, code, lambda at: at.back(replaced={KERNEL: change(at.step.operand(KERNEL))}), _of_input)


def _some_taps(name: str, kept: Callable[[list[int], int], list[int]]) -> Operator:
    """Only some taps are kept, from all of them and a chosen one."""

    def rule(at: At, which: str) -> torch.Tensor:
        taps = _taps(at)
        sizes = at.step.operand(KERNEL).shape[2:]
        middle = int(torch.arange(len(taps)).view(sizes)[tuple(size // 2 for size in sizes)])
        one = taps[{"first": 0, "middle": middle, "last": -1}[which]]
        return at.back(replaced={KERNEL: _only(kept(taps, one), at.step.operand(KERNEL))})

    return Operator(name, "missing-path", rule, lambda at: _of_input(at) and len(_taps(at)) > 1,
                    one_of("which", ("first", "middle", "last")), as_chosen)  # fmt: skip


CONVOLUTION = (
    _kernel("kernel-turned", "wrong-operand", lambda kernel: kernel.flip(tuple(range(2, kernel.dim())))),
    _some_taps("only-one-tap", lambda taps, one: [one]),
    _some_taps("one-tap-missing", lambda taps, one: [tap for tap in taps if tap != one]),
    Operator("taps-overwritten", "overwritten", _overwritten, lambda at: _of_input(at) and len(_taps(at)) <= MOST_TAPS),
    Operator("windows-overwritten", "overwritten", _windows_overwritten,
             lambda at: _of_input(at) and at.y[0, 0].numel() <= MOST_WINDOWS),
    Operator("averaged-over-windows", "mean-for-sum", lambda at: at.back() / at.y[0, 0].numel(),
             lambda at: is_convolution(at) and at.where != INPUT,  # the kernel or the bias, which every window uses
             tell=lambda at: {"operand": at.named(at.source)}),
    Operator("windows-summed-first", "sum-of-products", _summed_first, lambda at: at.where == KERNEL,
             one_of("first", (2, 0))),
    _kernel("channels-reshaped", "reshape-for-transpose",  # the two channel axes reshaped where they must be exchanged
            lambda kernel: kernel.reshape(kernel.shape[1], kernel.shape[0], *kernel.shape[2:]).transpose(0, 1)),
)  # fmt: skip


def _is_cut(at: At) -> bool:
    return at.name in CUTS and not at.others and len(siblings(at.trace, at.step)) > 1


def _others_alike(at: At) -> Iterator[Parameters]:
    """The siblings of the same shape that come before it, by their lines."""
    before = (one for one in siblings(at.trace, at.step) if one.index < at.step.index)
    lines = dict.fromkeys(one.line for one in before if one.value.shape == at.y.shape and one.line != at.step.line)
    return ({"line": line} for line in lines)


def _exchanged(trace: Trace, spot: Spot, line: Line) -> Changes:
    """What two lines take in the same turn, exchanged."""
    both = zip(spot.steps(trace), Spot(line).steps(trace), strict=True)
    pairs = [(trace.steps[i], trace.steps[j]) for i, j in both]
    taken = {one.index: two for one, two in (*pairs, *((two, one) for one, two in pairs))}

    def change(step: Step) -> Step:
        two = taken[step.index]
        own = {where: step.operand(where) for where, _ in step.operands}
        return replace(two, index=step.index).with_operands(own)

    return dict.fromkeys(taken, change)


def _line_told(at: At, line: Line) -> Parameters:
    other = at.trace.steps[at.trace.turns[line][-1]]
    if at.name not in PARTS:
        return {"there": at.named(other.key), "here": at.named(at.step.key)}
    there, here = (getattr(step.func, "index", 0) + 1 for step in (other, at.step))
    return {"there": f"part {there} of {at.named(at.source)}", "here": f"part {here}"}


def _other_places(trace: Trace, spot: Spot, by: str) -> Changes:
    """All slices of one value taken elsewhere: beside each other, or in the other order."""
    (step, *_) = (trace.steps[i] for i in spot.steps(trace))
    found = {one.index: slice_of(one)[1] for one in siblings(trace, step)}
    places = sorted(set(found.values()))
    to = {"side-by-side": [places[0] + i for i in range(len(places))], "in-other-order": places[::-1],
          "at-one-place": places[:1] * len(places)}[by]  # fmt: skip
    moved = {index: to[places.index(begin)] for index, begin in found.items()}
    return dict.fromkeys(moved, lambda step: at_another_place(step, moved[step.index]))


def _with_places(at: At) -> bool:
    return is_slice(at) and _is_cut(at) and all(
        is_slice(At(at.trace, one)) and one.value.shape == at.y.shape for one in siblings(at.trace, at.step)
    )  # fmt: skip


PLACES = (
    Operator("parts-taken-for-each-other", "wrong-operand", _exchanged, _is_cut, _others_alike, _line_told,
             Kind.FORWARD),
    Operator("slices-at-other-places", "wrong-operand", _other_places, _with_places,
             one_of("by", ("side-by-side", "in-other-order", "at-one-place")),
             lambda at, by: {"how": by, "value": at.named(at.source)}, Kind.FORWARD),
)  # fmt: skip
