# expect a.g: summed-wrong-axis
# expect b.g: missing-batch-sum
def mul_grad(a, b, out):
    a.g = (out.g * b).sum(0)
    b.g = (out.g * a).sum(0)
