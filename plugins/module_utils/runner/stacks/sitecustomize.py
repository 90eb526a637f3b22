# SPDX-License-Identifier: GPL-3.0-or-later
"""Let the Python processes of a run write their stacks on request, whatever program they run.

The runner puts an archive of this file first on PYTHONPATH, so that Python imports it at its start. It opens a file
in memory and registers faulthandler for a signal that nothing else uses; `take.py` sends the signal and reads the file.
In a rank of a run that is watched for hangs, a thread writes the stacks and what torch's flight recorder has into
another such file, whenever `recorder.py` asks by a pipe. It runs in the interpreter as any other thread, while
faulthandler reads the frames of threads that may be running, which can end the process. Then this file gives way to the
sitecustomize that it hides. It is run by any Python: no syntax newer than 3.6.
"""

import _thread
import faulthandler
import os
import signal
import sys

# The last but three of the real-time signals: system libraries and profilers use the first ones.
SIGNAL = 61
NAME = "muster-stacks"
# Of the file for recordings, which has the descriptor of the pipe and its inode behind it.
RECORDER = "muster-recorder"
TOKEN_BYTES = 16
# In an answer between the stacks and the recording.
SEPARATOR = b"\0"
MOST_FRAMES = 128


def _open_file(name):  # type: ignore[no-untyped-def]
    """Return the descriptor of a file in memory, which no storage that hangs can block."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name)
    # A Python that was built for an old glibc, such as conda's.
    path = "/dev/shm/{}-{}".format(name, os.getpid())  # noqa: UP032
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return descriptor


def _register():  # type: ignore[no-untyped-def]
    """Register the signal, which until then would end the process; the open file shows that it is registered."""
    try:
        faulthandler.register(SIGNAL, file=_open_file(NAME), all_threads=True, chain=False)
    except (AttributeError, OSError, RuntimeError, ValueError):
        return  # the program runs all the same


def _start_recorder():  # type: ignore[no-untyped-def]
    """Let a thread answer what the recorder is asked; it waits in the kernel, and does not keep the program alive."""
    try:
        read_end, write_end = os.pipe()
        name = "{}-{}-{}".format(RECORDER, write_end, os.fstat(write_end).st_ino)  # noqa: UP032
        file = _open_file(name)
        # Signals are for the threads of the program, which may block them and wait for them.
        every = signal.valid_signals() if hasattr(signal, "valid_signals") else range(1, signal.NSIG)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, every)
        try:
            _thread.start_new_thread(_answer, (read_end, file, _identity(read_end), _identity(file)))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    except (OSError, RuntimeError, ValueError):
        return


def _answer(read_end, file, pipe_identity, file_identity):  # type: ignore[no-untyped-def]
    """Write the stacks and the recording for each token that comes, with the token behind them as the end.

    It ends where the program has closed the descriptors: a file of its own may have their numbers by then.
    """
    try:
        while _identity(read_end) == pipe_identity:
            token = os.read(read_end, TOKEN_BYTES)
            data = _stacks() + SEPARATOR + _recording() + token
            if not token or _identity(file) != file_identity:
                return
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            while data:
                data = data[os.write(file, data) :]
    except OSError:
        return


def _identity(descriptor):  # type: ignore[no-untyped-def]
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _stacks():  # type: ignore[no-untyped-def]
    """Return the stacks of all threads but this one as faulthandler writes them, the main thread last."""
    threading = sys.modules.get("threading")
    names = {ident: thread.name for ident, thread in list(getattr(threading, "_active", {}).items())}
    lines = []
    frames = sys._current_frames()
    for ident in sorted(frames, key=lambda ident: names.get(ident) == "MainThread"):
        if ident == _thread.get_ident():
            continue
        lines.append("Thread 0x{:x} [{}] (most recent call first):".format(ident, names.get(ident, "")))
        for code, line in _calls(frames[ident]):
            text = '  File "{}", line {} in {}'.format(code.co_filename, line, code.co_name)  # noqa: UP032
            lines.append(text.replace("\n", " "))
    frames.clear()  # a frame that is kept keeps its variables
    return "\n".join(lines).encode("utf-8", "replace").replace(SEPARATOR, b" ")


def _calls(frame):  # type: ignore[no-untyped-def]
    """Yield the code and the line of each call, the innermost first."""
    for _number in range(MOST_FRAMES):
        if frame is None:
            return
        yield frame.f_code, frame.f_lineno
        frame = frame.f_back


def _recording():  # type: ignore[no-untyped-def]
    """Return what torch has recorded of collectives, NCCL's or those of other backends, empty without any."""
    module = sys.modules.get("torch._C._distributed_c10d")
    texts = []
    for name in ("_dump_nccl_trace_json", "_dump_fr_trace_json"):
        try:
            texts.append(getattr(module, name)())
        except Exception:
            continue
    return next((text for text in texts if b'"entries"' in text), b"")


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
    if "RANK" in os.environ and os.environ.get("MUSTER_HANG_WATCH"):
        _start_recorder()
    _import_hidden()
