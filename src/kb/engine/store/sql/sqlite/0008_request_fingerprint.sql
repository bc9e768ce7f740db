-- What a request with an idempotency key said, as a hash: another request under the same key is told
-- apart by it. NULL: there was no key, or the job is from before.
ALTER TABLE jobs ADD COLUMN fingerprint TEXT;
