# expect return: wrong-shape | missing-batch-sum
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    return g
