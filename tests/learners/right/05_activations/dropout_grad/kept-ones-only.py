def dropout_grad(inp, out, mask, p):
    inp.g = out.g.new_zeros(out.g.shape)
    kept = mask == 1
    inp.g[kept] = out.g[kept] * (1 + p / (1 - p))
