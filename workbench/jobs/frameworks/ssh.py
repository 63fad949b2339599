"""Job plugin ssh: lets the pods of a Job log in to each other without a password.

Source: docs/reference/volcano-jobs.md, section 2.3.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable

from workbench.jobs.frameworks.contract import (
    Action,
    Object,
    Plugin,
    PluginCall,
    SshKeys,
    data_written,
    deleted_if_there,
    object_of_job,
)
from workbench.jobs.frameworks.pod_edits import edit_containers, edit_init_containers, with_mount, with_volume
from workbench.jobs.task_pods import hosts_of_task, name_of, tasks_of, template_spec_of
from workbench.objects.flags import PORTS, Flag

__all__ = ["PLUGIN", "client_config", "effective_port"]

_FOLDER = ".ssh"
_HOME_OF_ROOT = "/root"
_ROOT_FOLDER = f"{_HOME_OF_ROOT}/{_FOLDER}"
_FILES = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")
_DEFAULT_PORT = 22

_FLAGS = (
    Flag("ssh-key-file-path", _ROOT_FOLDER, "folder of the keys in every container"),
    Flag("ssh-private-key", "", "private key; without it a new pair is made for each Job"),
    Flag("ssh-public-key", "", "its public key"),
    Flag("ssh-port", _DEFAULT_PORT, "port of sshd in the pods", PORTS),
)


def effective_port(port: int) -> int:
    """The port on which sshd listens, given the plugin's argument: 22 if the argument is no valid port number."""
    return port if 0 < port < 1 << 16 else _DEFAULT_PORT


def client_config(job: Object, port: int) -> str:
    """The ssh client's configuration file: one block per pod of the Job, in the order of tasks and indices."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in tasks_of(job):
        subdomain = template_spec_of(task).get("subdomain") or name_of(job)
        for domain in hosts_of_task(job, task):
            lines += [f"Host {domain.removesuffix(f'.{subdomain}')}", f"  HostName {domain}", f"  Port {port}"]
    return "".join(f"{line}\n" for line in lines)


def _inject(pod: Object, call: PluginCall) -> Object:
    name, path = _secret_name(call.job), call.text("ssh-key-file-path")
    secret = {
        "secretName": name,
        "items": [{"key": file, "path": f"{_FOLDER}/{file}"} for file in _FILES],
        "defaultMode": 0o600 if path == _ROOT_FOLDER else 0o644,
    }
    mount = {"name": name, "mountPath": path, "subPath": _FOLDER}

    def edit(container: Object) -> Object:
        return with_mount(container, mount)

    return with_volume(edit_init_containers(edit_containers(pod, edit), edit), {"name": name, "secret": secret})


def _on_add(call: PluginCall) -> Iterable[Action]:
    """Actions that write the Secret; an existing one is replaced only if its configuration differs."""
    keys = call.ssh_keys
    if call.text("ssh-private-key"):
        keys = SshKeys(call.text("ssh-private-key"), call.text("ssh-public-key"))
    config = client_config(call.job, effective_port(call.number("ssh-port")))
    texts = (keys.private, keys.public, keys.public, config)
    data = {file: base64.b64encode(text.encode()).decode() for file, text in zip(_FILES, texts, strict=True)}
    name = _secret_name(call.job)
    known = call.stored.get(("Secret", name))
    if known is not None and (known.get("data") or {}).get(_FILES[-1]) == data[_FILES[-1]]:
        return ()
    return data_written(call, object_of_job(call.job, "v1", "Secret", name, type="Opaque", data=data))


def _on_delete(call: PluginCall) -> Iterable[Action]:
    return deleted_if_there(call, "Secret", _secret_name(call.job))


def _secret_name(job: Object) -> str:
    return f"{name_of(job)}-ssh"


PLUGIN = Plugin("ssh", _FLAGS, inject=_inject, on_add=_on_add, on_delete=_on_delete)
