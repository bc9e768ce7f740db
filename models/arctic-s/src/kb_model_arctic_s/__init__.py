"""snowflake-arctic-embed-s: the folder that kb reads it from."""

from pathlib import Path

FOLDER = Path(__file__).parent
