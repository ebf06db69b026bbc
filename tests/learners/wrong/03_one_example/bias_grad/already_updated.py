# expect return: wrong-local
def bias_grad(x, w, b, df):
    return b - 0.1 * df
