# expect inp.g: memory
def relu_grad(inp, out):
    slopes = [0.0] * 10**12
    for i, x in enumerate(inp.flatten()):
        slopes[i] = float(x > 0)
    inp.g = out.g * inp.new_tensor(slopes[: inp.numel()]).view_as(inp)
