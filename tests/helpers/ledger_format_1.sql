-- A ledger as Lapwing made it before selections were accounted for (format 1), written out by sqlite3's iterdump.
PRAGMA application_id = 1280789575;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE accounts (
    dataset TEXT NOT NULL PRIMARY KEY,
    unit TEXT NOT NULL CHECK (unit IN ('pure', 'zcdp')),
    delta TEXT,
    relation TEXT NOT NULL CHECK (relation IN ('add-remove', 'replace-one')),
    privacy_unit TEXT NOT NULL,
    limit_units INTEGER NOT NULL CHECK (typeof(limit_units) = 'integer'),
    spent_units INTEGER NOT NULL DEFAULT 0 CHECK (typeof(spent_units) = 'integer' AND spent_units >= 0),
    CHECK (spent_units <= limit_units)
);
INSERT INTO "accounts" VALUES('adult','pure',NULL,'add-remove','row',3000000000,500000000);
INSERT INTO "accounts" VALUES('taxi','zcdp','0.000001','replace-one','person_id:3',24355970359,1000000000);
CREATE TABLE answers (
    dataset TEXT NOT NULL,
    release_id TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (typeof(number) = 'integer'),
    digest TEXT NOT NULL,
    PRIMARY KEY (dataset, release_id, number),
    FOREIGN KEY (dataset, release_id) REFERENCES entries (dataset, release_id)
);
INSERT INTO "answers" VALUES('adult','first',0,'0000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('init', 'debit', 'limit')),
    dataset TEXT NOT NULL,
    release_id TEXT CHECK ((release_id IS NOT NULL) = (kind = 'debit')),
    units INTEGER NOT NULL CHECK (typeof(units) = 'integer' AND units >= 0),
    details TEXT NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (dataset, release_id)
);
INSERT INTO "entries" VALUES(1,'2026-11-22T08:21:37+00:00','init','adult',NULL,2000000000,'{"delta":null,"limit":"2","privacy_unit":"row","relation":"add-remove","unit":"pure"}','f44c9bbbe07d157f7731d59ea83d9436c511eebb111dc7b79d30dc265f7e230d');
INSERT INTO "entries" VALUES(2,'2026-11-22T08:21:37+00:00','debit','adult','first',500000000,'{"budget":["pure","0.5"],"description":{"mechanism":"Independent"}}','e79de560ae8f55efdc4c16f38481b0e9e3e555507c60679195177e42e84b5368');
INSERT INTO "entries" VALUES(3,'2026-11-22T08:21:37+00:00','init','taxi',NULL,24355970359,'{"delta":"0.000001","limit":"1","privacy_unit":"person_id:3","relation":"replace-one","unit":"zcdp"}','609feb1c1997efeb4c9345692b5eefff8c5b1d2f9bd32b6c76c88ccfa7bb2e92');
INSERT INTO "entries" VALUES(4,'2026-11-22T08:21:37+00:00','debit','taxi','second',1000000000,'{"budget":["zcdp","0.001"],"description":{}}','c9047368bdf8f7df3f86e67a2d6cb9d05b1d8573a8b3098ebec6e6828fb0003d');
INSERT INTO "entries" VALUES(5,'2026-11-22T08:21:37+00:00','limit','adult',NULL,3000000000,'{"limit":"3"}','4cf62e53f522b700232b6cb9211dae8f019d8dc7bf55ab9d3ef629b13078f77a');
CREATE TRIGGER entries_append BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
  OR EXISTS (SELECT 1 FROM entries WHERE dataset = NEW.dataset AND release_id = NEW.release_id)
  OR NOT EXISTS (SELECT 1 FROM accounts WHERE dataset = NEW.dataset)
BEGIN SELECT RAISE(ABORT, 'entries are appended, one for each release'); END;
CREATE TRIGGER entries_debit AFTER INSERT ON entries WHEN NEW.kind = 'debit'
BEGIN UPDATE accounts SET spent_units = spent_units + NEW.units WHERE dataset = NEW.dataset; END;
CREATE TRIGGER entries_limit AFTER INSERT ON entries WHEN NEW.kind = 'limit'
BEGIN UPDATE accounts SET limit_units = NEW.units WHERE dataset = NEW.dataset; END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER answers_append BEFORE INSERT ON answers
WHEN EXISTS (SELECT 1 FROM answers WHERE dataset = NEW.dataset AND release_id = NEW.release_id AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'an answer is noted once'); END;
CREATE TRIGGER answers_stay BEFORE DELETE ON answers
BEGIN SELECT RAISE(ABORT, 'noted answers are never deleted'); END;
CREATE TRIGGER answers_fixed BEFORE UPDATE ON answers
BEGIN SELECT RAISE(ABORT, 'noted answers are never changed'); END;
CREATE TRIGGER accounts_stay BEFORE DELETE ON accounts
BEGIN SELECT RAISE(ABORT, 'accounts are never deleted'); END;
CREATE TRIGGER accounts_fixed BEFORE UPDATE OF dataset, unit, delta, relation, privacy_unit ON accounts
BEGIN SELECT RAISE(ABORT, 'the terms of an account are never changed'); END;
CREATE TRIGGER accounts_no_refund BEFORE UPDATE OF spent_units ON accounts
WHEN NEW.spent_units < OLD.spent_units
BEGIN SELECT RAISE(ABORT, 'budget is never refunded'); END;
COMMIT;
