"""/docs works without any other server: no address but its own, no script within the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sordino_shared.protocol import Problem


def test_the_page_loads_its_own_files_alone_under_its_policy(running: Any, check_problem: Callable[..., Any]) -> None:
    page = running.anonymous.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    policy = dict(part.split(maxsplit=1) for part in page.headers["content-security-policy"].split("; "))
    assert (policy["default-src"], policy["script-src"], policy["connect-src"]) == ("'none'", "'self'", "'self'")
    assert policy["frame-ancestors"] == "'none'"
    assert not re.search(r"<script>|<script [^>]*>[^<]|\son\w+=|https?:|//[a-z]", page.text)
    loaded = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert len(loaded) == 3
    kinds = {path: running.anonymous.get(path).raise_for_status().headers["content-type"] for path in loaded}
    assert [kind.partition(";")[0] for kind in kinds.values()] == ["text/css", "text/javascript", "text/javascript"]
    assert "SwaggerUIBundle" in running.anonymous.get("/docs/swagger-ui-bundle.js").text
    start = running.anonymous.get("/docs/start.js").text
    assert "validatorUrl: null" in start
    described = running.anonymous.get(re.findall(r'url: "([^"]+)"', start)[0]).raise_for_status().json()
    assert described["openapi"].startswith("3.1")
    check_problem(running.anonymous.get("/docs/redoc.standalone.js"), Problem.INVALID_REQUEST)
    check_problem(running.anonymous.get("/docs/..%2f__init__.py"), Problem.NOT_FOUND)
    assert "default-src 'none'" in running.anonymous.get("/livez").headers["content-security-policy"]
