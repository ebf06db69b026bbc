import torch
def bmm_grad(a, b, out):
    ag, bg = [], []
    for A, B, G in zip(a, b, out.g):
        ag.append(G @ B.t())
        bg.append(A.t() @ G)
    a.g, b.g = torch.stack(ag), torch.stack(bg)
