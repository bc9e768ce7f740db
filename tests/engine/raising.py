"""What stands in for something that fails."""


def raising(error):
    """A function that takes anything and raises this."""

    def fails(*_values, **_names):
        raise error

    return fails
