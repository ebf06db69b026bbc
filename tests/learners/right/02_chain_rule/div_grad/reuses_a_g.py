def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -a.g * out
