def lin_grad_needed(inp, out, w, b, needs):
    if not needs:
        return
    if "inp" in needs: inp.g = out.g @ w.T
    if "w" in needs: w.g = inp.T @ out.g
    if "b" in needs: b.g = out.g.sum(0)
