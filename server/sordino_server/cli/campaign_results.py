"""What `sordino campaigns` prints: a campaign's status and its estimates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from sordino_analysis.figures import chosen, figure
from sordino_analysis.percentages import percent
from sordino_server.cli.gate_option import gate_words
from sordino_server.cli.output import console, moment, progress_console
from sordino_shared.quantities import quantity


def print_created(status: dict[str, Any]) -> None:
    """A new campaign: its status, its predicted error, and its upload token once."""
    for line in status_lines(status):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if (days := status["reports_days"]) is not None:
        at = status["reports_until"]
        date = "" if at is None else f", on {moment(at)} if it opens now and closes by its rules"
        console.print(
            f"answers about single values are counted in the reports, which are deleted {quantity(days, 'day')} after "
            f"the campaign ends{date}: ask before, or set SORDINO_RAW_REPORT_RETENTION_DAYS",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    if status["upload_token"]:
        progress_console.print("upload token for the devices, shown only once:", highlight=False)
        typer.echo(status["upload_token"])


def summary_lines(status: dict[str, Any]) -> Iterator[str]:
    """The state of a campaign and its counts, in a few lines."""
    reports = sum(each["reports"] for each in status["rounds"])
    refused = sum(status["refusals"].values())
    yield f"{status['name']}: {status['state']}, {quantity(reports, 'report')}"
    yield from _question(status)
    if status["planned_rounds"] > 1:
        yield f"{len(status['rounds'])} of {status['planned_rounds']} rounds started"
    if refused:
        yield f"{quantity(refused, 'report')} refused (--verbose shows why)"
    for name in (status["series"] or {}).get("waiting_for", ()):
        yield f"waiting for the first batch of {name}, which is due"
    for each in status["rounds"]:
        if each["batch"]:
            yield f"round {each['index']}: {each['batch']['message']}"
        elif each["waiting_for"]:
            yield f"round {each['index']} waits for the sums of {', '.join(each['waiting_for'])}"
        if each["progress"] is not None:
            yield f"round {each['index']}: its reports are searched, {percent(each['progress'], 0)}"
        if each["error"]:
            yield f"round {each['index']} failed: {_failure(status, each)}"


def _failure(status: dict[str, Any], failed: dict[str, Any]) -> str:
    """Why a round failed, and the command that has it tried again."""
    again = f"sordino campaigns retry-round {status['id'][:12]} {failed['index']}"
    return f"{failed['error']} (when the cause is removed: {again})"


def status_lines(status: dict[str, Any]) -> Iterator[str]:
    """A campaign with its rounds, and refused reports by reason."""
    yield f"campaign {status['id']}"
    yield f"{status['name']}, for {status['population']}: {status['state']}"
    yield from _question(status)
    if status["shuffler"]:
        yield f"devices report to the shuffler {status['shuffler']}"
    if status["gate"]:
        yield f"each report has a token: {gate_words(status['gate'])}"
    yield from _digests(status)
    if status["planned_rounds"] > 1:
        yield f"{status['planned_rounds']} rounds, protocol plan {status['protocol']}"
    for each in status["rounds"]:
        purged = f", purged {moment(each['purged_at'])}" if each["purged_at"] else ""
        error = f"; {_failure(status, each)}" if each["error"] else ""
        waiting = f", waiting for {', '.join(each['waiting_for'])}" if each["waiting_for"] else ""
        found = "" if each["progress"] is None else f", searched: {percent(each['progress'], 0)}"
        counted = quantity(each["reports"], "report")
        yield f"round {each['index']}: {each['state']}, {counted}{found}{waiting}{purged}{error}"
        if each["batch"]:
            yield f"  batch {each['batch']['state']}: {each['batch']['message']}"
        for one in each["sources"]:
            yield f"  {one['reports']} of them from {one['source']}, number {one['number']}"
    for reason, count in status["refusals"].items():
        yield f"refused, {reason}: {count}"


def _question(status: dict[str, Any]) -> Iterator[str]:
    """What is asked, for which ε, and the error that the plan predicts."""
    question, predicted = status["question"], status["predicted"]
    if question is None or predicted is None:
        yield f"ε = {chosen(status['epsilon'])} of one device"
        return
    answers = quantity(question["queries"], "answer")
    yield f"{question['name']}, {answers}, ε = {chosen(status['epsilon'])} of one device"
    for users, error in (("users_now", "rmse_now"), ("users_wanted", "rmse_wanted")):
        if predicted[error] is not None:
            yield f"predicted error with {quantity(predicted[users], 'user')}: {figure(predicted[error], 3)}"


def _digests(status: dict[str, Any]) -> Iterator[str]:
    if status["question"] is not None:
        yield f"workload {status['question']['workload']}"
    for each in status["rounds"]:
        yield f"device part of round {each['index']} {each['device_digest']}"
        yield f"analyst part of round {each['index']} {each['analyst_digest']}"
