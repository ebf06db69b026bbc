# expect a.g: wrong-sign
def div_grad(a, b, out):
    a.g = -out.g / b
    b.g = -out.g * a / b**2
