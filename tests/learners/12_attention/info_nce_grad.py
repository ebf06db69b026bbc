# info_nce_grad: scores = a @ b.t() / temperature, loss = (scores.logsumexp(-1) - scores.diagonal()).mean()

# %% right: cross-entropy with indices
import torch


def info_nce_grad(a, b, temperature):
    n = a.shape[0]
    p = torch.softmax(a @ b.T / temperature, 1)
    p[range(n), range(n)] -= 1
    p /= n * temperature
    a.g, b.g = p @ b, p.T @ a


# %% right: row by row
import torch


def info_nce_grad(a, b, temperature):
    a.g, b.g = torch.zeros_like(a), torch.zeros_like(b)
    for i in range(len(a)):
        e = (b @ a[i] / temperature).exp()
        for j in range(len(b)):
            weight = float(e[j] / e.sum() - float(i == j)) / len(a) / temperature
            a.g[i] += weight * b[j]
            b.g[j] += weight * a[i]


# %% right: attraction and repulsion apart, einsum in float64
import torch


def info_nce_grad(a, b, temperature):
    A, B = a.double(), b.double()
    s = torch.einsum("id,jd->ij", A, B) / temperature
    p = (s - s.logsumexp(1, keepdim=True)).exp()
    a.g = ((torch.einsum("ij,jd->id", p, B) - B) / (temperature * len(A))).float()
    b.g = ((torch.einsum("ij,id->jd", p, A) - A) / (temperature * len(A))).float()


# %% wrong: the truth not subtracted | *: missing-path
def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = scores.softmax(-1) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: only the truth | *: missing-path
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = -torch.eye(len(a)) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: truth less belief | *: wrong-sign
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (torch.eye(len(a)) - scores.softmax(-1)) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: softmax over the rows of a | *: summed-wrong-axis or wrong-point or unknown
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(0) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: temperature only on the way forward | *: missing-local
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b
    b.g = scores_g.t() @ a


# %% wrong: temperature left out of the scores | *: wrong-point
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t()
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: multiplied by the temperature | *: wrong-local or wrong-factor or wrong-operand
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b * temperature
    b.g = scores_g.t() @ a * temperature


# %% wrong: not divided by the batch | *: sum-for-mean
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a)))
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: divided by the batch twice | *: extra-factor or mean-for-sum
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a) ** 2
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: divided by all scores | *: wrong-factor or extra-factor or mean-for-sum or hard-coded
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / scores.numel()
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: scores' gradient not turned for b | b.g: transposed
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g @ a / temperature


# %% wrong: partners exchanged | a.g, b.g: wrong-operand
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ a / temperature
    b.g = scores_g.t() @ b / temperature


# %% wrong: both directions, as CLIP has them | *: unknown or wrong-local or missing-path or extra-factor
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = ((scores.softmax(-1) + scores.softmax(0)) / 2 - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b / temperature
    b.g = scores_g.t() @ a / temperature


# %% wrong: pulled to the partner alone | a.g: unknown or missing-path or wrong-operand; b.g: unknown or missing-path or wrong-operand
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = -b / len(a) / temperature
    b.g = -a / len(a) / temperature


# %% wrong: squared temperature on the way back | *: extra-factor
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    scores_g = (scores.softmax(-1) - torch.eye(len(a))) / len(a)
    a.g = scores_g @ b / temperature**2
    b.g = scores_g.t() @ a / temperature**2


# %% wrong: the partner of a row found by its score | a.g: wrong-local
import torch


def info_nce_grad(a, b, temperature):
    scores = a @ b.t() / temperature
    hot = (scores == scores.diagonal().unsqueeze(-1)).float()
    scores_g = (scores.softmax(-1) - hot) / len(a)
    a.g = scores_g @ b / temperature
    b.g = (scores.softmax(-1) - torch.eye(len(a))).t() @ a / temperature / len(a)
