"""One rule for the keys of both servers: which key is a risk, given who can reach the server.

Any key is accepted. On an address beyond this machine a short one, or none, is a risk: the log and
the status say so, and `KB_STRICT=1` refuses to start with it.
"""

from dataclasses import dataclass

from kb.settings.reach import only_this_machine
from kb.settings.read import BadSetting

SHORTEST_KEY = 16


@dataclass(frozen=True, slots=True)
class Risk:
    """A code for programs, and a message for people that says what is wrong and what to do."""

    code: str
    message: str


def key_risk(prefix: str, host: str, published_host: str, key: str) -> Risk | None:
    """The risk of the server whose settings begin with `prefix`; None where there is none.

    A server in a container listens on all addresses of the container, whoever can reach those;
    there, `published_host` says what counts.
    """
    if len(key) >= SHORTEST_KEY or only_this_machine(published_host or host):
        return None
    where = f"{prefix}PUBLISHED_HOST={published_host}" if published_host else f"{prefix}HOST={host}"
    name, kind = f"{prefix}API_KEY", prefix.removeprefix("KB_").lower()
    if not key:
        return Risk(
            f"{kind}key_missing",
            f"{name} is not set, and with {where} everyone who can reach this machine can read,"
            f" change and delete everything. Set {name} (kb keygen makes one)",
        )
    return Risk(
        f"{kind}key_short",
        f"{name} has fewer than {SHORTEST_KEY} characters, and with {where} whoever can reach this"
        " machine may guess it. Use a longer one (kb keygen makes one)",
    )


def refuse_if_strict(risk: Risk | None, strict: bool) -> None:
    """End the start where a risk is not to be taken."""
    if risk is not None and strict:
        raise BadSetting(f"KB_STRICT=1 refuses this: {risk.message}")
