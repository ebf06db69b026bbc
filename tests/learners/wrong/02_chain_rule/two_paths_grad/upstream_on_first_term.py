# expect inp.g: missing-upstream
def two_paths_grad(inp, out):
    inp.g = out.g * inp.sin() + inp * inp.cos() + 2 * inp
