"""Lists of origins whose pages may be devices: each in the one spelling that browsers send."""

from __future__ import annotations

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.http.device_origins import DeviceOrigins


@pytest.mark.parametrize(
    "text",
    [
        "https://app.example",
        "http://localhost:5173, https://app.example",
        "https://xn--bcher-kva.example",
        "http://[::1]:8080",
        "https://app.example:80",
        "capacitor://localhost",
    ],
)
def test_origins_as_browsers_send_them_are_read(text: str) -> None:
    origins = DeviceOrigins.parse(text)
    assert origins
    assert origins.listed == {part.strip().encode() for part in text.split(",")}


def test_none_and_all() -> None:
    assert not DeviceOrigins.parse("none")
    assert DeviceOrigins.parse(" * ").listed is None
    assert DeviceOrigins.parse("*")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "app.example",
        "https://app.example/",
        "https://app.example/page",
        "https://App.example",
        "HTTPS://app.example",
        "https://app.example:443",
        "http://app.example:80",
        "https://app.example:0443",
        "https://app.example:70000",
        "https://user@app.example",
        "https://bücher.example",
        "https://*.example",
        "null",
        "file://",
        "https://app.example,",
        "https://app.example,*",
        "none,https://app.example",
        "https://a.example https://b.example",
    ],
)
def test_what_no_browser_sends_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"such as https://app\.example"):
        DeviceOrigins.parse(text)


def test_an_origin_is_listed_once() -> None:
    with pytest.raises(InvalidValue, match="twice"):
        DeviceOrigins.parse("https://app.example, https://app.example")
