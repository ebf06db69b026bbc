# expect a.g: value-for-gradient
# expect b.g: value-for-gradient
def div_grad(a, b, out):
    a.g = out / b
    b.g = -out * a / b**2
