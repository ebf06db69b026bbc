# expect inp.g: missing-local | wrong-local
def gelu_grad(inp, out):
    cdf = (1 + (inp / 2 ** 0.5).erf()) / 2
    inp.g = out.g * (cdf + inp * (-inp ** 2 / 2).exp())
