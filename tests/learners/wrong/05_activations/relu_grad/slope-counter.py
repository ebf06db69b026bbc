# expect inp.g: not-repeatable
calls = 0


def relu_grad(inp, out):
    global calls
    calls += 1
    inp.g = out.g * (inp > 0) / calls
