"""Places of findings in files, and fixing the files."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.profiles import max_examples
from tests.topology.lint.defects import DEFECTS
from tests.topology.lint.good import good_clusters
from workbench.errors import InputError
from workbench.formats.lint_files import fix_files, lint_files
from workbench.formats.write_manifests import to_yaml

RACKS = """\
# Racks of the first hall; ask the network team before you change them.
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: s0   # first
spec:
  tier: 1
  members:
  - type: Node
    selector:
      exactMatch: {name: node0}
  # a remark that stays

  - type: Node
    selector:
      exactMatch: {name: node0}   # again
  - type: Node
    selector:
      exactMatch:
        name: "Node1 "
status: {nodeCount: 7}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s1}
spec: {tier: 1, members: [{type: Node, selector: {regexMatch: {pattern: '^ghost'}}}, {type: Node, selector: {\
exactMatch: {name: node2}}}, {type: Node, selector: {exactMatch: {name: node2}}}, \
{type: Node, selector: {exactMatch: {name: node3}}}]}
---
apiVersion: v1
kind: NodeList
items:
- {metadata: {name: node0}}
- {metadata: {name: node1}}
- {metadata: {name: node2}}
- {metadata: {name: node3}}
"""

FIXED = """\
# Racks of the first hall; ask the network team before you change them.
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: s0   # first
spec:
  tier: 1
  members:
  - type: Node
    selector:
      exactMatch: {name: node0}
  # a remark that stays

  - type: Node
    selector:
      exactMatch:
        name: "node1"
status: {nodeCount: 2}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s1}
spec: {tier: 1, members: [{type: Node, selector: {regexMatch: {pattern: '^ghost'}}}, {type: Node, selector: {\
exactMatch: {name: node2}}}, {type: Node, selector: {exactMatch: {name: node3}}}]}
---
apiVersion: v1
kind: NodeList
items:
- {metadata: {name: node0}}
- {metadata: {name: node1}}
- {metadata: {name: node2}}
- {metadata: {name: node3}}
"""


@pytest.fixture
def racks(tmp_path: Path) -> Path:
    path = tmp_path / "racks.yaml"
    path.write_text(RACKS, encoding="utf-8")
    return path


def lines(path: Path) -> list[tuple[str, int | None, str]]:
    return [(f.rule.id, f.place.line if f.place else None, f.field) for f in lint_files([path]).report.findings]


NAMED_MEMBERS = """\
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s0}
spec:
  tier: 1
  members:
  - {type: Node, name: n0}
  - {type: Node, name: n1}
"""


class TestPlaces:
    def test_each_finding_has_the_line_of_its_field(self, racks: Path) -> None:
        assert lines(racks) == [
            ("dangling-member", 20, "spec.members[2].selector.exactMatch.name"),
            ("refused-by-admission", 20, "spec.members[2].selector.exactMatch.name"),
            ("member-matches-nothing", 26, "spec.members[0].selector.regexMatch.pattern"),
            ("duplicate-member", 14, "spec.members[1]"),
            ("duplicate-member", 26, "spec.members[2]"),
            ("single-node-leaf", 2, ""),
            ("node-outside", None, ""),
            ("stale-node-count", 21, "status.nodeCount"),
        ]

    def test_json_and_lists_have_lines_too(self, tmp_path: Path) -> None:
        items = [d for d in yaml.safe_load_all(RACKS) if d["kind"] == "HyperNode"]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        path = tmp_path / "racks.json"
        path.write_text(json.dumps(listed, indent=1), encoding="utf-8")
        found = {rule: line for rule, line, field in lines(path) if field == "spec.members[1]"}
        text = path.read_text(encoding="utf-8").splitlines()
        before = "\n".join(text[: found["duplicate-member"]])
        assert before.count('"type": "Node"') == 1 and before.rstrip().endswith("{")

    def test_typed_lists_and_windows_line_ends(self, tmp_path: Path) -> None:
        first = next(yaml.safe_load_all(RACKS))
        listed = {"apiVersion": first.pop("apiVersion"), "kind": "HyperNodeList", "items": [first]}
        first.pop("kind")
        path = tmp_path / "racks.yaml"
        path.write_bytes(yaml.safe_dump(listed, sort_keys=False).replace("\n", "\r\n").encode())
        found = {rule: line for rule, line, _ in lines(path)}
        assert path.read_text("utf-8").splitlines()[found["stale-node-count"] - 1].strip() == "nodeCount: 7"

    def test_json_with_tabs_has_file_and_document(self, tmp_path: Path) -> None:
        path = tmp_path / "racks.json"
        path.write_text(json.dumps(next(yaml.safe_load_all(RACKS)), indent="\t"), encoding="utf-8")
        found = lint_files([path]).report.of("duplicate-member")[0]
        assert found.place is not None and found.place.file == str(path) and found.place.where == "document 1"

    def test_text_handed_in_has_lines(self) -> None:
        report = lint_files(["-"], stdin=RACKS).report
        assert [str(f.place) for f in report.of("stale-node-count")] == ["stdin:21"]

    def test_a_fabric_in_another_format_has_its_file(self, tmp_path: Path) -> None:
        path = tmp_path / "topology.conf"
        path.write_text("SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[3-7]\nSwitchName=top Switches=a,b\n", "utf-8")
        report = lint_files([path]).report
        assert [(f.rule.id, str(f.place), f.fix) for f in report.findings] == [("overlap", str(path), None)]
        assert [rule.id for rule, _ in report.not_judged] == ["refused-by-admission", "unknown-field"]

    def test_without_nodes_some_rules_are_not_judged_and_say_so(self, tmp_path: Path) -> None:
        path = tmp_path / "racks.yaml"
        path.write_text("---".join(RACKS.split("---")[:2]), encoding="utf-8")
        report = lint_files([path]).report
        assert "member-matches-nothing" in {rule.id for rule, _ in report.not_judged}
        assert {reason for _, reason in report.not_judged} == {"the input has no Node"}
        assert report.of("member-matches-nothing") == ()

    def test_a_hypernode_that_cannot_be_read_is_a_finding_beside_those_of_the_others(self, tmp_path: Path) -> None:
        path = tmp_path / "racks.yaml"
        path.write_text(RACKS.replace("'^ghost'", "3"), encoding="utf-8")
        report = lint_files([path]).report
        found = [one for one in report.of("refused-by-admission") if "spec.members[0]" in one.message]
        assert [one.place.line for one in found if one.place is not None] == [23]
        assert len(report.findings) > 1

    def test_a_pattern_that_does_not_compile_is_a_finding_at_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "racks.yaml"
        path.write_text(RACKS.replace("'^ghost'", "'('"), encoding="utf-8")
        report = lint_files([path]).report
        (found,) = report.of("bad-pattern")
        assert found.place is not None and found.place.line == 26 and "missing )" in found.message
        assert report.of("member-matches-nothing") == () and report.of("dangling-member")

    def test_a_member_without_a_selector_is_told_what_is_meant(self, tmp_path: Path) -> None:
        path = tmp_path / "racks.yaml"
        path.write_text(NAMED_MEMBERS, encoding="utf-8")
        report = lint_files([path]).report
        assert {f.rule.id for f in report.findings} == {"unknown-field", "refused-by-admission"}
        assert [(f.place.line, f.field) for f in report.of("unknown-field") if f.place] == [
            (7, "spec.members[0].name"),
            (8, "spec.members[1].name"),
        ]
        assert all("did you mean selector: {exactMatch: {name: …}}?" in f.message for f in report.of("unknown-field"))
        assert fix_files([path]).changes == ()


class TestFix:
    def test_what_has_one_remedy_is_mended_and_nothing_else_touched(self, racks: Path) -> None:
        fixed = fix_files([racks])
        assert racks.read_text(encoding="utf-8") == FIXED
        assert [change.file for change in fixed.changes] == [str(racks)]
        assert '+        name: "node1"' in fixed.changes[0].diff and '-        name: "Node1 "' in fixed.changes[0].diff
        assert [f.rule.id for f in fixed.left.report.findings] == ["member-matches-nothing"]
        assert len(fixed.done) == 4

    def test_a_second_run_changes_nothing(self, racks: Path) -> None:
        fix_files([racks])
        before = racks.stat()
        assert fix_files([racks]).changes == ()
        assert racks.stat().st_mtime_ns == before.st_mtime_ns and racks.stat().st_ino == before.st_ino

    def test_only_the_rules_asked_for_are_mended(self, racks: Path) -> None:
        assert len(fix_files([racks], only=["stale-node-count"]).done) == 1
        assert racks.read_text(encoding="utf-8") == RACKS.replace("nodeCount: 7", "nodeCount: 2")

    def test_permissions_stay_and_a_link_is_followed(self, racks: Path, tmp_path: Path) -> None:
        racks.chmod(0o600)
        link = tmp_path / "link.yaml"
        link.symlink_to(racks)
        fix_files([link])
        assert link.is_symlink() and racks.read_text(encoding="utf-8") == FIXED
        assert stat.S_IMODE(racks.stat().st_mode) == 0o600

    def test_byte_order_mark_and_line_ends_stay(self, tmp_path: Path) -> None:
        for codec, mark in (("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
            path = tmp_path / "racks.yaml"
            path.write_bytes(mark + RACKS.replace("\n", "\r\n").encode(codec))
            fix_files([path])
            assert path.read_bytes() == mark + FIXED.replace("\n", "\r\n").encode(codec)

    def test_an_interrupted_write_leaves_the_file_as_it_was(self, racks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(self: Path, target: Path) -> Path:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", fail)
        with pytest.raises(InputError, match=r"cannot be written.*No space left"):
            fix_files([racks])
        assert racks.read_text(encoding="utf-8") == RACKS
        assert [p.name for p in racks.parent.iterdir()] == ["racks.yaml"]

    def test_a_form_that_cannot_be_edited_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        # The dash stands on a line of its own, and a remark with another dash before its entry.
        again = "  - type: Node\n    selector:\n      exactMatch: {name: node0}   # again\n"
        odd = again.replace("- type", "-\n    # node-0\n    type")
        path = tmp_path / "racks.yaml"
        path.write_text(RACKS.replace(again, odd), encoding="utf-8")
        before = path.read_bytes()
        with pytest.raises(InputError, match="cannot be changed in place"):
            fix_files([path])
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["racks.yaml"]

    def test_standard_input_cannot_be_changed(self) -> None:
        with pytest.raises(InputError, match="standard input cannot be changed"):
            fix_files(["-"])

    def test_entries_at_the_end_of_a_flow_list_go_with_their_comma(self, tmp_path: Path) -> None:
        member = '{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}'
        text = (
            '{"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "a"},\n'
            f' "spec": {{"tier": 1, "members": [{member}, {member}, {member}]}}}}\n'
        )
        path = tmp_path / "a.json"
        path.write_text(text, encoding="utf-8")
        fix_files([path])
        assert path.read_text(encoding="utf-8") == text.replace(f"{member}, {member}, {member}", member)

    @pytest.mark.parametrize("style", ["ours", "block", "flow", "json"])
    @pytest.mark.slow
    @max_examples(6, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def test_any_mixture_of_defects_in_any_style(
        self, style: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        cluster = data.draw(good_clusters())
        for _ in range(data.draw(st.integers(1, 4))):
            rule = data.draw(
                st.sampled_from(
                    ("duplicate-member", "covered-member", "dangling-member", "stale-node-count", "tier-order")
                )
            )
            DEFECTS[rule](cluster, data.draw)
        manifests = cluster.manifests()
        text = {
            "ours": lambda: to_yaml(manifests),
            "block": lambda: yaml.safe_dump_all(manifests),
            "flow": lambda: yaml.safe_dump_all(manifests, default_flow_style=True, width=60),
            "json": lambda: json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}, indent=2),
        }[style]()
        path = tmp_path_factory.mktemp("fix") / "cluster.yaml"
        path.write_text(text, encoding="utf-8")
        before = lint_files([path]).report
        fixed = fix_files([path])
        assert fixed.left.report.fixable == ()
        assert {f.rule.id for f in fixed.left.report.findings} <= {f.rule.id for f in before.findings}
        assert bool(fixed.changes) == bool(before.fixable)
        assert fix_files([path]).changes == ()
