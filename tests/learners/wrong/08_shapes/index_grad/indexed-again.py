# expect inp.g: error | wrong-shape | transposed
def index_grad(inp, out, idx):
    inp.g = out.g[idx]
