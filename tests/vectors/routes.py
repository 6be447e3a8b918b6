"""Manifests with a route, arms and texts, and what is one past their ranges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from tokens import issuer

from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    AccountGate,
    AddressGate,
    Arm,
    CollectorKey,
    HookGate,
    Manifest,
    OwnerText,
    PrivacyClaim,
    Rotating,
    RoundTerms,
    ShuffledRoute,
    Shuffler,
    TokenRoute,
    ValueOf,
)

TASK_SECRET = Ed25519PrivateKey.from_private_bytes(b"\x09" * 32)
SHUFFLER_SECRET = Ed25519PrivateKey.from_private_bytes(b"\x0a" * 32)
COLLECTOR_SECRETS = tuple(X25519PrivateKey.from_private_bytes(bytes([byte]) * 32) for byte in (11, 12))
COLLECTOR_KEYS = tuple(secret.public_key().public_bytes_raw() for secret in COLLECTOR_SECRETS)
END = 1_800_604_800

SHUFFLED = ShuffledRoute(
    shuffler=Shuffler("mix", ("https://mix.example",), SHUFFLER_SECRET.public_key().public_bytes_raw()),
    suite=1,
    keys=(CollectorKey(0, COLLECTOR_KEYS[0]),),
    floor=1000,
    blanket=343,
    end=END,
    task_key=TASK_SECRET.public_key().public_bytes_raw(),
    claims=(PrivacyClaim(500_000_000, 10**15), PrivacyClaim(10**9, 10**12)),
    headline=1,
)
ARMS = (Arm("A", 32768), Arm("B", 32768))
TEXTS = (
    OwnerText(
        language="de", purpose="Deine letzte Verspätung,\nmit Rauschen.", contact="d@travel.example", link="https://x"
    ),
    OwnerText(language="de-CH", purpose="Dini Verspätig.", contact=None, link=None),
    OwnerText(language="EN", purpose="Your last delay.", contact=None, link="https://[::1]/privacy?a=b#c"),
)


def manifests_of_routes(one_round: Manifest) -> dict[str, Manifest]:
    """Through a shuffler, with arms, with texts, two, all three; a shuffled series; every number at an end."""
    return {
        "shuffled": replace(one_round, route=SHUFFLED),
        "arms": replace(one_round, arms=ARMS),
        "texts": replace(one_round, texts=TEXTS),
        "shuffled_arms": replace(one_round, route=SHUFFLED, arms=ARMS),
        "all_three": replace(one_round, route=SHUFFLED, arms=(*ARMS[:1], *_arms(2, 32768)), texts=TEXTS),
        "shuffled_series": _shuffled_series(one_round.rounds[0], one_round),
        "shuffled_at_limits": _at_limits(one_round),
        "shuffled_with_tokens": replace(one_round, route=replace(SHUFFLED, issuer=issuer(AddressGate(5)))),
        "tokens_by_account": replace(one_round, route=TokenRoute(issuer(AccountGate()))),
        "tokens_by_address": replace(one_round, route=TokenRoute(issuer(AddressGate(5)))),
        "tokens_by_hook": replace(one_round, route=TokenRoute(issuer(HookGate()))),
        "tokens_at_limits": replace(
            one_round,
            route=TokenRoute(issuer(AddressGate(10_000), 16)),
            rounds=one_round.rounds * 16,
            device_guarantee=PureEpsilon(10**12),
        ),
    }


def _arms(number: int, whole: int) -> tuple[Arm, ...]:
    share = whole // number
    return tuple(Arm(f"a-{index}".ljust(24, "z"), share) for index in range(number))


def _shuffled_series(terms: RoundTerms, one_round: Manifest) -> Manifest:
    law = Rotating(start=0, period_s=1, slots=1, answers_max=1, value_of=ValueOf.CURRENT, late_s=0, replaces=None)
    keys = (CollectorKey(0, COLLECTOR_KEYS[0]), CollectorKey(2**53 - 1, COLLECTOR_KEYS[1]))
    return replace(one_round, assignment=law, rounds=(terms,), route=replace(SHUFFLED, end=None, keys=keys))


def _at_limits(one_round: Manifest) -> Manifest:
    """The most keys, claims, arms and texts, the longest texts, and the largest numbers."""
    keys = tuple(CollectorKey(number, (9 + number).to_bytes(32, "little")) for number in range(400))
    points = [(0, 10**18), *((10**12 - 15 + step, 10**6 + 15 - step) for step in range(1, 16))]
    claims = tuple(PrivacyClaim(epsilon, delta) for epsilon, delta in points)
    languages = [f"{a}{b}" for a in "abcdefgh" for b in "abcde"]
    texts = tuple(
        OwnerText(
            language=language if number else "aa-abcdefgh-abcdefgh-abcdefgh-abcde",
            purpose="p" if number else "\N{COMET}" * 2000,
            contact="c" if number else "\N{COMET}" * 200,
            link="https://a" if number else "https://a/".ljust(200, "~"),
        )
        for number, language in enumerate(languages)
    )
    route = ShuffledRoute(
        shuffler=Shuffler("m".ljust(24, "-"), tuple(f"https://{letter}" for letter in "abcd"), bytes(32)),
        suite=1,
        keys=keys,
        floor=10**7,
        blanket=10**6,
        end=2**40,
        task_key=b"\xff" * 32,
        claims=claims,
        headline=15,
    )
    arms = (*_arms(15, 15), Arm("Z9-", 2**16 - 15))
    return replace(one_round, route=route, arms=arms, texts=texts, device_guarantee=PureEpsilon(10**12))


def small_order_keys() -> list[bytes]:
    """Each u of small order, with its other spellings: the upper bit set, and p added where that fits 255 bits."""
    field, top = 2**255 - 19, 2**255
    eighth = 325606250916557431795983626356110631294008115727848805560023387167927233504
    reduced = [0, 1, field - 1, eighth, pow(eighth, -1, field)]
    plain = [*reduced, field, field + 1]
    return [(u + bit).to_bytes(32, "little") for u in plain for bit in (0, top)]


_Change = tuple[str, tuple[str | int, ...], list[Any], str]


def changes_of_routes() -> list[_Change]:
    """(example, place, wrong values, why) of the fields of routes, arms and texts."""
    return [*_shuffled_routes(), *_claims(), *_arms_of_campaigns(), *_owner_texts()]


def _shuffled_routes() -> list[_Change]:
    key = ("route", "keys", 0)
    some = {"from_round": 0, "key": COLLECTOR_KEYS[0]}
    other = {"from_round": 1, "key": COLLECTOR_KEYS[1]}
    many = [{"from_round": number, "key": (9 + number).to_bytes(32, "little")} for number in range(401)]
    digest = "32 bytes"
    return [
        ("shuffled", ("route",), [{"kind": "direct", "floor": 1}, {"kind": "relayed"}, None], "a route that there is"),
        ("shuffled", ("route", "shuffler", "name"), ["", "x" * 25, "Mix"], "as the name of a server"),
        (
            "shuffled",
            ("route", "shuffler", "urls"),
            [[], ["https://a"] * 2, ["https://a/"], [f"https://a{n}" for n in range(5)]],
            "as those of a server",
        ),
        ("shuffled", ("route", "shuffler", "key"), [bytes(31), bytes(33)], digest),
        ("shuffled", ("route", "suite"), [0, 2, 1.0], "suite 1"),
        (
            "shuffled",
            ("route", "keys"),
            [[], [some, some], [other], [some, some | {"from_round": 1}], [other, some]],
            "1 to 400, from round 0 on, rising, no key twice",
        ),
        ("shuffled_at_limits", ("route", "keys"), [many], "at most 400 keys"),
        ("shuffled", (*key, "from_round"), [-1, 1], "the first is for round 0"),
        ("shuffled_series", ("route", "keys", 1, "from_round"), [0, 2**53], "0 to 2^53 - 1, rising"),
        ("shuffled", (*key, "key"), [bytes(31), *small_order_keys()], "32 bytes that are not of small order"),
        ("shuffled", ("route", "floor"), [0, 10**7 + 1], "1 to 10^7"),
        ("shuffled", ("route", "blanket"), [0, 10**6 + 1], "1 to 10^6"),
        ("shuffled", ("route", "end"), [-1, 2**40 + 1, None], "0 to 2^40, null for a series alone"),
        ("shuffled_series", ("route", "end"), [0], "null for a series"),
        ("shuffled", ("route", "task_key"), [bytes(31)], digest),
    ]


def _claims() -> list[_Change]:
    """Of claims, and of what else a shuffled campaign may not have."""
    claim = ("route", "claims")
    point = {"nano_epsilon": 10**9, "atto_delta": 10**12}
    return [
        (
            "shuffled",
            claim,
            [
                [],
                [point] * 2,
                [point, point | {"nano_epsilon": 2 * 10**9}],
                [point, {"nano_epsilon": 10**9, "atto_delta": 10**11}],
            ],
            "ε rises and δ falls",
        ),
        (
            "shuffled_at_limits",
            claim,
            [[{"nano_epsilon": n, "atto_delta": 10**18 - n} for n in range(17)]],
            "at most 16 claims",
        ),
        ("shuffled", (*claim, 0, "nano_epsilon"), [-1, 10**12 + 1], "0 to 10^12"),
        ("shuffled", (*claim, 1, "atto_delta"), [10**6 - 1, 0], "10^6 to 10^18"),
        ("shuffled", (*claim, 0, "atto_delta"), [10**18 + 1], "10^6 to 10^18"),
        ("shuffled", ("route", "headline"), [-1, 2], "the index of a claim"),
        ("shuffled", ("protocol",), [bytes(32)], "a shuffled campaign has no protocol"),
        ("shuffled", ("servers",), [[{"name": "eu", "urls": ["https://eu"]}]], "nor several servers"),
        ("two_rounds", ("route",), ["shuffled"], "a shuffled campaign has one round"),
    ]


def _arms_of_campaigns() -> list[_Change]:
    arm, second = {"name": "A", "weight": 32768}, {"name": "B", "weight": 32768}
    sixteenths = [{"name": f"a{number}", "weight": 2**16 // 16} for number in range(16)]
    return [
        (
            "arms",
            ("arms",),
            [
                [arm | {"weight": 2**16}],
                [arm, arm],
                [arm, second | {"name": "a"}],
                [arm, second | {"weight": 32767}],
                [*sixteenths, arm],
            ],
            "none, or 2 to 16 of different names whose weights sum to 2^16",
        ),
        ("arms", ("arms", 0, "name"), ["", "x" * 25, "a b", "\u00e9", "a_b", "delay"], "letters, digits, hyphens"),
        ("arms", ("arms", 0, "weight"), [0, 2**16 + 1, 0.5], "1 to 2^16"),
        ("three_rounds", ("arms",), [[arm, second]], "arms go with one round"),
        ("series", ("arms",), [[arm, second]], "and with no series"),
    ]


def _owner_texts() -> list[_Change]:
    text = {"language": "de", "purpose": "p", "contact": None, "link": None}
    return [
        (
            "texts",
            ("texts",),
            [
                [text, text],
                [text, text | {"language": "DE"}],
                [text, text | {"language": "cs"}],
                [text | {"language": f"{a}{b}"} for a in "abcdef" for b in "abcdefg"][:41],
            ],
            "0 to 40, ascending languages, each once",
        ),
        (
            "texts",
            ("texts", 0, "language"),
            [
                "",
                "d",
                "de-",
                "de_CH",
                "d\u00e9",
                "x-y",
                "de--CH",
                "abcdefghi",
                "de-abcdefghi",
                "de-abcdefgh-abcdefgh-abcdefgh-abcdef",
            ],
            "a tag of 2 to 35 characters",
        ),
        ("texts", ("texts", 0, "purpose"), ["", "x" * 2001, "a\u202eb", " "], "as the purpose"),
        ("texts", ("texts", 0, "contact"), ["", "x" * 201, "a ", "a\u202eb", "a\nb"], "1 to 200 characters"),
        (
            "texts",
            ("texts", 0, "link"),
            [
                "https://",
                "http://a.example",
                "https://a".ljust(201, "x"),
                "https:///a",
                "https://a b",
                "https://a\u202e",
                "https://\u00e4.example",
                'https://a"b',
            ],
            "https:// and 1 to 192 characters of RFC 3986",
        ),
    ]
