# expect inp.g: reshape-for-transpose | transposed | unknown
def permute_grad(inp, out, order):
    inp.g = out.g.permute(order).reshape(inp.shape)
