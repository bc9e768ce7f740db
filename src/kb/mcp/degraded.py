"""Tells an agent why a search did not look everywhere."""

TOOK_TOO_LONG = "search_timeout"


def incomplete(why: str) -> str:
    """`why` is what the engine calls it."""
    if why == TOOK_TOO_LONG:
        return "The search took too long, this is what was found until then: narrow it by filters"
    return "Only words were compared, as the model is not ready: search again later"
