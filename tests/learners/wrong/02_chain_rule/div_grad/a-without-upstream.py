# expect a.g: missing-upstream
def div_grad(a, b, out):
    a.g = 1 / b
    b.g = -out.g * out / b
