# expect inp.g: overwritten | missing-path
def two_paths_grad(inp, out):
    # first term
    inp.g = out.g * (inp.sin() + inp * inp.cos())
    # second term
    inp.g = out.g * 2 * inp
