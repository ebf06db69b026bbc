# expect b.g: missing-upstream
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -a / b**2
