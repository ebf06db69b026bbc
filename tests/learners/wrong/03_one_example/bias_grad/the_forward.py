# expect return: forward-value
def bias_grad(x, w, b, df):
    f = x @ w + b
    return f
