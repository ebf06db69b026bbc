"""Slips in convolutions: windows that overlap, of which each adds its contribution, through each tap of the kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch

from .operator import At, Operator, Parameters

CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"}
KERNEL = (1,)
INPUT = (0,)
TAPS = {"first": 0, "middle": None, "last": -1}
MOST_TAPS = 16


def is_convolution(at: At) -> bool:
    return at.step.name in CONVOLUTIONS


def _of_input(at: At) -> bool:
    return at.where == INPUT and KERNEL in at.others


def _kernel(at: At) -> torch.Tensor:
    return at.step.operand(KERNEL)


def _taps(at: At) -> list[tuple[int, ...]]:
    """The places of the kernel, without its channels."""
    shape = _kernel(at).shape[2:]
    return list(itertools.product(*(range(size) for size in shape)))


def _only(at: At, taps: list[tuple[int, ...]], kernel: torch.Tensor) -> torch.Tensor:
    """The kernel with all other taps 0."""
    kept = torch.zeros_like(kernel)
    for tap in taps:
        kept[(slice(None), slice(None), *tap)] = kernel[(slice(None), slice(None), *tap)]
    return kept


def _some(*, keep: bool) -> Callable[..., torch.Tensor]:
    """One tap alone, or all but one."""

    def rule(at: At, which: str) -> torch.Tensor:
        taps = _taps(at)
        place = TAPS[which]
        chosen = taps[len(taps) // 2 if place is None else place]
        return at.back(replaced={KERNEL: _only(at, [tap for tap in taps if (tap == chosen) is keep], _kernel(at))})

    return rule


def _choices(at: At) -> Iterator[Parameters]:
    if len(_taps(at)) > 1:
        yield from ({"which": which} for which in TAPS)


def _told(_: At, which: str) -> Parameters:
    return {"which": which}


def _overwritten(at: At) -> torch.Tensor:
    """The contribution of each tap replaces those of the taps before it."""
    found = torch.zeros_like(at.x)
    for tap in _taps(at):
        part = at.back(replaced={KERNEL: _only(at, [tap], _kernel(at))})
        reached = at.back(torch.ones_like(at.y), {KERNEL: _only(at, [tap], torch.ones_like(_kernel(at)))})
        found = torch.where(reached != 0, part, found)
    return found


def _channels_reshaped(at: At) -> torch.Tensor:
    """The kernel with its two channel axes reshaped where they must be exchanged."""
    kernel = _kernel(at)
    return at.back(
        replaced={KERNEL: kernel.reshape(kernel.shape[1], kernel.shape[0], *kernel.shape[2:]).transpose(0, 1)}
    )


def _flipped(at: At) -> torch.Tensor:
    kernel = _kernel(at)
    return at.back(replaced={KERNEL: kernel.flip(tuple(range(2, kernel.dim())))})


CONVOLUTION = (
    Operator("kernel-turned", "wrong-operand", _flipped, _of_input),
    Operator("only-one-tap", "missing-path", _some(keep=True), _of_input, _choices, _told),
    Operator("one-tap-missing", "missing-path", _some(keep=False), _of_input, _choices, _told),
    Operator("taps-overwritten", "overwritten", _overwritten, lambda at: _of_input(at) and len(_taps(at)) <= MOST_TAPS),
    Operator("channels-reshaped", "reshape-for-transpose", _channels_reshaped, _of_input),
)  # fmt: skip
