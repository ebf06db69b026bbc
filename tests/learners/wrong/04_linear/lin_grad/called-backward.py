# expect *: used-autograd
def lin_grad(inp, out, w, b):
    i, ww, bb = (t.clone().requires_grad_() for t in (inp, w, b))
    (i @ ww + bb).backward(out.g)
    inp.g, w.g, b.g = i.grad, ww.grad, bb.grad
