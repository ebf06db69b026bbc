def two_paths_grad(inp, out):
    inp.g = 0
    inp.g += out.g * inp.sin()
    inp.g += out.g * inp * inp.cos()
    for _ in range(2):
        inp.g += out.g * inp
