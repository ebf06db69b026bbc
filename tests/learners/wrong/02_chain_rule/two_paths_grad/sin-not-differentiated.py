# expect inp.g: missing-local
def two_paths_grad(inp, out):
    s = inp.sin()
    inp.g = out.g * (s + inp + 2 * inp)
