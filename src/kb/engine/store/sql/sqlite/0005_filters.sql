-- What filters of a search ask for, in one small index: whatever they let through, the documents
-- themselves need not be read.
CREATE INDEX documents_by_kind ON documents (doc_type, format, created_at);
