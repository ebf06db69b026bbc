# expect a.g: wrong-operand | wrong-local | value-for-gradient
# expect b.g: wrong-operand | wrong-local | value-for-gradient
def mul_grad(a, b, out):
    a.g = (out.g * out).sum_to_size(a.shape)
    b.g = (out.g * out).sum_to_size(b.shape)
