# expect weight.g: not-repeatable
step = 0


def linear_grad(inp, out, weight, bias):
    global step
    step += 1
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp * 0.9**step
    bias.g = out.g.sum(0)
