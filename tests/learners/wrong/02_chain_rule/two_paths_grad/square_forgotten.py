# expect inp.g: missing-path
def two_paths_grad(inp, out):
    inp.g = out.g * (inp.sin() + inp * inp.cos())
