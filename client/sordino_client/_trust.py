"""The certificate authorities of https: those of the system, or of a package where the system has none."""

from __future__ import annotations

import ssl
from importlib import import_module

from sordino_client._errors import TransportFailed


def trusted_authorities() -> ssl.SSLContext:
    """A context with authorities: the system's; where it has none, truststore's, else certifi's.

    Python from python.org has none on macOS before its `Install Certificates` was run. Raises `TransportFailed`.
    """
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if context.get_ca_certs() or paths.cafile or paths.capath:
        return context
    for package in ("truststore", "certifi"):
        try:
            module = import_module(package)
        except ImportError:
            continue
        if package == "certifi":
            return ssl.create_default_context(cafile=module.where())
        found: ssl.SSLContext = module.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return found
    raise TransportFailed(
        "this machine has no certificate authorities for https: install the package truststore, or certifi"
    )
