# expect inp.g: wrong-local
import torch


def clamp_grad(inp, out, lo, hi):
    g = out.g.clone()
    g[inp < lo] = lo
    g[inp > hi] = hi
    inp.g = g
