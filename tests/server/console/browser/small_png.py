"""Screenshots as PNG with a palette: a third of the bytes, for pages of the docs, whose site has a limit of size."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

_MOST_COLOURS = 256
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# A browser decodes; base64, since what a page returns is JSON.
_PIXELS = """async encoded => {
    const bitmap = await createImageBitmap(await (await fetch('data:image/png;base64,' + encoded)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), drawing = canvas.getContext('2d');
    drawing.drawImage(bitmap, 0, 0);
    const pixels = drawing.getImageData(0, 0, bitmap.width, bitmap.height).data;
    const url = await new Promise(done => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.readAsDataURL(new Blob([pixels]));
    });
    return [bitmap.width, bitmap.height, url.slice(url.indexOf(',') + 1)];
}"""


def with_palette(context: BrowserContext, png: bytes) -> bytes:
    """The picture in its 256 most frequent colours; each other pixel in the nearest of them."""
    page = context.new_page()
    width, height, encoded = page.evaluate(_PIXELS, base64.b64encode(png).decode())
    page.close()
    pixels = np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(-1, 4)[:, :3].astype(np.int32)
    colours, places, counts = np.unique(
        pixels @ np.array([1 << 16, 1 << 8, 1]), return_inverse=True, return_counts=True
    )
    shades = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
    palette = shades[np.argsort(-counts, kind="stable")[:_MOST_COLOURS]]
    distances = ((shades[:, None, :] - palette[None, :, :]) ** 2).sum(axis=2)
    rows = distances.argmin(axis=1)[places].astype(np.uint8).reshape(height, width)
    # Each row begins with its filter, none: rows of a screenshot repeat, which deflate finds.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", palette.astype(np.uint8).tobytes()), (b"IDAT", zlib.compress(lines, 9)))
    return _SIGNATURE + b"".join(_chunk(*each) for each in (*chunks, (b"IEND", b"")))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
