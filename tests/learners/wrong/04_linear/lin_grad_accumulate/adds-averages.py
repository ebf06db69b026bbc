# expect w.g: mean-for-sum
# expect b.g: mean-for-sum
def lin_grad_accumulate(inp, out, w, b):
    bs = len(inp)
    new = {inp: out.g @ w.t(), w: inp.t() @ out.g / bs, b: out.g.mean(0)}
    for t, g in new.items():
        if hasattr(t, "g"):
            t.g = t.g + g
        else:
            t.g = g
