"""What other programs print and nobody reads here: the refusal names it and the way on, also with ``--from``."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.load import load
from workbench.formats.printouts import known_printout

TEXTS = {
    "iblinkinfo": (
        'CA: gpu-3 HCA-1:\n      0xb8  6  1[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  3  3[  ] "sw" ( )\n',
        "the output of iblinkinfo",
        "ibnetdiscover",
    ),
    "iblinkinfo, switches alone": (
        'Switch: 0x0c42 MF0;ibsw254:MQM8700/U1:\n  3  1[  ] ==( Down/ Polling)==>  [  ] "" ( )\n',
        "the output of iblinkinfo",
        "ibnetdiscover",
    ),
    "ibnetdiscover -p": (
        "CA    14  1 0x0008f10403960558 4x SDR - SW     6 10 0x005442ba00003080 ( 'a' - 'b' )\n",
        "the output of ibnetdiscover -p",
        "without options",
    ),
    "ibhosts": ('Ca\t: 0x0002c9 ports 1 "gpu-1 HCA-1"\n', "ibhosts", "ibnetdiscover"),
    "ibstat": ("CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n", "ibstat", "ibnetdiscover"),
    "ibdiagnet2.net_dump": (
        '# file of ibdiagnet\n"leaf01", MT54002, S:b8cef60300000001, LID 1\n#  : IB# : Sta\n    1 : 1 : ACT\n',
        "a file of ibdiagnet",
        "ibnetdiscover",
    ),
    "ibdiagnet.lst": (
        "{ CA Ports:01 SystemGUID:946d NodeGUID:946d {gpu-1 mlx5_0} LID:0005 PN:01 } { SW Ports:41 } PHY=4x\n",
        "a file of ibdiagnet",
        "ibnetdiscover",
    ),
    "ibdiagnet.lst, a switch with a type": ("{ SW-SPINE Ports:41 SystemGUID:b8ce }\n", "ibdiagnet", "ibnetdiscover"),
    "lldpctl -f json": (
        '{"lldp": {"interface": [{"eth0": {"via": "LLDP", "chassis": {"leaf1": {}}}}]}}\n',
        "lldpctl",
        "NetQ",
    ),
    "sacct --json": (
        '{"meta": {"slurm": {"version": {"major": "24"}}}, "jobs": [{"job_id": 7, "time": {"start": 1}}]}\n',
        "sacct --json",
        "sacct -X -P",
    ),
    "the head of ibnetdiscover": (
        "#\n# Topology file: generated on Fri Nov 20 20:00:00 2026\n#\n",
        "ibnetdiscover without a switch",
        "cut off",
    ),
    "kubectl get nodes": (
        "NAME    STATUS   ROLES    AGE   VERSION\ngpu-0   Ready    <none>   3d    v1.29.1\n",
        "kubectl",
        "-o json",
    ),
    "kubectl get pods -A": (
        "NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE\nnlp   bert-0   1/1   Running   0   3d\n",
        "kubectl",
        "-o json",
    ),
    "kubectl get nodes --no-headers": (
        "gpu-0   Ready,SchedulingDisabled   <none>   3d   v1.29.1\n",
        "kubectl",
        "-o yaml",
    ),
    "kubectl get hypernodes": (
        "NAME   TIER   TIERNAME   NODECOUNT   AGE\ns0     1      leaf   2   5d\n",
        "kubectl",
        "-o json",
    ),
    "kubectl describe node": (
        "Name:               gpu-0\nRoles:              <none>\nLabels:             a=b\n                    c=d\n",
        "kubectl describe",
        "-o json",
    ),
    "an error of kubectl": ("Error from server (Forbidden): nodes is forbidden: User x\n", "kubectl", "-o json"),
    "no objects": ("No resources found in default namespace.\n", "kubectl", "-o json"),
    "kubectl get nodes -o name": ("node/gpu-0\nnode/gpu-1\n", "-o name", "-o json"),
    "sinfo": (
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ngpu*  up  1-00:00:00  4  idle  n[1-4]\n",
        "sinfo",
        "topology.conf",
    ),
    "slurm.conf": (
        "# main\nClusterName=c\nSlurmctldHost=h\nNodeName=n[1-4] Gres=gpu:8\n",
        "slurm.conf",
        "topology.conf",
    ),
    "gres.conf": ("AutoDetect=nvml\nName=gpu Type=h100 File=/dev/nvidia0\n", "gres.conf", "topology.conf"),
    "squeue": ("             JOBID PARTITION     NAME     USER ST\n  101 gpu a u R\n", "squeue", "sacct -X -P"),
    "scontrol show job": ("JobId=101 JobName=a\n   UserId=u(1) GroupId=g(1)\n", "scontrol", "sacct -X -P"),
    "sacct": ("JobID|Submit|Start|End\n1|2026-05-01T08:00:00|x|y\n", "sacct", "--trace"),
    "SWF": ("; Version: 2.2\n  1  0  5  7200  16\n  2  0  5  7200  16\n", "Standard Workload Format", "--trace"),
    "dot": ("graph fabric {\n  spine -- leaf1;\n}\n", "Graphviz", "GraphML"),
    "digraph": ('strict digraph "g" {\n  a -> b\n}\n', "Graphviz", "GraphML"),
    "lldpctl": ("LLDP neighbors:\n---\nInterface:    eth0, via: LLDP, RID: 1\n", "lldpctl", "GraphML"),
    "comments": ("# Managed by a topology service.\n\n# Seed.\n", "nothing but comments", "Slurm does not start"),
    "Markdown": (
        "# A tool\n\nText with `code: 1` and a table:\n\n| a | b |\n| 1 | 2 |\n| 3 | 4 |\n\n```\n1 2 3\n4 5 6\n```\n",
        "a text for people",
        "manifest",
    ),
}


@pytest.mark.parametrize(("text", "what", "way"), TEXTS.values(), ids=TEXTS.keys())
def test_it_is_named_with_the_way_on(tmp_path: Path, text: str, what: str, way: str) -> None:
    file = tmp_path / "given.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load(file)
    assert what in str(error.value) and way in str(error.value)
    assert str(file) in str(error.value) and len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["iblinkinfo", "kubectl get nodes", "ibhosts", "Markdown"])
@pytest.mark.parametrize("format", ["ibnetdiscover", "slurm", "netq"])
def test_it_is_named_also_where_a_format_is_asked_for(tmp_path: Path, name: str, format: str) -> None:
    text, what, way = TEXTS[name]
    file = tmp_path / "given.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"not in the format {format}") as error:
        load(file, format=format)
    assert what in str(error.value) and way in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello: world\n",
        "a 1 2\n",
        "# a heading\nkey: value\n",
        "# see [a](b)\n- x\n",
        "# cores `c`\nSwitchName=a Nodes=b Nodes=c\n",
        "# t\n\napiVersion: v1\ndata:\n  a: |\n    ```\n    [a](b)\n",
        'Switch\t8 "S-1"\n',
    ],
)
def test_other_texts_are_none(text: str) -> None:
    assert known_printout(text) is None


def test_the_readme_of_a_project_is_no_matrix() -> None:
    with pytest.raises(InputError, match="a text for people"):
        load(Path(__file__).parents[2] / "README.md")


@pytest.mark.parametrize("text", ["BlockSizes=-1\n", "# seed\nBlockSizes=4,8\n", "blocksizes=16"])
def test_block_sizes_alone_are_a_topology_conf_that_slurm_does_not_start_with(text: str) -> None:
    with pytest.raises(InputError, match=r"a topology\.conf without a switch or block .*Slurm does not start"):
        load("-", stdin=text)


def test_the_files_from_life_are_named(public_data: Path) -> None:
    folder = public_data / "from-life-3" / "12-misleading-refusals"
    for name, want in (
        ("iblinkinfo.txt", "iblinkinfo.*ibnetdiscover"),
        ("only-blocksizes.conf", "without a switch or block"),
        ("only-comments.conf", "nothing but comments.*Slurm does not start"),
    ):
        with pytest.raises(InputError, match=want):
            load(folder / name)
