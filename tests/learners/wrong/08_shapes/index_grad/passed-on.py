# expect inp.g: missing-local | wrong-shape
def index_grad(inp, out, idx):
    inp.g = out.g
