# expect return: summed-wrong-axis | extra-batch-sum
def unbroadcast(g, shape):
    return g.sum().expand(shape)
