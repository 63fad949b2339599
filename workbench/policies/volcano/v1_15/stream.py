"""Places many gangs one after another by Volcano 1.15's search, reusing the search of an earlier, equal gang.

The fields of a gang that the search reads are its *form*. The first gang of a form prepares the search as `place` does,
and later gangs of that form rerun it; if it finds nothing, they are refused, and the reasons are computed when they are
read. All other gangs go through `place`: pods left over, gangs with running pods, without a topology constraint, with
best-effort pods, or with GPUs that counting does not settle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.repeated import Repeated
from workbench.kernels.two_level import TwoLevel
from workbench.model.arrays import Ints, Longs, Words
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.reasons import cannot_start
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.stream import Stream, Taken
from workbench.policies.volcano.v1_15.form import form_of
from workbench.policies.volcano.v1_15.search_query import records_to_keep
from workbench.policies.volcano.v1_15.splitting import SubJobs

__all__ = ["Prepared", "SearchStream"]


#: Nodes and HyperNodes of all searches that are kept, together: about 250 MB.
_KEPT = 2_000_000
_FEWEST, _MOST = 4, 256


@dataclass(frozen=True, eq=False)
class Prepared:
    """A two-level search of a gang in which no pod is placed yet, with the other parts of the gang's answer.

    `search`: the search before its first round. `warnings`: warnings about the gang's constraints. `recorded`: whether
    the answer keeps the HyperNodes in which the gang and its sub-jobs are allocated. `refuse`: function from the
    `Request` of a gang for which the search finds nothing to the `Declined` of that gang.
    """

    search: TwoLevel
    subs: SubJobs
    warnings: tuple[Notice, ...]
    recorded: bool
    refuse: Callable[[Request], Declined]


@dataclass(eq=False)
class _Form:
    """The search that is kept for all gangs that agree in every field that a search reads (see `form_of`).

    `prepared`: the prepared search; its sub-jobs have the HyperNodes of the last run. `rows`: ndarray of shape (n_pods,
    r), int64; request of each pod. `seen`: number of node changes that have been applied to the search.
    """

    run: Repeated
    prepared: Prepared
    rows: Longs
    gpus: bool
    all_needed: bool
    seen: int


class SearchStream(Stream):
    """A `Stream` of `volcano-1.15` that reruns kept searches for gangs of equal form.

    The form of a gang is the fields that a search reads.

    `whole`: the policy, with its node part and its GPU part. `prepare`: function from a `Request` to the `Prepared`
    search of its gang; None if `place` does more than run a search. `snapshot`: the cluster at the beginning; not
    changed.
    """

    # `place`: the gang's form (`_form`); a kept search of this form, or a new one (`_new_form`); it reads the changes
    # since its last run, and places (`_by_search`). Placements and releases are a list of changes, which each search
    # and the ledger read on from where they stopped; once the list is long, all of them do (`_begin_again`).

    def __init__(
        self, whole: Composed, prepare: Callable[[Request], Prepared | None], snapshot: ClusterSnapshot
    ) -> None:
        super().__init__(whole, snapshot)
        self._whole = whole
        self._prepare = prepare
        self._start()

    def _start(self) -> None:
        """Drop all kept searches and the list of node changes; the ledger must be up to date."""
        snapshot = self._ledger.snapshot
        self._forms: dict[Hashable, _Form | None] = {}
        size = max(snapshot.n_nodes + snapshot.topology.n_domains, 1)
        self._most_forms = min(max(_KEPT // size, _FEWEST), _MOST)
        # What pods took and gave back, in order: each search and the ledger read on from where they stopped.
        capacity = max(4 * snapshot.n_nodes, 4096)
        self._nodes: Ints = np.empty(capacity, dtype=np.int32)
        self._rows: Longs = np.empty((capacity, len(snapshot.resources)), dtype=np.int64)
        self._n = 0
        self._ledger_seen = 0

    def _kept(self) -> dict[str, Any]:
        self._read_on()
        kept = super()._kept()
        return {name: kept[name] for name in ("_policy", "_ledger", "_held", "_closed", "_whole", "_prepare")}

    def _derive(self) -> None:
        super()._derive()
        self._start()

    @property
    def ledger(self) -> Ledger:
        self._read_on()
        return self._ledger

    def _read_on(self) -> None:
        """Bring the ledger up to date with the placements and releases since the last call."""
        if self._ledger_seen < self._n:
            news = slice(self._ledger_seen, self._n)
            self._ledger.take(self._nodes[news], self._rows[news])
            self._ledger.commit()
            self._ledger_seen = self._n

    def place(self, gang: Gang) -> Placement | Refusal:
        # What scores assume of containers that do not say is no part of a form.
        assumes = gang.assumes or self._ledger.assumed is not None
        form = None if gang.ready or gang.jobs or assumes else self._form(gang)
        answer = None if form is None else self._by_search(gang, form)
        if answer is not None:
            return answer
        result, taken = self._decided(gang)
        if isinstance(result, Placement):
            self._hold(result, taken)
            self._note_taken(taken)
        return result

    def adopt(self, placement: Placement) -> None:
        super().adopt(placement)
        self._note_taken(self._held[id(placement)][1])

    def _note_taken(self, taken: list[Taken]) -> None:
        """Tell the kept searches of changes that the ledger has already."""
        for nodes, rows, _ in taken:
            self._note(nodes, rows, 1)
            self._ledger_seen = self._n

    def _form(self, gang: Gang) -> _Form | None:
        key = form_of(gang)
        try:
            # Out, and below in again at the end: the form that was asked for longest ago comes first.
            form = self._forms.pop(key)
        except KeyError:
            form = self._new_form(gang)
            if len(self._forms) >= self._most_forms:
                del self._forms[next(iter(self._forms))]
        self._forms[key] = form
        return form

    def _new_form(self, gang: Gang) -> _Form | None:
        gpus = GpuQuestions(self._whole.gpu, self.ledger)
        request = self._whole.node.request(gang, self.ledger, gpus, None)
        demand, asks_gpus = request.demand, any(role.n_gpus for role in gang.roles)
        if gang.shares_gpus or cannot_start(gang, request.progress(), sub_groups=True):
            return None
        if not demand.order or demand.best_effort:
            return None
        if asks_gpus and (not self._whole.gpu.counts_only or self._fewer_gpus()):
            return None
        prepared = self._prepare(request)
        if prepared is None:
            return None
        none = np.zeros(0, dtype=np.int64)
        positions = [sub.pods.get(role, none) for sub in prepared.subs for role in demand.order]
        return _Form(
            Repeated(prepared.search, positions, gang.n_pods),
            prepared,
            demand.rows[gang.role_of_pod],
            asks_gpus,
            request.gang.min_available >= gang.n_pods,
            self._n,
        )

    def _by_search(self, gang: Gang, form: _Form) -> Placement | Refusal | None:
        """Place a gang by the search kept for its form (gangs with equal fields share one).

        None if the search starts the gang without some of its pods, or if free GPUs must be counted, so that the policy
        must be asked instead.
        """
        if form.seen < self._n:
            form.run.change(self._nodes[form.seen : self._n], self._rows[form.seen : self._n])
            form.seen = self._n
        if form.gpus and self._fewer_gpus():
            return None
        node = form.run.run()
        if node is None:
            request = self._whole.node.request(gang, self.ledger, GpuQuestions(self._whole.gpu, self.ledger), None)
            return self._whole.refusal(gang, request, form.prepared.refuse(request))
        if not (form.all_needed or bool((node >= 0).all())):
            return None
        words: Words | None = None
        warnings: tuple[Notice, ...] = ()
        if form.gpus:
            dealt = GpuQuestions(self._whole.gpu, self.ledger).assign_gpus(gang, node)
            if dealt.unserved >= 0 or dealt.words is None:
                return None
            words, warnings = dealt.words, dealt.warnings
            self._ledger.take_gpus(node, words)
            self._ledger.commit()
        answer = Assignment(node, score=form.run.score, warnings=form.prepared.warnings)
        topology = self._ledger.topology
        if form.prepared.recorded and form.run.record != NO_RECORD:
            answer.record, answer.has_record = form.run.record, True
            kept = form.prepared.search.records().tolist()
            answer.records = records_to_keep(gang.key, form.prepared.subs.names, kept, form.run.record, topology)
        placement = self._whole.placement(gang, self._ledger.snapshot, answer, words, warnings)
        self._note(node, form.rows, 1)
        # The user may change the array of a placement.
        self._hold(placement, [(node.copy(), form.rows, words)])
        return placement

    def _fewer_gpus(self) -> bool:
        """Whether a node has fewer free GPUs than idle GPU resource; `place` then counts the free GPUs."""
        columns = list(self._ledger.snapshot.gpu_columns)
        free = GpuQuestions(self._whole.gpu, self.ledger).free_count()[:, None]
        return bool((self._ledger.idle[:, columns] > free).any())

    def _take(self, nodes: Ints, rows: Longs, words: Words | None) -> None:
        self._note(nodes, rows, 1)
        if words is not None:
            self._ledger.take_gpus(nodes, words)
            self._ledger.commit()

    def _give(self, nodes: Ints, rows: Longs, words: Words | None) -> None:
        self._note(nodes, rows, -1)
        r = self._rows.shape[1]
        if words is not None or rows.shape[1] > r:
            rest = rows.copy()
            rest[:, :r] = 0
            self._ledger.give_back(nodes, rest, words)
            self._ledger.commit()

    def _note(self, nodes: Ints, rows: Longs, sign: int) -> None:
        if self._n + len(nodes) > len(self._nodes):
            self._begin_again(len(nodes))
        rows = rows[:, : self._rows.shape[1]]
        news = slice(self._n, self._n + len(nodes))
        self._nodes[news] = nodes
        if sign > 0:
            self._rows[news] = rows
        else:
            np.negative(rows, out=self._rows[news])
        self._n += len(nodes)

    def _begin_again(self, at_least: int) -> None:
        """Apply and clear the listed node changes, with room for `at_least` more afterwards."""
        ledger = self.ledger
        for form in self._forms.values():
            if form is not None:
                form.run.change(self._nodes[form.seen : self._n], self._rows[form.seen : self._n])
                form.seen = 0
        self._n = self._ledger_seen = 0
        if at_least > len(self._nodes):
            self._nodes = np.empty(at_least, dtype=np.int32)
            self._rows = np.empty((at_least, ledger.used.shape[1]), dtype=np.int64)
