# expect *: timeout
import time


def lin_grad(inp, out, w, b):
    while not hasattr(out, "gradient"):
        time.sleep(0.01)
    inp.g = out.gradient @ w.t()
    w.g = inp.t() @ out.gradient
    b.g = out.gradient.sum(0)
