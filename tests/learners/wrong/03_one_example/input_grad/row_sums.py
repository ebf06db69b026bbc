# expect return: missing-upstream
def input_grad(x, w, b, df):
    # each x[i] reaches every output through w[i, j]
    return w.sum(1)
