# expect return: wrong-shape
def weight_grad(x, w, b, df):
    return x[None, :, None] * df[None, None, :]
