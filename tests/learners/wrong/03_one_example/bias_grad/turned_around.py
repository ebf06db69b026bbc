# expect return: wrong-sign
def bias_grad(x, w, b, df):
    return 0 - df
