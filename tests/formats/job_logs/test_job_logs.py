"""Logs of jobs: the workbench's table, Philly, Kueue's generator, Knavigator."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from workbench.errors import CapacityError, InputError
from workbench.formats.job_logs import load_jobs
from workbench.formats.job_logs.base import GPU
from workbench.model.gang import TopologyConstraint

SAMPLE = Path(__file__).parents[3] / "datasets" / "job-log" / "jobs.csv"
TABLE = """\
name,submit_s,duration_s,pods,gpus_per_pod,cpu_milli,queue,priority,min_available,mode,tier,checkpoint_s
b,10,5.5,2,8,4000,train,3,1,hard,2,60
a,0,1,1,0,,,,,soft,,
c,10,1,1,1,,,,,,,
"""
HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u1,vcA,16,64,2,COMPLETED,2020-04-01 00:01:00,2020-04-01 00:01:05,2020-04-01 00:12:05,660,0
8,u1,vcA,9,64,2,FAILED,2020-04-01 00:01:10,2020-04-01 00:01:10,2020-04-01 00:01:30,20,0
9,u2,vcB,1,4,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:11,2020-04-01 00:00:14,3,1
10,u2,vcB,0,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:11,2020-04-01 00:00:14,3,11
11,u2,vcB,1,4,1,CANCELLED,2020-04-01 00:00:00,None,2020-04-01 00:00:14,0,0
12,u2,vcB,1,4,1,RUNNING,2020-04-01 00:00:00,2020-04-01 00:00:11,,0,0
"""

ACME = """\
job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
1,u,1,4,8,Debug,COMPLETED,2023-03-01 08:00:30+08:00,2023-03-01 08:00:30+08:00,2023-03-01 08:01:00+08:00,30,,120
2,u,4,32,8,Pretrain,FAILED,2023-03-01 00:00:00+00:00,2023-03-01 00:00:00+00:00,2023-03-01 01:00:00+00:00,3600,pretrain,1
"""

PAI = """\
job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type
train,worker,4.0,Terminated,1000.0,1090.0,600.0,29.3,200,V100
train,ps,2.0,Terminated,1000.0,1100.0,600.0,29.3,,
train,evaluator,1.0,Terminated,1020.0,1060.0,600.0,29.3,100.0,V100
small,tensorflow,3.0,Terminated,1040.0,1050.5,600.0,29.3,25.0,MISC
cpu,worker,1.0,Terminated,900.0,1050.5,600.0,29.3,0.0,MISC
open,worker,1.0,Running,900.0,,600.0,29.3,100.0,MISC
"""

PHILLY = "timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,66.0,1,vc1\n2017-10-09 07:01:00,9.5,17,vc2\n"
KUEUE = """\
cohorts:
- className: cohort
  count: 2
  queuesSets:
  - className: cq
    count: 1
    nominalQuota: "20"
    workloadsSets:
    - count: 2
      creationIntervalMs: 500
      workloads:
      - {className: w, runtimeMs: 200, priority: 50, request: 500m, podCount: 2, tasConstraint: required}
    - count: 1
      creationIntervalMs: 100
      workloads:
      - {className: w, runtimeMs: 100, priority: 9, request: "1", podCount: 4, tasConstraint: balanced, sliceSize: 2}
"""
KNAVIGATOR = """\
# A comment, with a comma.
name: test
tasks:
- {id: register, type: RegisterObj, params: {}}
- {id: job1, type: SubmitObj, params: {count: 2, params: {replicas: 3, ttl: 2m}}}
"""


def read(tmp_path: Path, text: str, name: str = "log.csv"):
    (tmp_path / name).write_text(text)
    return load_jobs(tmp_path / name)


def test_the_table(tmp_path: Path) -> None:
    log = read(tmp_path, TABLE)
    assert log.format == "table"
    assert [(job.gang.name, job.submitted_s) for job in log.jobs] == [("a", 0), ("b", 10), ("c", 10)]
    a, b, c = (job.gang for job in log.jobs)
    assert (a.roles[0].n_gpus, a.queue, a.constraint) == (0, "default", TopologyConstraint("soft"))
    assert (b.n_pods, b.min_available, b.queue, b.priority) == (2, 1, "train", 3)
    assert b.roles[0].requests == {GPU: 8, "cpu": 4000}
    assert b.constraint == TopologyConstraint("hard", 2)
    assert (log.jobs[1].duration_s, log.jobs[1].checkpoint_s) == (5.5, 60)
    assert c.constraint is None
    assert set(log.inputs) == {"log.csv"}


def test_the_sample_and_gzip(tmp_path: Path) -> None:
    log = load_jobs(SAMPLE)
    assert len(log.jobs) == 200
    (tmp_path / "jobs.csv.gz").write_bytes(gzip.compress(SAMPLE.read_bytes()))
    assert [repr(job) for job in load_jobs(tmp_path / "jobs.csv.gz").jobs] == [repr(job) for job in log.jobs]
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8bnone")
    with pytest.raises(InputError, match="not gzip"):
        load_jobs(tmp_path / "broken.gz")


def test_philly(tmp_path: Path) -> None:
    log = read(tmp_path, PHILLY)
    assert log.format == "philly"
    assert [(j.submitted_s, j.duration_s, j.gang.n_pods, j.gang.roles[0].n_gpus, j.gang.queue) for j in log.jobs] == [
        (0, 9.5, 3, 8, "vc2"),
        (55, 66, 1, 1, "vc1"),
    ]


def test_helios(tmp_path: Path) -> None:
    log = read(tmp_path, HELIOS)
    assert log.format == "helios"
    shown = [(j.gang.name, j.submitted_s, j.duration_s, j.gang.n_pods, j.gang.roles[0].n_gpus) for j in log.jobs]
    assert shown == [("job-9", 0, 3.0, 1, 1), ("job-7", 50, 660.0, 2, 8), ("job-8", 60, 20.0, 2, 5)]
    assert [job.gang.queue for job in log.jobs] == ["vcB", "vcA", "vcA"]
    assert [(note.code, note.numbers["count"]) for note in log.notes] == [
        ("jobs-without-gpus", 1),
        ("jobs-without-times", 2),
        ("gpus-rounded-up", 1),
    ]


def test_acme_has_zones_and_queues(tmp_path: Path) -> None:
    log = read(tmp_path, ACME)
    assert [(j.gang.name, j.submitted_s, j.gang.queue, j.gang.roles[0].n_gpus) for j in log.jobs] == [
        ("job-2", 0, "pretrain", 8),
        ("job-1", 30, "default", 4),
    ]


def test_pai(tmp_path: Path) -> None:
    log = read(tmp_path, PAI)
    assert log.format == "pai"
    train, small = log.jobs
    assert (train.gang.name, train.submitted_s, train.duration_s, train.gang.min_available) == ("train", 0, 100, 5)
    roles = [(role.name, role.count, role.n_gpus, role.gpu_milli) for role in train.gang.roles]
    assert roles == [("worker", 4, 2, 0), ("evaluator", 1, 1, 0)]
    assert (small.submitted_s, small.gang.roles[0].gpu_milli, small.gang.roles[0].count) == (40, 250, 3)
    assert [(note.code, note.numbers["count"]) for note in log.notes] == [
        ("jobs-without-gpus", 1),
        ("jobs-without-times", 1),
    ]


def test_kueue(tmp_path: Path) -> None:
    log = read(tmp_path, KUEUE, "generator.yaml")
    assert log.format == "kueue"
    assert log.quotas == {"cohort-0-0-cq-0-0": {"cpu": 20_000}, "cohort-0-1-cq-0-0": {"cpu": 20_000}}
    assert [round(job.submitted_s, 3) for job in log.jobs] == [0.1, 0.1, 0.5, 0.5, 1.0, 1.0]
    assert log.jobs[0].gang.constraint == TopologyConstraint("soft")
    assert log.jobs[2].gang.constraint == TopologyConstraint("hard", 1)
    assert log.jobs[2].gang.roles[0].requests == {"cpu": 500}
    assert [note.code for note in log.notes] == ["slices-not-read", "quotas-without-borrowing"]
    assert log.notes[0].numbers == {"count": 2}


def test_knavigator(tmp_path: Path) -> None:
    log = read(tmp_path, KNAVIGATOR, "burst.yaml")
    assert [(job.gang.name, job.gang.n_pods, job.duration_s) for job in log.jobs] == [
        ("job1-0", 3, 120),
        ("job1-1", 3, 120),
    ]


def test_columns_that_are_not_read_are_told(tmp_path: Path) -> None:
    log = read(tmp_path, "name,submit_s,duration_s,pods,gpus_per_pod,user,state\na,0,1,1,1,u,done\nb,0,1,1,1,u,done\n")
    assert [(note.code, str(note)) for note in log.notes] == [("columns-not-read", "2 columns not read: user, state")]


@pytest.mark.parametrize(
    ("text", "old", "new", "place"),
    [
        (TABLE, "b,10", "b,-1", "line 2, submit_s"),
        (TABLE, "b,10", "b,", "line 2, submit_s"),
        (TABLE, "b,10", "b,nan", "line 2, submit_s"),
        (TABLE, "5.5", "inf", "line 2, duration_s"),
        (TABLE, "5.5,2,", "5.5,0,", "line 2, pods"),
        (TABLE, "3,1,hard", "3,3,hard", "line 2, pods"),
        (TABLE, "hard", "must", "line 2, mode"),
        (TABLE, "2,60", "2,0", "line 2, checkpoint_s"),
        (TABLE, "b,10", ",10", "line 2, name"),
        (TABLE, "b,10", "a,10", "line 3, name: not a value of this column (found 'a',"),
        (
            TABLE,
            "b,10",
            "b,1e308",
            "line 2, submit_s: not a value of this column (found '1e308', expected seconds from 0 to",
        ),
        (TABLE, "5.5", "1e308", "line 2, duration_s"),
        (TABLE, "hard,2", "hard,", "line 2, tier"),
        (TABLE, "hard,2", ",2", "line 2, mode"),
        (TABLE, "checkpoint_s", "checkpoints_s", "line 1: unknown column (found checkpoints_s, expected checkpoint_s"),
        (TABLE, "queue", "queues", "line 1: unknown column (found queues, expected queue"),
        (TABLE, "duration_s", "seconds", "no column duration_s"),
        (PHILLY, "2017-10-09 07:01:55", "yesterday", "line 2, timestamp"),
        (PHILLY, "66.0,1", "66.0,0", "line 2, num_gpus"),
        (HELIOS, "2020-04-01 00:01:00,2020-04-01 00:01:05", "soon,2020-04-01 00:01:05", "line 2, submit_time"),
        (HELIOS, "660", "-1", "line 2, duration"),
        (HELIOS, "660", "1e13", "line 2, duration"),
        (HELIOS, "8,u1", "7,u1", "line 3, job_id"),
        (PHILLY, "66.0", "1e300", "line 2, duration"),
        (PAI, "1000.0,1090.0", "1000.0,1e308", "line 2, end_time"),
        (HELIOS, "vcA,16,64,2", "vcA,16,64,0", "line 2, node_num"),
        (HELIOS, "vcA,16", "vcA,1.5", "line 2, gpu_num"),
        (PAI, "train,worker,4", ",worker,4", "line 2, job_name"),
        (PAI, "worker,4", "worker,0", "line 2, inst_num"),
        (PAI, "200,V100", "150,V100", "line 2, plan_gpu"),
        (PAI, "200,V100", "nan,V100", "line 2, plan_gpu"),
        (PAI, "1000.0,1090.0", "1000.0,990.0", "line 2, end_time"),
        (PAI, "evaluator", "worker", "line 4, task_name"),
        (KUEUE, "count: 2", "count: two", "cohorts[0].count"),
        (KUEUE, "required", "wished", "workloads[0]"),
        (KUEUE, 'nominalQuota: "20"', "nominalQuota: many", "nominalQuota"),
        (KUEUE, "queuesSets:", "queues:", "cohorts[0].queuesSets"),
        (KNAVIGATOR, "replicas: 3", "replicas: -3", "task job1"),
        (KNAVIGATOR, "ttl: 2m", "ttl: soon", "task job1, ttl"),
        (KNAVIGATOR, "SubmitObj", "Other", "no job in it"),
        ("kind: Pod\n", "", "", "no log of jobs"),
    ],
)
def test_bad_logs_are_refused_with_their_place(tmp_path: Path, text: str, old: str, new: str, place: str) -> None:
    name = "log.csv" if text in (TABLE, PHILLY, HELIOS, PAI) else "log.yaml"
    with pytest.raises(InputError) as told:
        read(tmp_path, text.replace(old, new, 1), name)
    assert place in str(told.value)
    assert "log." in str(told.value)


@pytest.mark.slow
def test_public_logs(public_data: Path) -> None:
    kueue = load_jobs(public_data / "kueue-perf" / "generator.yaml")
    assert (len(kueue.jobs), len(kueue.quotas)) == (15_000, 30)
    work = sum(j.gang.n_pods * j.gang.roles[0].requests["cpu"] * j.duration_s for j in kueue.jobs) / 1000
    assert work == pytest.approx(30 * 1_320)
    assert max(job.submitted_s for job in kueue.jobs) == pytest.approx(20.4)
    burst = load_jobs(public_data / "knavigator" / "gang-run-test.yaml")
    assert (len(burst.jobs), sum(job.gang.n_pods for job in burst.jobs)) == (53, 288)
    assert len(load_jobs(public_data / "philly" / "jobs.csv.gz").jobs) == 82_247


def test_gzip_that_is_broken_inside_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"x" * 10_000)
    path = tmp_path / "log.csv.gz"
    path.write_bytes(whole[:20] + b"\xff\xff\xff" + whole[23:])
    with pytest.raises(InputError, match="not gzip"):
        load_jobs(path)


def test_a_table_has_a_most_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.formats.tables._MOST_ROWS", 2)
    with pytest.raises(CapacityError, match="more than 2 lines"):
        read(tmp_path, TABLE)


def test_a_data_frame_is_a_table_of_jobs() -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {"name": ["b", "a"], "submit_s": [90, 0], "duration_s": [60.0, 30.5], "pods": [2, 1], "gpus_per_pod": [8, 4]}
    )
    log = load_jobs(frame)
    assert [(job.gang.name, job.submitted_s, job.duration_s) for job in log.jobs] == [("a", 0, 30.5), ("b", 90, 60)]
    assert repr(log) == "JobLog(2 jobs of table, submitted within 90 s)"
    with pytest.raises(InputError, match=r"DataFrame"):
        load_jobs(frame.drop(columns="name"))
    with pytest.raises(InputError, match=r"DataFrame: line 3, name"):
        load_jobs(frame.assign(name="a"))
