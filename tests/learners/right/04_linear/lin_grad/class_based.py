import torch

class Linear:
    def __init__(self, w, b): self.w, self.b = w, b
    def backward(self, inp, out):
        inp.g = torch.matmul(out.g, self.w.transpose(0, 1))
        self.w.g = torch.einsum('bi,bj->ij', inp, out.g)
        self.b.g = torch.ones(out.shape[0]) @ out.g

def lin_grad(inp, out, w, b):
    Linear(w, b).backward(inp, out)
