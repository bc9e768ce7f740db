"""A quicker start: thousands of objects are made and none is let go, so no garbage is found then.

Looking for it nevertheless takes a sixth of the time until the first answer.
"""

import gc


def leave_for_later() -> None:
    """Before anything heavy is imported."""
    gc.disable()


def settle() -> None:
    """When all is loaded. What is there now stays, and need never be looked through again."""
    gc.freeze()
    gc.enable()
