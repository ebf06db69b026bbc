# expect inp.g: missing-upstream
def two_paths_grad(inp, out):
    inp.g = (inp.sin() + inp * inp.cos()) * out.g + 2 * inp
