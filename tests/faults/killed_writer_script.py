"""`python killed_writer_script.py URL CAMPAIGN DIGEST EPOCH START` writes until it is killed.

It sends reports START, START + 1, … of one round, twenty a request with up to eight requests waiting, and prints the
first number of every request that was acknowledged.
"""

import sys
from collections import deque

import numpy as np

from sordino_analysis.vectorized.payloads import pack_indices
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter, Upload
from sordino_shared.protocol import Digest, ReportBatch

url, campaign, digest, epoch, start = sys.argv[1:]
writer = ReportWriter(Database(url), ManualClock()).start()
waiting = deque()
for first in range(int(start), 9000, 20):
    numbers = range(first, first + 20)
    ids = [int(epoch).to_bytes(2, "big") + number.to_bytes(14, "big") for number in numbers]
    payloads = pack_indices(np.array(numbers), 2).tobytes()
    upload = Upload(campaign, 0, ReportBatch(Digest.parse(digest), b"".join(ids), payloads))
    waiting.append((first, writer.submit(upload)))
    while len(waiting) > 8 or (waiting and first >= 8980):
        done, future = waiting.popleft()
        future.result()
        print(done, flush=True)
