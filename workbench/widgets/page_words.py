"""Messages that name an option of the command line, in the words of the page."""

from __future__ import annotations

import re

__all__ = ["page_words"]

#: What messages say of the command line, and what the page says in its place.
_WORDS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"if it is so, --ignore [a-z0-9-]+", "if it is so, leave this finding"),
        (r"by --fix\b", "by the button Fix"),
        (r"\(--fix\)", "(the button Fix)"),
        (r"\(--matrix PATTERN=FILE\)", "(Assign, in “GPU bandwidth”)"),
        (r"name one with --kubeconfig or KUBECONFIG", "name one in the variable KUBECONFIG and start the kernel again"),
        (r" \(--from\)", ""),
        (r", --from FORMAT forces another", ""),
        (r"--matrix PATTERN=FILE, or 'workbench gpus FILE'", "the text of a matrix goes to “GPU bandwidth”"),
        (r"--set config=FILE", "a configuration goes to “Configuration …”"),
        (r"name --matrix again", "assign it again in “GPU bandwidth”"),
        (r"name --any-scheduler again", "use `workbench.load(…, any_scheduler=True)` again"),
        (r"\(--any-scheduler takes them in\)", "(`workbench.load(…, any_scheduler=True)` takes them in)"),
        (r", or its row in a table for --link-speeds", ""),
        (r" \(--block [\w-]+\)", " (choose it as table of the printout)"),
        (r"give --run-seconds, or ", "give "),
        (r": --tier-gb-s \d+=…", ""),
        (r"'workbench simulate --trace FILE' reads the log", "a simulation reads the log"),
        (r"for simulate --trace", "for a simulation"),
        (r"topology discover (?:ufm\|roce )?--(?:config|credentials) FILE", "the command line reads it"),
        (r"'workbench gpus --regret'", "`workbench.regret`"),
    )
)


def page_words(text: str) -> str:
    """A message without options of the command line, which somebody who reads it in the page cannot give.

    Parameters
    ----------
    text : str
        As the rooms below say it to everybody; text of the user's own does not belong here.
    """
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text
