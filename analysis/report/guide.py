"""How to read the page, in plain words."""

from analysis.plan import Plan
from analysis.report.markup import badge, section, text


def guide(plan: Plan) -> str:
    """The section that explains every term of the tables, folded up until it is asked for."""
    percent, alpha = plan.percent, plan.level
    margin = f"{plan.margin:g}"
    terms = [
        (
            "Matched seeds",
            "For one seed all normalizers see the same rows, initial weights, order of batches and dropout masks. So "
            "runs are compared seed by seed, and what a lucky or unlucky seed does to both sides cancels.",
        ),
        (
            "Δ",
            "The accuracy of a normalizer minus that of the control, mean over matched seeds. +0.01 is one point.",
        ),
        (
            f"{percent} CI",
            f"The range of true mean differences that these seeds are compatible with. Taken one at a time, {percent} "
            "of such intervals cover the truth.",
        ),
        (
            f"Simultaneous {percent} CI",
            f"Wider, so that with {percent} all intervals of the family cover the truth together (Bonferroni). Use it "
            "when looking for the largest of many differences.",
        ),
        (
            "p and Holm p",
            "p: how often chance alone would give a difference at least this large if there were none (paired t test). "
            "Who makes many tests finds small p by luck; Holm p corrects for all tests of the family. "
            f"Up to {alpha} counts.",
        ),
        (
            "Sign-flip p",
            "The same question without assuming a bell curve: the sign of each seed's difference is flipped in every "
            "possible way. With n seeds it cannot be smaller than 2/2ⁿ, so a few seeds cannot reach a small value.",
        ),
        (
            "d_z and g",
            "The difference in units of its own spread over seeds: how consistent it is, not how much it matters.",
        ),
        (
            "TOST and margin",
            f"Two one-sided tests of whether the difference lies within ±{margin} of zero, the margin declared before. "
            "A small p speaks for equivalence. It is not corrected for the number of tests.",
        ),
        (
            "Support",
            "The share of attention weights that are not zero (above 1e-7). Softmax keeps nearly all of them.",
        ),
    ]
    verdicts = [
        ("better", f"Δ is positive and Holm p is at most {alpha}."),
        ("worse", f"Δ is negative and Holm p is at most {alpha}."),
        ("equivalent", f"Neither of these, and TOST p is at most {alpha} at the margin of ±{margin}."),
        ("inconclusive", "These seeds do not decide. That is no evidence of equality: more seeds may show either."),
        ("all 0", "The accuracy is 0 on both sides and every seed: at this floor nothing can differ."),
        ("no result", "A test that the records do not allow. It still counts in Holm's correction."),
    ]
    said = "".join(f"<div><dt>{text(term)}</dt><dd>{text(meaning)}</dd></div>" for term, meaning in terms)
    said += "".join(f"<div><dt>{badge(verdict)}</dt><dd>{text(meaning)}</dd></div>" for verdict, meaning in verdicts)
    return section(
        "guide",
        "How to read this",
        "<details><summary>Δ, intervals, p values and verdicts in plain words</summary>"
        f'<dl class="guide">{said}</dl></details>',
    )
