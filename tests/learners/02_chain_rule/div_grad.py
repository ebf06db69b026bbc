# div_grad: out = a / b

# %% right: a product with 1 / b, all in tuples
def div_grad(a, b, out):
    inv = 1 / b
    inv_g = out.g * a
    a.g, b.g = out.g * inv, -inv_g * inv**2


# %% wrong: from the derivative of the logarithm, which no 0 has | a.g: not-finite
def div_grad(a, b, out):
    for t, dlog in ((a, 1 / a), (b, -1 / b)):
        setattr(t, "g", out.g * out * dlog)


# %% right: b.g from a.g and out, through b.reciprocal()
def div_grad(a, b, out):
    a.g = b.reciprocal() * out.g
    b.g = -out * a.g


# %% right: b.g from a.g and out
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -a.g * out


# %% right: b.g from a.g and out, the sign last
def div_grad(a, b, out):
    r = b.reciprocal()
    a.g = r * out.g
    b.g = a.g * out * -1


# %% wrong: upstream gradient missing in a.g | a.g: missing-upstream
def div_grad(a, b, out):
    a.g = 1 / b
    b.g = -out.g * out / b


# %% wrong: an extra minus sign in a.g | a.g: wrong-sign
def div_grad(a, b, out):
    a.g = -out.g / b
    b.g = -out.g * a / b**2


# %% wrong: out used in place of 1 / b in a.g | a.g: wrong-local or extra-factor
def div_grad(a, b, out):
    a.g = out.g * out
    b.g = -out.g * a / b**2


# %% wrong: the quotient rule as if a and b were one variable | a.g: wrong-local or unknown
def div_grad(a, b, out):
    a.g = (b - a) / b**2 * out.g
    b.g = -out.g * a / b**2


# %% wrong: upstream gradient missing in b.g | b.g: missing-upstream
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -a / b**2


# %% wrong: a missing from b.g | b.g: missing-local
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -out.g / b**2


# %% wrong: b.g without the minus sign | b.g: wrong-sign
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = out.g * a / b**2


# %% wrong: b.g divided by b once instead of twice | b.g: wrong-local or missing-local
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = -out.g * out


# %% wrong: a and b swapped in both | a.g, b.g: wrong-operand
def div_grad(a, b, out):
    a.g = out.g / a
    b.g = -out.g * b / a**2


# %% wrong: out used in place of out.g, in both | a.g, b.g: value-for-gradient
def div_grad(a, b, out):
    a.g = out / b
    b.g = -out * a / b**2


# %% wrong: the rule for a product | a.g, b.g: wrong-local
def div_grad(a, b, out):
    a.g = out.g * b
    b.g = out.g * a


# %% wrong: b.g left as dots | b.g: todo
def div_grad(a, b, out):
    a.g = out.g / b
    b.g = ...


# %% wrong: b.g never stored | b.g: missing-answer
def div_grad(a, b, out):
    a.g = out.g / b


# %% wrong: a.g from out / a, where a may be 0 | a.g: not-finite
def div_grad(a, b, out):
    a.g = out.g * out / a
    b.g = -out.g * out / b
