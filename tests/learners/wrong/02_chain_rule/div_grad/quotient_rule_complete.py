# expect a.g: wrong-local | unknown
def div_grad(a, b, out):
    a.g = (b - a) / b**2 * out.g
    b.g = -out.g * a / b**2
