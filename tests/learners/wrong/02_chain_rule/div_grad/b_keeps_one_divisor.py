# expect b.g: wrong-local | missing-local
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -out.g * out
