# expect *: crash
import ctypes


def lin_grad(inp, out, w, b):
    peek = ctypes.string_at(0)
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
