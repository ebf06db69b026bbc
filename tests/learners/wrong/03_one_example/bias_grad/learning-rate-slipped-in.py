# expect return: wrong-factor
lr = 0.1


def bias_grad(x, w, b, df):
    return lr * df
