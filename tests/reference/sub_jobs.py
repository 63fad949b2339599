"""Oracle of the ``sub_jobs`` kernel: sub-job by sub-job, role by role."""

from __future__ import annotations


def deal_pods(groups, role_of_pod, tried, others, rows, priority, most, default):
    """Lists as the fields of `workbench.kernels.sub_jobs.SubJobPods`: roles tried in their order, then the others."""
    named = {pod for group in groups for pod in group}
    rest = [pod for pod in range(len(role_of_pod)) if pod not in named]
    parts = [*groups, rest] if rest or default else list(groups)
    start, shapes, left, first, positions = [0], [], [], [], []
    for part in parts:
        for place, role in enumerate(tried):
            mine = [pod for pod in part if role_of_pod[pod] == role]
            if mine:
                shapes.append(place)
                left.append(len(mine))
                first.append(len(positions))
                positions += mine
        start.append(len(shapes))
    columns = range(len(rows[0]))
    return (
        [len(part) for part in parts],
        start,
        shapes,
        left,
        [*first, len(positions)],
        positions,
        [[min(sum(rows[role_of_pod[pod]][c] for pod in part), most) for c in columns] for part in parts],
        [sum(role_of_pod[pod] in others for pod in part) for part in parts],
        [max([0, *(priority[role_of_pod[pod]] for pod in part)]) for part in parts],
    )


def runs_of_queues(queues, rank, role_of_pod):
    """Lists as `workbench.kernels.sub_jobs.Runs`; pod by pod as each queue lines them up."""
    start, roles, upto = [0], [], []
    for queue in queues:
        line = [role_of_pod[pod] for pod in sorted(queue, key=lambda pod: rank[pod])]
        for i, role in enumerate(line):
            if i + 1 == len(line) or line[i + 1] != role:
                roles.append(role)
                upto.append(line[: i + 1].count(role))
        start.append(len(roles))
    return start, roles, upto
