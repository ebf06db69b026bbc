# expect inp.g: wrong-local | missing-path
def two_paths_grad(inp, out):
    inp.g = (inp.cos() + 2 * inp) * out.g
