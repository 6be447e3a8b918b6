"""A backend that answers for many owners: `LedgerStore` keeps the ε ledger of each in one database.

store = LedgerStore("store.sqlite3", server="https://telemetry.example", caps=caps, key=key)
campaign = store.join("<64 hexadecimal digits>")
store.owner("user 17").answer(campaign, 17.0)
store.flush()
"""

from sordino_client.backend._store import LedgerStore, StoredOwner

__all__ = ["LedgerStore", "StoredOwner"]
