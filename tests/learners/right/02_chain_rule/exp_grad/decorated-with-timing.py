import functools
import time


def timed(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        start = time.perf_counter()
        result = fn(*args, **kwargs)
        print(f"{fn.__name__}: {time.perf_counter() - start:.6f} s")
        return result
    return inner


@timed
def exp_grad(inp, out):
    inp.g = out.g * out
