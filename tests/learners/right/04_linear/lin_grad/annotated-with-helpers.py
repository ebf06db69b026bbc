from typing import Dict
import torch
from torch import Tensor


def _grads(inp: Tensor, g: Tensor, w: Tensor) -> Dict[str, Tensor]:
    return {"inp": g.matmul(w.transpose(-1, -2)), "w": inp.transpose(0, 1).matmul(g), "b": g.sum(dim=0)}


def lin_grad(inp: Tensor, out: Tensor, w: Tensor, b: Tensor) -> None:
    named = {"inp": inp, "w": w, "b": b}
    for name, grad in _grads(inp, out.g, w).items():
        setattr(named[name], "g", grad)
