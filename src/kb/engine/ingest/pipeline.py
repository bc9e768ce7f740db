"""Turns a job into a document: read, cut, embed, store."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kb.engine.data_folder.originals import FileStore
from kb.engine.embed import Embedders
from kb.engine.errors import EmbeddingFailed, InvalidRequest, JobLost, NotANote, NoTextFound
from kb.engine.ingest.extract.extraction import Extraction, Ocr, Source, ending
from kb.engine.ingest.outcome import Reading, processing_method
from kb.engine.ingest.passages.chunk import chunk, embedding_text
from kb.engine.ingest.passages.page_ends import whole_sentences
from kb.engine.ingest.progress import Board, Course
from kb.engine.ingest.render import DRAWN
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.ingest.titles import document_title, first_line, is_first_line
from kb.engine.pages import Page, PlacedWord, Remark
from kb.engine.store import Store
from kb.engine.store.jobs import Finished
from kb.engine.store.rows.page_words import pack
from kb.engine.values import (
    SAME_TAGS,
    Chunk,
    Draft,
    Embedder,
    Job,
    NewJob,
    PicturesRead,
    TagChange,
    TakenJob,
    Vectors,
    WholeDocument,
)

_BATCH = 8
_MOST_WORDS = 50_000  # of a page, with their places
# A note is changed while its author waits: the model is nearly always there, and soon if not.
_PATIENCE = 10.0


class HasPictures(Exception):
    """A job turned out to have nothing but pictures to read: it is in their line from now on."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The text of a job, before it has vectors. `warning` is for the sender of the job."""

    draft: Draft
    chunks: list[Chunk]
    warning: str = ""


@dataclass(frozen=True, slots=True)
class _Content:
    """What was read from a file. About this many pictures inside it are `waiting` to be read; with
    `pictures`, this is the text of that many."""

    extraction: Extraction
    reading: Reading
    words: dict[int, bytes]
    chunks: list[Chunk]
    waiting: int = 0
    pictures: int = 0


class Pipeline:
    """Everything between a request to ingest and its document; `told` is called at every step."""

    def __init__(
        self,
        store: Store,
        files: FileStore,
        sandbox: Sandbox,
        embedders: Embedders,
        board: Board,
        told: Callable[[int], None],
        ocr: Ocr,
    ) -> None:
        self._store = store
        self._files = files
        self._sandbox = sandbox
        self._embedders = embedders
        self._board = board
        self._told = told
        self._ocr = ocr

    def ingest(self, taken: TakenJob, stopped: Callable[[], bool]) -> Job:
        """Do one job. `stopped` is asked between steps; True gives the job up with JobLost. Raises
        HasPictures for one that was not known to be a job with pictures."""
        finished = self._store.jobs.finish_unread(taken)
        if finished is None:

            def lost() -> bool:
                return stopped() or not self._store.jobs.holds(taken)

            def before_pictures(count: int) -> None:
                if not taken.request.pictures:
                    self._store.jobs.needs_pictures(taken, count)
                    raise HasPictures

            course = Course(self._board, taken, self._told, before_pictures)
            if taken.request.kind == "pictures":
                return self._add_pictures(taken, course, lost).job
            read = self._read(taken, course, lost)
            vectors = self._embed(taken, course, read.draft.title, read.chunks, lost)
            course.stores()
            finished = self._store.jobs.finish(
                taken, read.draft, read.chunks, vectors, read.warning
            )
            name = taken.request.filename
            course.ends("note" if name is None else ending(name), taken.request.size_bytes)
        self._files.delete([finished.unneeded_file])
        return finished.job

    def revise_note(
        self,
        document_id: int,
        text: str,
        title: str | None = None,
        if_updated_at: str | None = None,
        tags: TagChange = SAME_TAGS,
    ) -> WholeDocument:
        """Replace the text of a note. Embedding comes first: if it fails, nothing has changed."""
        document = self._store.documents.get(document_id)
        if document.doc_type != "note":
            raise NotANote(
                f"Only notes can be updated; document {document_id} is of type {document.doc_type}",
                document_id=document_id,
            )
        if title is None and is_first_line(document.title, document.text or ""):
            title = first_line(text)
        chunks = self._cut_note(text)
        vectors = {
            embedder.name: embedder.embed(_texts(title or document.title, chunks, embedder))
            for embedder in self._in_use(_PATIENCE)
        }
        return self._store.documents.replace_text(
            document_id, text, text_hash(text), chunks, vectors, title, if_updated_at, tags
        )

    def embed_missing(self, limit: int) -> int:
        """Give some chunks the vectors they lack of the wanted model; how many there were."""
        model = self._store.models.wanted
        missing = self._store.models.unembedded(limit)
        if missing:
            self._embedders.of(model).start()
            embedder = self._embedders.of(model).wait()
            texts = [embedding_text(row.title, row.chunk, embedder.count_tokens) for row in missing]
            ids = [row.chunk_id for row in missing]
            self._store.models.put_vectors(ids, embedder.embed(texts), model)
        return len(missing)

    def _read(self, taken: TakenJob, course: Course, lost: Callable[[], bool]) -> _Read:
        request = taken.request
        if request.kind == "note":
            text = request.text or ""
            return _Read(_note_draft(taken, text), self._cut_note(text))
        filename = request.filename or "file"
        ocr = replace(self._ocr, force=request.force_ocr)
        path = self._files.unchanged(
            request.stored_name or "", filename, request.size_bytes, request.content_hash
        )
        content = self._content(Source(path, filename, ocr), course, lost)
        extraction, reading, chunks = content.extraction, content.reading, content.chunks
        if not chunks:
            raise NoTextFound(_nothing_found(filename, reading, ocr), filename=filename)
        title = request.title or document_title(
            extraction.title, extraction.doc_type, chunks, filename
        )
        draft = Draft(
            title=title,
            filename=filename,
            doc_type=extraction.doc_type,
            format=extraction.format,
            source_path=request.source_path,
            origin=request.origin,
            tags=request.tags,
            metadata={
                **extraction.metadata,
                **reading.missing_pages(),
                **request.metadata,
            },
            content_hash=request.content_hash,
            size_bytes=request.size_bytes,
            processing_method=processing_method(reading.pages),
            how_read=replace(
                reading.how_read(extraction.reader, extraction.page_count, chunks, content.waiting),
                pictures_read=content.pictures,
            ),
            stored_name=request.stored_name,
            title_given=_is_title_given(request),
            words=content.words if extraction.format in DRAWN else {},
            arrival=request.arrival,
        )
        return _Read(draft, chunks, reading.message())

    def _content(self, source: Source, course: Course, lost: Callable[[], bool]) -> _Content:
        """The text of a file, with OCR left for later; without any text, that on its pictures."""
        first = replace(source, wanted="all" if source.ocr.force else "text")
        extraction = self._sandbox.extract(first, lost, course)
        try:
            reading, words = self._read_pages(course, extraction)
        except NoTextFound:
            if not extraction.pictures:
                raise
            reading, words = Reading(), {}
        chunks = self._cut(whole_sentences(reading.pages))
        waiting = max(extraction.pictures, reading.later)
        if chunks or not waiting:
            return _Content(extraction, reading, words, chunks, waiting)
        inside, words = self._recognised(source, extraction.format, course, lost)
        both = Reading(
            inside.pages,
            [*reading.unread, *inside.unread],
            [*reading.remarks, *inside.remarks],
        )
        pictures = 0 if extraction.doc_type == "image" else inside.pictures
        return _Content(extraction, both, words, self._cut(inside.pages), pictures=pictures)

    def _add_pictures(self, taken: TakenJob, course: Course, lost: Callable[[], bool]) -> Finished:
        """Recognise what was left out of a document, and add it."""
        request = taken.request
        document, stored_name = self._store.documents.stored_file(request.document_id or 0)
        filename = document.filename or "file"
        path = self._files.unchanged(
            stored_name, filename, document.size_bytes, document.content_hash
        )
        source = Source(path, filename, self._ocr)
        inside, words = self._recognised(source, document.format, course, lost)
        known = document.how_read.warnings if document.how_read else ()
        inside.remarks = [each for each in inside.remarks if each.text not in known]
        chunks = self._cut(inside.pages)
        vectors = self._embed(taken, course, document.title, chunks, lost) if chunks else {}
        course.stores()
        read = PicturesRead(
            inside.pictures,
            inside.whole_pages,
            len(inside.unread),
            inside.warnings(),
            words if document.format in DRAWN else {},
        )
        return self._store.jobs.add_pictures(taken, read, chunks, vectors, inside.message())

    def _recognised(
        self, source: Source, file_format: str, course: Course, lost: Callable[[], bool]
    ) -> tuple[Reading, dict[int, bytes]]:
        """What was left out of a document, as far as there is text on it."""
        found = self._sandbox.extract(replace(source, wanted="pictures"), lost, course)
        reading, words = self._read_pages(course, found)
        if file_format not in DRAWN:  # it has no pages that people know by their numbers
            reading.remarks += [
                Remark(f"picture {each.number} inside could not be read: {each.reason}")
                for each in reading.unread
            ]
            reading.unread = []
        reading.pages = [page for page in reading.pages if page.text.strip()]
        return reading, words

    def _read_pages(
        self, course: Course, extraction: Extraction
    ) -> tuple[Reading, dict[int, bytes]]:
        """Page by page, which for scans is where the time goes. The words that were recognised come
        packed, as they are stored: a long scan has hundreds of thousands."""
        reading = Reading()
        words = _Words()
        course.counted(extraction.page_count)
        for item in extraction.pages:
            if not isinstance(item, Remark):
                course.read(item)
            if isinstance(item, Page):
                words.add(item)
            reading.add(item)
        return reading, words.packed()

    def _cut(self, pages: Iterable[Page]) -> list[Chunk]:
        return chunk(pages, self._in_use()[0].count_tokens)

    def _cut_note(self, text: str) -> list[Chunk]:
        chunks = self._cut([Page(text, markup="markdown")])
        if not chunks:
            raise InvalidRequest("A note needs some text")
        return chunks

    def _in_use(self, timeout: float | None = None) -> list[Embedder]:
        """The wanted model's, and while another is searched that one's. One that cannot be loaded
        is passed over, as long as there is one that can."""
        found: list[Embedder] = []
        failure: EmbeddingFailed | None = None
        for model in dict.fromkeys((self._store.models.wanted, self._store.models.searched)):
            background = self._embedders.of(model)
            background.start()
            try:
                found.append(background.wait(timeout))
            except EmbeddingFailed as error:
                failure = failure or error
        if failure is not None and not found:
            raise failure
        return found

    def _embed(
        self,
        taken: TakenJob,
        course: Course,
        title: str,
        chunks: Sequence[Chunk],
        lost: Callable[[], bool],
    ) -> dict[str, Vectors]:
        """In small batches, so that progress is real and a cancelled job stops at once."""
        embedders = self._in_use()
        texts = [_texts(title, chunks, embedder) for embedder in embedders]
        count = len(chunks)
        parts: list[list[Vectors]] = [[] for _ in embedders]
        course.cut(chunks)
        for start in range(0, count, _BATCH):
            if lost():
                raise JobLost(f"Job {taken.id} was given up", job_id=taken.id)
            course.embeds()
            for number, embedder in enumerate(embedders):
                parts[number].append(embedder.embed(texts[number][start : start + _BATCH]))
            course.embedded(min(_BATCH, count - start))
        return {
            embedder.name: np.concatenate(of_one)
            for embedder, of_one in zip(embedders, parts, strict=True)
        }


class _Words:
    """The words of pages, packed page by page. Parts of one page in the file that follow each
    other, as of a large picture, are packed once: many small ones would take all the time there
    is."""

    def __init__(self) -> None:
        self._packed: dict[int, bytes] = {}
        self._number = 0
        self._open: list[PlacedWord] = []

    def add(self, page: Page) -> None:
        number = page.number or 1
        if number != self._number:
            self._pack()
            self._number = number
        if number not in self._packed and len(self._open) < _MOST_WORDS:
            self._open += page.words

    def packed(self) -> dict[int, bytes]:
        self._pack()
        return self._packed

    def _pack(self) -> None:
        if self._open:
            self._packed[self._number] = pack(self._open)
            self._open = []


def _texts(title: str, chunks: Sequence[Chunk], embedder: Embedder) -> list[str]:
    return [embedding_text(title, passage, embedder.count_tokens) for passage in chunks]


def _nothing_found(filename: str, reading: Reading, ocr: Ocr) -> str:
    """What to say of a file that could be opened and has no text, and what to do."""
    told = reading.warnings()
    if ocr.engine == "off":
        what = "if it is a scan, turn OCR on (KB_OCR_ENGINE) and add it again"
    elif not ocr.inside:
        what = "if its text is in pictures, have those read (KB_OCR_INSIDE) and add it again"
    else:
        what = (
            "open it to see whether it is empty; if it is a scan, scan it again in a higher quality"
        )
    return f"No text was found in {filename}: {'; '.join((*told, what))}"


def _note_draft(taken: TakenJob, text: str) -> Draft:
    request = taken.request
    return Draft(
        title=request.title or first_line(text),
        filename=None,
        doc_type="note",
        format="note",
        source_path=request.source_path,
        tags=request.tags,
        metadata=request.metadata,
        content_hash=request.content_hash,
        size_bytes=request.size_bytes,
        title_given=_is_title_given(request),
        origin=request.origin,
        arrival=request.arrival,
    )


def _is_title_given(request: NewJob) -> bool:
    """An imported document has a title in any case, which nobody may have chosen."""
    if request.arrival is not None and not request.arrival.title_given:
        return False
    return request.title is not None


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
