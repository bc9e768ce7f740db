"""How shells complete `kb`, where click's own ways would get our words wrong."""

import os
import re
from typing import Any

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

# bash breaks words at colons, and many tags have one (`agent:home`): so the line itself is sent,
# and of what comes back only what follows the last colon is put in.
_BASH = r"""%(complete_func)s() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" cur="${COMP_WORDS[COMP_CWORD]}"
    local response completion type value files typed before=
    response=$(env COMP_LINE="$line" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    typed="${line##*[[:space:]]}"
    typed="${typed#--*=}"
    [[ $COMP_WORDBREAKS == *:* ]] && before="${typed%%"${typed##*:}"}"
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == plain ]]; then
            value="${value#"$before"}"
            [[ $value == *[^[:alnum:]_.,:/@%%+=-]* ]] && printf -v value %%q "$value"
            COMPREPLY+=("$value")
        else
            files=$type
        fi
    done
    if [[ -z $files ]]; then
        return 0
    elif (( ${#COMPREPLY[@]} )); then
        compopt -o filenames
        COMPREPLY+=($(compgen -f -- "$cur"))
    elif [[ $files == dir ]]; then
        compopt -o dirnames
    else
        compopt -o default
    fi
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

# Only the first comma ends the type: there may be more of them in a list of tags, or in a title.
_FISH = FishComplete.source_template.replace(
    'string split "," $completion', 'string split --max 1 "," -- $completion'
)


@add_completion_class
class Bash(BashComplete):
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("COMP_LINE")
        if line is None:  # asked by click's own script
            return super().get_completion_args()
        words = split_arg_string(line)
        incomplete = "" if not words or line[-1:].isspace() else words.pop()
        return words[1:], incomplete


class _WholeWord(ShellComplete):
    """zsh and fish put a completion in place of the whole word, `--tags=` included."""

    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        option = re.match("--[a-z-]+=", incomplete)
        self._before = option[0] if option else ""
        return args, incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        if item.type == "plain":
            item = CompletionItem(self._before + item.value, help=item.help)
        return super().format_completion(item)


@add_completion_class
class Fish(_WholeWord, FishComplete):
    source_template = _FISH


@add_completion_class
class Zsh(_WholeWord, ZshComplete):
    pass
