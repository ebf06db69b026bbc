"""How a tensor lies in memory: copies that keep it, and upstream gradients as torch hands them over, not contiguous."""

from __future__ import annotations

import torch

TRANSPOSED, PART, EXPANDED = "an upstream gradient that is transposed", "a part of a larger one", "an expanded one"
# By trial, what is said of the upstream gradient in it.
LAYOUTS = {
    TRANSPOSED: "transposed in memory, as `out.mT` behind it hands it over",
    PART: "a part of a larger tensor, as `torch.cat` behind it hands it over",
    EXPANDED: "expanded, with strides of 0, as `out.sum()` behind it hands it over",
}


def same_layout(value: torch.Tensor) -> torch.Tensor:
    """Return a copy with memory of its own and the same strides: an overlapping or transposed tensor remains one."""
    if not value.numel() or value.layout != torch.strided:
        return value.detach().clone()
    extent = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    memory = value.detach().as_strided((extent,), (1,)).clone()
    return memory.as_strided(value.shape, value.stride())


def laid_out(g: torch.Tensor, kind: str) -> torch.Tensor:
    """Return an upstream gradient with the memory layout of a kind of trial, its values unchanged.

    An expanded one has its first entry everywhere. A kind without a layout of its own returns `g` itself.
    """
    if kind == TRANSPOSED:
        order = tuple(reversed(range(g.dim())))
        return g.permute(order).contiguous().permute(order)
    if kind == PART and g.dim() and g.numel():
        wide = torch.cat([g.flip(-1), g, g.flip(-1)], -1)
        part = wide.narrow(-1, g.shape[-1], g.shape[-1])
        return part if not part.is_contiguous() else torch.stack([g, g.flip(-1)], -1)[..., 0]
    if kind == EXPANDED and g.dim() and g.numel():
        return g.contiguous().clone().as_strided(g.shape, (0,) * g.dim())
    return g


def read_as_contiguous(g: torch.Tensor) -> torch.Tensor:
    """Return what code sees that reads the memory of `g` as if it were contiguous; shape: that of `g`."""
    return g.as_strided(g.shape, torch.empty(g.shape, device="meta").stride())
