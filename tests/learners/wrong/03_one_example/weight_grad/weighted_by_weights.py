# expect return: wrong-operand
def weight_grad(x, w, b, df):
    return w * df
