-- Until when others leave a job alone that is running; whoever works on it has this put off in time.
-- NULL where an older kb took it: nobody waits for that one.
ALTER TABLE jobs ADD COLUMN lease_until TEXT;
