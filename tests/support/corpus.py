# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Strings that do something where anybody takes them for more than data: each makes a file of its own, its canary.

`@` stands for the canary's path. Strings that can't make a file (they break a line, a table, a terminal) have none.
"""

from __future__ import annotations

from pathlib import Path

SHELL = {
    "semicolon": "; touch @",
    "newline": "a\ntouch @",
    "carriage return": "a\rtouch @",
    "crlf": "a\r\ntouch @\r\n",
    "pipe": "a | touch @",
    "background": "a & touch @ &",
    "and": "true && touch @",
    "or": "false || touch @",
    "dollar": "$(touch @)",
    "dollar in quotes": '"$(touch @)"',
    "backtick": "`touch @`",
    "process substitution": "<(touch @)",
    "redirect": "x > @",
    "append": "x >> @",
    "here string": "x <<< y > @",
    "no blanks": ";touch${IFS}@",
    "braces": ";{touch,@}",
    "end of single quotes": "'; touch @; '",
    "end of double quotes": '"; touch @; "',
    "both quotes": "'\"; touch @ #",
    "comment": "# x\ntouch @",
    "backslash at the end": "; touch @ \\",
    "ansi quotes": "$'\\n'touch @",
    "subshell": "(touch @)",
    "substitution in a variable": "${X:-$(touch @)}",
    "arithmetic": "$((a[$(touch @)]))",
    "function of the environment": "() { :; }; touch @",
    "glob": "/*/*; touch @",
    "tilde": "~/x; touch @",
    "trap": "; trap 'touch @' EXIT",
    "eval": "eval touch @",
    "sourced": ". /dev/stdin <<< 'touch @'",
}
TEMPLATES = {
    "jinja": "{{ lookup('ansible.builtin.pipe', 'touch @') }}",
    "jinja in quotes": "'}}{{ lookup('pipe', \"touch @\") }}{{'",
    "jinja statement": "{% set x = lookup('pipe', 'touch @') %}",
    "jinja object": "{{ ''.__class__.__mro__[1].__subclasses__() | map('touch @') }}",
    "jinja query": "{{ query('lines', 'touch @') }}",
    "jinja write": "{{ lookup('password', '@') }}",
    "jinja raw": "{% endraw %}{{ lookup('pipe', 'touch @') }}{% raw %}",
    "jinja comment": "{# #}{{ lookup('pipe', 'touch @') }}",
    "line statement": "# for x in lookup('pipe', 'touch @')",
    "percent": "%(x)s %s %n %x touch @",
    "format": "{0.__class__.__init__.__globals__} touch @",
    "format name": "{run_id!r:>{width}} touch @",
    "string template": "${x} $x $$ touch @",
    "erb": "<%= `touch @` %>",
    "go template": '{{ .Env.HOME }}{{ exec "touch @" }}',
}
DOCUMENTS = {
    "yaml object": "!!python/object/apply:os.system ['touch @']",
    "yaml new": "!!python/object/new:subprocess.check_call [[touch, '@']]",
    "yaml unsafe": '!unsafe \'{{ lookup("pipe", "touch @") }}\'',
    "yaml vault": "!vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162",
    "yaml key": "a: b\ntouch: @",
    "yaml anchors": "[&a [*a,*a], *a] # touch @",
    "yaml merge": "<<: {command: 'touch @'}",
    "yaml end": "...\n---\n- hosts: localhost\n  tasks: [{command: 'touch @'}]",
    "json": '{"argv": ["touch", "@"]}',
    "json key": '", "argv": ["touch", "@"], "x": "',
    "json deep": "[" * 3000 + "touch @" + "]" * 3000,
    "toml": 'x = """\n[run]\ncommand = "touch @"',
    "ini": "x\n[nodes:vars]\nansible_connection=local touch @",
    "html": "</pre><script>fetch('touch @')</script><img src=x onerror=x>",
    "markdown": "[x](javascript:touch @)",
    "spreadsheet": '=HYPERLINK("x";"touch @")',
    "pickle": "cposix\nsystem\n(S'touch @'\ntR.",
    "python": "__import__('os').system('touch @')",
    "sql": "'; DROP TABLE runs; -- touch @",
    "xml": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///touch @">]>&x;',
}
OPTIONS = {
    "help": "--help",
    "version": "-V",
    "dash": "-",
    "end of options": "--",
    "ssh command": "-oProxyCommand=touch @",
    "ssh command, in words": "-o ProxyCommand=touch${IFS}@",
    "ssh local command": "-oPermitLocalCommand=yes -oLocalCommand=touch @",
    "ssh host": "ssh://-oProxyCommand=touch @/x",
    "rsync": "-e sh -c 'touch @'",
    "rsync path": "--rsync-path=touch @",
    "git upload": "--upload-pack=touch @",
    "git configuration": "-c core.sshCommand=touch @",
    "git helper": "ext::sh -c touch% @",
    "git reflog": "@{-1}",
    "git path": "refs/../../x",
    "git range": "main..HEAD^{/touch @}",
    "git lock": "x.lock",
    "python option": "-cimport os; os.system('touch @')",
    "torchrun option": "--rdzv-endpoint=touch @",
    "env option": "-S touch @",
    "env assignment": "PATH=/x touch @",
    "tar": "--checkpoint-action=exec=touch @",
    "find": "-exec touch @ ;",
    "docker": "--volume=/:/host touch @",
    "response file": "@/etc/passwd touch @",
    "systemd": "--property=ExecStartPre=touch @",
}
NAMES = {
    "parent": "../../../@",
    "absolute": "@",
    "dot": ".",
    "dots": "..",
    "hidden": ".bashrc",
    "windows": "..\\..\\touch",
    "url": "file://@",
    "slashes": "//x//..//touch",
    "colon": "x:/touch:ro",
    "systemd specifiers": "%h/%i/%S/%%touch",
    "compose": "${HOME}/${X:?touch}/$HOME/$$touch",
    "env file": "x\nLD_PRELOAD=@",
    "env quotes": "'x'\"touch\"`\\",
    "exported": "x; export BASH_ENV=@",
    "host pattern": "all:!x,~(x|touch @),&y",
    "host range": "n[0:99999999]",
    "user at host": "root;touch @@host",
    "port": "host:22;touch @",
    "regular expression": "(a+)+$(a|aa)*touch",
    "crontab": "* * * * * root touch @",
    "limits": "* - memlock unlimited\nroot - touch @",
}
SIGNS = {
    "nul": "x\0touch @",
    "escape": "\x1b[2J\x1b[31mtouch @",
    "title": "\x1b]0;touch @\x07",
    "clipboard": "\x1b]52;c;dG91Y2g=\x1b\\",
    "eight bits": "\x9b31mtouch @",
    "bell": "\x07\x08\x7f",
    "erased": "touch @\r\x1b[K",
    "line separator": "a\u2028touch @",
    "paragraph separator": "a\u2029touch @",
    "next line": "a\x85touch @",
    "vertical": "a\x0b\x0ctouch @",
    "right to left": "\u202ehcuot @",
    "isolates": "\u2066touch\u2069 @",
    "joined": "to\u200duch\ufeff @",
    "wide": "\uff1btouch\u3000@",
    "combining": "t\u0301\u0301\u0301ouch @",
    "surrogate": "x\udcfftouch",
    "beyond": "\U0001f600 touch @",
    "blank": " ",
    "blanks around": " touch @ ",
    "tab": "a\ttouch @",
    "empty": "",
    "long": "x" * 5000 + "; touch @",
    "longest": "x" * 140_000,
    "number": "9" * 400,
    "negative": "-1",
    "nan": "nan",
    "true": "yes",
    "null": "null",
}
GROUPS = (SHELL, TEMPLATES, DOCUMENTS, OPTIONS, NAMES, SIGNS)
STRINGS = {name: text for group in GROUPS for name, text in group.items()}


def corpus(canaries: Path) -> dict[str, str]:
    """Return the strings by name; whatever is executed leaves its file below `canaries`, which names the string."""
    canaries.mkdir(exist_ok=True)
    return {name: text.replace("@", str(canaries / name.replace(" ", "_"))) for name, text in STRINGS.items()}


def harmless(text: str) -> bool:
    """Return whether a terminal only prints it."""
    return all(line.isprintable() for line in text.split("\n"))
