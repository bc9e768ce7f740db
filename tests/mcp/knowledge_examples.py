"""The examples of the knowledge-* contract, word for word: what its clients were written for.

Each is what a tool answers, by the tool and what it shows.
"""

SUPPORTED = ["pdf", "docx", "pptx", "xlsx", "html", "jpg", "png", "svg"]

ADD_ASYNC = {
    "success": True,
    "task_id": "uuid-v4-task-id",
    "message": "Document queued for processing",
    "estimated_time_seconds": 30,
}
ADD_SYNC = {
    "success": True,
    "document_id": "uuid-v4-document-id",
    "filename": "example.pdf",
    "chunks_created": 45,
    "processing_method": "text_extraction",
    "processing_time_seconds": 12.5,
}
ADD_UNSUPPORTED = {
    "success": False,
    "error": "unsupported_format",
    "message": "Unsupported file format: .xyz. Use PDF, DOCX, PPTX, XLSX, HTML, JPG, PNG, or SVG",
    "supported_formats": SUPPORTED,
}
ADD_TOO_LARGE = {
    "success": False,
    "error": "file_too_large",
    "message": "File size (150 MB) exceeds maximum allowed size (100 MB)",
    "max_size_mb": 100,
}
SEARCH = {
    "success": True,
    "query": "How to configure authentication?",
    "results": [
        {
            "document_id": "uuid-v4-doc-id",
            "chunk_id": "uuid-v4-chunk-id",
            "filename": "auth-guide.pdf",
            "chunk_text": "To configure authentication, first set up the OAuth2 provider...",
            "relevance_score": 0.89,
            "metadata": {
                "format": "pdf",
                "page_num": 5,
                "date_added": "2025-10-26T10:00:00Z",
            },
        }
    ],
    "total_results": 1,
    "search_time_ms": 125,
}
SEARCH_NOTHING = {
    "success": True,
    "query": "non-existent topic",
    "results": [],
    "total_results": 0,
    "message": "No documents found matching your query",
    "search_time_ms": 50,
}
SEARCH_EMPTY = {
    "success": False,
    "error": "empty_knowledge_base",
    "message": "Knowledge base is empty. Add documents with knowledge-add first",
    "document_count": 0,
}
REMOVE = {
    "success": True,
    "document_id": "uuid-v4-doc-id",
    "filename": "old-document.pdf",
    "chunks_removed": 45,
    "message": "Document removed successfully",
}
REMOVE_UNCONFIRMED = {
    "success": False,
    "error": "confirmation_required",
    "message": "Set confirm=true to remove this document",
    "document": {"id": "uuid-v4-doc-id", "filename": "important.pdf", "chunks": 45},
}
REMOVE_UNKNOWN = {
    "success": False,
    "error": "document_not_found",
    "message": "Document with ID 'uuid-v4-doc-id' not found",
    "document_id": "uuid-v4-doc-id",
}
SHOW = {
    "success": True,
    "documents": [
        {
            "id": "uuid-v4-doc-id-1",
            "filename": "api-documentation.pdf",
            "format": "pdf",
            "size_bytes": 2048576,
            "date_added": "2025-10-26T10:00:00Z",
            "chunk_count": 45,
            "processing_status": "completed",
            "processing_method": "text_extraction",
        },
        {
            "id": "uuid-v4-doc-id-2",
            "filename": "diagram.png",
            "format": "png",
            "size_bytes": 512000,
            "date_added": "2025-10-25T15:30:00Z",
            "chunk_count": 1,
            "processing_status": "completed",
            "processing_method": "image_analysis",
        },
    ],
    "total_count": 2,
    "limit": 100,
    "offset": 0,
}
SHOW_EMPTY = {
    "success": True,
    "documents": [],
    "total_count": 0,
    "message": "Knowledge base is empty",
}
CLEAR = {
    "success": True,
    "documents_removed": 42,
    "embeddings_removed": 1850,
    "storage_freed_mb": 125.5,
    "message": "Knowledge base cleared successfully",
}
CLEAR_UNCONFIRMED = {
    "success": False,
    "error": "confirmation_required",
    "message": (
        "This action will delete ALL documents. Set confirm=true and"
        " confirmation_phrase='DELETE ALL' to proceed"
    ),
    "current_document_count": 42,
}
STATUS = {
    "success": True,
    "knowledge_base": {
        "name": "default",
        "document_count": 42,
        "total_chunks": 1850,
        "total_size_bytes": 131072000,
        "total_size_mb": 125.0,
        "average_chunks_per_document": 44.0,
        "storage_path": "/data/documents",
        "vector_db_path": "/data/chromadb",
    },
    "health": {
        "status": "healthy",
        "vector_db_connected": True,
        "storage_accessible": True,
        "embedding_model_loaded": True,
    },
    "configuration": {
        "embedding_model": "sentence-transformers/all-MiniLM-L6-v2",
        "chunk_size": 500,
        "max_file_size_mb": 100,
    },
    "last_updated": "2025-10-26T14:30:00Z",
}
STATUS_DEGRADED_HEALTH = {
    "status": "degraded",
    "vector_db_connected": True,
    "storage_accessible": False,
    "embedding_model_loaded": True,
    "issues": ["Storage directory not accessible: Permission denied"],
}
TASK_RUNNING = {
    "success": True,
    "task_id": "uuid-v4-task-id",
    "status": "running",
    "progress": 0.65,
    "current_step": "Generating embeddings",
    "completed_steps": 13,
    "total_steps": 20,
    "elapsed_time_seconds": 15.5,
    "estimated_remaining_seconds": 8.2,
}
TASK_COMPLETED = {
    "success": True,
    "task_id": "uuid-v4-task-id",
    "status": "completed",
    "progress": 1.0,
    "result": {
        "document_id": "uuid-v4-doc-id",
        "filename": "example.pdf",
        "chunks_created": 45,
    },
    "total_time_seconds": 23.7,
}
TASK_FAILED = {
    "success": False,
    "task_id": "uuid-v4-task-id",
    "status": "failed",
    "error": "ocr_failed",
    "message": "OCR processing failed: Tesseract not found",
    "elapsed_time_seconds": 5.2,
}
PROGRESS = {
    "jsonrpc": "2.0",
    "method": "notifications/progress",
    "params": {
        "progressToken": "task-uuid",
        "progress": 0.5,
        "total": 1.0,
        "message": "Processing page 5 of 10",
    },
}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}, "prompts": {"listChanged": False}},
    "serverInfo": {"name": "knowledge-server", "version": "1.0.0"},
}

# By tool: parameter -> type, whether required, and its default where the contract names one.
PARAMETERS = {
    "knowledge-add": {
        "file_path": ("string", True, None),
        "metadata": ("object", False, None),
        "force_ocr": ("boolean", False, False),
        "async": ("boolean", False, True),
    },
    "knowledge-search": {
        "query": ("string", True, None),
        "top_k": ("integer", False, 10),
        "min_relevance": ("number", False, 0.0),
        "filters": ("object", False, None),
    },
    "knowledge-remove": {
        "document_id": ("string", True, None),
        "confirm": ("boolean", False, False),
    },
    "knowledge-show": {
        "limit": ("integer", False, 100),
        "offset": ("integer", False, 0),
        "sort_by": ("string", False, "date_added"),
        "sort_order": ("string", False, "desc"),
    },
    "knowledge-clear": {
        "confirm": ("boolean", True, None),
        "confirmation_phrase": ("string", True, None),
    },
    "knowledge-status": {},
    "knowledge-task-status": {"task_id": ("string", True, None)},
}


def same_form(example, answer, where="answer"):
    """Field by field: the same names, and values of the same JSON types."""
    if isinstance(example, dict):
        assert isinstance(answer, dict), where
        assert set(answer) == set(example), f"{where}: {sorted(set(answer) ^ set(example))}"
        for name, value in example.items():
            same_form(value, answer[name], f"{where}.{name}")
    elif isinstance(example, list):
        assert isinstance(answer, list), where
        for each in answer:
            same_form(example[0], each, f"{where}[]")
    elif isinstance(example, float):
        assert isinstance(answer, int | float), where
        assert not isinstance(answer, bool), where
    else:
        assert type(answer) is type(example), where
