"""A server that can face a network: what the engine and the MCP server share.

Nothing in here knows what is served.
"""


class CannotServe(Exception):
    """The message is the one line to print before exit code 2."""
