"""Oracle of `gpu-best-effort`: every split of the free GPUs, as NVIDIA's allocator walks through them."""

from __future__ import annotations

import itertools

PAD = None


def splits(devices, size):
    """Lists of tuples; the first place of each set is the lowest device left, padding stands at the end."""
    devices = [*devices, *[PAD] * (-len(devices) % size)]
    padding = devices.count(PAD)

    def walk(left):
        if not left:
            yield []
            return
        for others in itertools.combinations(range(1, len(left)), size - 1):
            chosen = tuple(left[i] for i in (0, *others))
            if chosen.count(PAD) in (0, padding):
                for rest in walk([d for i, d in enumerate(left) if i not in (0, *others)]):
                    yield [chosen, *rest]

    yield from walk(devices)


def points(scores, chosen):
    real = [d for d in chosen if d is not PAD]
    return sum(int(scores[a][b]) for a, b in itertools.combinations(real, 2))


def best_effort(scores, available, required, size):
    """The chosen devices, or None."""
    best, most = None, -1
    for split in splits(available, size):
        if any(PAD not in chosen and set(required) <= set(chosen) for chosen in split):
            total = sum(points(scores, chosen) for chosen in split)
            if total > most:
                best, most = split, total
    if best is None:
        return None
    full = [chosen for chosen in best if PAD not in chosen and set(required) <= set(chosen)]
    return max(full, key=lambda chosen: points(scores, chosen))
