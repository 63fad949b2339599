"""The key of a stream's searches: whatever field of a gang differs, the stream answers as `place` does."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given

from tests.choice import choices
from tests.policies.random_cases import random_cluster
from tests.policies.stream_cases import SideBySide
from tests.policies.v1_15_cases import random_1_15_gang, random_equal_groups
from tests.profiles import max_examples
from workbench.model.extras import AscendWish, Extra, FormerPod, Gather, GpuGroup, KoordinatorWish, VolcanoMemory
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.labels import NodeFilter, Requirement
from workbench.model.pod_rules import PodRules, SpreadConstraint
from workbench.policies import get_policy
from workbench.policies.volcano.v1_15.form import form_of


def number(rng, value):
    return max((value or 0) + rng.choice([-2, -1, 1, 2]), 0)


def or_none(rng, value):
    return None if value is not None and rng.random() < 0.3 else number(rng, value)


def text(rng, value):
    return f"{value}x"


def amounts(rng, value):
    grown = {name: max(amount + rng.choice([-1000, 0, 500]), 0) for name, amount in (value or {}).items()}
    return {**grown, "cpu": rng.choice([0, 500, 1500])}


def wish(rng, value):
    wishes = [TopologyConstraint("hard", tier) for tier in (None, 0, 1, 2, 3)]
    return rng.choice([None, TopologyConstraint("soft"), TopologyConstraint("", 1), *wishes])


def mixed(rng, gang):
    names = [pod.name for pod in gang.pods()]
    rng.shuffle(names)
    return tuple(names)


#: How to vary each field; a field that is added to a class and is not here fails `test_every_field_is_varied`.
OF_GANG = {
    "namespace": text,
    "name": text,
    "roles": lambda rng, roles: roles[::-1],
    "min_available": number,
    "constraint": wish,
    "queue": text,
    "priority": number,
    "sub_groups": lambda rng, groups: groups[1:],
    "min_subgroups": lambda rng, value: {"v": rng.randint(0, 3), "w": rng.randint(0, 2)},
    "sub_grouped": lambda rng, value: not value,
    "kind": text,
    "ready": number,
    "succeeded": lambda rng, value: (*value, {"cpu": 500}),
    "failed": lambda rng, value: (*value, {"cpu": 500}),
    "gated": lambda rng, value: (*value, {"cpu": 500}),
    "created": text,
    "order": None,
    "tasks_by_priority": lambda rng, value: not value,
    "notes": lambda rng, value: (*value, "a note"),
    "uid": text,
    "resource_version": text,
    # A HyperJob has no form: each of its Jobs is placed by itself.
    "jobs": None,
    "extras": None,
}
OF_VOLCANO = {
    "record": lambda rng, value: rng.choice(["h0", "h1", "gone"]),
    "min_resources": lambda rng, value: rng.choice([None, {"cpu": 0}, {"cpu": 4000, "pods": 2}, {"pods": 9}]),
    "inqueue": lambda rng, value: not value,
}
OF_KOORDINATOR = {
    "gpu_group": lambda rng, value: GpuGroup("g", 2),
    "gather": lambda rng, value: (Gather("rack", True),),
    "gang_groups": lambda rng, value: ("d/a", "d/b"),
}
OF_ASCEND = {
    "job_class": text,
    "framework": text,
    "former": lambda rng, value: (FormerPod(0, "n1"),),
}
OF_EXTRAS = {VolcanoMemory: OF_VOLCANO, KoordinatorWish: OF_KOORDINATOR, AscendWish: OF_ASCEND}
OF_ROLE = {
    "name": text,
    "count": None,
    "requests": amounts,
    "container_gpus": lambda rng, value: (*value, 0),
    "min_available": or_none,
    "filter": lambda rng, value: NodeFilter((Requirement("metadata.name/", "NotIn", ("n1", "n2", "n3")),)),
    "priority": number,
    "first_index": number,
    "pod_names": None,
    "pod_uids": None,
    "pod_resource_versions": None,
    "gpu_milli": None,
    "labels": lambda rng, value: {"a": "b"},
    "annotations": lambda rng, value: {"a": "b"},
    "succeeded": number,
    "assumed": lambda rng, value: rng.choice([{"cpu": 100}, {"cpu": 100, "memory": 200 << 20}]),
    "depends_on": lambda rng, value: rng.choice([("a",), ("a", "b")]),
    "depends_on_any": lambda rng, value: not value,
    "n_created": number,
    "rules": lambda rng, value: PodRules(spread=(SpreadConstraint("zone"),)),
}
OF_SUB_GROUP = {
    "name": text,
    "pods": lambda rng, pods: pods[1:],
    "constraint": wish,
    "min_available": number,
    "exclusive_domain": lambda rng, value: not value,
    "policy": lambda rng, value: "w" if value == "v" else "v",
    "match_index": number,
    "running": lambda rng, value: (*value, "r0"),
    "succeeded": lambda rng, value: (*value, {"cpu": 500}),
    "failed": lambda rng, value: (*value, {"cpu": 500}),
    "gated": lambda rng, value: (*value, {"cpu": 500}),
}


def variants(rng, gang):
    """The gang with one field varied: each field of itself, its extras, one of its roles and one of its sub-groups."""
    plain = dataclasses.replace(gang, order=())
    for name, vary in OF_GANG.items():
        # Sub-groups belong to gangs with sub-group policies alone.
        if vary is not None and not (name == "sub_grouped" and gang.sub_groups):
            yield name, dataclasses.replace(plain, **{name: vary(rng, getattr(plain, name))})
    for extra, varied in OF_EXTRAS.items():
        for name, vary in varied.items():
            was = plain.extra(extra)
            other = dataclasses.replace(was, **{name: vary(rng, getattr(was, name))})
            yield f"{extra.__name__} {name}", plain.with_extra(other)
    yield "order", dataclasses.replace(gang, order=mixed(rng, plain))
    at = rng.randrange(len(gang.roles))
    role = gang.roles[at]
    changed = {name: vary(rng, getattr(role, name)) for name, vary in OF_ROLE.items() if vary is not None}
    changed["pod_uids"] = changed["pod_resource_versions"] = tuple(f"{i}" for i in range(role.count))
    changed["pod_names"] = tuple(f"other-{role.name}-{9 - i}" for i in range(role.count))
    if not role.n_gpus:
        changed["gpu_milli"] = 500
    if not gang.sub_groups:
        changed["count"] = role.count + 1
    for name, value in changed.items():
        roles = (*gang.roles[:at], dataclasses.replace(role, **{name: value}), *gang.roles[at + 1 :])
        yield f"role {name}", dataclasses.replace(plain, roles=roles)
    if gang.sub_groups:
        at = rng.randrange(len(gang.sub_groups))
        group = gang.sub_groups[at]
        for name, vary in OF_SUB_GROUP.items():
            other = dataclasses.replace(group, **{name: vary(rng, getattr(group, name))})
            groups = (*gang.sub_groups[:at], other, *gang.sub_groups[at + 1 :])
            yield f"sub-group {name}", dataclasses.replace(plain, sub_groups=groups)


@pytest.mark.parametrize(
    ("kind", "varied"),
    [
        (Gang, OF_GANG),
        (VolcanoMemory, OF_VOLCANO),
        (KoordinatorWish, OF_KOORDINATOR),
        (AscendWish, OF_ASCEND),
        (Role, OF_ROLE),
        (SubGroup, OF_SUB_GROUP),
    ],
)
def test_every_field_is_varied(kind, varied):
    assert {each.name for each in dataclasses.fields(kind) if each.init} == set(varied)


@pytest.mark.slow
@max_examples(75)
@given(rng=choices())
def test_gangs_that_differ_in_one_field_get_the_answers_of_place(rng):
    cluster = dataclasses.replace(random_cluster(rng), running=())
    gang = rng.choice([random_1_15_gang, random_equal_groups])(rng, cluster)
    least = min(gang.min_available, gang.n_pods)
    gang = dataclasses.replace(gang, ready=0, min_available=least)
    policy = get_policy("volcano-1.15")
    for name, variant in variants(rng, gang):
        sides = SideBySide(policy, cluster)
        for each in (gang, variant, gang):
            try:
                if sides.place(each) is not None:
                    sides.give_back(0)
            except AssertionError as error:
                raise AssertionError(f"another answer where {name} differs") from error
        sides.compare()


def test_a_role_whose_pods_succeeded_may_start_with_the_pods_that_are_left():
    # Three of the four pods that must be there have succeeded: the search of the first gang is not that of the second.
    cluster = dataclasses.replace(random_cluster(random.Random(3)), running=())
    role = Role("a", 1, {"cpu": 500}, min_available=4)
    first = Gang("d", "j", (role,), 1, TopologyConstraint("soft"), sub_grouped=True)
    second = dataclasses.replace(first, min_available=4, roles=(dataclasses.replace(role, succeeded=3),))
    sides = SideBySide(get_policy("volcano-1.15"), cluster)
    for gang in (first, second, first, second):
        sides.place(gang)
    assert form_of(second) != form_of(dataclasses.replace(second, roles=(role,)))


def test_gangs_that_differ_in_their_names_alone_share_a_search():
    gang = random_1_15_gang(random.Random(1), random_cluster(random.Random(1)))
    other = dataclasses.replace(gang, namespace="e", name="k", queue="q", priority=7, created="2030", order=())
    assert form_of(dataclasses.replace(gang, order=())) == form_of(other)


def test_what_a_search_reads_of_the_extras_is_part_of_the_key():
    gang = random_1_15_gang(random.Random(1), random_cluster(random.Random(1)))
    remembered = gang.with_extra(VolcanoMemory(min_resources={"cpu": 7}))
    assert form_of(remembered) != form_of(gang.with_extra(VolcanoMemory(min_resources={"cpu": 8})))
    assert form_of(remembered) != form_of(gang.with_extra(VolcanoMemory()))
    # What another scheduler reads is not part of the key, an extra of which nothing is known is part of it.
    assert form_of(gang.with_extra(AscendWish("common"))) == form_of(gang)

    @dataclasses.dataclass(frozen=True)
    class Unheard(Extra):
        shards: int = 0

    assert form_of(gang.with_extra(Unheard(2))) != form_of(gang.with_extra(Unheard(3)))
    assert form_of(gang.with_extra(Unheard(2))) != form_of(gang)
