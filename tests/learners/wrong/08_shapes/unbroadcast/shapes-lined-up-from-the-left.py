# expect return: error
def unbroadcast(g, shape):
    axes = [i for i, (a, b) in enumerate(zip(g.shape, shape)) if a != b]
    return g.sum(axes).reshape(shape)
