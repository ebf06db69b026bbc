# expect return: missing-upstream
def input_grad(x, w, b, df):
    return w.sum(dim=1)
