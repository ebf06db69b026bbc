# expect return: wrong-local | wrong-operand
def input_grad(x, w, b, df):
    return w @ (df + b)
