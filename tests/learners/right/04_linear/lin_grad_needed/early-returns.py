def lin_grad_needed(inp, out, w, b, needs=frozenset({"inp", "w", "b"})):
    left = set(needs)
    if not left:
        return
    if "inp" in left:
        inp.g = out.g.mm(w.T)
    if {"w"} <= left:
        w.g = inp.T.mm(out.g)
    if left & {"b"}:
        b.g = out.g.sum(dim=0)
