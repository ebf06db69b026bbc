# expect inp.g: hard-coded | wrong-local
import torch


def clamp_grad(inp, out, lo, hi):
    inp.g = out.g * ((inp > hi) & (inp < lo))
