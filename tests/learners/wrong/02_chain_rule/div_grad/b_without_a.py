# expect b.g: missing-local
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -out.g / (b * b)
