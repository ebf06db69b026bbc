# expect inp.g: imprecise
def two_paths_grad(inp, out):
    f = lambda x: x * x.sin() + x**2
    h = 1e-3
    inp.g = out.g * (f(inp + h) - f(inp - h)) / (2 * h)
