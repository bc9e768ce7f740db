"""What we need from a client's description of itself.

A session is remembered for long, and a client can say hello often. So only what is needed later is
kept: its version, a name for the log, and how its user can be asked.
"""

from collections.abc import Mapping
from typing import Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY

_LONGEST = 200  # characters of a name or a version
_QUESTIONS = ("form", "url")


def needed(params: object) -> Any:
    """The parameters of an `initialize` without what nobody asks for.

    What is not of the right kind stays, so that it is refused as such.
    """
    if not isinstance(params, Mapping):
        return params
    kept = {name: params[name] for name in ("protocolVersion",) if name in params}
    if "capabilities" in params:
        kept["capabilities"] = needed_capabilities(params["capabilities"])
    if "clientInfo" in params:
        kept["clientInfo"] = _name(params["clientInfo"])
    if isinstance(params.get("_meta"), Mapping):
        kept["_meta"] = _envelope(params["_meta"])
    return kept


def _envelope(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What marks a client of the newer protocol, which has no `initialize` and is told so."""
    kept = {name: meta[name] for name in (PROTOCOL_VERSION_META_KEY,) if name in meta}
    if CLIENT_INFO_META_KEY in meta:
        kept[CLIENT_INFO_META_KEY] = _name(meta[CLIENT_INFO_META_KEY])
    if CLIENT_CAPABILITIES_META_KEY in meta:
        declared = needed_capabilities(meta[CLIENT_CAPABILITIES_META_KEY])
        kept[CLIENT_CAPABILITIES_META_KEY] = declared
    return kept


def needed_capabilities(declared: object) -> Any:
    """Of all that a client may declare, we ask only whether its user can be shown a form."""
    if not isinstance(declared, Mapping):
        return declared
    elicitation = declared.get("elicitation")
    if elicitation is None:
        return {}
    if not isinstance(elicitation, Mapping):
        return {"elicitation": elicitation}
    return {"elicitation": {kind: {} for kind in _QUESTIONS if elicitation.get(kind) is not None}}


def _name(info: object) -> Any:
    if not isinstance(info, Mapping):
        return info
    kept = {name: info[name] for name in ("name", "version") if name in info}
    return {
        name: value[:_LONGEST] if isinstance(value, str) else value for name, value in kept.items()
    }
