import type { Sql } from '../sqlite/shared-database.ts'

/**
 * The temporary tables of a connection. Before a function reads a table, its caller must fill the table on the same
 * connection.
 */
const TABLES = {
  /**
   * The rows of the last manifest that was read. `addRows` fills it, `moveRow` changes it, and `moveDraft` empties it.
   * It is read by each function with a parameter `RowLocation`, and by `draft-rows.ts`, `areOnOtherLines`,
   * `changedPage` and `findRowsOfOtherDrop`.
   */
  draft: `(position INTEGER PRIMARY KEY, line INTEGER NOT NULL, key TEXT NOT NULL, reference TEXT, content TEXT NOT NULL,
    portable TEXT, plain TEXT, receivers INTEGER NOT NULL, files INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL)`,
  /**
   * The changes of rows. `addChanges` fills it. `changedPage` and `findRowsOfOtherDrop` join it with the draft,
   * `exchangedRows` joins it with any rows, and `exchangedFields` reads it alone.
   */
  changes: '(position INTEGER, n INTEGER, change TEXT NOT NULL, PRIMARY KEY (position, n)) WITHOUT ROWID',
  /**
   * Receivers of rows whose NFTs another user transferred. `addDriftedReceiver` fills it, and `exchangedFields` and
   * `exchangedRows` read it.
   */
  drifted: '(position INTEGER PRIMARY KEY, was TEXT NOT NULL, now TEXT NOT NULL, is_open INTEGER NOT NULL)',
  /** Values of rows that will be minted. `addMintedValue` fills it, and `exchangedFields` reads it. */
  minted: '(field TEXT NOT NULL, value TEXT NOT NULL)',
  /**
   * Rows that this machine hasn't minted and whose content differs from their NFTs. `addContent` fills it,
   * `markCommonContent` changes it, and `findRowsOfOtherNfts` reads it.
   */
  contents: `(position INTEGER PRIMARY KEY, was TEXT NOT NULL, now TEXT NOT NULL, is_common INTEGER NOT NULL,
    UNIQUE (now, position))`,
  /** The changes of NFTs without a row. `addBurn` fills it, and `burnsPage` reads it. */
  burns: '(position INTEGER PRIMARY KEY, change TEXT NOT NULL)',
  /**
   * The NFTs of all rows. `addAssignedNfts` fills it for each page of the draft, and `removedRows` and
   * `listNftsWithoutRow` read it.
   */
  named: '(nft TEXT PRIMARY KEY)',
  /** The changes of the rows of a saved plan. `addSavedChanges` fills it, and `savedChangesBetween` reads it. */
  saved: '(position INTEGER PRIMARY KEY, changes TEXT NOT NULL)',
  /**
   * The burns of a saved plan. `addSavedBurn` fills it, `takeSavedBurn` removes one, and `savedBurns` reads the rest.
   */
  saved_burns: '(nft TEXT PRIMARY KEY, change TEXT NOT NULL)',
  /** Reference IDs whose labels will be replaced. `addRelabeled` fills it, and `relabeledPage` reads it. */
  relabeled: '(n INTEGER PRIMARY KEY, operation TEXT, reference TEXT, label TEXT)',
  /** NFTs that were changed after their mint. `addSeenNft` fills it, and `seenNftsPage` reads it. */
  seen: `(position INTEGER PRIMARY KEY, nftGdnId TEXT NOT NULL, owner TEXT, metadataUrl TEXT, isBurned INTEGER NOT NULL,
    body BLOB, has TEXT NOT NULL, knownRevision INTEGER, knownOwner TEXT)`,
  /** The rows of an earlier set. Only `findRowChanges` uses it. */
  earlier: '(key TEXT PRIMARY KEY, line INTEGER NOT NULL, content TEXT NOT NULL) WITHOUT ROWID',
  /** The stored rows that have a reference. Only `readRemovedSentRows` uses it. */
  referenced: '(key TEXT PRIMARY KEY, reference TEXT NOT NULL) WITHOUT ROWID',
  /** The rows of the manifest without an ID that are new to the run. Only `movedRows` uses it. */
  referencing: '(reference TEXT, key TEXT, position INTEGER NOT NULL, PRIMARY KEY (reference, key)) WITHOUT ROWID',
  /** The rows of operations as they were sent. Only `storeSentTexts` uses it. */
  kept: '(id TEXT PRIMARY KEY, body BLOB NOT NULL)',
  /** The operations whose rows have received an ID. Only `renameStoredRows` uses it. */
  renaming: '(key TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL) WITHOUT ROWID',
  /** The rows that a run would send. `fillCheckedRows` fills it, and `sharedRows`, `rowsWithOtherIds` and
   * `repeatedRows` read it. */
  checked: `(key TEXT PRIMARY KEY, line INTEGER NOT NULL, portable TEXT NOT NULL, files INTEGER NOT NULL, body BLOB,
    plain TEXT)`,
  /** The rows that another run claims. `sharedRows` fills it, and `rowsWithOtherIds` reads it. */
  claimed: '(key TEXT NOT NULL, portable TEXT NOT NULL, body BLOB, plain TEXT)',
  /** The contents that a run has minted, as sent and as last applied. Only `repeatedRows` uses it. */
  minted_contents: '(operation TEXT NOT NULL, key TEXT NOT NULL, portable TEXT NOT NULL, plain TEXT)',
}

/** Creates empty temporary tables, and drops earlier tables with these names. */
export function createTables(sql: Sql, ...names: (keyof typeof TABLES)[]): void {
  for (const name of names) sql.script(`DROP TABLE IF EXISTS temp.${name}; CREATE TEMP TABLE ${name} ${TABLES[name]}`)
}
