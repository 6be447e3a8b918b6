"""What was measured as Markdown."""

from benchmarks.large.measure import Measured

HEAD = (
    "| request | mechanism | mean: bound | target | max: bound | target | plan, CPU s | MiB | device part, bytes "
    "| report, bytes | drawing, decoding, one answer, CPU s | MiB |\n" + "|---" * 12 + "|"
)


def line(row: Measured) -> str:
    """A row of the table; what is above its target is marked."""
    cells = (
        row.name,
        f"`{row.mechanism}`" + (f" ({row.cut_short})" if row.cut_short else ""),
        _against(row.mean_variance, row.bound_mean),
        _target(row.target_mean, "mean" in row.missed),
        _against(row.max_variance, row.bound_max),
        _target(row.target_max, "max" in row.missed),
        f"{row.plan_seconds:.1f}",
        f"{row.plan_mebibytes:.0f}",
        f"{row.device_bytes:,}",
        f"{row.report_bytes}",
        ", ".join(_seconds(value) for value in (row.device_seconds, row.decode_seconds, row.answer_seconds)),
        "" if row.mebibytes is None else f"{row.mebibytes:.0f}",
    )
    return "| " + " | ".join(cells) + " |"


def peers(rows: list[Measured]) -> str:
    """The objective's variance beside those of published mechanisms."""
    lines = ["| request | objective | this plan | published mechanisms |", "|---" * 4 + "|"]
    for row in rows:
        if row.peers:
            own = row.max_variance if row.objective == "max" else row.mean_variance
            others = ", ".join(f"{name} {value:.4g}" for name, value in row.peers.items())
            lines.append(f"| {row.name} | {row.objective} | {own:.4g} | {others} |")
    return "\n".join(lines)


def _against(variance: float, bound: float) -> str:
    return f"{variance:.4g}: {bound:.4g}"


def _target(target: float | None, missed: bool) -> str:
    return "" if target is None else f"≤ {target:g}" + (" **missed**" if missed else "")


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}" if value < 10 else f"{value:.0f}"
