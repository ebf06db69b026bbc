# expect return: forward-value
def bias_grad(x, w, b, df):
    return b
