# expect inp.g: wrong-local
def two_paths_grad(inp, out):
    inp.g = (inp.sin() + inp * inp.sin() + 2 * inp) * out.g
