import torch


def numerical_grad(f, x, h):
    y = x.clone()
    flat = y.view(-1)
    result = []
    for i in range(flat.numel()):
        old = flat[i].item()
        flat[i] = old + h
        up = f(y)
        flat[i] = old - h
        down = f(y)
        flat[i] = old
        result.append(float(up - down) / (2 * h))
    return torch.tensor(result, dtype=x.dtype).reshape(x.shape)
