# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user gives Slurm: names, an amount of time, and options of sbatch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .._findings.errors import display
from .conditions import SECONDS
from .invalid_value import InvalidValue, unexpected

# Names and their expressions: gpu, gpu01,gpu02, [rack1|rack2], gpu:h100:8. Without blanks and quotes, so that #SBATCH
# lines need none.
WORD = re.compile(r"[A-Za-z0-9_\[(][A-Za-z0-9_.,:=&|*()\[\]+@/%-]{0,1023}")
WORD_EXPECTED = "a name or an expression of Slurm without blanks, such as gpu"
TIME_EXPECTED = "a time with its unit (90m, 8h, 2d), or as Slurm writes it (8:00:00, 2-00:00:00)"
_SLURM_TIME = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9}):([0-9]{2}):([0-9]{2})")
_WITH_UNIT = re.compile(r"([0-9]{1,6})([mhd])")
OPTIONS_EXPECTED = "a list of options of sbatch, each one --NAME or --NAME=VALUE"
_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(?:=.+)?")
# What submit decides, also where an option is abbreviated.
DECIDED = (
    *("account", "array", "chdir", "clusters", "constraint", "error", "exclude", "exclusive", "gpus-per-node", "gres"),
    *("help", "input", "job-name", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable"),
    *("partition", "qos", "quiet", "reservation", "test-only", "time", "uid", "usage", "version", "wait", "wrap"),
)


def read_time(text: str) -> str:
    """Return a time as Slurm writes it, such as 2-00:30:00; raise ValueError for anything else."""
    match = _WITH_UNIT.fullmatch(text)
    seconds = int(match[1]) * SECONDS[match[2]] if match else seconds_of_time(text)
    if seconds is None or seconds < 60:  # Slurm counts in minutes
        raise ValueError
    return format_time(seconds)


def seconds_of_time(text: str) -> int | None:
    """Return the seconds of a time such as 2-00:30:00, None where it is not one, such as UNLIMITED."""
    match = _SLURM_TIME.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + seconds


def format_time(seconds: int) -> str:
    """Return 2-00:30:00 or 8:00:00."""
    days, rest = divmod(seconds, 86400)
    hours, minutes = rest // 3600, rest % 3600 // 60
    return f"{days}-{hours:02}:{minutes:02}:{rest % 60:02}" if days else f"{hours}:{minutes:02}:{rest % 60:02}"


def check_options(options: Iterable[str]) -> list[str]:
    """Return options of sbatch unchanged; raise InvalidValue for one that submit decides, or that is not one word."""
    words = list(options)
    for word in words:
        match = _OPTION.fullmatch(word)
        if match is None:
            raise unexpected(OPTIONS_EXPECTED, word)
        decided = next((name for name in DECIDED if name.startswith(match[1])), None)
        if decided is not None:
            raise InvalidValue(
                f"{display(word)} would change --{decided}, which submit decides; remove it, and see the parameters "
                "of submit"
            )
    return words
