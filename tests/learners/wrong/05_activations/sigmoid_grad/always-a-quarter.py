# expect inp.g: wrong-local | hard-coded | wrong-factor
def sigmoid_grad(inp, out):
    # the slope of sigmoid is 1/4
    inp.g = 0.25 * out.g
