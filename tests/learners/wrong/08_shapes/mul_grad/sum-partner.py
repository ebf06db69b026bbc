# expect a.g: wrong-operand
# expect b.g: wrong-operand
def mul_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape) * b.sum()
    b.g = out.g.sum_to_size(b.shape) * a.sum()
