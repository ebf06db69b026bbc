# expect return: missing-path | partial-batch
def input_grad(x, w, b, df):
    return w[:, 0] * df[0]
