def div_grad(a, b, out):
    r = b.reciprocal()
    a.g = r * out.g
    b.g = a.g * out * -1
