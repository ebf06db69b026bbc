# expect inp.g: mean-for-sum
# expect w.g: reshape-for-transpose
# expect b.g: wrong-shape
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t() / len(w)
    w.g = (out.g.t() @ inp).view(w.shape) / len(inp)
    b.g = out.g.mean()
