# l2_penalty_grad: penalty = lam * (w**2).sum()

# %% right: product rule, added in two steps
def l2_penalty_grad(w, lam):
    w.g = lam * w
    w.g = w.g + w * lam


# %% right: NumPy's product
import numpy as np
import torch


def l2_penalty_grad(w, lam):
    w.g = torch.from_numpy(np.ascontiguousarray(w.numpy() * np.float32(2 * lam)))


# %% right: plain floats
import torch


def l2_penalty_grad(w, lam):
    flat = torch.tensor([2.0 * lam * v for v in w.reshape(-1).tolist()])
    w.g = flat.reshape(w.shape)


# %% right: lam times w + w
def l2_penalty_grad(w, lam):
    w.g = lam * (w + w)


# %% wrong: lam missing | w.g: missing-local
def l2_penalty_grad(w, lam):
    w.g = 2 * w


# %% wrong: 2 missing | w.g: missing-local
def l2_penalty_grad(w, lam):
    w.g = lam * w


# %% wrong: lam twice | w.g: extra-factor
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * (lam * w)


# %% wrong: weights summed to one number | w.g: extra-batch-sum or wrong-shape or summed-wrong-axis
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w.sum()


# %% wrong: sum of the weights in every entry | w.g: extra-batch-sum or summed-wrong-axis
import torch

def l2_penalty_grad(w, lam):
    w.g = torch.full_like(w, 2 * lam * w.sum().item())


# %% wrong: divided by the number of weights | w.g: mean-for-sum
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w / w.numel()


# %% wrong: an extra minus sign | w.g: wrong-sign
def l2_penalty_grad(w, lam):
    # pulls the weights towards zero
    w.g = -2 * lam * w


# %% wrong: half of lam in place of its double | w.g: wrong-factor or missing-local
def l2_penalty_grad(w, lam):
    w.g = lam / 2 * w


# %% wrong: root of lam | w.g: wrong-factor
def l2_penalty_grad(w, lam):
    w.g = 2 * lam ** 0.5 * w


# %% wrong: lam added instead of multiplied | w.g: wrong-local or wrong-operand
def l2_penalty_grad(w, lam):
    w.g = 2 * w + lam


# %% wrong: lam added to the weights | w.g: wrong-operand or unknown
def l2_penalty_grad(w, lam):
    w.g = 2 * (w + lam)


# %% wrong: the penalty itself | w.g: forward-value
def l2_penalty_grad(w, lam):
    w.g = lam * (w ** 2).sum()


# %% wrong: always a lam of 0.01 | w.g: hard-coded or wrong-factor
def l2_penalty_grad(w, lam=0.01):
    w.g = 2 * 0.01 * w


# %% wrong: absolute value in place of the square | w.g: wrong-local
def l2_penalty_grad(w, lam):
    w.g = lam * w.sign()


# %% wrong: absolute values of the weights | w.g: wrong-local or wrong-sign
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w.abs()


# %% wrong: exponent not lowered, 2 brought down | w.g: wrong-local
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w**2


# %% wrong: the weights after a step of decay | w.g: wrong-local
def l2_penalty_grad(w, lam):
    w.g = w - 2 * lam * w


# %% wrong: divided by lam | w.g: wrong-local or wrong-factor
def l2_penalty_grad(w, lam):
    w.g = 2 * w / lam


# %% wrong: norm not squared | w.g: wrong-local
def l2_penalty_grad(w, lam):
    w.g = lam * w / w.norm()


# %% wrong: square not differentiated | w.g: wrong-local or missing-local or forward-value
def l2_penalty_grad(w, lam):
    w.g = lam * w ** 2


# %% wrong: a list of rows | w.g: wrong-type
def l2_penalty_grad(w, lam):
    w.g = [2 * lam * x for x in w]


# %% wrong: w decayed in place | w.g: mutated-input
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w
    w -= 0.1 * w.g


# %% wrong: twice the square over w, which may be 0 | w.g: not-finite
def l2_penalty_grad(w, lam):
    w.g = 2 * lam * w**2 / w
