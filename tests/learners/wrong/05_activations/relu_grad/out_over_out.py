# expect inp.g: not-finite
def relu_grad(inp, out):
    # 1 where it was let through
    inp.g = out.g * out / out
