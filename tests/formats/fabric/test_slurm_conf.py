from __future__ import annotations

import pytest
from hypothesis import given

from tests.formats.fabric.forests import converted, forest, read_back, shape, snapshots
from tests.notices import said
from workbench.errors import InputError
from workbench.formats.fabric import slurm
from workbench.formats.fabric.registry import get_format


@given(snapshots())
def test_a_tree_is_read_back_as_it_was_written(snapshot):
    for name in ("slurm", "slurm-yaml"):
        again, losses = converted(snapshot, name)
        assert forest(again.topology) == forest(snapshot.topology)
        assert losses == ()


@given(snapshots(mixed=True, free=True, named=True))
def test_what_slurm_cannot_say_is_told(snapshot):
    again, losses = converted(snapshot, "slurm")
    named = {nodes for _, nodes in shape(snapshot.topology)}
    assert named <= {nodes for _, nodes in shape(again.topology)}
    free = snapshot.topology.n_nodes - again.topology.n_nodes
    assert any(loss.startswith(f"not written: {free} node") for loss in losses) == (free > 0)
    assert any("tier name" in loss for loss in losses)
    extra = again.topology.n_domains - snapshot.topology.n_domains
    assert any(loss.startswith(f"changed: the nodes directly under {extra} HyperNode") for loss in losses) == (
        extra > 0
    )


@given(snapshots())
def test_blocks_are_the_leaves_and_what_is_above_is_kept_or_told(snapshot):
    for name in ("slurm-block", "slurm-yaml-block"):
        again, losses = converted(snapshot, name)
        topology = snapshot.topology
        leaves = {(n, row[3]) for n, row in forest(topology).items() if row[0] == 1}
        assert leaves == {(n, row[3]) for n, row in forest(again.topology).items() if row[0] == 1}
        if not any("above the blocks" in loss for loss in losses):
            assert shape(again.topology) == shape(topology)


def test_keys_in_any_case_comments_continued_lines_and_quotes():
    text = '# a\nswitchname=s1 NODES="n[1-2]" # b\n'
    text += "SwitchName=top \\\n  switches=s1,s2 LinkSpeed=100\nSwitchName=s2 Nodes=m\n"
    snapshot = read_back(text)
    assert {name: len(row[3]) for name, row in forest(snapshot.topology).items()} == {"s1": 2, "s2": 1, "top": 3}
    assert "stdin: the LinkSpeed of 1 switch is not kept" in said(snapshot.gaps)


def test_blocks_are_aggregated_as_their_sizes_say():
    text = "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockName=b3 Nodes=n[9-12]\nBlockSizes=4,8\n"
    got = {name: (row[0], row[2], len(row[3])) for name, row in forest(read_back(text).topology).items()}
    assert got == {
        "b1": (1, "blocks-8-1", 4),
        "b2": (1, "blocks-8-1", 4),
        "b3": (1, "blocks-8-2", 4),
        "blocks-8-1": (2, "<cluster-top-hypernode>", 8),
        "blocks-8-2": (2, "<cluster-top-hypernode>", 4),
    }


def test_of_switches_and_blocks_the_switches_are_read_unless_blocks_are_asked_for():
    text = "SwitchName=s Nodes=n[1-2]\nBlockName=b Nodes=n[1-2]\n"
    snapshot = read_back(text)
    assert snapshot.topology.domain_names == ("s",)
    assert "stdin: 1 block beside the switches was left aside" in said(snapshot.gaps)
    assert read_back(text, format="slurm-block").topology.domain_names == ("b",)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("SwitchName=a Nodes=b\nInclude x\n", "stdin: line 2: not KEY=VALUE"),
        ("SwitchName=a Nodes=n[1-\n", "stdin: line 1, Nodes: not a host list"),
        ("SwitchName=a Switches=s[b]\n", "line 1, Switches: not a host list"),
        ("SwitchName=a Nodes=b Foo=1\n", "line 1: not a parameter of this line .*'foo'"),
        ("SwitchName=a Nodes=b Nodes=c\n", "line 1: the same parameter twice"),
        ("SwitchName=a\n", "line 1: switch a has neither"),
        ('SwitchName="" Nodes=b\n', "line 1: a switch without a name"),
        ("SwitchName=a Nodes=b\nSwitchName=a Nodes=c\n", "line 2: the same switch twice"),
        ("Nodes=a SwitchName=b\n\nSwitchName=a Nodes=a", "line 1: not a line of topology.conf"),
        ("BlockName=a\n", "line 1: block a has no nodes"),
        ("BlockName=a Nodes=b\nBlockSizes=4,12\n", "BlockSizes: not a block size .*'12'"),
        ("BlockName=a Nodes=b\nBlockSizes=x\n", "BlockSizes: not a block size"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(text, want):
    with pytest.raises(InputError, match=want):
        read_back(text)


def test_a_file_of_many_long_lists_is_refused_though_each_is_short_enough(monkeypatch):
    monkeypatch.setattr(slurm, "MOST_HOSTS", 1000)
    text = "".join(f"SwitchName=s{i} Nodes=n{i}x[1-600]\n" for i in range(2))
    with pytest.raises(InputError, match=r"line 2: too many names .*1200.*at most 1000"):
        read_back(text)


def test_what_is_no_tree_loads_with_its_problems():
    text = "SwitchName=a Switches=b,gone\nSwitchName=b Switches=a\nSwitchName=c Nodes=n[1-2]\nSwitchName=d Nodes=n1\n"
    topology = read_back(text).topology
    assert {p.code for p in topology.problems} >= {"cycle", "dangling-member", "overlap"}
    assert not topology.ready


LEAVES = "SwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]\nSwitchName=l3 Nodes=n[5-6]\n"


@pytest.mark.parametrize(
    ("above", "want"),
    [
        ("SwitchName=c1 Switches=l[1-3]\nSwitchName=c2 Switches=l[1-3]\n", {"c1-group": (2, 6)}),
        ("".join(f"SwitchName=c{i} Switches=l[1-3]\n" for i in range(4)), {"c0-group": (2, 6)}),
        # Not every core reaches every leaf.
        ("SwitchName=c1 Switches=l[1-2]\nSwitchName=c2 Switches=l[2-3]\n", {"c1-group": (2, 6)}),
        (
            "SwitchName=s1 Switches=l[1-2]\nSwitchName=s2 Switches=l[1-2]\nSwitchName=s3 Switches=l3\n"
            "SwitchName=c1 Switches=s[1-3]\nSwitchName=c2 Switches=s[1-3]\n",
            {"s1-group": (2, 4), "s3": (2, 2), "c1-group": (3, 6)},
        ),
        # Each core lists the spines of its own plane; the spines share the leaves.
        (
            "SwitchName=s1 Switches=l[1-3]\nSwitchName=s2 Switches=l[1-3]\n"
            "SwitchName=c1 Switches=s1\nSwitchName=c2 Switches=s2\n",
            {"s1-group": (2, 6), "c1-group": (3, 6)},
        ),
        # A pair of leaves per rack: redundant leaves are one, too.
        (
            "SwitchName=l1b Nodes=n[1-2]\nSwitchName=c1 Switches=l1,l1b,l[2-3]\n",
            {"l1-group": (1, 2), "c1": (2, 6)},
        ),
    ],
)
def test_redundant_switches_are_one_hypernode_as_in_every_other_format(above, want):
    snapshot = read_back(LEAVES + above)
    assert snapshot.topology.problems == () and snapshot.topology.ready
    got = {name: (row[0], len(row[3])) for name, row in forest(snapshot.topology).items()}
    assert want.items() <= got.items()
    assert set(got) - set(want) <= {"l1", "l2", "l3"}
    assert sum(notice.code == "switches-merged" for notice in snapshot.gaps) == sum("-group" in name for name in want)


def test_the_notice_names_every_redundant_switch():
    snapshot = read_back(LEAVES + "SwitchName=c1 Switches=l[1-3]\nSwitchName=c2 Switches=l[1-3]\n")
    assert "the switches c1, c2 lead to the same switches: one HyperNode c1-group" in said(snapshot.gaps)


def test_a_name_that_breaks_a_host_list_is_not_written():
    text = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"a[1]"},"status":{"capacity":{"cpu":"1"}}}'
    write = get_format("slurm").write
    assert write is not None
    with pytest.raises(InputError, match="a name that no host list can hold"):
        write(read_back(text))


def test_blocks_of_mixed_depth_are_not_aggregated():
    # top > (mid > (a, b), c): c is no second group beside mid.
    text = "SwitchName=top Switches=mid,c\nSwitchName=mid Switches=a,b\n"
    text += "".join(f"SwitchName={name} Nodes=n{name}\n" for name in "abc")
    again, losses = converted(read_back(text), "slurm-block")
    assert set(forest(again.topology)) == {"a", "b", "c"}
    assert any("2 HyperNodes (mid, top) above the blocks" in loss for loss in losses)


def test_what_scontrol_shows_of_the_topology_is_read():
    text = (
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[2-3]\n"
        "SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]\n"
    )
    snapshot = read_back(text)
    assert {name: (row[0], len(row[3])) for name, row in forest(snapshot.topology).items()} == {
        "s0": (1, 2),
        "s1": (1, 2),
        "s2": (2, 4),
    }
    assert not any("LinkSpeed" in gap for gap in said(snapshot.gaps))
    blocks = read_back("BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n")
    assert set(forest(blocks.topology)) == {"b1"}


def test_groups_of_blocks_that_scontrol_prints_are_those_of_their_sizes():
    text = "BlockName=r1 BlockIndex=0 Nodes=gb[1-2] BlockSize=2\nBlockName=r2 BlockIndex=1 Nodes=gb[3-4] BlockSize=2\n"
    text += "BlockName=r3 BlockIndex=2 Nodes=gb[5-6] BlockSize=2\n"
    text += "AggregatedBlock=r[1-2] BlockIndex=3 Nodes=gb[1-4] BlockSize=4\n"
    text += "AggregatedBlock=r3 BlockIndex=4 Nodes=gb[5-6] BlockSize=4\n"
    written = "BlockName=r1 Nodes=gb[1-2]\nBlockName=r2 Nodes=gb[3-4]\nBlockName=r3 Nodes=gb[5-6]\nBlockSizes=2,4\n"
    assert forest(read_back(text).topology) == forest(read_back(written).topology)
