# expect return: missing-upstream
def weight_grad(x, w, b, df):
    return x.unsqueeze(1).repeat(1, w.shape[1])
