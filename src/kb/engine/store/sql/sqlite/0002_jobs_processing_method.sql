-- How the text of the document was had: whoever waited for the job may find the document gone.
ALTER TABLE jobs ADD COLUMN processing_method TEXT;
