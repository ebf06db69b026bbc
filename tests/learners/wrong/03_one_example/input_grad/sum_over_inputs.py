# expect return: wrong-shape | summed-wrong-axis
def input_grad(x, w, b, df):
    return (w * df).sum(0)
