# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong between the parameters of a launch that profile its ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .._findings.errors import display
from .._findings.origin import Layer
from .settings import Setting
from .verbs import BY_TORCHRUN

# What each detail belongs to: one of these parameters asks for a profiler.
DETAILS = {
    "stats": ("rocprof",),
    "rocprof_input": ("rocprof",),
    "profiler_args": ("rocprof", "nsys"),
    "profile_ranks": ("rocprof", "nsys"),
}
# Options that a launch gives the profiler itself, so that no rank overwrites the files of another.
OF_MUSTER = {
    "rocprof": ("-d", "--output-directory", "-o", "--output-file", "-i", "--input", "--"),
    "nsys": ("-o", "--output", "--"),
}
# The launchers that put a profiler in front of each rank.
PROFILED = (*BY_TORCHRUN, "python")


def profiling_errors(settings: Mapping[str, Setting]) -> Iterator[str]:
    """Yield what is wrong. A profiler that is switched off keeps its details: a sweep compares runs with and without.

    settings lack parameters that could not be read.
    """
    given = {name: setting for name, setting in settings.items() if setting["value"] not in (None, False, [])}
    observed = {name: _describe(name, setting) for name, setting in given.items()}
    for name, profilers in DETAILS.items():
        if name in given and not any(_is_given(settings, profiler) for profiler in profilers):
            beside = " or ".join(f"{profiler}=true" for profiler in profilers)
            remedy = " or ".join(f"-e {profiler}=true" for profiler in profilers)
            yield f"{name}: expected {beside} beside it, saw only {observed[name]}; give {remedy}, too"
    if "rocprof" in given and "nsys" in given:
        yield f"nsys: expected one profiler, saw {observed['rocprof']} and {observed['nsys']}; give only one of them"
    if {"rocprof", "stats", "rocprof_input"} <= given.keys():
        yield (
            f"stats: expected statistics or an input file, saw {observed['stats']} and {observed['rocprof_input']}; "
            "the file says what is collected: write stats: true there, or give only one of them"
        )
    yield from _option_errors(given)
    launcher = settings["launcher"]["value"] if "launcher" in settings else PROFILED[0]
    for name in ("rocprof", "nsys"):
        if name in given and launcher not in PROFILED:
            yield (
                f"{name}: the launcher {launcher} puts no profiler in front of its ranks, saw {observed[name]}; "
                "give -e launcher=torchrun, or let the program itself start the profiler"
            )


def _option_errors(given: Mapping[str, Setting]) -> Iterator[str]:
    words = given["profiler_args"]["value"] if "profiler_args" in given else None
    if not isinstance(words, list):
        return
    for profiler in OF_MUSTER.keys() & given.keys():
        options = OF_MUSTER[profiler]
        if taken := [word for word in words if any(_is_option(word, option) for option in options)]:
            yield (
                f"profiler_args: expected none of {' '.join(options)}, which the launch gives {profiler} itself, saw "
                f"{display(taken)} ({given['profiler_args']['origin']}); leave it out"
            )


def _is_option(word: str, option: str) -> bool:
    """Return whether a word is an option, alone or with its value."""
    if option == "--":
        return word == option
    return word == option or word.startswith(f"{option}=") or (len(option) == 2 and word.startswith(option))


def _describe(name: str, setting: Setting) -> str:
    value = "true" if setting["value"] is True else display(setting["value"])
    return f"{name}={value} ({setting['origin']})"


def _is_given(settings: Mapping[str, Setting], name: str) -> bool:
    return name not in settings or settings[name]["layer"] != Layer.DEFAULT
