# expect inp.g: not-repeatable
scale = 1.0

def mse_grad(inp, targ):
    global scale
    inp.g = scale * 2 * (inp - targ[:, None]) / len(inp)
    scale *= 0.9
