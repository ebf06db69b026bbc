# expect return: extra-factor | wrong-operand
def bias_grad(x, w, b, df):
    return df * b
