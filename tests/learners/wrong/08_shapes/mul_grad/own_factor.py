# expect a.g: wrong-operand
def mul_grad(a, b, out):
    a.g = (out.g * a).sum_to_size(a.shape)
    b.g = (out.g * a).sum_to_size(b.shape)
