"""How a run can end badly."""

OK, FAILED, MISUSED = 0, 1, 2
INTERRUPTED, PIPE_CLOSED = 130, 141


class Failure(Exception):
    """The operation failed; the message is the one line a person gets to see.

    `error` is what programs get to see where it is one of several.
    """

    code = FAILED
    error = "not_found"


class Misuse(Failure):
    """The command line makes no sense; nothing was done."""

    code = MISUSED
