# expect return: missing-upstream
def weight_grad(x, w, b, df):
    return x.unsqueeze(1).expand_as(w)
