"""The mutation run: what it breaks, what it leaves alone, and its book-keeping."""

import json
from pathlib import Path

import pytest

from lab.studies import mutants

SOURCE = '''"""Docstring: 1 + 1 == 2 and not True."""
from a import b  # 1 < 2

@decorated(cache=True)
def f(x, y: int = 0):
    """More than 1 word."""
    if not x < y and x != "1 + 1":
        x += max(x, -3) // 2.5
    return f"{x + 1}", True
'''
BROKEN = {
    5: [("0", "1")],
    7: [("not", ""), ("<", "<="), ("and", "or"), ("!=", "==")],
    8: [("+=", "-="), ("max", "min"), ("-", "+"), ("3", "4"), ("//", "*")],
    9: [("True", "False")],
}


def test_code_is_broken_and_words_are_not():
    found = mutants.mutants_of("a.py", SOURCE)
    assert {line: [(m.old, m.new) for m in some] for line, some in found.items()} == BROKEN


@pytest.mark.parametrize(
    ("line", "old", "expected"),
    [
        (7, "not", '    if x < y and x != "1 + 1":'),
        (7, "<", '    if not x <= y and x != "1 + 1":'),
        (8, "-", "        x += max(x, +3) // 2.5"),
        (8, "3", "        x += max(x, -4) // 2.5"),
    ],
)
def test_one_place_of_one_line_changes(line, old, expected):
    [mutant] = [m for m in mutants.mutants_of("a.py", SOURCE)[line] if m.old == old]
    before, after = SOURCE.splitlines(), mutants.broken(SOURCE, mutant).splitlines()
    assert after[line - 1] == expected
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True), start=1) if a != b] == [line]


def test_the_sample_is_seeded_and_hangs_on_the_lines_alone(tmp_path):
    folder = tmp_path / mutants.SOURCES
    (folder / "sums").mkdir(parents=True)
    lines = [f"a{i} = b{i} + {i}" for i in range(400)]
    for path in (folder / "sums" / "one.py", folder / "two.py"):
        path.write_text("\n".join(lines) + "\n")
    first = mutants.sample(tmp_path, 100)
    assert len({(m.file, m.line) for m in first}) == 100
    of_sums = sum("sums" in m.file for m in first)
    assert 65 <= of_sums <= 90  # 4 to 1 where both have as many lines; 80 less those that run out
    (folder / "two.py").write_text("\n".join(["# a comment", *lines]) + "\n")
    again = mutants.sample(tmp_path, 100)
    assert [m.key for m in again] == [m.key for m in first]
    assert [m.line for m in again] != [m.line for m in first]


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A package of two lines, one of which has a test."""
    root = tmp_path / "root"
    (root / mutants.SOURCES).mkdir(parents=True)
    (root / "tests").mkdir()
    (root / mutants.SOURCES / "__init__.py").write_text("")
    (root / mutants.SOURCES / "a.py").write_text("def f(x):\n    return x + x\n\n\nUNSEEN = 7\n")
    test = "from mmdbounds.a import f\n\n\ndef test_it():\n    assert f(2) == 4\n"
    (root / "tests" / "test_a.py").write_text(test)
    (root / "tests" / "conftest.py").write_text(
        "from hypothesis import settings\nsettings.register_profile('quick')\n"
    )
    (root / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    data\n    full\n")
    monkeypatch.setattr(mutants, "ROOT", root)
    monkeypatch.setattr(mutants, "COPIED", ("src", "tests"))
    monkeypatch.setattr(mutants, "WIDER", ())
    monkeypatch.setattr(mutants, "EXPLAINED", tmp_path / "explained.json")
    (tmp_path / "explained.json").write_text("[]")
    return root


def test_a_run_from_its_start_to_its_table(tiny, tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    before = {each: each.read_bytes() for each in tiny.rglob("*") if each.is_file()}
    call = ["--records", str(path), "--lines", "2", "--processes", "1"]
    assert mutants.main(call) == 1
    assert {each: each.read_bytes() for each in tiny.rglob("*") if each.is_file()} == before
    found = {record["text"]: record["by"] for record in map(json.loads, path.read_text().splitlines())}
    assert found == {"return x + x": "tests/test_a.py::test_it", "UNSEEN = 7": None}
    page = path.with_suffix(".md").read_text()
    assert "| a.py:5 `UNSEEN = 7` | `7` at 9 to `8` | survived | **not explained** |" in page
    assert "| a.py:2 `return x + x` | `+` at 13 to `-` | killed | tests/test_a.py::test_it |" in page
    why = {"file": "src/mmdbounds/a.py", "text": "UNSEEN = 7", "old": "7", "new": "8", "why": "Nobody asks."}
    mutants.EXPLAINED.write_text(json.dumps([why]))
    n_lines = len(path.read_text().splitlines())
    for more in ([], ["--table"]):
        assert mutants.main([*call, *more]) == 0
        assert len(path.read_text().splitlines()) == n_lines  # nothing was run again
    assert "| survived | Nobody asks. |" in path.with_suffix(".md").read_text()
    assert "2 lines of the package" in capsys.readouterr().out
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    mutants.main([*call, "--table"])
    assert "1 more lines have not been run yet." in path.with_suffix(".md").read_text()


def test_a_test_that_fails_anyway_has_noticed_nothing(tiny, tmp_path, capsys):
    path = tiny / "tests" / "test_a.py"
    path.write_text(path.read_text().replace("== 4", "== 5"))
    with pytest.raises(SystemExit, match=r"^2$"):
        mutants.main(["--records", str(tmp_path / "records.jsonl"), "--lines", "2", "--processes", "1"])
    assert "tests/test_a.py::test_it fails without a mutation, too." in capsys.readouterr().err


def test_explanations_are_about_mutations_of_a_line():
    for one in json.loads(Path(mutants.EXPLAINED).read_text(encoding="utf-8")):
        assert sorted(one) == ["file", "new", "old", "text", "why"]
        [some] = mutants.mutants_of(one["file"], one["text"] + "\n").values()
        assert (one["old"], one["new"]) in [(mutant.old, mutant.new) for mutant in some]


def test_refusals(capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        mutants.main(["--lines", "0"])
    assert "--lines and --processes must be at least 1" in capsys.readouterr().err
