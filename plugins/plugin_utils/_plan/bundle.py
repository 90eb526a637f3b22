# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner as one file: the zipapp that the module `run` puts on the node.

The controller builds it. As imports of the module, Ansible would parse every file before each start, and the node would
compile all of them only to pass them on.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.layout import SITE
from ansible_collections.muster.train.plugins.module_utils._records.oldest_python import EXPECTED_PYTHON, OLDEST_PYTHON

_SOURCES = Path(__file__).resolve().parents[2] / "module_utils"
# What the runner needs of the nodes' side besides its own package.
_RECORDS = (
    "cause",
    "document",
    "frozen",
    "gang",
    "hang",
    "hang_verdict",
    "holder",
    "job",
    "known",
    "layout",
    "likeness",
    "nccl_log",
    "nccl_message",
    "nccl_proof",
    "nccl_remedies",
    "nccl_values",
    "nccl_verdict",
    "notice",
    "phases",
    "raised",
    "run",
    "stacks",
    "telemetry",
    "transport",
    "transport_verdict",
)
# The parser of NCCL's logs, without what finds their files through the seam.
_PARSER = ("__init__", "edges", "errors", "messages", "parse", "rank")
# The parsers of what the GPUs do, without the readers of what they are.
_GPUS = (
    "__init__",
    *(f"{vendor}/{name}" for vendor in ("amd", "nvidia") for name in ("__init__", "telemetry")),
    "amd/smi_json",
)
_BESIDE = (
    *(f"_records/{name}.py" for name in ("__init__", *_RECORDS)),
    *(f"_nccl_log/{name}.py" for name in _PARSER),
    *(f"_gpu/{name}.py" for name in _GPUS),
    *(f"_text/{name}.py" for name in ("__init__", "order", "printable", "spans", "stamps")),
)
# What only the ranks of `benchmark` and of `pairs` run, by the program in the run's directory.
PROGRAMS = {
    "collectives.py": ("runner/attempt/collectives.py",),
    "pairs.py": (
        # It writes as `collectives` does.
        *("_records/pairs.py", "runner/attempt/collectives.py", "runner/attempt/pairs.py"),
        *(f"runner/pairs/{path.name}" for path in sorted((_SOURCES / "runner" / "pairs").glob("*.py"))),
    ),
}
_MAIN = f"""\
import sys

if sys.version_info < {OLDEST_PYTHON}:
    version = ".".join(map(str, sys.version_info[:3]))
    raise SystemExit("{{}} is Python {{}}; Muster's runner needs {EXPECTED_PYTHON}".format(sys.executable, version))

from muster.runner.main import main

raise SystemExit(main(sys.argv[1:]))
""".encode()
_CUSTOMIZE = _SOURCES / "runner" / "stacks" / "sitecustomize.py"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def runner_zipapp(program: str | None = None) -> bytes:
    """Return the bytes of ``runner.pyz``, the same for the same sources; not compressed, as Ansible compresses it.

    Of PROGRAMS it has only the one that is named: the other launches need not send them.
    """
    sent = PROGRAMS.get(program or "", ())
    left_out = {name for names in PROGRAMS.values() for name in names if name not in sent}
    names = [*_BESIDE, *sent]
    names += [str(path.relative_to(_SOURCES)) for path in (_SOURCES / "runner").rglob("*.py")]
    files = {"__main__.py": _MAIN, "muster/__init__.py": b""}
    files.update({f"muster/{name}": (_SOURCES / name).read_bytes() for name in {*names} - left_out})
    files[SITE] = _archive({_CUSTOMIZE.name: _CUSTOMIZE.read_bytes()})
    return _archive(files)


def _archive(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    return stream.getvalue()
