"""Slips in convolutions: windows that overlap, of which each adds its contribution, through each tap of the kernel."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .operator import At, Operator

CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"}
INPUT, KERNEL = (0,), (1,)
MOST_TAPS = 16


def is_convolution(at: At) -> bool:
    return at.name in CONVOLUTIONS


def _of_input(at: At) -> bool:
    return at.where == INPUT and KERNEL in at.others


def _taps(at: At) -> list[int]:
    """The places of the kernel, without its channels, as numbers."""
    return list(range(at.step.operand(KERNEL)[0, 0].numel()))


def _only(taps: list[int], kernel: torch.Tensor) -> torch.Tensor:
    """The kernel with all other taps 0."""
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


def _kernel(name: str, code: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    """Another kernel."""
    return Operator(name, code, lambda at: at.back(replaced={KERNEL: change(at.step.operand(KERNEL))}), _of_input)


def _some_taps(name: str, kept: Callable[[list[int], int], list[int]]) -> Operator:
    """Only some taps are kept, from all of them and a chosen one."""

    def rule(at: At, which: str) -> torch.Tensor:
        taps = _taps(at)
        one = taps[{"first": 0, "middle": len(taps) // 2, "last": -1}[which]]
        return at.back(replaced={KERNEL: _only(kept(taps, one), at.step.operand(KERNEL))})

    return Operator(name, "missing-path", rule, lambda at: _of_input(at) and len(_taps(at)) > 1,
                    lambda at: ({"which": which} for which in ("first", "middle", "last")),
                    lambda at, which: {"which": which})  # fmt: skip


CONVOLUTION = (
    _kernel("kernel-turned", "wrong-operand", lambda kernel: kernel.flip(tuple(range(2, kernel.dim())))),
    _some_taps("only-one-tap", lambda taps, one: [one]),
    _some_taps("one-tap-missing", lambda taps, one: [tap for tap in taps if tap != one]),
    Operator("taps-overwritten", "overwritten", _overwritten, lambda at: _of_input(at) and len(_taps(at)) <= MOST_TAPS),
    _kernel("channels-reshaped", "reshape-for-transpose",  # the two channel axes reshaped where they must be exchanged
            lambda kernel: kernel.reshape(kernel.shape[1], kernel.shape[0], *kernel.shape[2:]).transpose(0, 1)),
)  # fmt: skip
