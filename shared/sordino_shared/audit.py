"""ε of a device part, proved in integers: by the server before it publishes, by the device before it randomises."""

from __future__ import annotations

from sordino_shared.errors import GuaranteeNotMet
from sordino_shared.guarantees import PureEpsilon, epsilon_of_ratio
from sordino_shared.protocol.plans import DevicePart
from sordino_shared.randomizers import Randomizer

_WORKING_BYTES = 1 << 20


def prove_epsilon(randomizer: Randomizer) -> PureEpsilon | None:
    """The least whole nano-ε that covers every likelihood ratio of the randomizer's integers; None if none does."""
    ratio = randomizer.likelihood_ratio()
    return None if ratio is None else epsilon_of_ratio(*ratio)


def check_guarantee(part: DevicePart) -> PureEpsilon:
    """The ε that the part's integers prove; raises `GuaranteeNotMet` when it is more than the part claims."""
    proved = prove_epsilon(part.randomizer)
    if proved is None or proved.nano > part.guarantee.nano:
        raise GuaranteeNotMet(part.guarantee.nano, None if proved is None else proved.nano)
    return proved


def verification_memory(part: DevicePart) -> int:
    """A bound in bytes on what a device allocates to read and verify the part and to answer once.

    Content and arrays count three times, a member of an attribute as a Python object, a cell as a row of sums, and
    the rest is room to work in. `tests/client/test_verification_memory.py` holds it against parts
    of every kind.
    """
    members = sum(attribute.entries for attribute in part.domain.attributes)
    return 3 * len(part.content) + 128 * members + 48 * part.randomizer.verified_entries + _WORKING_BYTES
