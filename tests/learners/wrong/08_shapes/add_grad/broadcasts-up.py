# expect a.g: wrong-shape | missing-batch-sum
# expect b.g: wrong-shape | missing-batch-sum
def add_grad(a, b, out):
    a.g = out.g.clone()
    b.g = out.g.clone()
