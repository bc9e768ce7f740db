"""Everything that can go wrong, by name: a public code, a message for people, and details."""

from typing import Any


class KbError(Exception):
    """The root of what we raise on purpose. `code` is public; `status` is its HTTP status."""

    code = "internal_error"
    status = 500

    def __init_subclass__(cls, code: str, status: int | None = None) -> None:
        cls.code = code
        if status is not None:
            cls.status = status

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class NotFound(KbError, code="not_found", status=404): ...


class DocumentNotFound(NotFound, code="document_not_found"):
    def __init__(self, document_id: int | str) -> None:
        super().__init__(
            f"Document {document_id} not found: it may have been deleted, search or list again for "
            "its id",
            document_id=document_id,
        )


class FileNotStored(NotFound, code="file_not_stored"):
    def __init__(self, document_id: int) -> None:
        super().__init__(
            f"Document {document_id} has no original file: it is a note, or its file was not kept",
            document_id=document_id,
        )


class FileMissing(NotFound, code="file_missing"):
    """The original was kept, and is not there any more."""

    def __init__(self, filename: str) -> None:
        super().__init__(
            f"The original of {filename} is gone from the engine's data folder: put store-files "
            "back from a backup, or add the file again",
            filename=filename,
        )


class FileChanged(KbError, code="file_changed", status=409):
    """The stored file has changed since it was sent."""

    def __init__(self, filename: str) -> None:
        super().__init__(
            f"The original of {filename} in the engine's data folder is not what was sent, its "
            "stored bytes have changed: `kb verify --repair` puts it back if a backup has it, then "
            "try again; or add the file again",
            filename=filename,
        )


class NoSuchPage(NotFound, code="page_not_found"):
    """Only pages of PDFs and images can be shown as pictures, and only those that there are."""

    def __init__(self, filename: str, page: int) -> None:
        super().__init__(f"There is no picture of page {page} of {filename}", page=page)


class JobNotFound(NotFound, code="job_not_found"):
    def __init__(self, job_id: int | str) -> None:
        super().__init__(
            f"Job {job_id} not found: list the jobs to see the recent ones", job_id=job_id
        )


class Unauthorized(KbError, code="unauthorized", status=401): ...


class TooManyAttempts(KbError, code="too_many_attempts", status=429): ...


class WrongHost(KbError, code="wrong_host", status=421): ...


class ForeignOrigin(KbError, code="foreign_origin", status=403): ...


class InvalidRequest(KbError, code="invalid_request", status=422):
    """A field is missing, unknown, of the wrong type or out of range."""


class InvalidEncoding(KbError, code="invalid_body", status=400):
    """The body is not the JSON or multipart it claims to be."""


class MalformedRequest(KbError, code="malformed_request", status=400):
    """The request is not proper HTTP, or its headers contradict each other."""


class HeadersTooLarge(KbError, code="headers_too_large", status=431): ...


class MethodNotAllowed(KbError, code="method_not_allowed", status=405): ...


class UnsupportedMediaType(KbError, code="unsupported_media_type", status=415): ...


class BodyTooLarge(KbError, code="body_too_large", status=413): ...


class FileTooLarge(KbError, code="file_too_large", status=413): ...


class TextTooLong(KbError, code="text_too_long", status=413): ...


class UnsupportedFormat(KbError, code="unsupported_format", status=415): ...


class ConfirmationRequired(KbError, code="confirmation_required", status=422): ...


class NotANote(KbError, code="not_a_note", status=409): ...


class Conflict(KbError, code="conflict", status=409):
    """The thing changed since the caller last looked."""


class JobEnded(KbError, code="job_ended", status=409): ...


class JobNotRetryable(KbError, code="job_not_retryable", status=409): ...


class JobLost(KbError, code="job_lost", status=409):
    """The worker no longer holds this job: it was cancelled or taken by another."""


class ExtractionFailed(KbError, code="extraction_failed", status=422): ...


class NoTextFound(ExtractionFailed, code="no_text_found"): ...


class OcrFailed(ExtractionFailed, code="ocr_failed"):
    """The text is in pictures, and what would read them is not there."""


class DamagedFile(ExtractionFailed, code="damaged_file"):
    """The bytes begin like a format and then break its rules."""


class PasswordNeeded(ExtractionFailed, code="password_needed"): ...


class ContentTooLarge(ExtractionFailed, code="content_too_large"):
    """Small on disk, but beyond the limits in what it unpacks to, in pages, cells or pixels."""


class NestedTooDeep(ExtractionFailed, code="nested_too_deep"): ...


class TookTooLong(ExtractionFailed, code="took_too_long"): ...


class SandboxMissing(KbError, code="sandbox_missing", status=503):
    """KB_SANDBOX=strict, on a system that cannot lock in the readers of files."""


class WorkerKilled(KbError, code="worker_killed"):
    """Written on a job that took its worker down with it, three times over."""


class FailedBeforeUpgrade(KbError, code="failed_before_upgrade"):
    """Written on a job of v2 that had failed, or was not finished when v3 took over."""


class ModelLoading(KbError, code="model_loading", status=503): ...


class ModelFailed(KbError, code="model_failed", status=503):
    """The embedding model could not be loaded; searches go by words alone."""


class ModelNotFound(NotFound, code="model_not_found"):
    def __init__(self, name: str, installed: list[str]) -> None:
        super().__init__(
            f"The model {name} is not installed; there are {', '.join(installed)}", model=name
        )


class ModelSet(KbError, code="model_set", status=409):
    """A setting names the model, and it wins over a choice."""


class EmbeddingFailed(KbError, code="embedding_failed"): ...


class ShuttingDown(KbError, code="shutting_down", status=503): ...


class StorageFull(KbError, code="storage_full", status=507):
    def __init__(self, message: str = "The disk is full: free some space and try again") -> None:
        super().__init__(message)


class StorageFailed(KbError, code="storage_failed", status=503):
    """The database is gone, cannot be read, or refused a write; nothing was changed."""


def may_be_done(error: BaseException) -> bool:
    """Whether what ended with this error may be found done after a restart: then the files that
    belong to it have to stay."""
    return isinstance(error, KbError) and error.details.get("outcome") == "unknown"


class StoreDamaged(StorageFailed, code="store_damaged"):
    """Bytes of the database are not those that were written; it is only read from now on."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"The engine's database is damaged: {why}. Nothing is written to it until that is put "
            "right: run `kb verify` to see what is wrong, then stop kb and run `kb verify --repair`"
        )


class VerifyRunning(KbError, code="verify_running", status=409):
    """The store is being checked already."""

    def __init__(self) -> None:
        super().__init__(
            "The store is being checked already: `kb verify` follows it, "
            "`kb verify --cancel` ends it"
        )


class NothingToVerify(NotFound, code="nothing_to_verify"):
    """There is no store in the folder."""

    def __init__(self, folder: object) -> None:
        super().__init__(
            f"There is no store.db in {folder}, or it is empty: name another folder with "
            "--data-dir, or restore a backup with `kb restore`"
        )


class FilesInaccessible(KbError, code="files_inaccessible", status=503):
    """The folder of the originals, or one beside it, is gone or may not be used."""

    def __init__(self, folder: str, why: str) -> None:
        super().__init__(
            f"Storage directory not accessible: {why} ({folder}). Look at the engine's data "
            "folder: put it back as it was, give the engine the right to write there, or mend its "
            "disk, then try again"
        )


class StartupError(KbError, code="startup_error"):
    """The engine cannot start; the message is the one line that is printed (exit code 2)."""


class NotReady(KbError, code="not_ready", status=503): ...


class IdempotencyConflict(KbError, code="idempotency_conflict", status=409):
    """Another request came under a key that was used before."""

    def __init__(self, job_id: int) -> None:
        super().__init__(
            f"This Idempotency-Key was used for another request, which is job {job_id}: send the "
            "same request again to get that job, or use a new key for a new one",
            job_id=job_id,
        )


class SearchTimedOut(KbError, code="search_timeout", status=503):
    """A search gave up after its time (KB_SEARCH_SECONDS): its answer says so in `degraded`."""


class TooManyUploads(KbError, code="too_many_uploads", status=503):
    """One caller, or all together, send more large bodies at a time than is fair."""


class TooManySearches(KbError, code="too_many_searches", status=503): ...


class TooManyListeners(KbError, code="too_many_listeners", status=503): ...


class BackupRunning(KbError, code="backup_running", status=409):
    """One backup at a time: another one is being made."""


class BackupFolderRefused(KbError, code="backup_folder_refused", status=422):
    """Backups cannot be kept in the folder that was named."""


class BackupFailed(KbError, code="backup_failed"):
    """A backup could not be made; those that were made before are as they were."""


class BackupDamaged(BackupFailed, code="backup_damaged"):
    """A part of a backup is not what was written."""
