# expect b.g: wrong-local | wrong-operand
def mul_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape)
    b.g = (out.g * out).sum_to_size(b.shape)
