# SPDX-License-Identifier: GPL-3.0-or-later
"""Let the Python processes of a run write their stacks on request, whatever program they run.

The runner puts an archive of this file first on PYTHONPATH, so that Python imports it at its start. It opens a file
in memory and registers faulthandler for a signal that nothing else uses; `take.py` sends the signal and reads the file.
Then it gives way to the sitecustomize that it hides. It is run by any Python: no syntax newer than 3.6.
"""

import faulthandler
import os
import sys

# The last but three of the real-time signals: system libraries and profilers use the first ones.
SIGNAL = 61
NAME = "muster-stacks"


def _open_file():  # type: ignore[no-untyped-def]
    """Return the descriptor of a file in memory, which no storage that hangs can block."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(NAME)
    # A Python that was built for an old glibc, such as conda's.
    path = "/dev/shm/{}-{}".format(NAME, os.getpid())  # noqa: UP032
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return descriptor


def _register():  # type: ignore[no-untyped-def]
    """Register the signal, which until then would end the process; the open file shows that it is registered."""
    try:
        faulthandler.register(SIGNAL, file=_open_file(), all_threads=True, chain=False)
    except (AttributeError, OSError, RuntimeError, ValueError):
        return  # the program runs all the same


def _import_hidden():  # type: ignore[no-untyped-def]
    """Import the next sitecustomize on the path, if there is one, as if this one did not exist."""
    archive = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != archive]
    visible = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, visible)  # Python's import ends with a look at it


if __name__ == "sitecustomize":
    _register()
    _import_hidden()
