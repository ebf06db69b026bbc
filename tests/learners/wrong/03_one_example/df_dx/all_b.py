# expect return: forward-value | wrong-operand
def df_dx(x, w, b):
    return b.unsqueeze(1).expand(len(b), len(x))
