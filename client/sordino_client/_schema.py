"""The tables of a ledger: format 10 for a new one, and what brings an older one up to it.

An old ledger is brought up, whatever its format: a new one would be a new budget.
"""

from __future__ import annotations

import sqlite3

from sordino_client._former import DEBITS_ARE_FINAL, add_arms, date_at_draw

SCHEMA_VERSION = 10
APPLICATION_ID = 0x536F7264

# Statements that stand in a new ledger as in the step that brought them: a format that changes one writes it out in the
# step, which stays what it was.
_REPORTS_SPOOLED = "CREATE INDEX reports_spooled ON reports (not_before) WHERE state = 'spooled'"
_PINNED_PLANS = (
    "CREATE TABLE pinned_plans (campaign BLOB NOT NULL REFERENCES campaigns (campaign), round INTEGER NOT NULL,"
    " digest BLOB NOT NULL CHECK (length(digest) = 32), PRIMARY KEY (campaign, round))"
)
_TASKS = (
    "CREATE TABLE tasks (campaign BLOB PRIMARY KEY REFERENCES campaigns (campaign), content BLOB NOT NULL,"
    " kept_at REAL NOT NULL, answer_until REAL NOT NULL)"
)
_SERIES = (
    "CREATE TABLE series (campaign BLOB PRIMARY KEY REFERENCES campaigns (campaign),"
    " phase INTEGER NOT NULL CHECK (phase >= 0), answers INTEGER NOT NULL CHECK (answers >= 0),"
    " next_period INTEGER NOT NULL CHECK (next_period >= 0), next_at INTEGER NOT NULL CHECK (next_at >= 0),"
    " ended INTEGER NOT NULL DEFAULT 0, replaced_by BLOB REFERENCES campaigns (campaign), part BLOB NOT NULL,"
    " retry_min_s INTEGER NOT NULL, retry_max_s INTEGER NOT NULL)"
)
_LISTS = (
    "CREATE TABLE lists (origin TEXT NOT NULL, population TEXT NOT NULL, window_at REAL NOT NULL,"
    " due_at REAL NOT NULL, number INTEGER NOT NULL DEFAULT -1, digest BLOB, PRIMARY KEY (origin, population))"
)
_FOUND = (
    "CREATE TABLE found (campaign BLOB PRIMARY KEY REFERENCES campaigns (campaign), population TEXT NOT NULL,"
    " at INTEGER NOT NULL)"
)
_CONSENT = (
    "CREATE TABLE consent (number INTEGER PRIMARY KEY, campaign BLOB NOT NULL CHECK (length(campaign) = 32),"
    " decision TEXT NOT NULL CHECK (decision IN ('on', 'off')), at INTEGER NOT NULL,"
    " text BLOB NOT NULL CHECK (length(text) = 32))"
)
_TROUBLE = "CREATE TABLE trouble (code TEXT PRIMARY KEY, at REAL NOT NULL)"
_LOG_MARKS = (
    "CREATE TABLE log_marks (origin TEXT NOT NULL, size INTEGER NOT NULL CHECK (size >= 0),"
    " root BLOB NOT NULL CHECK (length(root) = 32), note BLOB NOT NULL, day INTEGER,"
    " PRIMARY KEY (origin, size, root))"
)
_TOKENS = (
    "CREATE TABLE tokens (campaign BLOB NOT NULL REFERENCES campaigns (campaign), round INTEGER NOT NULL,"
    " secret BLOB NOT NULL CHECK (length(secret) = 16),"
    " blind BLOB NOT NULL CHECK (length(blind) = 32), token BLOB CHECK (length(token) = 32),"
    " PRIMARY KEY (campaign, round))"
)
_TOKENS_ARE_FINAL = (
    "CREATE TRIGGER tokens_are_final BEFORE UPDATE ON tokens WHEN NEW.secret <> OLD.secret OR NEW.blind <> OLD.blind"
    " OR (OLD.token IS NOT NULL AND NEW.token IS NOT OLD.token)"
    " BEGIN SELECT RAISE(ABORT, 'tokens are final'); END"
)
_SERIES_ARE_KEPT = (
    "CREATE TRIGGER series_are_kept BEFORE DELETE ON series BEGIN SELECT RAISE(ABORT, 'series are kept'); END"
)
_SERIES_COUNT_UP = (
    "CREATE TRIGGER series_count_up BEFORE UPDATE ON series WHEN NEW.phase <> OLD.phase"
    " OR NEW.answers < OLD.answers OR NEW.next_period < OLD.next_period OR NEW.next_at < OLD.next_at"
    " OR NEW.ended < OLD.ended"
    " OR (OLD.replaced_by IS NOT NULL AND NEW.replaced_by IS NOT OLD.replaced_by)"
    " BEGIN SELECT RAISE(ABORT, 'series count up'); END"
)
_SOURCES_ARE_FINAL = (
    "CREATE TRIGGER sources_are_final BEFORE UPDATE OF source ON campaigns"
    " WHEN OLD.source IS NOT NULL AND NEW.source IS NOT OLD.source"
    " BEGIN SELECT RAISE(ABORT, 'sources are final'); END"
)
_ARMS_ARE_FINAL = (
    "CREATE TRIGGER arms_are_final BEFORE UPDATE OF arm ON campaigns"
    " WHEN OLD.arm IS NOT NULL AND NEW.arm IS NOT OLD.arm BEGIN SELECT RAISE(ABORT, 'arms are final'); END"
)
_TASK_NUMBERS_GROW = (
    "CREATE TRIGGER task_numbers_grow BEFORE UPDATE OF task_number ON campaigns"
    " WHEN OLD.task_number IS NOT NULL AND coalesce(NEW.task_number, -1) < OLD.task_number"
    " BEGIN SELECT RAISE(ABORT, 'task numbers grow'); END"
)

# A report without a body is an expired one. A series answered once more would be ε that nobody agreed to: a phase is
# final, and what holds back only grows. `trouble` has times by code (_troubles.py), `log_marks`
# checkpoints of public logs (`day` null: of a proof).
_SCHEMA = (
    "CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE campaigns (campaign BLOB PRIMARY KEY CHECK (length(campaign) = 32), manifest BLOB NOT NULL,"
    " assigned_round INTEGER, joined_at INTEGER NOT NULL, origin TEXT, source TEXT,"
    " arm INTEGER CHECK (arm BETWEEN 0 AND 15), task_number INTEGER CHECK (task_number >= 0))",
    "CREATE TABLE opt_outs (campaign BLOB PRIMARY KEY CHECK (length(campaign) = 32), at INTEGER NOT NULL)",
    "CREATE TABLE debits (campaign BLOB NOT NULL REFERENCES campaigns (campaign), round INTEGER NOT NULL,"
    " nano INTEGER NOT NULL CHECK (nano >= 0), at INTEGER NOT NULL, period_start INTEGER,"
    " PRIMARY KEY (campaign, round))",
    "CREATE TABLE reports (campaign BLOB NOT NULL, round INTEGER NOT NULL, body BLOB,"
    " state TEXT NOT NULL CHECK (state IN ('spooled', 'delivered', 'refused', 'expired')), reason TEXT,"
    " finished_at INTEGER, retry_min_s INTEGER NOT NULL, retry_max_s INTEGER NOT NULL,"
    " failures INTEGER NOT NULL DEFAULT 0, postponed_at REAL NOT NULL DEFAULT 0,"
    " not_before REAL NOT NULL DEFAULT 0, expires_at INTEGER, tried_at REAL, trouble TEXT,"
    " PRIMARY KEY (campaign, round), FOREIGN KEY (campaign, round) REFERENCES debits (campaign, round),"
    " CHECK (body IS NOT NULL OR state <> 'spooled'))",
    _REPORTS_SPOOLED,
    "CREATE TABLE parts (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, content BLOB NOT NULL)",
    _PINNED_PLANS,
    _TASKS,
    _SERIES,
    _LISTS,
    _FOUND,
    _CONSENT,
    _TROUBLE,
    _LOG_MARKS,
    _TOKENS,
    "CREATE TRIGGER debits_are_kept BEFORE DELETE ON debits BEGIN SELECT RAISE(ABORT, 'debits are kept'); END",
    DEBITS_ARE_FINAL,
    _SERIES_ARE_KEPT,
    _SERIES_COUNT_UP,
    _SOURCES_ARE_FINAL,
    _ARMS_ARE_FINAL,
    _TASK_NUMBERS_GROW,
    _TOKENS_ARE_FINAL,
    f"PRAGMA application_id = {APPLICATION_ID}",
)
# By format, what a ledger of that format lacks.
_SINCE = {
    1: (_PINNED_PLANS,),
    # An older ledger has no address of a campaign's server; joining it again adds the address.
    2: ("ALTER TABLE campaigns ADD COLUMN origin TEXT",),
    # A report that expired has no body. SQLite changes no CHECK in place, so the table is written again.
    3: (
        _TASKS,
        "CREATE TABLE reports_4 (campaign BLOB NOT NULL, round INTEGER NOT NULL, body BLOB,"
        " state TEXT NOT NULL CHECK (state IN ('spooled', 'delivered', 'refused', 'expired')), reason TEXT,"
        " finished_at INTEGER, retry_min_s INTEGER NOT NULL, retry_max_s INTEGER NOT NULL,"
        " failures INTEGER NOT NULL DEFAULT 0, postponed_at REAL NOT NULL DEFAULT 0,"
        " not_before REAL NOT NULL DEFAULT 0, expires_at INTEGER, PRIMARY KEY (campaign, round),"
        " FOREIGN KEY (campaign, round) REFERENCES debits (campaign, round),"
        " CHECK (body IS NOT NULL OR state <> 'spooled'))",
        "INSERT INTO reports_4 SELECT campaign, round, body, state, reason, finished_at, retry_min_s, retry_max_s,"
        " failures, postponed_at, not_before, NULL FROM reports ORDER BY rowid",
        "DROP TABLE reports",
        "ALTER TABLE reports_4 RENAME TO reports",
        _REPORTS_SPOOLED,
    ),
    # A series answered once more would be ε that nobody agreed to: a phase is final, and what holds back grows only.
    4: (
        _SERIES,
        _SERIES_ARE_KEPT,
        _SERIES_COUNT_UP,
        _LISTS,
        _FOUND,
    ),
    # The one of a campaign's servers that the device keeps to, null where the manifest names none.
    5: (
        "ALTER TABLE campaigns ADD COLUMN source TEXT",
        _SOURCES_ARE_FINAL,
    ),
    # Debits of series were dated at the start of their period, which the manifest names.
    # A report that waits says what its last try met.
    6: (
        "ALTER TABLE debits ADD COLUMN period_start INTEGER",
        "ALTER TABLE reports ADD COLUMN tried_at REAL",
        "ALTER TABLE reports ADD COLUMN trouble TEXT",
    ),
    # What protocol v1 has and no code writes yet: the drawn arm, the highest number of a signed task, what the owner
    # decided about which text, the last failure of each kind, and checkpoints of public logs (`day` null: of a proof).
    7: (
        "ALTER TABLE campaigns ADD COLUMN arm INTEGER CHECK (arm BETWEEN 0 AND 15)",
        "ALTER TABLE campaigns ADD COLUMN task_number INTEGER CHECK (task_number >= 0)",
        _ARMS_ARE_FINAL,
        _TASK_NUMBERS_GROW,
        _CONSENT,
        _TROUBLE,
        _LOG_MARKS,
    ),
    8: (),
    # The secret of a round's token, asked for once and used by its one answer. Format 9 kept the issuer's key with it,
    # and in tasks: now it is in the manifest. Tokens of that time are of campaigns that ended with it.
    9: ("DROP TABLE IF EXISTS tokens", _TOKENS, _TOKENS_ARE_FINAL, "DELETE FROM tasks"),
}
# By format, what changes the rows of a ledger of that format, after the statements above.
_REWRITES = {6: date_at_draw, 7: add_arms}


def bring_up(connection: sqlite3.Connection, format_number: int) -> None:
    """Bring a ledger of format `format_number` (0: an empty file) to today's, in the caller's transaction."""
    for statement in () if format_number else _SCHEMA:
        connection.execute(statement)
    for version in range(format_number, SCHEMA_VERSION) if format_number else ():
        for statement in _SINCE[version]:
            connection.execute(statement)
        if version in _REWRITES:
            _REWRITES[version](connection)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
