"""What checks ID tokens, which is not in every image."""

from __future__ import annotations

from sordino_server.config import Settings
from sordino_shared.errors import InvalidValue


def check_installed(settings: Settings) -> None:
    """Raise InvalidValue where people sign in through an OpenID provider and what checks ID tokens is not installed.

    Before server processes start: one that ends for it would be started again and again.
    """
    if settings.people != "oidc":
        return
    try:
        import cryptography
        import jwt
    except ImportError as error:
        raise InvalidValue(
            "SORDINO_PEOPLE=oidc needs PyJWT and cryptography: `pip install sordino-server[oidc]`, or an image that is "
            "built without `--target serve`"
        ) from error
    assert cryptography
    assert jwt
