/**
 * The version of the schema that the first migration creates. The schema version of a state is in `PRAGMA
 * user_version`.
 *
 * Until version 0.1.0 is tagged, a schema change replaces the first migration and gets the next version. gdn refuses
 * states with another version. After that, each schema change is a new migration.
 */
export const FIRST_VERSION = 13

/**
 * The migrations of the client database, oldest first. IDs are text, because libsql rounds large integers. Times are in
 * milliseconds of the wall clock.
 */
export const STATE_MIGRATIONS: readonly string[] = [
  `
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  counter INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  copied_because TEXT,
  sealed_at TEXT
);
INSERT INTO state (id, counter, epoch) VALUES (1, 0, 0);

CREATE TABLE places (
  host TEXT NOT NULL,
  device TEXT NOT NULL,
  inode TEXT NOT NULL,
  boot TEXT NOT NULL,
  PRIMARY KEY (host, device, inode, boot)
) WITHOUT ROWID;

CREATE TABLE servers (
  id INTEGER PRIMARY KEY,
  origin TEXT NOT NULL UNIQUE,
  url TEXT
);

CREATE TABLE known_collections (
  server_id INTEGER NOT NULL REFERENCES servers,
  transaction_gdn_id TEXT NOT NULL,
  contract_address TEXT,
  name TEXT NOT NULL,
  blockchain TEXT NOT NULL,
  wallet_address TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (server_id, transaction_gdn_id)
) WITHOUT ROWID;

CREATE TABLE addresses (
  name TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- A member is a name such as @alice, or an address. A group has at least one member.
CREATE TABLE group_members (
  group_name TEXT NOT NULL,
  position INTEGER NOT NULL,
  member TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (group_name, position),
  UNIQUE (group_name, member)
) WITHOUT ROWID;

CREATE TABLE collections (
  id INTEGER PRIMARY KEY,
  server_id INTEGER NOT NULL REFERENCES servers,
  blockchain TEXT NOT NULL,
  address TEXT NOT NULL,
  checked_epoch INTEGER NOT NULL,
  UNIQUE (server_id, blockchain, address)
);

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('command', 'manifest')),
  name TEXT NOT NULL,
  note TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  holder TEXT,
  fence INTEGER NOT NULL,
  beat_at INTEGER NOT NULL,
  -- Whether a run with one operation is never removed. The runs of the npm client are kept, because a key identifies
  -- one request permanently.
  is_kept INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX runs_by_start ON runs (started_at);
-- There may be a million kept runs, so queries for the runs of commands skip kept runs that have ended.
CREATE INDEX runs_of_commands ON runs (started_at)
  WHERE kind = 'command' AND (is_kept = 0 OR ended_at IS NULL);

CREATE TABLE drops (
  run_id TEXT PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
  family TEXT NOT NULL,
  generation INTEGER NOT NULL,
  collection_id INTEGER NOT NULL REFERENCES collections,
  contract TEXT NOT NULL,
  manifest TEXT,
  run_name TEXT,
  reading TEXT NOT NULL,
  chunk_size INTEGER NOT NULL,
  in_order INTEGER NOT NULL,
  largest INTEGER,
  again INTEGER NOT NULL,
  -- Whether its rows are sent with creatednft.
  dynamic INTEGER NOT NULL,
  -- The maximum cost of its transactions, and their maximum gas price, in wei.
  max_cost TEXT,
  max_fee TEXT,
  marker TEXT,
  scope TEXT NOT NULL,
  reference_scope TEXT NOT NULL,
  url TEXT NOT NULL,
  backend_url TEXT NOT NULL,
  backend_id TEXT,
  incarnation TEXT,
  restored_after INTEGER NOT NULL DEFAULT 0,
  listed_at INTEGER,
  set_id INTEGER,
  -- The set of rows that the run began with.
  first_set INTEGER,
  fingerprint TEXT,
  local_files TEXT,
  answered_at INTEGER,
  UNIQUE (family, generation)
) WITHOUT ROWID;

CREATE TABLE row_sets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE
);
CREATE INDEX row_sets_by_run ON row_sets (run_id);

CREATE TABLE rows (
  set_id INTEGER NOT NULL REFERENCES row_sets ON DELETE CASCADE,
  position INTEGER NOT NULL,
  line INTEGER NOT NULL,
  key TEXT NOT NULL,
  reference TEXT,
  content TEXT NOT NULL,
  portable TEXT,
  plain TEXT,
  receivers INTEGER NOT NULL,
  files INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (set_id, position)
) WITHOUT ROWID;

-- The addresses of ENS names, which a run keeps even if the names get other addresses.
CREATE TABLE pinned_names (
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  name TEXT NOT NULL,
  address TEXT NOT NULL,
  PRIMARY KEY (run_id, name)
) WITHOUT ROWID;

CREATE TABLE uploads (
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  sha256 TEXT NOT NULL,
  url TEXT NOT NULL,
  PRIMARY KEY (run_id, sha256)
) WITHOUT ROWID;

CREATE TABLE requests (
  id INTEGER PRIMARY KEY,
  run_id TEXT REFERENCES runs ON DELETE CASCADE,
  n INTEGER,
  outcome TEXT CHECK (outcome IN ('accepted', 'refused', 'unknown', 'found')),
  unknown_after INTEGER,
  idempotency_key TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  backend_url TEXT NOT NULL,
  backend_id TEXT,
  incarnation TEXT,
  honors_key INTEGER,
  listed_at INTEGER,
  -- The cost limit in wei that the last attempt stated. Requests with rows have the limit of their run.
  max_cost TEXT
);
CREATE INDEX requests_by_run ON requests (run_id, n);

CREATE TABLE attempts (
  request_id INTEGER NOT NULL REFERENCES requests ON DELETE CASCADE,
  n INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT,
  PRIMARY KEY (request_id, n)
) WITHOUT ROWID;

CREATE TABLE operations (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
  server_id INTEGER NOT NULL REFERENCES servers,
  collection_id INTEGER REFERENCES collections,
  kind TEXT NOT NULL,
  identity TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN
    ('planned', 'intended', 'sent', 'accepted', 'unknown', 'absent', 'failed', 'deployed')),
  reason TEXT,
  request_id INTEGER REFERENCES requests,
  accepted_at INTEGER,
  accepted_by TEXT CHECK (accepted_by IN ('answer', 'found')),
  accepted_date TEXT,
  transaction_gdn_id TEXT,
  released_at INTEGER,
  position INTEGER NOT NULL DEFAULT 0,
  line INTEGER,
  content TEXT,
  plain TEXT,
  retried_by INTEGER,
  is_replaced INTEGER NOT NULL DEFAULT 0,
  was_deployed INTEGER NOT NULL DEFAULT 0,
  rival TEXT,
  -- The row as it was sent, in the format of rows.body; null while the rows of its run have it.
  body BLOB,
  CHECK (state = 'planned' OR request_id IS NOT NULL),
  CHECK (state NOT IN ('accepted', 'deployed') OR accepted_at IS NOT NULL)
) WITHOUT ROWID;
CREATE UNIQUE INDEX one_live_operation ON operations (server_id, coalesce(collection_id, 0), kind, identity)
  WHERE released_at IS NULL AND rival IS NULL
    AND state IN ('planned', 'intended', 'sent', 'unknown', 'accepted', 'deployed');
CREATE INDEX operations_by_run ON operations (run_id, identity, released_at, state);
CREATE INDEX operations_by_line ON operations (run_id, line, identity, released_at, state, accepted_at, content);
CREATE INDEX operations_retried ON operations (run_id) WHERE retried_by IS NOT NULL;
CREATE INDEX operations_open ON operations (run_id, request_id, state)
  WHERE state IN ('planned', 'intended', 'sent') AND released_at IS NULL;
CREATE INDEX operations_by_collection ON operations (collection_id, state);
CREATE INDEX operations_by_request ON operations (request_id, released_at, state);
CREATE INDEX operations_edited ON operations (run_id) WHERE body IS NOT NULL;
CREATE INDEX operations_by_name ON operations (server_id, kind, identity);

CREATE TRIGGER allowed_transitions BEFORE UPDATE OF state ON operations
WHEN NEW.state <> OLD.state AND (OLD.state || ' ' || NEW.state) NOT IN (
  'planned intended', 'planned accepted', 'intended sent', 'intended planned', 'intended failed', 'sent accepted',
  'sent intended', 'sent unknown', 'unknown accepted', 'unknown absent', 'unknown failed', 'accepted deployed',
  'accepted failed', 'accepted unknown', 'accepted planned', 'absent accepted', 'absent unknown', 'failed accepted', 'failed unknown',
  'deployed accepted', 'deployed unknown')
BEGIN SELECT raise(ABORT, 'this transition of an operation is not allowed'); END;
CREATE TRIGGER first_state BEFORE INSERT ON operations WHEN NEW.state <> 'planned'
BEGIN SELECT raise(ABORT, 'an operation begins as planned'); END;
CREATE TRIGGER same_bytes BEFORE UPDATE OF body, sha256, idempotency_key ON requests
BEGIN SELECT raise(ABORT, 'the bytes of a request never change'); END;

CREATE TABLE nfts (
  operation_id TEXT NOT NULL REFERENCES operations ON DELETE CASCADE,
  position INTEGER NOT NULL,
  nft_gdn_id TEXT NOT NULL,
  accepted_date TEXT,
  token_id TEXT,
  contract TEXT,
  receiver TEXT,
  metadata_url TEXT,
  error TEXT,
  -- The row that the NFT was changed to after its mint, in the format of rows.body; null if it wasn't changed.
  body BLOB,
  is_burned INTEGER NOT NULL DEFAULT 0,
  -- The revision, and the owner with the number of transfers, with which the NFT was last seen to match its row.
  known_revision INTEGER,
  known_owner TEXT,
  PRIMARY KEY (operation_id, position)
) WITHOUT ROWID;
CREATE INDEX nfts_by_id ON nfts (nft_gdn_id);
CREATE INDEX nfts_changed ON nfts (operation_id) WHERE body IS NOT NULL;
CREATE INDEX nfts_burned ON nfts (operation_id) WHERE is_burned = 1;

CREATE TABLE known_nfts (
  collection_id INTEGER NOT NULL REFERENCES collections,
  nft_gdn_id TEXT NOT NULL,
  counter INTEGER NOT NULL,
  content TEXT,
  PRIMARY KEY (collection_id, nft_gdn_id)
) WITHOUT ROWID;
`,
]
