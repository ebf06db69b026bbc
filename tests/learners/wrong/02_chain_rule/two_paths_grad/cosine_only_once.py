# expect inp.g: missing-path
def two_paths_grad(inp, out):
    inp.g = (inp * inp.cos() + 2 * inp) * out.g
