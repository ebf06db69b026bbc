# expect return: summed-wrong-axis | reshape-for-transpose
def unbroadcast(g, shape):
    n = 1
    for s in shape:
        n *= s
    return g.reshape(-1, n).sum(0).reshape(shape)
