"""What a benchmark says of itself in, a parser of its options out."""

import argparse


def options_of(text: str | None) -> argparse.ArgumentParser:
    """The `text` is shown as it stands in the module."""
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
