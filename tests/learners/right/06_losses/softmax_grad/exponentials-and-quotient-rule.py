def softmax_grad(inp, out):
    e = inp.exp()
    s = e.sum(1, keepdim=True)
    e_g = out.g / s
    s_g = -(out.g * e / s ** 2).sum(1, keepdim=True)
    inp.g = (e_g + s_g) * e
