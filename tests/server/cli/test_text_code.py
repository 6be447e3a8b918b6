"""`sordino text-code`: JSON on standard output, what the code does on standard error, and lists that make none."""

from __future__ import annotations

from sordino_analysis.text_codes.string_code import StringCode


def test_the_code_is_printed_and_can_be_read(run_command, tmp_path):
    (tmp_path / "words.txt").write_text("banana\nbandana\nban\npanama\nbanana\ncanal\n")
    done = run_command("text-code", "words.txt", "--tokens", "3", "--source", "fruit")
    made = StringCode.read(done.stdout)
    assert (made.source, len(made.code.tokens)) == ("fruit", 2)
    assert "2 tokens of the 3 asked for: the texts have no more in common; half of the strings" in done.stderr
    assert run_command("text-code", "words.txt", "--tokens", "3", "--source", "fruit", "--json").stdout == done.stdout
    fewer = run_command("text-code", "words.txt", "--tokens", "500").stderr
    assert "tokens of the 500 asked for" in fewer


def test_lists_that_make_no_code_are_refused(run_command, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "one.txt").write_text("same\nsame\n")
    for name, count in (("empty.txt", 0), ("one.txt", 1)):
        assert f"there is {count}: give a list of public strings" in " ".join(
            run_command("text-code", name, code=2).stderr.split()
        )
    assert "there is no file nothing.txt" in run_command("text-code", "nothing.txt", code=2).stderr
    assert "number of tokens" in run_command("text-code", "one.txt", "--tokens", "5000", code=2).stderr
