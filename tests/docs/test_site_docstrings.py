"""Plain docstrings become reStructuredText in which examples are code."""

from __future__ import annotations

from docs.site.docstrings import as_rest


def test_an_indented_example_is_a_block() -> None:
    made = as_rest("Plan it.\n\n    plan(x)\n\n        y\n\nRaises `A*b` where *x* is.")
    assert made[:6] == ["Plan it.", "", ".. code-block:: python", "", "    plan(x)", ""]
    assert made[-2] == "Raises ``A*b`` where \\*x\\* is."


def test_lines_that_parse_are_code_without_an_indent() -> None:
    """The docstring of a package begins with its sentence, and its example has no indent of its own."""
    made = as_rest("The SDK.\n\nwith Client() as client:\n    client.flush()")
    assert made[2:6] == [".. code-block:: python", "", "    with Client() as client:", "        client.flush()"]


def test_one_word_is_prose() -> None:
    assert as_rest("Nothing.") == ["Nothing.", ""]


def test_a_session_and_a_drawn_tree_are_kept_by_the_line() -> None:
    assert as_rest(">>> 1 + 1\n2")[2:4] == ["    >>> 1 + 1", "    2"]
    assert as_rest("Root\n├── Leaf")[0] == ".. code-block:: text"


def test_code_ends_where_its_word_goes_on() -> None:
    assert as_rest("`a`s and `b`.")[0] == "``a``\\ s and ``b``."
