"""A server that can face a network, shared by the engine and the MCP server.

Nothing in here knows what is served.
"""


class CannotServe(Exception):
    """The message is the one line to print before exit code 2."""
