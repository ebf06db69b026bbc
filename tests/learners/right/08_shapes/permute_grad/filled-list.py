def permute_grad(inp, out, order):
    back = [0] * len(order)
    for place, axis in enumerate(order):
        back[axis] = place
    inp.g = out.g.permute(*back).contiguous()
