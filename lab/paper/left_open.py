"""What the paper says about its experiments, with lines of its source: what is pinned down, what not."""

from __future__ import annotations

import math
from typing import NamedTuple

from lab.paper.printed import BOOTSTRAP, FOREST, MAIN, MIMIC, N2000, RANDOM, STEPS_S_SD


class Statement(NamedTuple):
    """A question, where the paper speaks of it (lines of its LaTeX source), and how it is read here."""

    question: str
    lines: tuple[int, ...]  # empty: it is not said
    said: str
    read: str


PINNED = (
    Statement(
        "count", (143, 151), "floor(epsilon n) rows of X are misfiled, and epsilon is known.", "As said."
    ),
    Statement("kernel", (351,), "RBF, median heuristic on the contaminated rows.", "exp(-d² / (2 median²))."),
    Statement("steps", (351,), "S = min(m, 10).", "As said."),
    Statement(
        "rows moved",
        (274, 279, 292, 340),
        "An m-sized subset, m/S rows a step; but quantiles of level epsilon / (epsilon + S) in each of S "
        "steps, ties included, move more than m rows (15 where 10 are misfiled, N = 100).",
        "Exactly m rows, after step s floor(m s / S) of them.",
    ),
    Statement(
        "witness of S-SD and SD",
        (162, 234, 281, 282),
        "Plain in the definition; later with weights 1 ∓ epsilon / S before sums over groups of "
        "(1 ∓ epsilon) n rows, all divided by n.",
        "Plain: mean k(X, .) - mean k(Y, .) over the groups of the step, each row itself included.",
    ),
    Statement(
        "value at the end",
        (171, 182, 275),
        "The unbiased estimate is printed for two groups of n rows (with k(x_i, y_i) in its double sum); the "
        "bounds are those of an empirical version of a supremum with weights 1 ∓ epsilon and 2 epsilon.",
        "The unbiased estimate (U-statistic) of the new groups, and of the true ones for the truth.",
    ),
    Statement(
        "objective of QNO",
        (200, 201, 202, 340),
        "Sums divided by n, and the pairs among the points weighted by epsilon; epsilon / S in steps.",
        "Sums divided by the sizes of the groups in the step.",
    ),
    Statement(
        "free points of QNO",
        (212, 294, 340),
        "They lie anywhere, and yet leave Y, a set of rows, before the next step.",
        "The nearest rows of Y, each once, leave it and join X; in the value at the end the points are in X.",
    ),
    Statement(
        "SM",
        (346,),
        "Witness plus log-determinant, both with weight 1; nothing on the lower bound.",
        "Weight 0.001, and minus the witness below. With weight 1 the witness has no influence.",
    ),
    Statement(
        "Bootstrap",
        (148, 347),
        "Quantiles alpha and 1 - alpha, where alpha = epsilon / (1 + epsilon); both groups resampled.",
        "Each group by itself, 200 times.",
    ),
    Statement(
        "nonrandom misfiling",
        (355, 850),
        "m rows at random from the min(2m, n) with the largest witness; in the appendix, the m largest.",
        "At random from the 2m largest.",
    ),
    Statement(
        "false coverage",
        (331, 387, 395),
        "The formula counts intervals that hold the truth; the tables call the lowest rate the best.",
        "The share of intervals that do not hold it. An interval whose ends have crossed holds nothing.",
    ),
    Statement(
        "number of rows",
        (141, 359, 461, 787, 845, 850),
        "N is the rows of both groups and n those of one; N = 2000 of one place is n = 2000 in others.",
        "2000 (or 100) are the rows of both groups.",
    ),
    Statement(
        "number of trials",
        (388, 393, 416, 457),
        "100; but rates on FOREST and MIMIC are multiples of 1/50, with the standard errors of 50 trials.",
        "50 on FOREST, 100 on BIO and in the tables about steps.",
    ),
    Statement(
        "contaminated group of FOREST",
        (361,),
        "Lodgepole Pine.",
        "Spruce-Fir. With Lodgepole Pine no reading that was tried comes near SD, SM and QNO.",
    ),
    Statement(
        "values of BIO",
        (365, 393),
        "7,128 measurements (the published arrays have 7,129), 47 ALL and 25 AML, 100 bootstrap samples.",
        "Normal scores, which come in files of 7,128 columns; drawn with replacement within the groups.",
    ),
    Statement(
        "impossible standard errors",
        (379, 448),
        "0.091 for a rate of 0.21 over 100 trials, which is 0.041; 0.067 for 0.08, which is 0.038 over 50.",
        "The verdict takes at most what 50 trials give.",
    ),
    Statement(
        "largest epsilon",
        (426, 430, 431),
        "0.5 in the caption, 0.9 in the text.",
        "0.9.",
    ),
)
UNSAID = (
    "how columns were scaled (read: not at all)",
    "where QNO starts (random rows of Y) and in which box it searches (that of the data)",
    "when QNO stops (at SciPy's tolerance of 1e-5, in units of the bandwidth; after 200 iterations at most)",
    "why it finds so little on BIO (read: it ends after one iteration, as by SciPy's limit of evaluations)",
    "how many resamples the bootstrap has",
    "which numerical guard the log-determinant has",
    "whether rows of BIO are resampled within the groups or from all 72",
    "which patients of MIMIC-CXR the logits are of, and their bandwidth",
)


def left_open() -> str:
    """Return the statements as a table, and what is not said at all."""
    rows = [
        f"| {each.question} | {', '.join(map(str, each.lines))} | {each.said} | {each.read} |"
        for each in PINNED
    ]
    head = ["| question | lines | the paper | read here as |", "|---|---|---|---|"]
    unsaid = "\n".join(f"- {each};" for each in UNSAID[:-1]) + f"\n- {UNSAID[-1]}."
    return (
        "Lines are those of the LaTeX source on arXiv. Where statements contradict each other, the one was "
        "taken whose numbers come closest to the printed ones.\n\n"
        + "\n".join([*head, *rows])
        + f"\n\nNot said:\n\n{unsaid}\n"
    )


def exchanged_tables() -> str:
    """Return the argument, with figures from the printed tables."""
    ratios = [
        N2000.cells[row, column].miw_error / RANDOM.cells[row, column].miw_error
        for column in (MIMIC, FOREST)
        for row in N2000.rows
        if RANDOM.cells[row, column].miw_error
    ]
    of_mimic = N2000.cells[BOOTSTRAP, MIMIC].miw / RANDOM.cells[BOOTSTRAP, MIMIC].miw
    large, main = N2000.cells[BOOTSTRAP, FOREST].miw, MAIN.cells[BOOTSTRAP, FOREST].miw
    steps, whole = STEPS_S_SD.cells["10", FOREST].miw, N2000.cells["S-SD", FOREST].miw
    return (
        "On FOREST the numbers of `tab:n2000` (lines 782 to 800, nonrandom misfiling with N = 2000) fit "
        "*random misfiling with N = 100*, and those of `tab:rand100` (lines 852 to 870, random misfiling "
        "with N = 100) fit *random misfiling with N = 2000*. The columns of MIMIC show the same pattern. "
        "This is inferred and cannot be proved, so FOREST is shown under both labels. What speaks for it, "
        "in the printed numbers alone:\n\n"
        f"- Standard errors of the widths in `tab:n2000` are {min(ratios):.1f} to {max(ratios):.1f} times "
        "those in `tab:rand100`. By the labels they should be smaller; from N = 2000 to N = 100 they "
        f"should grow by about {math.sqrt(20):.1f}, the root of 20.\n"
        f"- Bootstrap widths should also fall with N. On MIMIC that of `tab:n2000` is {of_mimic:.2f} times "
        f"the other. On FOREST it is {large:g}, more than the {main:g} of the main table at N = 100.\n"
        f"- For FOREST, N = 2000, nonrandom and ten steps, `tab:n2000` has a width of {whole:g} for S-SD, "
        f"and the table about steps has {steps:g} (0.079 to 0.091 for other steps). With the other label "
        "there is no contradiction.\n\n"
        "On BIO, too, the rates of Bootstrap (0.25 nonrandom, 0.85 random) suggest an exchange, but no more "
        "pairs agree with it, so its labels are taken as printed.\n\n"
        "The first count at the top of this page uses the labels that fit, the second those printed.\n"
    )
