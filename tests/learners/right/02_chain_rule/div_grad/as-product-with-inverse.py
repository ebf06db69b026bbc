def div_grad(a, b, out):
    inv = 1 / b
    inv_g = out.g * a
    a.g, b.g = out.g * inv, -inv_g * inv**2
