# expect return: value-for-gradient | wrong-operand
def input_grad(x, w, b, df):
    return w @ b
