# expect a.g: wrong-local | extra-factor
def div_grad(a, b, out):
    a.g = out.g * out
    b.g = -out.g * a / b**2
