"""How a share is written for a reader: one form for every table, sentence and picture."""


def percent(share: float, digits: int | None = None) -> str:
    """.95 as "95 %"; with two `digits` −.1 as "−10.00 %"."""
    form = "g" if digits is None else f".{digits}f"
    return f"{100 * share:{form}} %".replace("-", "−")
