"""Oracle of the order in which Volcano takes the pods of a job, for both releases."""

from __future__ import annotations


def task_order(gang, pods):
    """Some pods as they come from the queue: priority, index in the name, then as they stand; or in an order given."""

    def key(i):
        role = gang.pod(i).role
        priority = role.priority if gang.tasks_by_priority else 0
        if gang.order:
            return (-priority, gang.order.index(gang.pod(i).name))
        return (-priority, int(gang.pod(i).name.split("-")[-1]), i)

    return sorted(pods, key=key)
