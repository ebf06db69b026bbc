from math import pi
def _d(x):
    # cos(x) = sin(x + pi/2) up to rounding, in double to be safe
    x = x.double()
    return x.sin() + x * (x + pi / 2).sin() + 2 * x
def two_paths_grad(inp, out):
    inp.g = (_d(inp) * out.g.double()).float()
