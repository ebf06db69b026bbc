# expect inp.g: summed-wrong-axis | wrong-local
def index_grad(inp, out, idx):
    inp.g = out.g.mean(0, keepdim=True).expand_as(inp)
