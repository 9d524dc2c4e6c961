CREATE TABLE IF NOT EXISTS knowledge_models (
	id    INTEGER PRIMARY KEY,
	name  TEXT NOT NULL UNIQUE,
	size  INTEGER NOT NULL, -- how many numbers a vector has
	drops INTEGER NOT NULL  -- grows when vectors go: what was read before has to be read anew
);
CREATE TABLE IF NOT EXISTS knowledge_vectors (
	id      INTEGER PRIMARY KEY, -- grows, so that new ones are found
	model   INTEGER NOT NULL,
	passage INTEGER NOT NULL,
	vector  BLOB NOT NULL -- of length 1, as little-endian 32-bit floats
);
CREATE UNIQUE INDEX IF NOT EXISTS knowledge_vectors_by_passage ON knowledge_vectors (passage, model);
