def sigmoid_grad(inp, out):
    inp.g = inp.sigmoid() * (-inp).sigmoid() * out.g
