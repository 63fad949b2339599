"""The command `workbench expand`: write the objects that Volcano Jobs become."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from workbench.cli.arguments import kinds_with_counts, reviewed, standard_input, tell_findings, tell_kinds, tell_notes
from workbench.cli.option_values import one_of
from workbench.cli.options import ObjectOutput, Out, Strict
from workbench.cli.output import check_out, emit_objects, tell
from workbench.errors import InputError

__all__ = ["expand"]


def expand(
    path: Annotated[
        list[str], typer.Argument(metavar="PATH", help="File, folder or - for stdin, with Volcano Jobs or HyperJobs.")
    ],
    output: Annotated[
        ObjectOutput, one_of(ObjectOutput, "-o", "--output", help="Form of the result.")
    ] = ObjectOutput.yaml,
    strict: Strict = False,
    out: Out = None,
) -> None:
    """Write the pods and other objects that Volcano Jobs and HyperJobs become.

    Of a HyperJob its Jobs are written, each before what it becomes. The output has Pods with environment, ports,
    commands and volumes; the plugins' ConfigMaps, Services, NetworkPolicies, Secrets and PersistentVolumeClaims; but no
    PodGroups. Nothing is written if one of the Jobs is wrong. Slips with one meaning are mended, as by `place`.

    Examples:

    \b
      workbench expand datasets/samples/pytorch-job.yaml
      workbench expand datasets/samples/pytorch-job.yaml -o json
    """
    from workbench.formats.manifests import read_manifests
    from workbench.formats.mend import mended_documents
    from workbench.jobs.before_submission import job_notices
    from workbench.jobs.expand import expand_hyper_job, expand_job, is_hyper_job, is_volcano_job

    check_out(out)
    stdin = standard_input(path)
    manifests = read_manifests(path, stdin)
    reviewer, findings = reviewed(manifests.documents, stdin, strict=strict)
    objects: list[dict[str, Any]] = []
    jobs, others = 0, Counter(manifests.ignored)
    for written, (document, notices) in zip(manifests.documents, mended_documents(manifests.documents), strict=True):
        makers = ((is_volcano_job, expand_job), (is_hyper_job, expand_hyper_job))
        expanding = next((make for is_one, make in makers if is_one(document.data)), None)
        if expanding is None:
            others[str(document.data.get("kind"))] += 1
            continue
        jobs += 1
        tell_notes(notices)
        try:
            made = expanding(document.data)
            for job in [document.data] if is_volcano_job(document.data) else filter(is_volcano_job, made):
                for notice in job_notices(job):
                    tell(f"warning: {document.source}: {notice.message}")
            objects += made
        except InputError as error:
            raise reviewer.error(written, document.error(error), stdin) from None
    tell_findings(findings)
    if not jobs:
        got = ", ".join(kinds_with_counts(others))
        expected = "a Job (batch.volcano.sh/v1alpha1) or a HyperJob (training.volcano.sh/v1alpha1)"
        raise InputError("no Job to expand", source=", ".join(path), got=got, expected=expected)
    tell_kinds(others)
    emit_objects(objects, output, out, private=any(one["kind"] == "Secret" for one in objects))
