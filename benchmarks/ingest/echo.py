"""`python -m benchmarks.ingest.echo`: an ASGI application that answers a body with a few bytes, on the same uvicorn."""

import socket

import uvicorn
from starlette.types import Receive, Scope, Send

ANSWER = bytes(60)
HEADERS = [(b"content-length", b"%d" % len(ANSWER)), (b"content-type", b"application/cbor")]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body and answer."""
    while (await receive()).get("more_body", False):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": ANSWER})


def main() -> None:
    """Serve on a free port, named as `sordino serve` does."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(f"echo is listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(
            echo, lifespan="off", log_config=None, access_log=False, server_header=False, proxy_headers=False
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
