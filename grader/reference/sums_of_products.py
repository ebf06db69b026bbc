"""Sums of products of arrays, whichever operation makes them, as einsums."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .operand_view import At


@dataclass(frozen=True)
class Contraction:
    """The gradient of a sum of products with respect to one operand, as an einsum."""

    own: str  # the operand's axes as letters
    axes: tuple[str, ...]  # those of its factors
    factors: tuple[torch.Tensor, ...]  # the upstream gradient, then the operand's partners
    sizes: dict[str, int]

    @classmethod
    def of(cls, at: At) -> Contraction:
        """Read from the operation's name and the ranks of its operands; a ValueError where it is no such sum."""
        *letters, value = _letters(at)
        places = sorted(where for where, _ in at.step.operands)
        if len(places) != len(letters) or len(places) < 2:
            raise ValueError("it is no plain sum of products")
        known = dict(zip(places, letters, strict=True))
        own, partners = known.pop(at.where), [at.step.operand(where) for where in known]
        shapes = zip((*known.values(), value), (*partners, at.y), strict=True)
        sizes = {letter: size for names, array in shapes for letter, size in zip(names, array.shape, strict=True)}
        if not set(own) <= set(sizes):
            raise ValueError("the operand is summed on its own")
        return cls(own, (value, *known.values()), (at.g, *partners), sizes)

    @property
    def letters(self) -> str:
        """Every axis of the products before any is summed: those of the value first, and the operand's in its order."""
        own = iter(self.own)
        return "".join(next(own) if letter in self.own else letter for letter in dict.fromkeys("".join(self.axes)))

    @property
    def summed(self) -> tuple[int, ...]:
        """The axes that are rightly summed over."""
        return tuple(i for i, letter in enumerate(self.letters) if letter not in self.own)

    def products(self) -> torch.Tensor:
        """Partners times upstream, nothing summed; axes: `letters`."""
        return torch.einsum(f"{','.join(self.axes)}->{self.letters}", *self.factors)

    def summed_first(self, early: tuple[int, ...]) -> torch.Tensor:
        """Each factor summed on its own over the axes `early`, then the product; axes: `own`."""
        gone = {self.letters[axis] for axis in early}
        kept = ["".join(letter for letter in names if letter not in gone) for names in self.axes]
        factors = zip(self.axes, kept, self.factors, strict=True)
        sums = [torch.einsum(f"{before}->{after}", factor) for before, after, factor in factors]
        return torch.einsum(f"{','.join(kept)}->{self.own}", *sums)


def _letters(at: At) -> list[str]:
    """The axes of each operand and of the value, as letters."""
    if at.name == "einsum":
        operands, arrow, value = str(at.step.args[0]).replace(" ", "").partition("->")
        parts = operands.split(",")
        if not arrow or "." in operands or any(len(set(part)) < len(part) for part in parts):
            raise ValueError("this einsum is no plain sum of products")
        return [*parts, value]
    if at.name == "outer":
        return ["i", "j", "ij"]
    if at.name == "linear":
        batch = "xyzw"[: at.y.dim() - 1]
        return [f"{batch}k", "jk", f"{batch}j"]
    left, right = (at.step.operand((i,)).dim() for i in (0, 1))
    batch, i, j = "xyz"[: max(left, right, 2) - 2], "i" * (left > 1), "j" * (right > 1)
    a, b = (batch[len(batch) - max(rank - 2, 0) :] for rank in (left, right))
    return [f"{a}{i}k", f"{b}k{j}", f"{batch}{i}{j}"]
