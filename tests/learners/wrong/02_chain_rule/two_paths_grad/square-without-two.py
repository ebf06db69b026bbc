# expect inp.g: missing-local
def two_paths_grad(inp, out):
    inp.g = out.g * (inp.sin() + inp * inp.cos() + inp)
