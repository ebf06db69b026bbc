# expect return: error
def unbroadcast(g, shape):
    return g.reshape(shape)
