"""`sordino audit`: recompute every published number of a plan from its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from sordino_analysis.conformance.empirical import EmpiricalBound
from sordino_analysis.curator.audit import audit_curator
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.curator_part import CuratorPart
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan, read_protocol_plan
from sordino_analysis.documents.string_queries import StringQueries
from sordino_analysis.documents.summary_parts import FormManipulation
from sordino_analysis.evaluation.listing import listed_workload
from sordino_analysis.evaluation.manipulation import drawn_manipulation, manipulation
from sordino_analysis.figures import figure
from sordino_analysis.pairwise.form_bounds import audit_form_bounds
from sordino_analysis.pairwise.forms import planned_statistic
from sordino_analysis.pairwise.protocol import ProtocolDesign
from sordino_analysis.pairwise.protocol_registry import find_protocol
from sordino_analysis.planning.audit import Check, audit_device, audit_plan
from sordino_analysis.planning.certificates import bounds_summary
from sordino_analysis.planning.plan_folder import ANALYST_FILE, DEVICE_FILE, PROTOCOL_FILE
from sordino_analysis.planning.rounds import RoundPlan
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.strings.audit import audit_strings
from sordino_server.cli.audited_campaign import AuditedCampaign, fetched
from sordino_server.cli.curator_planning import CURATOR_FILE
from sordino_server.cli.empirical_audit import DrawsOption, EmpiricalOption, SamplerOption, audited_sampler, lines
from sordino_server.cli.output import JsonOption, VerboseOption, console, fail, print_json, print_table, reports_errors
from sordino_server.cli.plan import SUMMARY_FILE
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption
from sordino_server.cli.statistics import fake_reports, shown_manipulation
from sordino_shared.errors import InvalidValue, MalformedDocument, NoAnswer
from sordino_shared.protocol import CampaignId, DevicePart, Digest, Manifest

_SHOWN_DIGITS = 24


@reports_errors
def audit(
    targets: Annotated[
        list[str],
        typer.Argument(help="A campaign, plan files, a folder from `sordino plan --output`, or digests."),
    ],
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    empirical: EmpiricalOption = False,
    draws: DrawsOption = None,
    sampler: SamplerOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Recompute a plan's digests, ε, variances, bias and bounds, and compare them with the published ones.

    Examples, the first after `sordino plan --output delays`, the second with the id of a campaign on the server:

        sordino audit delays
        sordino audit 5d41402abc4b2a76b9719d911017c592ae1d3f7a0c9f6e3f0e2f3c9b5a1d7e42

    A campaign is audited with its manifest and the plans of all its rounds so far. A key allows its name or the
    beginning of its id, and shows the analyst parts of later rounds.

    The plan of a release with --trust curator proves its sensitivity, variances and bounds in the same way.

    A device part alone proves its ε and nothing else. A single file is not pinned by a digest: a folder with plan.json,
    or a digest on the server, also detects changes that leave every number as it was. A protocol plan together with the
    parts of its first round also proves the lower bounds of the statistic, and gives the effect of fake reports on it.
    """
    if not empirical and (draws is not None or sampler is not None):
        raise InvalidValue("--draws and --sampler go with --empirical")
    plan = _Parts(server, key)
    for target in targets:
        plan.read(target)
    checks = list(plan.audit())
    found = plan.empirical(sampler, draws) if empirical else None
    wrong = [check.name for check in checks if not check.holds]
    moved = {} if wrong else plan.manipulations()
    of_forms = {} if wrong else plan.statistic_manipulations()
    if as_json:
        shown = [asdict(check) for check in checks]
        forms = {name: each.model_dump() for name, each in of_forms.items()}
        drawn = {} if wrong else plan.drawn_manipulation()
        figures = {"manipulation": moved, "drawn_manipulation": drawn, "statistic_manipulation": forms}
        given: dict[str, Any] = {name: each for name, each in figures.items() if each}
        given |= {} if found is None else {"empirical": asdict(found) | {"finds_above": found.finds_above}}
        print_json({"holds": not wrong, "checks": shown, **plan.ratios(), **given})
    else:
        _line(plan.in_words())
        _print(checks, moved, of_forms, verbose)
        for line in () if found is None else lines(found):
            _line(line)
    if wrong:
        fail(f"the plan is not what it publishes ({', '.join(wrong)}); do not use it")
    if found is not None and not found.holds:
        fail(f"the sampler leaks more than its plan claims: ε ≥ {figure(found.bound, 3)}; do not ship it")


def audited_checks(remote: Remote, campaign: str) -> list[Check]:
    """Every check of a campaign by its id, with all that the key shows."""
    plan = _Parts(remote.address, remote.key)
    plan.read(campaign)
    return list(plan.audit())


class _Parts:
    """The parts named on the command line, and their expected digests."""

    def __init__(self, server: str, key: str | None) -> None:
        self.server = server
        self.key = key
        self.device: DevicePart | None = None
        self.analyst: AnalystPart | None = None
        self.protocol: AnyProtocolPlan | None = None
        self.curator: CuratorPart | None = None
        self.checks: list[Check] = []

    def read(self, target: str) -> None:
        """A digest, a folder or a file; raises InvalidValue or an error of the document."""
        if len(target) == 2 * Digest.LENGTH and not Path(target).exists():
            self._read_digest(Digest.parse(target))
        elif Path(target).is_dir():
            self._read_folder(Path(target))
        elif not Path(target).exists():
            self._read_named(target)
        else:
            self._keep(Path(target).read_bytes(), target)

    def audit(self) -> Iterator[Check]:
        """Every check that the given parts allow."""
        if self.analyst is not None and self.device is None:
            self._keep(self._fetched_device(self.analyst), "the device part")
        yield from self.checks
        if self.curator is not None:
            yield from audit_curator(self.curator)
            return
        if self.device is None:
            raise InvalidValue("name at least a device part to audit")
        if self.analyst is None:
            yield from audit_device(self.device)
        else:
            yield from (audit_strings if self._finds_strings else audit_plan)(self.device, self.analyst)
        # What a digest or a manifest rules out is of another plan, whose bounds need not even fit.
        if all(check.holds for check in self.checks) and (design := self._design()) is not None:
            yield from audit_form_bounds(design, find_protocol(design.plan.protocol))

    def in_words(self) -> str:
        """ε of one report in odds; of a release what it promises."""
        if self.device is None:
            return "a release of a trusted curator: its guarantee is below"
        return f"{self.device.guarantee} of one report. {self.device.guarantee.sentence()}"

    def empirical(self, sampler: str | None, draws: int | None) -> EmpiricalBound:
        """The bound for the device part's sampler; raises InvalidValue without a device part."""
        if self.device is None:
            raise InvalidValue("--empirical is for device parts: the noise of a curator is drawn once")
        return audited_sampler(self.device, sampler, draws)

    @property
    def _finds_strings(self) -> bool:
        return self.analyst is not None and isinstance(self.analyst.queries, StringQueries)

    def ratios(self) -> dict[str, float | None]:
        """The published bounds and variances over them; nothing for a device part alone."""
        return {} if self.analyst is None else asdict(bounds_summary(self.analyst.figures, self.analyst.certificate))

    def manipulations(self) -> dict[str, float]:
        """Per label: the most that fake reports move the answer, divided by their share of the reports."""
        if self.analyst is None or self.device is None or self._finds_strings:
            return {}
        workload = build_workload(self.device.domain, self.analyst.queries)
        moved = manipulation(self.device, self.analyst, workload).tolist()
        return dict(zip(listed_workload(self.device, self.analyst).labels(), moved, strict=True))

    def drawn_manipulation(self) -> dict[str, Any]:
        """The largest of these, and the one of reports with tokens; `over` says of which answers, unless of all."""
        if self.analyst is None or self.device is None or self._finds_strings:
            return {}
        return asdict(
            drawn_manipulation(self.device, self.analyst, build_workload(self.device.domain, self.analyst.queries))
        )

    def statistic_manipulations(self) -> dict[str, FormManipulation]:
        """Per form: its manipulation bound; empty without a statistic's protocol and the parts of its first round."""
        design = self._design()
        if design is None:
            return {}
        return {each.form: each.summary() for each in find_protocol(design.plan.protocol).manipulation(design)}

    def _design(self) -> ProtocolDesign | None:
        """A statistic's protocol with the parts of its first round, where all of them were given."""
        if not isinstance(self.protocol, ProtocolPlan) or self.analyst is None or self.device is None:
            return None
        if planned_statistic(self.protocol).domain != self.device.domain:
            raise InvalidValue("the device part has another domain than the protocol plan", self.protocol)
        return ProtocolDesign(self.protocol, RoundPlan(self.device, self.analyst))

    def _read_digest(self, digest: Digest) -> None:
        part = self._found(digest)
        path = f"/v1/campaigns/{digest}"
        manifest = fetched(self.server, path, Manifest.limit, digest) if part is None else None
        if manifest is None:
            self._keep(self._fetched(digest) if part is None else part, str(digest))
        else:
            self._read_campaign(manifest, CampaignId(bytes(digest)))

    def _read_named(self, target: str) -> None:
        if self.key is None:
            digits = f"a digest has {2 * Digest.LENGTH} lower-case hexadecimal digits"
            advice = "with --key it may be the name of a campaign"
            raise InvalidValue(f"there is no file or folder {target}, and {digits}; {advice}", target)
        with Remote(self.server, self.key) as remote:
            self._read_digest(Digest.parse(remote.campaign_id(target)))

    def _read_campaign(self, manifest: bytes, identifier: CampaignId) -> None:
        campaign = AuditedCampaign.read(self.server, self.key, manifest, identifier)
        self.checks += campaign.checks()
        self.device, self.analyst = campaign.rounds[0].device, campaign.rounds[0].analyst
        if (protocol := campaign.manifest.protocol) is not None:
            self._keep(self._fetched(protocol), str(protocol))

    def _read_folder(self, folder: Path) -> None:
        published = {}
        if (folder / SUMMARY_FILE).exists():
            published = _digests(folder / SUMMARY_FILE)
        for name, part in _files(folder):
            content = (folder / name).read_bytes()
            if part in published:
                expected, actual = published[part], str(Digest.of(content))
                self.checks.append(Check(f"digest of {name}", expected == actual, expected, actual))
            self._keep(content, str(folder / name))

    def _keep(self, content: bytes, source: str) -> None:
        try:
            part = _part(content)
        except (MalformedDocument, InvalidValue) as error:
            raise MalformedDocument(f"{source} is not part of a plan, or was changed ({error})") from error
        if isinstance(part, DevicePart):
            self.device = part
        elif isinstance(part, AnalystPart):
            self.analyst = part
        elif isinstance(part, CuratorPart):
            self.curator = part
        else:
            self.protocol = part

    def _fetched_device(self, analyst: AnalystPart) -> bytes:
        try:
            return self._fetched(analyst.device_digest)
        except (InvalidValue, NoAnswer) as error:
            advice = f"an audit of an analyst part needs its device part: give its {DEVICE_FILE} too"
            raise InvalidValue(f"{advice} ({error})", analyst.device_digest) from error

    def _fetched(self, digest: Digest) -> bytes:
        content = self._found(digest)
        if content is None:
            raise InvalidValue(f"{self.server} has no campaign and no part of a plan {digest}", digest)
        return content

    def _found(self, digest: Digest) -> bytes | None:
        for kind in ("plans", "protocol-plans"):
            content = fetched(self.server, f"/v1/{kind}/{digest}", AnalystPart.limit, digest)
            if content is not None:
                return content
        return None


def _files(folder: Path) -> list[tuple[str, str]]:
    if (folder / CURATOR_FILE).exists():
        return [(CURATOR_FILE, "curator")]
    files = [(DEVICE_FILE, "device"), (ANALYST_FILE, "analyst")]
    return [*files, (PROTOCOL_FILE, "protocol")] if (folder / PROTOCOL_FILE).exists() else files


def _part(content: bytes) -> DevicePart | AnalystPart | AnyProtocolPlan | CuratorPart:
    # JSON begins with a brace, which begins no document in CBOR.
    if content.startswith(b"{"):
        return read_protocol_plan(content)
    for kind in (DevicePart, CuratorPart):
        try:
            return kind.read(content)
        except MalformedDocument as error:
            if str(error) != f"not a {kind.document}":
                raise
    return AnalystPart.read(content)


def _digests(path: Path) -> dict[str, str]:
    try:
        digests = json.loads(path.read_text(encoding="utf-8"))["digests"]
        parts = ("curator",) if "curator" in digests else ("device", "analyst", *({"protocol"} & set(digests)))
        return {part: str(digests[part]) for part in parts}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidValue(f"{path} does not name the digests of the plan's parts", path) from error


def _print(checks: list[Check], moved: dict[str, float], of_forms: dict[str, FormManipulation], verbose: bool) -> None:
    held = sum(check.holds for check in checks)
    _line(f"{held} of {len(checks)} published values hold{'' if verbose else ' (--verbose lists them)'}")
    shown = checks if verbose else [check for check in checks if not check.holds]
    if shown:
        print_table(_table(shown))
    if moved:
        most = max(moved, key=lambda label: moved[label])
        _line(f"{fake_reports('an answer', moved[most])} ({most})")
        if verbose:
            _line(f"a share f of fake reports moves an answer by at most {figure(moved[most])}·f")
    for form, each in of_forms.items():
        _line(fake_reports(form, each.linear, each.quadratic))
    for line in shown_manipulation(of_forms) if verbose else ():
        _line(line)


def _line(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _table(checks: list[Check]) -> Table:
    whole = [Column(name, overflow="fold") for name in ("published", "recomputed")]
    table = Table("", "value", *whole, box=None, pad_edge=False, header_style="bold")
    for check in checks:
        mark = "[green]✓[/]" if check.holds else "[bold red]✗[/]"
        figures = (check.published, check.recomputed)
        # Two digests that differ may begin alike.
        table.add_row(mark, check.name, *(map(_short, figures) if check.holds else figures))
    return table


def _short(text: str) -> str:
    return text if len(text) <= 2 * _SHOWN_DIGITS else f"{text[:_SHOWN_DIGITS]}…"
