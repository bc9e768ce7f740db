"""Writes the JSON of the answers that are requested most.

FastAPI checks every answer against its model once more, which takes longer than making the JSON.
Our values are typed already, and the fuzz test compares every answer with the OpenAPI document.
"""

from fastapi import Response
from pydantic_core import to_json


def as_json(value: object) -> Response:
    return Response(to_json(value), media_type="application/json")
