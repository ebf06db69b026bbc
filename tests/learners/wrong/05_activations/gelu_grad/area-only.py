# expect inp.g: missing-path
def gelu_grad(inp, out):
    phi = (1 + (inp / 2 ** 0.5).erf()) / 2
    inp.g = phi * out.g
