# expect inp.g: wrong-local
def two_paths_grad(inp, out):
    inp.g = out.g * (1 * inp.cos() + 2 * inp)
