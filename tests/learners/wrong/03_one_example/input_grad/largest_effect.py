# expect return: partial-batch | unknown
def input_grad(x, w, b, df):
    return (w * df).max(1).values
