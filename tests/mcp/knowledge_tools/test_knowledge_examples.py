"""The engine's answers in, the contract's own examples out, to the letter."""

import json

import httpx
import knowledge_examples as examples
import pytest

from kb.client import EngineClient
from kb.mcp.app import CONTRACTS
from kb.mcp.contract import Call
from kb.mcp.settings import McpSettings

UID = "0b6d9d6c-6c5e-4b43-8f0e-0d4e0e4d3c11"
TASK = "uuid-v4-task-id"

ENGINE_STATUS = {
    "version": "3.0.0",
    "model": {
        "name": "all-MiniLM-L6-v2",
        "public_name": "sentence-transformers/all-MiniLM-L6-v2",
        "state": "ready",
    },
    "counts": {"documents": 42, "chunks": 1850},
    "store": {
        "path": "/data/chromadb",
        "files_path": "/data/documents",
        "files_bytes": 131000000,
    },
    "health": {"status": "healthy", "issues": []},
    "max_file_mb": 100,
    "chunk_tokens": 500,
}
ENGINE_STATS = {"types": [{"size_bytes": 131000000}, {"size_bytes": 72000}]}
JOB = {
    "id": 7,
    "uid": TASK,
    "status": "done",
    "progress": 1.0,
    "step": "done",
    "steps_done": 1,
    "steps_total": 1,
    "message": "",
    "elapsed_seconds": 23.7,
    "remaining_seconds": 0.0,
    "filename": "example.pdf",
    "document_uid": "uuid-v4-doc-id",
    "chunk_count": 45,
    "processing_method": "text_extraction",
    "error": None,
}
RUNNING = JOB | {
    "status": "running",
    "progress": 0.65,
    "step": "Generating embeddings",
    "steps_done": 13,
    "steps_total": 20,
    "elapsed_seconds": 15.5,
    "remaining_seconds": 8.2,
}
DOCUMENT = {
    "uid": UID,
    "title": "Old",
    "filename": "old-document.pdf",
    "format": "pdf",
    "size_bytes": 2048576,
    "created_at": "2025-10-26T10:00:00.123456Z",
    "updated_at": None,
    "chunk_count": 45,
    "processing_status": "completed",
    "processing_method": "text_extraction",
}
HIT = {
    "document_uid": "uuid-v4-doc-id",
    "chunk_uid": "uuid-v4-chunk-id",
    "title": "Guide",
    "filename": "auth-guide.pdf",
    "text": "To configure authentication, first set up the OAuth2 provider...",
    "relevance": 0.89,
    "format": "pdf",
    "page": 5,
    "created_at": "2025-10-26T10:00:00.654321Z",
}


class Engine:
    """Answers each route with what it is told to."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def answer(self, request):
        line = f"{request.method} {request.url.path.removeprefix('/api/v1/').partition('/')[0]}"
        self.asked.append((line, request))
        answer = self.answers[line.replace(" ", "_")]
        answer = answer.pop(0) if isinstance(answer, list) else answer
        status = answer.get("_status", 200)
        return httpx.Response(status, json=answer, headers={"kb-version": "3.0.0"})


async def call(engine, name, roots=(), **arguments):
    contract = CONTRACTS["knowledge"](McpSettings(mcp_file_roots=roots))
    transport = httpx.MockTransport(engine.answer)
    async with EngineClient("http://127.0.0.1:8000", transport=transport) as client:
        result = await contract.call(name, arguments, Call(client, None))
    assert json.loads(result.text) == result.content
    assert result.is_error is not result.content["success"]
    return result.content


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "example.pdf"
    path.write_bytes(b"%PDF-1.7")
    return path


async def test_an_add_that_does_not_wait(example):
    engine = Engine(
        GET_status=ENGINE_STATUS, POST_jobs={"uid": TASK, "estimated_seconds": 29.3, "job_id": 7}
    )
    added = await call(engine, "knowledge-add", (example.parent,), file_path=str(example))
    assert added == examples.ADD_ASYNC


async def test_an_add_that_waits(example):
    engine = Engine(
        GET_status=ENGINE_STATUS,
        POST_jobs={"uid": TASK, "estimated_seconds": 29.3, "job_id": 7},
        GET_jobs=[RUNNING, JOB | {"elapsed_seconds": 12.5, "document_uid": "uuid-v4-document-id"}],
    )
    arguments = {"file_path": str(example), "async": False}
    assert await call(engine, "knowledge-add", (example.parent,), **arguments) == examples.ADD_SYNC


@pytest.mark.parametrize(
    ("size", "answer"),
    [
        (150 * 2**20, examples.ADD_TOO_LARGE),
        (
            100 * 2**20 + 1,
            {"message": "File size (100.1 MB) exceeds maximum allowed size (100 MB)"},
        ),
    ],
)
async def test_a_file_that_is_too_large(example, size, answer):
    with example.open("ab") as file:
        file.truncate(size)
    engine = Engine(GET_status=ENGINE_STATUS)
    added = await call(engine, "knowledge-add", (example.parent,), file_path=str(example))
    assert added == examples.ADD_TOO_LARGE | answer


async def test_a_search_that_finds_something():
    engine = Engine(POST_search={"results": [HIT], "took_ms": 124.2})
    found = await call(engine, "knowledge-search", query="How to configure authentication?")
    assert found == examples.SEARCH


@pytest.mark.parametrize("results", [[HIT], []])
async def test_a_search_that_took_too_long(results):
    engine = Engine(
        POST_search={"results": results, "took_ms": 10_000.0, "degraded": "search_timeout"}
    )
    found = await call(engine, "knowledge-search", query="How to configure authentication?")
    assert (found["success"], found["total_results"]) == (True, len(results))
    assert found["degraded"] == "search_timeout"
    assert "took too long" in found["message"]


async def test_a_search_by_words_alone():
    engine = Engine(POST_search={"results": [HIT], "took_ms": 1.0, "degraded": "model_loading"})
    found = await call(engine, "knowledge-search", query="How to configure authentication?")
    assert found["degraded"] == "model_loading"
    assert "the model is not ready" in found["message"]


async def test_a_search_that_finds_nothing():
    engine = Engine(POST_search={"results": [], "took_ms": 49.9}, GET_status=ENGINE_STATUS)
    found = await call(engine, "knowledge-search", query="non-existent topic")
    assert found == examples.SEARCH_NOTHING


async def test_removing_a_document():
    engine = Engine(
        GET_documents=DOCUMENT, DELETE_documents={"status": "deleted", "chunks_removed": 45}
    )
    removed = await call(engine, "knowledge-remove", document_id=UID, confirm=True)
    assert removed == examples.REMOVE | {"document_id": UID}


async def test_removing_what_is_not_there():
    removed = await call(Engine(), "knowledge-remove", document_id="uuid-v4-doc-id")
    assert removed == examples.REMOVE_UNKNOWN
    gone = {"_status": 404, "error": "document_not_found", "message": "Document 1 not found"}
    removed = await call(Engine(GET_documents=gone), "knowledge-remove", document_id=UID)
    assert removed == json.loads(json.dumps(examples.REMOVE_UNKNOWN).replace("uuid-v4-doc-id", UID))


async def test_a_list_of_documents():
    first = DOCUMENT | {"uid": "uuid-v4-doc-id-1", "filename": "api-documentation.pdf"}
    second = DOCUMENT | {
        "uid": "uuid-v4-doc-id-2",
        "filename": "diagram.png",
        "format": "png",
        "size_bytes": 512000,
        "created_at": "2025-10-25T15:30:00.000000Z",
        "chunk_count": 1,
        "processing_method": "image_analysis",
    }
    engine = Engine(GET_documents={"documents": [first, second], "total": 2})
    assert await call(engine, "knowledge-show") == examples.SHOW


async def test_a_list_that_no_client_would_take_is_cut_and_says_where_to_go_on():
    documents = [DOCUMENT | {"filename": f"report-{number}.pdf"} for number in range(1000)]
    engine = Engine(GET_documents={"documents": documents, "total": 2000})
    shown = await call(engine, "knowledge-show", limit=1000, offset=500)
    assert len(json.dumps(shown, separators=(",", ":"))) <= 20_000 * 4
    count = len(shown["documents"])
    assert 200 < count < 1000
    assert [each["filename"] for each in shown["documents"][:2]] == ["report-0.pdf", "report-1.pdf"]
    assert (shown["truncated"], shown["limit"], shown["offset"]) == (True, 1000, 500)
    assert f"offset={500 + count}" in shown["hint"]


async def test_clearing_everything():
    cleared = {"documents_removed": 42, "chunks_removed": 1850, "bytes_freed": 131596288}
    engine = Engine(GET_status=ENGINE_STATUS, DELETE_documents=cleared)
    arguments = {"confirm": True, "confirmation_phrase": "DELETE ALL"}
    assert await call(engine, "knowledge-clear", **arguments) == examples.CLEAR


async def test_a_healthy_status():
    newest = DOCUMENT | {"updated_at": "2025-10-26T14:30:00.999999Z"}
    engine = Engine(
        GET_status=ENGINE_STATUS,
        GET_documents={"documents": [newest], "total": 42},
        GET_stats=ENGINE_STATS,
    )
    assert await call(engine, "knowledge-status") == examples.STATUS


async def test_a_degraded_status():
    message = "Storage directory not accessible: Permission denied"
    health = {
        "status": "degraded",
        "issues": [{"code": "files_inaccessible", "message": message}],
    }
    engine = Engine(
        GET_status=ENGINE_STATUS | {"health": health},
        GET_documents={"documents": [DOCUMENT], "total": 42},
        GET_stats=ENGINE_STATS,
    )
    status = await call(engine, "knowledge-status")
    assert status["health"] == examples.STATUS_DEGRADED_HEALTH
    assert status["knowledge_base"] == examples.STATUS["knowledge_base"]


@pytest.mark.parametrize(
    ("state", "code", "told"),
    [
        ("loading", None, {"embedding_model_loaded": False}),
        ("failed", "model_failed", {"embedding_model_loaded": False}),
        ("ready", "storage_failed", {"vector_db_connected": False, "storage_accessible": False}),
        ("ready", "disk_low", {}),
    ],
)
async def test_whatever_the_engine_has_seen_is_told(state, code, told):
    issues = [{"code": code, "message": "what is wrong"}] if code else []
    seen = {
        "model": ENGINE_STATUS["model"] | {"state": state},
        "health": {"status": "degraded" if code else "healthy", "issues": issues},
    }
    engine = Engine(
        GET_status=ENGINE_STATUS | seen,
        GET_documents={"documents": [], "total": 0},
        GET_stats=ENGINE_STATS,
    )
    health = (await call(engine, "knowledge-status"))["health"]
    [issue] = health.pop("issues")
    assert issue == "what is wrong" or "loading" in issue
    assert health == examples.STATUS["health"] | {"status": "degraded"} | told


async def test_a_store_that_cannot_be_read_still_has_a_status():
    unreadable = {"_status": 503, "error": "storage_failed", "message": "It is gone"}
    issues = [{"code": "storage_failed", "message": "It is gone"}]
    engine = Engine(
        GET_status=ENGINE_STATUS | {"health": {"status": "failed", "issues": issues}},
        GET_documents=unreadable,
        GET_stats=unreadable,
    )
    status = await call(engine, "knowledge-status")
    assert status["health"] == examples.STATUS["health"] | {
        "status": "degraded",
        "vector_db_connected": False,
        "storage_accessible": False,
        "issues": ["It is gone"],
    }
    assert (status["last_updated"], status["knowledge_base"]["document_count"]) == (None, 42)


OCR = {"code": "ocr_failed", "message": "OCR processing failed: Tesseract not found"}
CANCELLED = {"status": "cancelled", "error": "cancelled", "message": "The task was cancelled"}
WAITING = {"status": "queued", "progress": 0.0}


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (RUNNING, examples.TASK_RUNNING),
        (JOB, examples.TASK_COMPLETED),
        (JOB | {"status": "failed", "error": OCR, "elapsed_seconds": 5.2}, examples.TASK_FAILED),
        (JOB | {"status": "cancelled", "elapsed_seconds": 5.2}, examples.TASK_FAILED | CANCELLED),
        (
            RUNNING | WAITING | {"step": "queued", "elapsed_seconds": 0.0},
            examples.TASK_RUNNING
            | WAITING
            | {"current_step": "Waiting", "elapsed_time_seconds": 0.0},
        ),
    ],
    ids=["runs", "is done", "failed", "was cancelled", "waits"],
)
async def test_a_task_that(job, told):
    assert await call(Engine(GET_jobs=job), "knowledge-task-status", task_id=UID) == told
