# expect a.g: wrong-operand
# expect b.g: wrong-operand
def add_grad(a, b, out):
    a.g = out.g.sum_to_size(b.shape)
    b.g = out.g.sum_to_size(a.shape)
