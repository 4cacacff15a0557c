"""Documents: one fact for each thing, in every language's words, whoever shows it."""

import re
import string
from pathlib import Path

import pytest

import lapwing
from helpers.linked_homes import SCHEMA as HOMES
from helpers.saved import small_saved
from lapwing.present.certificates import WHOLE, certificate_text, describe_certificate, protected_text
from lapwing.present.document import Document, Fact
from lapwing.present.messages import say, words_in
from lapwing.present.promises import protected_rows
from lapwing.schema.schemas import Schema

PACKAGE = Path(lapwing.__file__).parent
CALLED = re.compile(r"""\b(say|say\.listed|filled|table|section)\(\s*f?["']([\w.{}\-]+)["']""")
PARTS = {"table": ("{}.caption", "{}.heading"), "section": ("section.{}",)}
"""What keys are asked for beside the one that is given."""


def leaves(tree, start=""):
    for key, value in tree.items():
        yield from leaves(value, f"{start}{key}.") if isinstance(value, dict) else [(f"{start}{key}", value)]


def test_every_sentence_is_said_and_every_sentence_that_is_said_is_there():
    folders = [PACKAGE / "present", PACKAGE / "extras" / "evaluate"]
    files = [words_in(each) for each in folders]
    written = {key: text for each in files for key, text in leaves(each)}
    code = "\n".join(file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py")))
    reports = "\n".join(file.read_text(encoding="utf-8") for file in sorted(folders[1].rglob("*.py")))
    called = {each for each in CALLED.findall(code) if each[0] not in PARTS} | set(CALLED.findall(reports))
    asked = {part.format(key) for kind, key in called for part in PARTS.get(kind, ("{}",))}
    said = asked | set(re.findall(r'"((?:\w+\.)+\w+)"', code)) | set(re.findall(r'f"([\w.{}\-]+\.[\w.{}\-]+)"', code))
    said |= {each.format(key) for key in said for each in PARTS["table"] if "{" not in key}
    texts = [each for text in written.values() for each in ([text] if isinstance(text, str) else text)]
    parts = [part for text in texts for part in string.Formatter().parse(text)]
    said |= {f"{spec}.{{word}}" for _, _, spec, _ in parts if spec and re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", spec)}
    patterns = [re.compile(re.sub(r"\\{.*?\\}", r"[\\w-]+", re.escape(each))) for each in said if "{" in each]

    assert len(written) == sum(len(list(leaves(each))) for each in files)
    assert [key for key in written if key not in said and not any(pattern.fullmatch(key) for pattern in patterns)] == []
    assert [key for key in asked if "{" not in key and key not in written] == []
    fields = {name for _, name, *_ in parts if name is not None}
    assert all(part.isidentifier() for name in fields for part in name.split("."))


def test_a_fact_is_one_line_whatever_is_in_it():
    assert Fact("cost", "Cost", "a\nb\x1b[2J", part="homes").line.count("\n") == 0
    assert "\x1b" not in Fact("cost", "Cost", "\x1b[2J").line
    assert Fact("rows", "", "Words.").line == "Words."


def test_a_document_gives_facts_by_their_keys_in_its_order():
    found = Document((Fact("a", "A", "1"), Fact("b", "B", "2"), Fact("a", "A", "3")))

    assert found.lines("b", "a") == ["A: 1", "B: 2", "A: 3"]
    assert (found.text("a"), found.text("none")) == ("1 3", "")


def test_a_certificate_is_told_by_its_facts():
    paid = small_saved().certificate
    found = describe_certificate(paid)

    assert str(paid) == paid.text() == certificate_text(paid) == "\n".join(found.lines(*WHOLE)) + "\n"
    assert paid.to_dict()["protected"] == paid.protected == protected_text(paid)
    assert found.text("cost") in paid.text()


def test_linked_tables_say_what_is_protected_with_the_rows_of_each():
    linked = Schema.from_dict(HOMES).linked

    assert linked.protected == protected_rows(linked)
    assert all(name in linked.protected for name in (linked.key, *linked.names))


def test_a_sentence_that_lacks_a_field_is_an_error():
    with pytest.raises(KeyError):
        say("rows.model", rows=1)
