# expect a.g: wrong-operand | wrong-shape
# expect b.g: wrong-operand | wrong-shape
def cat_grad(a, b, out, dim):
    b.g, a.g = out.g.split((b.shape[dim], a.shape[dim]), dim)
