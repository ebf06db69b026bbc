# expect a.g: wrong-local | wrong-operand
# expect b.g: wrong-local | wrong-operand
def div_grad(a, b, out):
    a.g = out.g * b
    b.g = out.g * a
