"""Exercises of unit 08: reductions, broadcasting, rearranging and indexing, backwards."""

from handgrad import (
    Exercise,
    Misconception,
    each_of,
    indices,
    mask,
    normal,
    output,
    returned,
    shape,
    sized,
    spaced,
    stored,
    upstream,
    withheld,
)

# Each axis, counted from either end, with and without the flag that goes with it.
_DIMS = each_of(1, -1, 0, 0, -1)
# Partners that broadcast: every trial stretches, adds or keeps other axes, on either side.
_A = "bs 1 m | bs n m | m | n 1 | bs n | 1 n 1"
_B = "n 1 | m | bs n m | bs 1 m | bs n | bs 1 m"
_NARROW = "n 1 | m | bs 1 m | 1 m | bs n m | 1 n 1"
_WIDE = "bs n m | bs n m | bs n m | n m | bs n m | bs n m"


def _variance(inp, dim, unbiased):
    """out = ((inp - inp.mean(dim, keepdim=True)) ** 2).sum(dim) / (count - unbiased), count = inp.shape[dim]"""
    count = inp.shape[dim]
    deviation = inp - inp.mean(dim, keepdim=True)
    return (deviation**2).sum(dim) / (count - unbiased)


def _joined(a, b, dim):
    """out = torch.cat((a, b), dim)"""
    import torch

    return torch.cat((a, b), dim)


def _stacked(a, b, dim):
    """out = torch.stack((a, b), dim)"""
    import torch

    return torch.stack((a, b), dim)


def _padded(inp, before, after):
    """out = torch.nn.functional.pad(inp, (before, after))"""
    import torch

    return torch.nn.functional.pad(inp, (before, after))


sum_grad = Exercise(
    title="A sum along an axis, backwards",
    forward=lambda inp, dim, keepdim: inp.sum(dim, keepdim),
    inputs={"inp": normal("bs n m"), "out": output(), "dim": _DIMS, "keepdim": each_of(False, True)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge one entry of `inp` by 0.001. Which entry of `out` moves, and by how much?",
            "All the entries added up into one sum get the same gradient. How many times must each "
            "entry of `out.g` be copied?",
            "Where `keepdim` is `False`, `out` lacks the axis: insert it again with size 1 before you expand to the "
            "shape of `inp`.",
        ),
    },
)

mean_grad = Exercise(
    title="A mean along an axis, backwards",
    forward=lambda inp, dim, keepdim: inp.mean(dim, keepdim),
    inputs={"inp": normal("bs n m"), "out": output(), "dim": _DIMS, "keepdim": each_of(False, True)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "A mean is a sum followed by one more step. Which step, and what is its derivative?",
            "How many entries go into one mean: all of `inp`, or those along one axis?",
            "Start from `sum_grad`; the additional factor follows from the size of `inp` along `dim`.",
        ),
    },
)

unbroadcast = Exercise(
    title="Undo a broadcast",
    forward=lambda x, wide: x.expand(wide),
    inputs={
        "g": upstream(),
        "shape": shape(_NARROW),
        "x": withheld(normal(_NARROW)),
        "wide": withheld(shape(_WIDE)),
    },
    answers=returned("x"),
    hints={
        "return": (
            "One entry of `x` is copied to several entries. How are their gradients combined?",
            "Align the two shapes from the right. Which axes are new, and which had size 1?",
            "Sum over the new axes in front, which disappear; sum over axes of size 1 too, but keep them.",
        ),
    },
)

add_grad = Exercise(
    title="A sum of two tensors that broadcast, backwards",
    forward=lambda a, b: a + b,
    inputs={"a": normal(_A), "b": normal(_B), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "If `a` and `out` had the same shape, what would the gradient be? And what is different here?",
            "Broadcasting copies the entries of `a`. The gradients of all copies belong to the same entry.",
            "Reduce the upstream gradient to the shape of `a`: `unbroadcast` is the function for that.",
        ),
        "b.g": (
            "Is the gradient of `b` any different from that of `a`, before you look at the shapes?",
            "Align the shapes of `b` and `out` from the right: along which axes is `b` copied?",
            "Only the target shape differs: reduce the upstream gradient to the shape of `b`.",
        ),
    },
)

mul_grad = Exercise(
    title="A product of two tensors that broadcast, backwards",
    forward=lambda a, b: a * b,
    inputs={"a": normal(_A), "b": normal(_B), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "At what rate does a product grow with its left factor?",
            "There are two steps: multiply at the full shape of `out`, then reduce to the shape of `a`.",
            "Every copy of `a` is multiplied by a different entry of the other factor, so multiply first and sum "
            "afterwards.",
        ),
        "b.g": (
            "At what rate does a product grow with its right factor?",
            "There are two steps: multiply at the full shape of `out`, then reduce to the shape of `b`.",
            "Do the same as for `a`, with `a` as the other factor, and reduce to the shape of `b`.",
        ),
    },
)

permute_grad = Exercise(
    title="Axes in another order, backwards",
    forward=lambda inp, order: inp.permute(order),
    inputs={"inp": normal("bs n m"), "out": output(), "order": each_of((1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2))},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "No number changes, only its index. If you nudge one entry of `inp`, where in `out` is it?",
            "Axis `i` of `out` is axis `order[i]` of `inp`. So which axis of `out` is axis `j` of `inp`?",
            "Find the positions of 0, 1 and 2 in `order`: these three positions are the inverse permutation.",
        ),
    },
)

reshape_grad = Exercise(
    title="The same numbers in other rows, backwards",
    forward=lambda inp: inp.reshape(inp.shape[-1], -1),
    inputs={"inp": normal("bs n m"), "out": output()},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Number the entries of `inp` in the order in which they are stored. What is their order in `out`?",
            "The order stays the same; only the shape changes. Is that a transpose?",
            "Give `out.g` the shape of `inp`, without changing the order of its entries.",
        ),
    },
    misconceptions=(
        Misconception(
            "reshape-for-transpose",
            "inp.g",
            lambda inp, out_g: out_g.t().reshape(inp.shape),
            says="out.g is transposed before it is reshaped; it must only be reshaped",
            hints=("Number the entries of `out` in the order in which they are stored. Which are the first of `inp`?",),
        ),
    ),
)

index_grad = Exercise(
    title="Picking rows, backwards",
    forward=lambda inp, idx: inp[idx],
    inputs={"inp": normal("n m"), "out": output(), "idx": indices("k", "n")},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "A row of `inp` may be selected once, three times, or never. What is its gradient in each case?",
            "Start from zeros in the shape of `inp`; each row of `out.g` belongs to the row of `inp` that it was "
            "taken from.",
            "Add, do not assign: with a repeated index, an indexed assignment keeps only one of the rows.",
        ),
    },
)

slice_grad = Exercise(
    title="A slice of an axis, backwards",
    forward=lambda inp, start, stop: inp[:, start:stop],
    inputs={
        "inp": sized(normal("bs t m"), t=(5, 6, 7)),
        "out": output(),
        "start": each_of(1, 0, 2, 1),
        "stop": each_of(4, 3, 5, 3),
    },
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge an entry before `start`, one inside, and one after `stop`. Which of them changes `out`?",
            "The gradient has the shape of `inp`, and most of it may be zero.",
            "Start from zeros in the shape of `inp`, and write `out.g` into the same slice.",
        ),
    },
)

where_grad = Exercise(
    title="A choice between two, backwards",
    forward=lambda mask, a, b: a.where(mask.bool(), b),
    inputs={"mask": mask("..."), "a": normal("..."), "b": normal("..."), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Nudge an entry of `a` that is not selected. Does `out` change?",
            "`mask` alone decides which of the two is selected; the values of `a` and `b` do not matter.",
            "Take `out.g` where `mask` is 1, and 0 where it is 0.",
        ),
        "b.g": (
            "Where is `b` selected?",
            "Look at `mask` again: `b` is selected exactly where `a` is not.",
            "Take `out.g` where `mask` is 0, and 0 where it is 1.",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-local",
            "a.g",
            lambda a, b, out_g: out_g * (a > b),
            says="a gets its gradient where a > b; it must get it where mask is 1",
            hints=("Which of the arguments decides whether `out` has the entry of `a` or that of `b`?",),
        ),
        Misconception(
            "wrong-local",
            "b.g",
            lambda a, b, out_g: out_g * (b >= a),
            says="b gets its gradient where b >= a; it must get it where mask is 0",
            hints=("Which of the arguments decides whether `out` has the entry of `a` or that of `b`?",),
        ),
    ),
)

max_grad = Exercise(
    title="The maximum along an axis, backwards",
    forward=lambda inp, dim: inp.max(dim).values,
    inputs={"inp": spaced("bs n m"), "out": output(), "dim": each_of(1, -1, 0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge an entry that is not the largest along `dim`. Does `out` change?",
            "You need a mask that is 1 at the largest entry along `dim`. Which tensor holds the largest values?",
            "Insert the axis into `out` again, with size 1, and compare with `inp`. If two entries tie, what must the "
            "mask sum to?",
        ),
    },
)

var_grad = Exercise(
    title="A variance along an axis, backwards",
    forward=_variance,
    inputs={"inp": normal("bs n m"), "out": output(), "dim": _DIMS, "unbiased": each_of(True, False)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Split the variance into steps: mean, difference, square, sum, division. What is the derivative of each?",
            "Each entry also moves the mean a little. Sum the effect of that on all the squares: what do you get?",
            "Multiply the deviation by the factor of the square. From how many entries is one variance computed, and "
            "by which number does your code divide?",
        ),
    },
    misconceptions=(
        Misconception(
            "wrong-factor",
            "inp.g",
            lambda inp, dim, unbiased, out_g: (
                2 * (inp - inp.mean(dim, keepdim=True)) / (inp.shape[dim] - (not unbiased)) * out_g.unsqueeze(dim)
            ),
            says="the two divisors are swapped: `unbiased=True` divides by the count minus 1",
            hints=("Which is larger, the variance with `unbiased=True` or the one with `unbiased=False`?",),
        ),
        Misconception(
            "wrong-local",
            "inp.g",
            lambda inp, dim, unbiased, out, out_g: (
                (inp - inp.mean(dim, keepdim=True)) / (inp.shape[dim] - unbiased) * (out_g / out.sqrt()).unsqueeze(dim)
            ),
            says="every entry is the gradient of the standard deviation, not of the variance",
            hints=("Is there a square root in the forward pass?",),
        ),
    ),
)

cat_grad = Exercise(
    title="Two tensors concatenated, backwards",
    forward=_joined,
    # First an a that is shorter than b for certain: cutting by the length of a alone must not pass by luck.
    inputs={
        "a": normal("bs 1 m | bs n m | bs n m"),
        "b": normal("bs k m | bs n k | k n m"),
        "out": output(),
        "dim": each_of(1, -1, 0),
    },
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Nudge one entry of `a`. Which entry of `out` changes?",
            "Along `dim`, which part of `out` holds `a`, and how long is it?",
            "Slice `out.g` along `dim`; the shape of `a` gives the length of its part.",
        ),
        "b.g": (
            "Along `dim`, where does `b` begin?",
            "The part before `b` has the length of `a`; how much remains?",
            "Slice `out.g` along `dim`, after the part of `a`; `split` and `narrow` take the lengths.",
        ),
    },
)

stack_grad = Exercise(
    title="Two tensors stacked, backwards",
    forward=_stacked,
    inputs={"a": normal("bs n"), "b": normal("bs n"), "out": output(), "dim": each_of(1, 0, 2, -1)},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "`out` has an axis that `a` does not have. How long is it, and at which position is it?",
            "At which index of the new axis is `a`?",
            "Select the index of `out.g` along `dim` at which `a` was put; selecting removes the axis.",
        ),
        "b.g": (
            "At which index of the new axis is `b`?",
            "`b` comes after `a`.",
            "Do the same as for `a`, at the next index; `select` and `unbind` remove an axis.",
        ),
    },
)

pad_grad = Exercise(
    title="A border of zeros, backwards",
    forward=_padded,
    inputs={"inp": normal("bs n"), "out": output(), "before": each_of(1, 2, 0, 2), "after": each_of(2, 0, 1, 1)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "What happens to the upstream gradient at the zeros?",
            "Those entries of `out` do not depend on `inp`. Where in `out` does `inp` begin, and how long is it?",
            "The answer is a slice of `out.g`, as long as `inp`. Where does it begin and end, even if `after` is 0?",
        ),
    },
)

cumsum_grad = Exercise(
    title="A cumulative sum, backwards",
    forward=lambda inp, dim: inp.cumsum(dim),
    inputs={"inp": normal("bs n m"), "out": output(), "dim": each_of(1, -1, 0)},
    answers=stored("inp.g"),
    hints={
        "inp.g": (
            "Nudge the first entry along `dim`: which outputs change? And if you nudge the last one?",
            "An entry affects its own output and all later ones. Which upstream gradients must be added up for its"
            " gradient?",
            "The gradient is a cumulative sum again, but one that begins at the other end of the axis.",
        ),
    },
)
