CREATE TABLE IF NOT EXISTS knowledge_bases (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS knowledge_files (
	id       INTEGER PRIMARY KEY,
	base     INTEGER NOT NULL,
	name     TEXT NOT NULL,
	passages INTEGER NOT NULL,
	UNIQUE (base, name)
);
CREATE TABLE IF NOT EXISTS knowledge_passages (
	id   INTEGER PRIMARY KEY, -- the base in the upper half, so that a base is a range
	base INTEGER NOT NULL,
	file INTEGER NOT NULL,
	name TEXT NOT NULL, -- the id that agents see
	text TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS knowledge_passages_by_name ON knowledge_passages (base, name);
CREATE INDEX IF NOT EXISTS knowledge_passages_by_file ON knowledge_passages (file);
-- The text here is that of knowledge_passages as it is cut into words; the row has the same id. It is kept because an index
-- without it would count removed passages for ever, and with that change the scores of others.
-- Marks belong to words, as vowels do in Hindi and Thai.
-- No stemmer: that of SQLite knows English only and would join words of other languages that have nothing in common.
CREATE VIRTUAL TABLE IF NOT EXISTS knowledge_index USING fts5 (
	text, tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
CREATE VIRTUAL TABLE IF NOT EXISTS knowledge_words USING fts5vocab (knowledge_index, row);
-- The words that are in so many passages that they hardly tell them apart.
CREATE TABLE IF NOT EXISTS knowledge_common (word TEXT PRIMARY KEY) WITHOUT ROWID;
