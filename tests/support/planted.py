# SPDX-License-Identifier: GPL-3.0-or-later
"""Real hosts with a planted token, the runs that get it, and a search for it in all that is on them."""

from __future__ import annotations

import json
import secrets
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import yaml

from ansible_collections.muster.train.tests.support.play import PLAYBOOK, start
from ansible_collections.muster.train.tests.support.real_hosts import as_root, environment, in_root

HOSTS = ("n1", "n2", "n3")
HOME = "/home/ann/confidence"
RUN_ID = "multinode_autoch_autoth_20261120_143052_secret"
# On each host there is one node.
RUN_DIR = f"{HOME}/work/.muster/nodes/*/runs/{RUN_ID}"
# So long must nothing change until what outlived a controller is taken to be done.
QUIET_S = 2.0
# Everything that changed since: of files, the journal, the units, the containers and the processes.
SEARCH = """
umask 077
cat >/run/secrets-patterns <<'---'
%s
---
find / \\( -path /proc -o -path /sys -o -path /run/secrets-patterns \\) -prune -o -type f -cnewer /run/secrets-mark \\
  -exec grep -lasF -f /run/secrets-patterns {} + | while read -r path; do
    stat --format 'file %%a %%n' "$path"
done || :
grep -lasF -f /run/secrets-patterns /proc/[0-9]*/environ | while read -r path; do
    echo "environment $(tr '\\0' ' ' <"${path%%/*}/cmdline")"
done || :
search() { name=$1; shift; if "$@" 2>&1 | grep -qaF -f /run/secrets-patterns; then echo "$name"; fi; }
search 'command lines' sh -c 'cat /proc/[0-9]*/cmdline || :'
search journal journalctl --quiet --no-pager --output=export
search units systemctl show --all --no-pager 'muster-*' 'run-*'
for container in $(docker ps --all --quiet); do
    search 'docker inspect' docker inspect "$container"
    search 'docker logs' docker logs "$container"
done
rm /run/secrets-patterns
"""
# Watches a machine: says when a run was laid out, when its runner began and when a rank spoke; in the end what it saw.
WATCH = """
import glob, json, os, select, sys
every, pattern, token = float(sys.argv[1]), sys.argv[2], sys.stdin.readline().strip()
lines, private, words = set(), {}, set()

def say(word):
    if word not in words:
        words.add(word)
        print(word, flush=True)

while not select.select([sys.stdin], [], [], every)[0]:
    run_dir = (glob.glob(pattern) or [pattern])[0]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as stream:
                lines.add(stream.read().replace(b"\\0", b" ").decode("utf-8", "replace"))
        except OSError:
            pass
    for path in glob.glob(f"{run_dir}/private.*"):
        try:
            with open(path) as stream:
                text = stream.read() if path not in private else ""
                if token in text:
                    modes = [os.fstat(stream.fileno()).st_mode & 0o777, os.stat(run_dir).st_mode & 0o777]
                    private[path] = {"modes": modes, "key": json.loads(text)["key"]}
                    say("prepared")
        except (OSError, ValueError):  # gone, or not yet whole
            pass
    if os.path.exists(f"{run_dir}/state.json"):
        say("begun")
    if "spoke" not in words and any(map(os.path.getsize, glob.glob(f"{run_dir}/logs/rank_*.log"))):
        say("spoke")
print(json.dumps({"private": list(private.values()), "lines": sorted(lines)}))
"""


class Watcher:
    """Sees every command line of a machine, and the private files of its runners."""

    def __init__(self, prefix: list[str], every: float, token: str, log: Path) -> None:
        self._log = log
        with log.open("w") as stream:
            self._process = subprocess.Popen(
                [*prefix, "python3", "-c", WATCH, str(every), RUN_DIR], stdin=subprocess.PIPE, stdout=stream, text=True
            )
        self._stdin.write(f"{token}\n")
        self._stdin.flush()

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def says(self, word: str) -> bool:
        """Return whether it has seen a run that was `prepared`, that has `begun`, or a rank that `spoke`."""
        return word in self._log.read_text().splitlines()

    def end(self) -> dict[str, Any]:
        """Stop watching; return what was seen."""
        self._stdin.close()
        assert self._process.wait(60) == 0
        record = dict(json.loads(self._log.read_text().splitlines()[-1]))
        self._log.unlink()
        return record


class Site:
    """The hosts with one runtime, a token that is planted in their inventory, and directories of the test's own."""

    def __init__(self, inventory: Path, runtime: str, home: Path) -> None:
        self.runtime, self._inventory, self._home = runtime, inventory, home
        self.token = f"planted-{secrets.token_hex(16)}"
        self.experiments, self._output, self._more = home / "experiments", home / "output.txt", home / "planted.yml"
        policy = {
            "launch_runtime": runtime,
            "launch_workdir": f"{HOME}/work",
            "launch_code_dir": f"{HOME}/code",
            "launch_compose_file": f"{HOME}/compose.yaml",
            "launch_defaults": {"script": "confidant.py", "launcher": "python", "nproc": 1},
            "launch_secrets": {"HF_TOKEN": self.token},
            "launch_stop_grace": 5,
            "launch_abort_grace": 2,
            "launch_experiments_dir": str(self.experiments),
        }
        self._more.write_text(yaml.safe_dump({"nodes": {"hosts": {host: {**policy} for host in HOSTS}}}))

    @property
    def output(self) -> str:
        """All that the verb has printed."""
        return self._output.read_text()

    def has_asked(self) -> bool:
        """Return whether the hosts are being asked to start the run."""
        return "Start the job" in self.output

    def begin(self, verb: str, *extra: str, **more: str) -> subprocess.Popen[str]:
        """Start a verb on the run, in a process group of its own."""
        words = ["-i", str(self._inventory), "-i", str(self._more), f"muster.train.{verb}", "-e", f"run_id={RUN_ID}"]
        with self._output.open("w") as stream:
            return start([*PLAYBOOK, *words, *extra], {**environment(), **more}, stream)

    def watch(self) -> list[Watcher]:
        """Watch the hosts."""
        places = {host: in_root(self._inventory, host) for host in HOSTS}
        return [Watcher(prefix, 0.02, self.token, self._home / f"{host}.watch") for host, prefix in places.items()]

    def watch_here(self) -> Watcher:
        """Watch this machine, which has many more processes."""
        return Watcher([], 0.1, self.token, self._home / "here.watch")

    def wait_until_quiet(self) -> None:
        """Wait until nothing more moves on the hosts that a launch has begun there."""
        picture = f"ls -l {RUN_DIR} 2>&1 || :; pgrep -u ann -a python || :; docker ps --all --quiet"
        previous, since = self.on_hosts(picture), time.monotonic()
        while time.monotonic() - since < QUIET_S:
            time.sleep(0.2)
            now = self.on_hosts(picture)
            if now != previous:
                previous, since = now, time.monotonic()

    def on_hosts(self, script: str) -> list[list[str]]:
        """Run a script as root on every host; return the lines of each."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda host: as_root(self._inventory, host, script).splitlines(), HOSTS))

    def search(self, *keys: str) -> list[list[str]]:
        """Return who knows the token or a key on each host: files with their modes, environments, and what tells it."""
        return self.on_hosts(SEARCH % "\n".join([self.token, *keys]))

    def search_here(self, *keys: str) -> list[str]:
        """Return the files of this machine that know it, but for the inventory where it was planted."""
        places = [str(path) for path in (self._home, Path.home() / ".ansible" / "tmp") if path.exists()]
        done = subprocess.run(
            ["grep", "-rlasF", f"--exclude={self._more.name}", "-f", "-", *places],
            input="\n".join([self.token, *keys]),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.splitlines()
