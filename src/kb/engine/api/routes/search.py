"""POST /search."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field, model_validator

from kb.engine.api.bodies import fields
from kb.engine.api.context import EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.api.json_answer import as_json
from kb.engine.errors import ModelFailed, ModelLoading, TooManySearches
from kb.engine.search.answers import Answer, Mode, Question
from kb.engine.values import Filter

router = APIRouter(prefix="/search", tags=["search"], route_class=StrictRoute)

Formats = Annotated[list[fields.Format], Field(min_length=1, max_length=50)]


class SearchRequest(fields.Body):
    """What to look for. Filters are applied before ranking; all `tags` must match.

    In the query, `"words in quotes"` must be there, `-word` must not, and `tag:name` is a filter,
    unless `plain` is set.
    """

    query: str = Field(min_length=1, max_length=2000)
    top: int = Field(10, ge=1, le=100)
    tags: fields.Tags = Field(default_factory=list)
    doc_type: fields.Kinds | None = None
    format: fields.Format | Formats | None = None
    source_path: fields.SourcePath | None = None
    path_prefix: fields.SourcePath | None = None
    created_after: fields.After | None = None
    created_before: fields.Before | None = None
    min_relevance: float = Field(0.0, ge=0, le=1, allow_inf_nan=False)
    per_document: int | None = Field(None, ge=1, le=100)
    plain: bool = False
    recency: float | None = Field(None, gt=0, le=36_500, allow_inf_nan=False)
    merge: bool = False
    fts_only: bool = False
    vec_only: bool = False
    explain: bool = False

    @model_validator(mode="after")
    def _one_mode(self) -> "SearchRequest":
        if self.fts_only and self.vec_only:
            raise ValueError("fts_only and vec_only cannot both be set: leave one out")
        if not self.query.strip():
            raise ValueError("query must not be blank")
        return self

    def question(self) -> Question:
        mode: Mode = "words" if self.fts_only else "vectors" if self.vec_only else "hybrid"
        filter_ = Filter(
            tags=tuple(self.tags),
            doc_types=fields.doc_types(self.doc_type),
            formats=fields.several(self.format),
            source_path=self.source_path,
            path_prefix=self.path_prefix,
            created_after=self.created_after,
            created_before=self.created_before,
        )
        return Question(
            query=self.query,
            top=self.top,
            filter=None if filter_ == Filter() else filter_,
            mode=mode,
            min_relevance=self.min_relevance,
            per_document=self.per_document,
            plain=self.plain,
            recency=self.recency,
            merge=self.merge,
            explain=self.explain,
        )


@router.post(
    "", response_model=Answer, responses=responses(ModelLoading, ModelFailed, TooManySearches)
)
async def search(request: SearchRequest, engine: EngineDep) -> Response:
    """Find passages, best first."""
    due = engine.searcher.due()  # from now on, whether it runs or waits for its turn

    def answered() -> Response:
        answer = engine.searcher.search(request.question(), due)
        engine.metrics.search_took(answer.took_ms / 1000, answer.mode)
        return as_json(answer)

    return await engine.desk.run(answered)
