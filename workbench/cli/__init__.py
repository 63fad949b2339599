"""The command line `workbench`: parses arguments, runs a command and returns its exit status.

Exit statuses: 0 all placed or valid; 1 something pending, refused, or a finding; 2 bad input or usage; 3 cluster
unreachable; 130 interrupted. An error is one line on stderr, never a traceback. If the reader of a pipe ends early, as
in ``workbench … | head -1``, the status does not change (`workbench.cli.output.readers_may_leave`).
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from workbench.cli.output import readers_may_leave, tell, tell_lines
from workbench.errors import ClusterError, InternalError, WorkbenchError

__all__ = ["main"]

#: Characters of an error line: of a longer one the middle goes, because the place is at its beginning and what was
#: expected at its end.
_LONGEST_LINE = 1000

BAD_INPUT, NO_CLUSTER, INTERRUPTED = 2, 3, 130


def main(argv: Sequence[str] | None = None, *, called: str = "") -> int:
    """Run the command line.

    `argv`: arguments without the program's name; those of the process by default. `called`: name of the program in its
    help, where it stands for the first argument: ``kubectl topology`` is ``live``. Returns: exit status.
    """
    if argv is None:
        # Imports make many objects and no garbage: by Python's own threshold a tenth of a short command is collection,
        # which begins beyond the 70,000 containers that one has made by its end.
        gc.set_threshold(150_000, 20, 20)
        # The interpreter's last collections walk through all that is not frozen: a twentieth of a short command.
        atexit.register(gc.freeze)
    if sys.stderr is None:  # as Python has it where the descriptor is not open
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
    if sys.stdout is None:
        return _fail("standard output is closed", BAD_INPUT)
    with readers_may_leave():
        return _status(sys.argv[1:] if argv is None else argv, called)


def _status(argv: Sequence[str], called: str) -> int:
    """Run a command and return its exit status; every error is written to stderr as one line."""
    for argument in argv:
        if "\0" in argument:  # releases of typer differ in what they make of one in a path
            return _fail(f"an argument has an embedded null byte: {argument[:100]!r}", BAD_INPUT)
    try:
        status = _run(argv, called)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except InternalError as error:
        return _fail(f"internal error, please report it: {error}", BAD_INPUT)
    except ClusterError as error:
        return _fail(str(error), NO_CLUSTER)
    except WorkbenchError as error:
        return _fail(str(error), BAD_INPUT)
    except MemoryError:
        return _fail("out of memory: the input is too large for this machine", BAD_INPUT)
    except OSError as error:
        # Files are read and written with errors of their own: what is left without a name is standard output.
        return _fail(f"{error.filename or 'standard output'}: {error.strerror or error}", BAD_INPUT)
    except ModuleNotFoundError as error:
        # Installed without what it requires; an extra that was left out is a MissingExtraError.
        return _fail(f"{error.name or error} is not installed: pip install topology-workbench", BAD_INPUT)
    except Exception as error:  # a bug of ours or of a policy from elsewhere: one line that says where, no traceback
        if isinstance(error, ValueError) and any("\0" in argument for argument in argv):
            return _fail(str(error), BAD_INPUT)  # older typers ask the system for such a path
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        return _fail(f"internal error at {place}, please report it: {type(error).__name__}: {error}", BAD_INPUT)


def _run(argv: Sequence[str], called: str) -> int:
    import typer

    from workbench.cli.app import command

    # Newer typers carry their own copy of click, older ones use the package: the class is found by its name.
    usage_error: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    try:
        tree = command(argv[0] if argv else "")
        if called:
            status = tree.commands[argv[0]](args=list(argv[1:]), prog_name=called, standalone_mode=False)
        else:
            status = tree(args=list(argv), prog_name="workbench", standalone_mode=False)
    except typer.Abort:
        status = INTERRUPTED
    except usage_error as error:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help, which keeps its lines
            tell_lines(error.format_message())  # type: ignore[attr-defined]
            return BAD_INPUT
        hint = f" (see '{context.command_path} --help')" if context is not None else ""
        return _fail(f"{error.format_message()}{hint}", BAD_INPUT)  # type: ignore[attr-defined]
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    line = " ".join(message.split())
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE // 2]} … {line[-_LONGEST_LINE // 2 :]}"
    tell(f"workbench: {line}")
    return status
