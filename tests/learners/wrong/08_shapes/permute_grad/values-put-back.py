# expect inp.g: value-for-gradient | forward-value
def permute_grad(inp, out, order):
    back = [order.index(i) for i in range(3)]
    inp.g = out.permute(back)
