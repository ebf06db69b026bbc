# expect inp.g: timeout
def relu_grad(inp, out):
    g = out.g.clone().view(-1)
    i = 0
    while i < g.numel():
        if inp.view(-1)[i] <= 0:
            g[i] = 0
    inp.g = g.view_as(inp)
