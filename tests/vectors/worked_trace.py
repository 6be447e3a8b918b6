"""One device's way through one round, byte for byte: `good/trace.json`, and the block of docs/implementing.md.

The generator's bytes are fixed, so that every byte after them is. `python tests/vectors/worked_trace.py` writes the
block anew.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bad_encodings import ARRAY, MAP, head, plain
from good_documents import EPSILON, SMALL, analyst_parts, meaning
from worked_coarsened import coarsened
from worked_dithered import dithered_report

from sordino_shared.audit import check_guarantee
from sordino_shared.guarantees import exp_lower_bound
from sordino_shared.protocol import (
    CampaignState,
    DevicePart,
    Document,
    EveryRound,
    Manifest,
    PlanReference,
    ReportBatch,
    ReportOutcomes,
    RetryWindow,
    RoundTerms,
    Task,
)
from sordino_shared.protocol.codec import encode_value
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.randomness import Randomness

PAGE = Path(__file__).parents[2] / "docs" / "implementing.md"
BEGIN, END = "<!-- trace: written by tests/vectors/worked_trace.py -->", "<!-- end of trace -->"
WORD, ID_TAIL = bytes.fromhex("0123456789abcde7"), bytes(range(0xA0, 0xAE))
VALUE, EPOCH = "yes", 7


class Fixed(Randomness):
    """A generator that gives the listed bytes and no others."""

    def __init__(self, content: bytes) -> None:
        self._left = content

    def bytes(self, count: int) -> bytes:
        taken, self._left = self._left[:count], self._left[count:]
        assert len(taken) == count
        return taken


def randomizer() -> RandomizedResponse:
    return RandomizedResponse.for_guarantee(SMALL.size, EPSILON)


def documents() -> dict[str, Document]:
    """Everything that is read and written, in order."""
    part = DevicePart(SMALL, EPSILON, randomizer())
    check_guarantee(part)
    plan = PlanReference(part.digest, analyst_parts()["scaled_histogram"].digest)
    terms = (RoundTerms(EPSILON, plan),)
    purpose = "Your answer, with noise that hides it."
    manifest = Manifest(
        name="answers",
        purpose=purpose,
        population="readers",
        created_at=1_800_000_000,
        domain=SMALL,
        device_guarantee=EPSILON,
        rounds=terms,
        assignment=EveryRound(),
    )
    task = Task(
        campaign=manifest.campaign,
        state=CampaignState.OPEN,
        round=0,
        device_parts=(part.digest,),
        epoch=EPOCH,
        retry=RetryWindow(60, 3600),
        answer_until=1_800_403_200,
        accept_until=1_800_604_800,
    )
    payload = randomizer().randomize(SMALL.encode(VALUE), Fixed(WORD))
    batch = ReportBatch(part.digest, EPOCH.to_bytes(2, "big") + ID_TAIL, payload)
    return {
        "manifest": manifest,
        "task": task,
        "device_part": part,
        "report_batch": batch,
        "report_outcomes": ReportOutcomes(1, 0, ()),
    }


def steps() -> dict[str, Any]:
    """The numbers between the documents."""
    used, made = randomizer(), documents()["report_batch"]
    assert isinstance(made, ReportBatch)
    drawn = int.from_bytes(WORD, "little") >> (64 - used.bits)
    own = (1 << used.bits) - (used.size - 1) * used.other_weight
    return {
        "value": VALUE,
        "cell": SMALL.encode(VALUE),
        "own_weight": str(own),
        "exp_lower_bound_192": str(exp_lower_bound(EPSILON.nano)),
        "proved_nano": check_guarantee(DevicePart(SMALL, EPSILON, used)).nano,
        "word": WORD.hex(),
        "drawn": str(drawn),
        "other": (drawn - own) // used.other_weight,
        "payload": made.payloads.hex(),
        "id": made.ids.hex(),
    }


def trace() -> dict[str, Any]:
    """The file of the trace, by path."""
    named = {
        name: {"meaning": meaning(plain(value)), "hex": value.content.hex(), "sha256": str(value.digest)}
        for name, value in documents().items()
    }
    return {
        "good/trace.json": {
            "documents": named,
            "steps": steps(),
            "coarsened": coarsened(),
            "dithered": dithered_report(),
        }
    }


def annotated(value: Any, depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """(depth, bytes in hexadecimal, what they are) of a plain value, a line for each key and element."""
    containers: dict[type, tuple[int, str]] = {dict: (MAP, "map"), list: (ARRAY, "array")}
    major, name = containers[type(value)]
    yield depth, head(major, len(value)).hex(), f"{name} of {len(value)}"
    pairs = [(encode_value(key), f"{key}: ", item) for key, item in value.items()] if name == "map" else None
    for key, label, item in sorted(pairs) if pairs is not None else [(b"", "", item) for item in value]:
        if type(item) in containers:
            (_, first, what), *rest = annotated(item, depth + 1)
            yield depth + 1, f"{key.hex()} {first}".strip(), label + what
            yield from rest
        else:
            yield depth + 1, f"{key.hex()} {encode_value(item).hex()}".strip(), f"{label}{_shown(item)}"


def _shown(item: Any) -> str:
    if isinstance(item, bytes):
        return f"{len(item)} {'byte' if len(item) == 1 else 'bytes'}"
    return item if isinstance(item, str) else json.dumps(item)


def dump(value: Document) -> str:
    """The bytes of a document, annotated."""
    lines = []
    for depth, code, what in annotated(plain(value)):
        wrapped = textwrap.wrap(code, 76 - 2 * depth)
        lines += ["  " * depth + line for line in wrapped[:-1]]
        lines.append(("  " * depth + wrapped[-1]).ljust(80) + what)
    return "\n".join(lines)


def rendered() -> str:
    """The block of the page."""
    made, used, step = documents(), randomizer(), steps()
    nano = step["proved_nano"]
    digests = {name: str(value.digest) for name, value in made.items()}
    blocks = {name: f"```text\n{dump(value)}\n```" for name, value in made.items()}
    ratio = np.format_float_positional(int(step["own_weight"]) / used.other_weight, precision=12)
    return f"""{BEGIN}
**1. The manifest**, the answer to `GET /v1/campaigns/{digests["manifest"]}`, has {len(made["manifest"].content)} bytes:

{blocks["manifest"]}

Its SHA-256 is `{digests["manifest"]}`, which is the campaign's id.

**2. The task**, the answer to `GET /v1/campaigns/{digests["manifest"]}/task`:

{blocks["task"]}

Round 0 is open, and its part is the one that the manifest names.

**3. The device part**, the answer to `GET /v1/plans/{digests["device_part"]}`:

{blocks["device_part"]}

**4. The proof.** E is 2^192 · e, rounded down; the own value has the weight that the others leave:

```text
other weight      {used.other_weight}
own weight        {step["own_weight"]} = 2^60 − 2 · other weight
E                 {step["exp_lower_bound_192"]}
```

own weight · 2^192 ≤ other weight · E holds, and with the E of {nano - 1} nano-ε it does not: the ratio is {ratio}.
So {nano} nano-ε are proved, no more than the part claims, than the round's terms allow, and than the device
has left.

**5. The draw.** The value `{VALUE}` is cell {step["cell"]}. This device takes 8 bytes of its generator as a
little-endian word, without the low 4 bits; another way to draw from the same law is as good.

```text
word              {step["word"]}
u                 {step["drawn"]}, not below the own weight: another value is sent
its number        {step["other"]} = ⌊(u − own weight)/other weight⌋, without the own one: cell {used_cell(step)}
payload           {step["payload"]}
```

**6. The report.** The epoch {EPOCH} and 14 random bytes make the id `{step["id"]}`. The debit of
{nano} nano-ε and these bytes are committed together, and then sent by
`POST /v1/campaigns/{digests["manifest"]}/rounds/0/reports`:

{blocks["report_batch"]}

**7. The answer**, status 200, after which the report is never sent again:

{blocks["report_outcomes"]}
{END}"""


def used_cell(step: dict[str, Any]) -> int:
    """The cell that is sent: others are numbered without the own one."""
    return int(step["other"]) + (step["other"] >= step["cell"])


def main() -> None:
    """Write the block of the page anew."""
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + rendered() + after, "utf-8")


if __name__ == "__main__":
    main()
