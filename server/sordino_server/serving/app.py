"""The application: `create_app` wires settings, database, writer and routes together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp, Receive, Scope, Send

from sordino_server import __version__, problem_details
from sordino_server.config import Settings
from sordino_server.context import Context
from sordino_server.datasets.schemas import DatasetOrder
from sordino_server.keys.key_uses import KeyUses
from sordino_server.kit.arriving_body import UnreadBody
from sordino_server.kit.clock import ServerClock, WallClock
from sordino_server.kit.db import Database
from sordino_server.kit.request_observer import RequestObserver
from sordino_server.kit.single_flight import SingleFlight
from sordino_server.metrics import Metrics
from sordino_server.plans.previews import Previews
from sordino_server.problem_details import ProblemDocument
from sordino_server.public_log.watching import LogMetrics, LogWatch
from sordino_server.reports import ReportWriter
from sordino_server.reports.admission import Admission
from sordino_server.reports.upload_endpoint import UploadEndpoint
from sordino_server.serving.api import all_routes
from sordino_server.serving.description import Description
from sordino_server.tokens.issuing import Issuing
from sordino_server.tokens.redemption import Redemption
from sordino_server.work.fork_server import preload, start_importing
from sordino_shared.http.device_origins import DeviceDoor, DeviceOrigins

# Importing them takes half a second each time otherwise. The planner is named by its requests, since
# `sordino_analysis.requests` imports them when they are asked for.
PRELOADED = (
    "sordino_server.workloads.checking",
    "sordino_server.plans.checking",
    "sordino_server.releases.checking",
    "sordino_server.datasets.checking",
    "sordino_server.answers.on_demand_computing",
    "sordino_server.answers.series_computing",
    "sordino_server.plans.checking",
    "sordino_analysis.planning.linear_request",
    "sordino_analysis.pairwise.pairwise_request",
    "sordino_analysis.price_of_locality",
    "sordino_analysis.curator.plan",
    # Reads the version of a distribution, which the key of a plan has.
    "email.parser",
)


def create_app(settings: Settings, database: Database | None = None, clock: ServerClock | None = None) -> FastAPI:
    """The server as an ASGI application; what is not given is made from the settings."""
    opened = database or Database(settings.database_url.get_secret_value())
    context = Context(settings=settings, database=opened, clock=clock or WallClock())

    metrics = Metrics(context.database, context.clock, settings.raw_report_retention_days)
    log_watch = LogWatch(context.database, context.clock, settings)
    metrics.registry.register(LogMetrics(log_watch))
    with_console = settings.has_console

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        preload(PRELOADED)
        start_importing()
        writer = ReportWriter(
            context.database, context.clock, sum_on_ingest=settings.sum_on_ingest, committed=metrics.committed
        ).start()
        app.state.report_writer = writer
        metrics.watch_queue(lambda: writer.queued_bytes)
        try:
            yield
        finally:
            # Uploads that were taken are written and answered before the process ends.
            await anyio.to_thread.run_sync(writer.close)
            if with_console:
                await app.state.opening_counts.flush()
            await anyio.to_thread.run_sync(context.checks.close)
            await anyio.to_thread.run_sync(context.answers.close)
            if database is None:
                opened.close()

    app = _Application(
        title="sordino",
        version=__version__,
        summary="Local-differential-privacy telemetry: plans, campaigns, reports, estimates.",
        lifespan=lifespan,
        routes=[*all_routes(with_console)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # This server has metrics of its own; asking for others at every request takes as long as reading its body.
        telemetry={"tracing": False, "metrics": False},
    )
    app.state.context = context
    app.state.metrics = metrics
    app.state.log_watch = log_watch
    app.state.draining = False
    app.state.describing = SingleFlight[Description]()
    app.state.description = None
    app.state.admission = Admission(context)
    app.state.redemption = Redemption(context.database)
    app.state.issuing = Issuing(context.database, context.clock, settings)
    app.state.previews = Previews()
    app.state.key_uses = KeyUses(context.database, context.clock)
    if with_console:
        _prepare_console(app)
    app.add_middleware(UnreadBody)
    problem_details.install(app)
    return app


def _prepare_console(app: FastAPI) -> None:
    """Give the state what pages share between requests. Imported here: a server without pages does not load them."""
    from sordino_server.console import live_counts, person_sign_in, share_pages, sign_in
    from sordino_server.console.users_table import FoundSummaries

    sign_in.prepare(app.state)
    person_sign_in.prepare(app.state)
    live_counts.prepare(app.state)
    share_pages.prepare(app.state)
    app.state.found_summaries = FoundSummaries()


class _Application(FastAPI):
    """FastAPI behind the door for devices, which is outside of everything that FastAPI does for a request: that costs
    more than a report does. `state.metrics` hears of every request.
    """

    def openapi(self) -> dict[str, Any]:
        """The document of the API, in place of FastAPI's own."""
        return openapi_of(self)

    @cached_property
    def _outermost(self) -> ASGIApp:
        pages: ASGIApp = super().__call__
        if self.state.context.settings.has_console:
            from sordino_server.console.live_counts import LiveCounts

            pages = LiveCounts(pages, self.state)
        answering: ASGIApp = UploadEndpoint(pages, self.state)
        if origins := DeviceOrigins.parse(self.state.context.settings.device_origins):
            answering = DeviceDoor(answering, origins)
        return RequestObserver(answering, observe=self.state.metrics.request)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._outermost(scope, receive, send)


def openapi_of(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI 3.1 document, in which every error is a problem document."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        schemas = document["components"]["schemas"]
        schemas[ProblemDocument.__name__] = ProblemDocument.model_json_schema()
        # Read by its endpoint in another process, so that FastAPI does not know its form.
        order = DatasetOrder.model_json_schema(ref_template="#/components/schemas/{model}")
        for name, schema in (order.pop("$defs") | {DatasetOrder.__name__: order}).items():
            schemas.setdefault(name, schema)
        # FastAPI describes its own form of 422, which this server never sends.
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        app.openapi_schema = document
    return app.openapi_schema
