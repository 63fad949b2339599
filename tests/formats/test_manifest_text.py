"""HyperNodes as text that a person and the drawing both change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.formats import manifest_text
from workbench.formats.manifest_text import HyperNodeText, TextError
from workbench.formats.write_manifests import to_yaml
from workbench.objects.hypernode import HyperNode, Member, make_hypernode
from workbench.objects.metadata import Metadata
from workbench.objects.selectors import Selector

TEXT = """\
# The racks of hall 2.
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: "rack-1"   # next to the door
spec:
  tier: 1
  members:
    - type: Node
      selector:
        exactMatch: {name: node-1}
    # this one is on loan
    - type: Node
      selector:
        exactMatch:
          name: node-2
---
# not ours
kind: Something
apiVersion: v1
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: rack-2}
spec:
  tier: "2"
  members: []
"""


def exact(name, kind="Node"):
    return Member(kind, Selector(name))


@pytest.fixture
def text():
    text = HyperNodeText()
    text.read(TEXT)
    return text


def test_what_was_read_is_kept_byte_for_byte(text):
    assert text.text == TEXT
    text.write({hypernode.name: hypernode for hypernode in text.hypernodes})
    assert text.text == TEXT


def test_an_added_member_keeps_every_comment(text):
    rack = text.hypernodes[0]
    text.write({"rack-1": replace(rack, members=(*rack.members, exact("node-3")))})
    assert [m.selector.exact for m in text.hypernodes[0].members] == ["node-1", "node-2", "node-3"]
    for comment in ("# The racks of hall 2.", "# next to the door", "# this one is on loan", "# not ours"):
        assert comment in text.text
    reread = HyperNodeText()
    reread.read(text.text)
    assert reread.hypernodes == text.hypernodes


def test_other_documents_stay_as_they_are(text):
    rack = text.hypernodes[1]
    text.write({"rack-2": replace(rack, tier=3)})
    before, after = TEXT.split("---\n"), text.text.split("---\n")
    assert after[:2] == before[:2] and "tier: 3" in after[2]


def test_a_new_name_keeps_the_document(text):
    rack = text.hypernodes[0]
    renamed = replace(rack, metadata=replace(rack.metadata, name="rack-9"))
    text.write({"rack-1": renamed})
    assert text.hypernodes[0].name == "rack-9" and "# this one is on loan" in text.text


def test_what_is_gone_goes_and_what_is_new_comes_last(text):
    text.write({"rack-1": None, "rack-3": HyperNode(Metadata("rack-3"), 1, "", (exact("on"),))})
    assert [h.name for h in text.hypernodes] == ["rack-2", "rack-3"]
    assert "not ours" in text.text and 'name: "on"' in text.text


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("tier: 1", "tier: one", 7),
        (
            "type: Node\n      selector:\n        exactMatch:\n",
            "type: Rack\n      selector:\n        exactMatch:\n",
            13,
        ),
        ("kind: Something", "kind: Something: else", 19),
        ("metadata: {name: rack-2}", "metadata: {name: rack-1}", 24),
        ("metadata: {name: rack-2}", "metadata: {name: rack-2", 25),
        ("tier: 1\n", "tier: 1\n  tier: 2\n", 8),
    ],
)
def test_an_error_has_its_line_and_changes_nothing(text, old, new, line):
    assert TEXT.count(old) == 1
    with pytest.raises(TextError) as caught:
        text.read(TEXT.replace(old, new))
    assert caught.value.line == line and f"line {line}" in str(caught.value)
    assert text.text == TEXT


NAMES = st.text("abc-", min_size=1, max_size=3)


@st.composite
def some_hypernodes(draw):
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    return [
        HyperNode(
            Metadata(
                name, labels=draw(st.dictionaries(NAMES, st.sampled_from(["on", "1", "", "x y", "é#"]), max_size=2))
            ),
            draw(st.integers(0, 3)),
            draw(st.sampled_from(["", "rack", "yes"])),
            tuple(
                exact(n, draw(st.sampled_from(["Node", "HyperNode"])))
                for n in draw(st.lists(NAMES, max_size=4, unique=True))
            ),
        )
        for name in names
    ]


@given(some_hypernodes(), some_hypernodes())
def test_writing_makes_the_text_say_what_is_given(first, second):
    text = HyperNodeText()
    text.write({hypernode.name: hypernode for hypernode in first})
    text.write(dict.fromkeys(hypernode.name for hypernode in first) | {h.name: h for h in second})
    reread = HyperNodeText()
    reread.read(text.text)
    key = lambda h: (h.name, h.tier, h.tier_name, dict(h.metadata.labels), sorted(map(repr, h.members)))  # noqa: E731
    assert sorted(map(key, reread.hypernodes), key=repr) == sorted(map(key, second), key=repr)


def test_documents_are_written_when_somebody_reads_them(monkeypatch):
    # The drawing of 100,000 nodes has 8,000 documents, and a page shows the few that are selected.
    written = []

    def counted(manifests):
        written.extend(manifest["metadata"]["name"] for manifest in manifests)
        return to_yaml(manifests)

    monkeypatch.setattr(manifest_text, "to_yaml", counted)
    text = HyperNodeText()
    text.write({name: make_hypernode(name, 1, nodes=[f"node-{name}"]) for name in ("a", "b", "c")})
    assert written == []
    assert "node-b" in text.part(["b"]) and written == ["b"]
    assert text.text.count("kind: HyperNode") == 3 and sorted(written) == ["a", "b", "c"]
