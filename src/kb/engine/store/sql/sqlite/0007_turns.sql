-- Whose turn it is. What is sent together is a batch, and batches take turns: the first jobs of all,
-- then the second ones. `pictures` says that pictures have to be recognised, which one job at a time
-- does: those jobs stand in a line of their own. `expected` is how much work a job will probably be:
-- so many passages or, in the line with pictures, so many pictures.
ALTER TABLE jobs ADD COLUMN batch TEXT;
ALTER TABLE jobs ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN pictures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN expected INTEGER NOT NULL DEFAULT 1;
UPDATE jobs SET turn = line.place, expected = 1 + size_bytes / 800 FROM (
    SELECT id, row_number() OVER (ORDER BY id) AS place FROM jobs
    WHERE status IN ('queued', 'running')
) AS line WHERE jobs.id = line.id;
CREATE INDEX jobs_in_line ON jobs (pictures, turn, id, expected) WHERE status = 'queued';
CREATE INDEX jobs_by_age ON jobs (pictures, id) WHERE status = 'queued';
CREATE INDEX jobs_by_batch ON jobs (batch, pictures, turn) WHERE status IN ('queued', 'running');
-- An older job about the same thing goes first.
CREATE INDEX jobs_by_path ON jobs (source_path) WHERE status IN ('queued', 'running');
CREATE INDEX jobs_by_content ON jobs (content_hash) WHERE status IN ('queued', 'running');

-- The latest turn that was taken in each line.
CREATE TABLE turns (
    pictures INTEGER PRIMARY KEY,
    taken INTEGER NOT NULL
);
INSERT INTO turns VALUES (0, 0), (1, 0);
