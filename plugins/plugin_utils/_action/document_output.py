# SPDX-License-Identifier: GPL-3.0-or-later
"""The standard output of a command that a program reads: it is kept for the document, whatever else Ansible prints."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from ansible.utils.display import Display

from .controller import OUTPUTS, tell_controller_without_reader
from .screen import CALLBACK, IS_DOCUMENT_OF_CALLBACK

# Callbacks whose lines on the standard output a program reads already: awx_display is ansible-runner's.
CALLBACKS_OF_PROGRAMS = ("awx_display",)


class _Output:
    """Where documents go: the descriptor is set in Ansible's main process, and its workers inherit it."""

    descriptor: int | None = None


def keep_for_document() -> None:
    """Keep the standard output for documents; what Ansible and its callbacks print goes to the standard error."""
    if _Output.descriptor is not None or IS_DOCUMENT_OF_CALLBACK or CALLBACK in CALLBACKS_OF_PROGRAMS:
        return
    sys.stdout.flush()
    _Output.descriptor = os.dup(1)
    OUTPUTS.append(_Output.descriptor)
    os.dup2(2, 1)


def print_document(text: str) -> None:
    """Print a document, or a line of one, on the standard output; on the standard error if a callback's document is
    there already."""
    if _Output.descriptor is None:
        Display().display(text, stderr=IS_DOCUMENT_OF_CALLBACK)
        return
    data = f"{text}\n".encode(errors="backslashreplace")
    try:
        while data:
            data = data[os.write(_Output.descriptor, data) :]
    except BrokenPipeError:
        tell_controller_without_reader()


def print_last(text: str) -> None:
    """Print a document when Ansible has ended, and its own printing with it."""
    if _Output.descriptor is not None:
        print_document(text)
        return
    stream: Any = sys.stderr if IS_DOCUMENT_OF_CALLBACK else sys.stdout
    with contextlib.suppress(BrokenPipeError):
        print(text, file=stream, flush=True)
