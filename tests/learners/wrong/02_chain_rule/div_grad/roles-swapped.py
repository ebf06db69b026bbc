# expect a.g: wrong-operand
# expect b.g: wrong-operand
def div_grad(a, b, out):
    a.g = out.g / a
    b.g = -out.g * b / a**2
