# expect return: wrong-operand
def input_grad(x, w, b, df):
    return w**2 @ df
