def div_grad(a, b, out):
    a.g = b.reciprocal() * out.g
    b.g = -out * a.g
