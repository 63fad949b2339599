"""The commands `workbench operator`: controllers, scheduler and admission on a live cluster, which they write to."""

from __future__ import annotations

import signal
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.arguments import policy_with
from workbench.cli.option_values import name_from, one_of
from workbench.cli.options import (
    TIMEOUT_S,
    Context,
    Kubeconfig,
    ObjectOutput,
    Out,
    PolicySettings,
    SchedulerPolicy,
    Timeout,
    announce,
)
from workbench.cli.output import check_out, emit_objects, tell
from workbench.errors import InputError

__all__ = ["operator_app"]

operator_app = typer.Typer(
    help="Run jobs on a live cluster: the only commands, beside 'kind', that write to one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SchedulerName = Annotated[
    list[str],
    typer.Option("--scheduler-name", metavar="NAME", help="schedulerName of the jobs and pods to handle. Repeatable."),
]


@operator_app.callback()
def _operator() -> None:
    """Run jobs on a live cluster: the only commands, beside 'kind', that write to one."""


@operator_app.command(short_help="Run the controllers and a scheduler")
def run(
    policy: SchedulerPolicy = "volcano",
    set_: PolicySettings = [],  # noqa: B006
    scheduler_name: SchedulerName = ["topology-workbench"],  # noqa: B006
    scheduler_only: Annotated[
        bool, typer.Option("--scheduler-only", help="Leave Jobs and PodGroups to Volcano's controllers.")
    ] = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    lease: Annotated[
        str,
        typer.Option("--lease", metavar="NAMESPACE/NAME", help="Lease whose holder works; other operators wait."),
    ] = "default/topology-workbench-operator",
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", metavar="[HOST:]PORT", help="Serve Prometheus metrics there; loopback without HOST."),
    ] = None,
    secret: Annotated[
        list[str],
        typer.Option(
            "--secret",
            metavar="NAMESPACE/NAME",
            help="Secret that discovery may read in another namespace than that of its ConfigMap. Repeatable.",
        ),
    ] = [],  # noqa: B006
    plain_http: Annotated[
        bool, typer.Option("--plain-http", help="Let discovery send user names and passwords over http.")
    ] = False,
    timeout: Timeout = TIMEOUT_S,
) -> None:
    """Run the controllers of Jobs, PodGroups and HyperJobs and a scheduler on a live cluster.

    Only objects whose schedulerName is given are handled. Several operators may run: the holder of the Lease works, the
    others wait. Ctrl-C ends after the step at hand; a later operator goes on where the cluster is.

    Examples:

    \b
      workbench operator run --context workbench-demo
      workbench operator run --policy volcano-1.13 --scheduler-name volcano --scheduler-name topology-workbench
    """
    from workbench.live.kubernetes.configuration import cluster_of
    from workbench.live.kubernetes.lease import Lease
    from workbench.live.kubernetes.metrics import host_and_port, serve_metrics
    from workbench.live.kubernetes.operator import Operator
    from workbench.live.kubernetes.writer import Writer

    chosen = policy_with(policy, set_)
    held = Lease.named(lease)
    secrets = [_namespace_and_name(one) for one in secret]
    address = None if metrics is None else host_and_port(metrics)
    cluster = cluster_of(context, kubeconfig, timeout_s=timeout)
    announce(cluster)
    operator = Operator(
        Writer(cluster, timeout),
        chosen,
        schedulers=scheduler_name,
        controllers=not scheduler_only,
        tell=lambda line: tell(str(line)),
        secrets=secrets,
        plain_http=plain_http,
    )
    if address is not None:
        serve_metrics(operator, *address)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: operator.stop())
    held.hold(Writer(cluster, timeout), operator, tell)


@operator_app.command(short_help="Serve Volcano's admission over HTTPS")
def admission(
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where the API server reaches this server.")
    ] = "127.0.0.1:9443",
    scheduler_name: SchedulerName = ["topology-workbench"],  # noqa: B006
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate; else one is made for HOST.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key.")] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Register the server with the cluster, by its URL.")
    ] = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    timeout: Timeout = TIMEOUT_S,
) -> None:
    """Serve Volcano's admission over HTTPS: refuse wrong Jobs, PodGroups, Queues, HyperNodes and HyperJobs.

    It fills in defaults, and gives the containers of pods with GPUs the variables by which they learn which GPUs they
    have. While a registered server does not answer, the cluster refuses new objects of these kinds.

    Examples:

    \b
      workbench operator admission --context workbench-demo --install
      workbench operator admission --listen 0.0.0.0:9443 --tls-cert tls.crt --tls-key tls.key
    """
    from workbench.live.kubernetes.admission_server import AdmissionServer, webhook_configurations
    from workbench.live.kubernetes.apply import apply
    from workbench.live.kubernetes.configuration import cluster_of
    from workbench.live.kubernetes.connection import Connection
    from workbench.live.kubernetes.metrics import host_and_port
    from workbench.live.kubernetes.tls_server import own_certificate
    from workbench.live.kubernetes.writer import Writer

    host, port = host_and_port(listen, "--listen")
    if (tls_cert is None) != (tls_key is None):
        raise InputError("a certificate and its key belong together", source="--tls-cert", expected="--tls-key, too")
    cluster = cluster_of(context, kubeconfig, timeout_s=timeout)
    announce(cluster)
    with tempfile.TemporaryDirectory() as folder:
        if tls_cert is None or tls_key is None:
            tls_cert, tls_key = own_certificate([host], Path(folder))
        server = AdmissionServer(Connection(cluster, timeout), scheduler_name, host, port, tls_cert, tls_key)
        for number in (signal.SIGINT, signal.SIGTERM):
            # It waits for the loop that this very thread runs.
            signal.signal(number, lambda *_: threading.Thread(target=server.stop).start())
        try:
            server.start()
            if install:
                client = {"url": f"https://{host}:{server.port}/admit"}
                with Writer(cluster, timeout) as writer:
                    apply(writer, webhook_configurations(client, tls_cert.read_bytes(), scheduler_name))
            tell(f"serves https://{host}:{server.port}/admit")
            server.run()
        finally:
            server.close()


@operator_app.command(short_help="Write what installs the operator")
def manifests(
    image: Annotated[
        str, typer.Option("--image", metavar="IMAGE", help="Built with the Dockerfile of the repository.")
    ] = "topology-workbench:latest",
    namespace: Annotated[str, typer.Option("--namespace", metavar="NAME", help="Where the operator runs.")] = (
        "topology-workbench"
    ),
    policy: SchedulerPolicy = "volcano",
    scheduler_name: SchedulerName = ["topology-workbench"],  # noqa: B006
    ssh: Annotated[
        bool, typer.Option("--ssh/--no-ssh", help="Rights on Secrets for the plugin ssh of Jobs, in a role of its own.")
    ] = False,
    secret: Annotated[
        list[str],
        typer.Option(
            "--secret", metavar="NAMESPACE/NAME", help="A Secret that secretRef of a discovery names. Repeatable."
        ),
    ] = [],  # noqa: B006
    admission: Annotated[
        bool,
        typer.Option("--admission", help="The admission server, too, with a certificate and a key made for it."),
    ] = False,
    output: Annotated[
        ObjectOutput, one_of(ObjectOutput, "-o", "--output", help="Form of the result.")
    ] = ObjectOutput.yaml,
    out: Out = None,
) -> None:
    """Write the manifests by which the operator runs inside of a cluster: rights, service account and Deployment.

    With --admission the output holds a private key.

    Example:

    \b
      workbench operator manifests --image registry.example/topology-workbench:0.1 | kubectl apply -f -
    """
    from workbench.live.kubernetes.admission_manifests import ADMISSION_NAME, admission_manifests
    from workbench.live.kubernetes.operator_manifests import operator_manifests
    from workbench.live.kubernetes.tls_server import own_certificate
    from workbench.policies import get_policy

    check_out(out)
    with name_from("--policy"):
        get_policy(policy)
    arguments = ["--policy", policy]
    for option, values in (("--scheduler-name", scheduler_name), ("--secret", secret)):
        arguments += [part for value in values for part in (option, value)]
    secrets = [_namespace_and_name(one) for one in secret]
    manifests = operator_manifests(namespace, image, arguments, ssh=ssh, secrets=secrets)
    if admission:
        with tempfile.TemporaryDirectory() as folder:
            pair = own_certificate([f"{ADMISSION_NAME}.{namespace}.svc"], Path(folder))
            tls = pair[0].read_bytes(), pair[1].read_bytes()
        manifests += admission_manifests(namespace, image, scheduler_name, *tls)
    emit_objects(manifests, output, out, private=admission)


def _namespace_and_name(text: str) -> tuple[str, str]:
    namespace, slash, name = text.partition("/")
    if not namespace or not slash or not name or "/" in name:
        raise InputError("no Secret", source="--secret", got=repr(text), expected="NAMESPACE/NAME")
    return namespace, name
