"""Sending by itself: one daemon thread, one campaign a connection, each campaign at a time of its own.

The thread has its own connection to the ledger's file, so that it never waits for the app's calls, nor they for it. It
exists in the process that made the client: a forked child answers, its parent sends. When the interpreter exits the
thread begins no further request; what waits, waits for the next start.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable

from sordino_client._device import Device
from sordino_client._flow import Finished, Pause, advance
from sordino_client._transport import Transport, exchange
from sordino_shared.protocol import CampaignId

# How long a report of another process, or a change of the clock, may go unnoticed.
LOOK_S = 60.0
_CLOSING_S = 2.0
_LOG = logging.getLogger("sordino_client")


class Background:
    """Flushes the campaigns of one device as they come due, from now until `close` or the interpreter's exit.

    `open_device` and `connect` are called in the thread, `connect` once for every campaign that is sent; `shared` says
    that it gives the app's own transport, which is not closed.
    """

    def __init__(self, open_device: Callable[[], Device], connect: Callable[[], Transport], shared: bool) -> None:
        self._open_device = open_device
        self._connect = connect
        self._shared = shared
        self._process = os.getpid()
        self._wake = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="sordino_client", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def wake(self) -> None:
        """Look at the ledger now: a report was added."""
        # The locks of a forked child may be held by a thread that it does not have.
        if self._process == os.getpid():
            self._wake.set()

    def close(self) -> None:
        """Begin no further request, and wait a moment for the one that is under way."""
        self._end()
        if self._process == os.getpid():
            self._thread.join(_CLOSING_S)
            atexit.unregister(self._end)

    def _end(self) -> None:
        self._ended = True
        self.wake()

    def _work(self) -> None:
        device: Device | None = None
        while not self._ended:
            wait = LOOK_S
            try:
                device = device or self._open_device()
                wait = min(self._send_due(device), LOOK_S)
            except Exception as error:
                # A locked ledger or a wrong clock may be right again at the next look.
                _LOG.warning("Reports could not be sent in the background: %s.", error)
            self._wake.wait(wait)
            self._wake.clear()
        if device is not None:
            device.close()

    def _send_due(self, device: Device) -> float:
        """Send the campaign that is due first; seconds until the next look.

        Others that are due with it draw new times: a burst of all campaigns would tell the server whose they are.
        """
        due = device.due_campaigns()
        for campaign in due[1:]:
            device.put_off(campaign)
        if due and not self._ended:
            self._send(device, due[0])
        return device.seconds_until_change(LOOK_S)

    def _send(self, device: Device, campaign: CampaignId) -> None:
        transport = self._connect()
        flow = device.flush(0.0, campaign)
        try:
            step = advance(flow, None)
            while not isinstance(step, Finished) and not self._ended:
                step = advance(flow, None if isinstance(step, Pause) else exchange(transport, step))
        finally:
            flow.close()
            if not self._shared:
                transport.close()
