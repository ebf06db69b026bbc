# expect inp.g: wrong-local
import torch


def tanh_grad(inp, out):
    inp.g = out.g * (1 - out ** 2).sqrt()
