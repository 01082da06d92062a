import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { countMetadataItems, extraKeys, MAX_FILE_FIELDS, MAX_METADATA_ITEMS } from '../api/metadata.ts'
import type { ShuffleRule } from '../api/shuffle-rule.ts'
import { countRowsByStatus } from '../batch/rows/row-counts.ts'
import { readStoredRun } from '../batch/runs/open-stored-run.ts'
import type { BatchOptions, RowCounts, Run } from '../batch/types.ts'
import { writeDurably } from '../core/durable-file.ts'
import { GdnError, messageOf, type Place } from '../core/errors.ts'
import { isObject } from '../core/json.ts'
import { makePrivateDirectory } from '../core/private-file.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { PROVENANCE, PROVENANCE_ROW } from '../manifest/reveal-keys.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { NO_MANIFEST_HINT } from '../manifest/source.ts'
import { openStateIfExists } from '../state/open-state.ts'
import { areAllRevealed } from '../state/row-outcomes.ts'
import { computeLeaf, deriveSalt, parseLeaves } from './leaves.ts'
import { provenanceFolder } from './provenance-folder.ts'
import { createRowLookup } from './provenance-in.ts'
import { contentHashes, type ReadCommitment } from './read-commitment.ts'
import { type DrawnRows, readStoredDraw } from './shuffle/drawn-rows.ts'

const NO_PLACEHOLDER_HINT = 'Check the path, or create a JSON file with the metadata of one NFT (docs/reveal.md).'

/** The metadata of NFTs before they are revealed. */
export type Placeholder = Pick<ManifestRow, 'metadata' | 'localFiles'>

/**
 * Returns the placeholder from a file with one NFT.
 *
 * @param items the items of the file
 * @throws GdnError `invalid_input`
 */
export async function readPlaceholder(items: AsyncIterable<ManifestItem>, file: string): Promise<Placeholder> {
  const rows: ManifestRow[] = []
  for await (const item of items) {
    if ('issue' in item) {
      const { message, hint, place } = item.issue
      throw new GdnError('invalid_input', message, {
        place: { file, ...place },
        hint: hint === NO_MANIFEST_HINT ? NO_PLACEHOLDER_HINT : hint,
      })
    }
    rows.push(item.row)
  }
  const unrevealedError = (message: string, hint: string, place?: Place) =>
    new GdnError('invalid_input', message, { place: { file, ...place }, hint })
  const [row] = rows
  if (row === undefined || rows.length > 1) {
    throw unrevealedError(`has ${rows.length} NFTs`, 'Use a JSON file with the metadata of one NFT.')
  }
  const { line, metadata, localFiles } = row
  const keys = [...extraKeys(metadata), ...metadata.file_fields.map(({ key }) => key)]
  const reservedKey = keys.find((key) => key.startsWith(PROVENANCE))
  if (reservedKey !== undefined)
    throw unrevealedError(`${reservedKey} is reserved for the reveal`, 'Choose another key.', {
      line,
      field: reservedKey,
    })
  const tooMany =
    countMetadataItems(metadata) > MAX_METADATA_ITEMS - 2 || metadata.file_fields.length >= MAX_FILE_FIELDS
  if (tooMany)
    throw unrevealedError('has no room for provenance and provenance_row', 'Remove two metadata items.', { line })
  return { metadata, localFiles }
}

/** Returns the path at which the leaves file of a commitment is stored until it is uploaded. */
export const leavesPath = (stateDir: string, provenance: string): string =>
  join(provenanceFolder(stateDir), `${provenance}.txt`)

/** Returns the path of the content hashes of a commitment's rows, which are used to recognize hidden rows. */
export const contentsPath = (stateDir: string, provenance: string): string =>
  join(provenanceFolder(stateDir), `${provenance}.contents`)

/** Stores the leaves file and the content hashes of a commitment. */
export async function storeLeaves(stateDir: string, { commitment, rowContentHashes }: ReadCommitment): Promise<void> {
  const { provenance, leaves } = commitment
  await makePrivateDirectory(provenanceFolder(stateDir))
  for (const [path, content] of [
    [contentsPath(stateDir, provenance), rowContentHashes],
    [leavesPath(stateDir, provenance), leaves],
  ] as const) {
    await writeDurably(path, async (file) => {
      await file.writeFile(content)
    })
  }
}

/**
 * Yields the rows as they are minted, with the metadata of the placeholder, the leaves file and the row number. Row
 * keys are derived from the original rows, so each row is minted only once, whether unrevealed or not.
 *
 * @throws GdnError `refused` if the manifest has been edited since the commitment was read
 */
export async function* unrevealedItems(
  items: AsyncIterable<ManifestItem>,
  { metadata, localFiles }: Placeholder,
  { commitment, rowHash }: ReadCommitment,
  leaves: string,
): AsyncGenerator<ManifestItem> {
  let n = 0
  for await (const item of items) {
    if ('issue' in item) {
      yield item
      continue
    }
    const { row } = item
    n++
    if (!(await rowHash(row)).equals(commitment.contentOf(n))) {
      throw editedWhileReadError(`line ${row.line}`)
    }
    yield {
      row: {
        ...row,
        metadata: {
          ...metadata,
          file_fields: [...metadata.file_fields, { key: PROVENANCE, url: '' }],
          [PROVENANCE_ROW]: String(n),
        },
        localFiles: [...localFiles, { key: PROVENANCE, path: leaves }],
        identity: { metadata: row.metadata, localFiles: row.localFiles },
      },
    }
  }
  if (n < commitment.rowCount) throw editedWhileReadError('the end')
}

/** Creates the error for a manifest that was edited between two passes. */
export const editedWhileReadError = (subject: string) =>
  new GdnError('refused', `${subject} was edited while it was read`, {
    hint: 'Nothing was sent. Run the command again.',
  })

/** The commitment that is stored with the run of an unrevealed drop to detect edits of the manifest. */
export interface StoredCommitment {
  provenance: string
  /** The seed in hex, which is used to determine the rows that differ. */
  seed: string
  /** Null if the rows aren't shuffled. */
  shuffle: ShuffleRule | null
}

/** Returns the commitment that a run stores; null if its rows are minted revealed. */
export function readStoredCommitment({ reading }: Pick<Run, 'reading'>): StoredCommitment | null {
  const { provenance, seed, shuffle } = reading
  if (typeof provenance !== 'string' || typeof seed !== 'string') return null
  return { provenance, seed, shuffle: isObject(shuffle) ? (shuffle as unknown as ShuffleRule) : null }
}

export interface CommittedRun {
  /** The name of the run. */
  run: string
  id: string
  /** The options that the run stores. */
  reading: Run['reading']
  /** Null if the run's rows are minted revealed. */
  commitment: StoredCommitment | null
  /** The drawn rows, if the run has stored a draw; otherwise null. */
  drawn: DrawnRows | null
  /** Whether all NFTs of the run are revealed according to the local state. */
  isRevealed: boolean
  /** Whether the run began with `--again`. */
  isAgain: boolean
  /** The scope of the run's reference IDs. */
  scope: string
  counts: RowCounts
}

/** Returns the commitment of a run; undefined if the run has not begun. */
export async function findCommittedRun(options: BatchOptions): Promise<CommittedRun | undefined> {
  const state = await openStateIfExists(options.stateDir)
  if (state === null) return undefined
  try {
    const { drop } = await readStoredRun(state, { ...options, dynamic: false })
    if (drop.setId === null) return undefined
    const drawn = readStoredDraw(drop.reading)
    const { isRevealed, counts } = await state.read((sql) => ({
      isRevealed: areAllRevealed(sql, drop, drawn !== null),
      counts: countRowsByStatus(sql, drop, false),
    }))
    return {
      run: drop.name,
      id: drop.id,
      reading: drop.reading,
      commitment: readStoredCommitment(drop),
      drawn,
      isRevealed,
      isAgain: drop.again,
      scope: drop.referenceScope,
      counts,
    }
  } finally {
    state.close()
  }
}

/** The edits of a manifest since its commitment. */
export interface RowEdits {
  /** The lines of changed rows. */
  changed: number[]
  /** The lines of added rows. */
  added: number[]
  /** The numbers of removed rows in the committed manifest, from 1. */
  removed: number[]
}

/**
 * Returns the edits of the manifest since the stored commitment; null if the leaves file can't be read.
 *
 * @param read the current manifest
 */
export async function findRowEdits(
  stateDir: string,
  { provenance, seed }: StoredCommitment,
  { commitment, lines }: ReadCommitment,
): Promise<RowEdits | null> {
  const leaves = await readFile(leavesPath(stateDir, provenance)).catch(() => null)
  if (leaves === null) return null
  const { changed, added, removed } = commitment.compareWithLeaves(leaves, Buffer.from(seed, 'hex'))
  const lineNumbers = (rows: readonly number[]) => rows.flatMap((row) => lines[row - 1] ?? [])
  return { changed: lineNumbers(changed), added: lineNumbers(added), removed }
}

/**
 * Returns a function that recognizes the NFTs of an unrevealed run's commitment. Returns undefined for other runs.
 *
 * @throws GdnError `file_error` if the leaves file can't be read. The run can't mint without this file either
 */
export async function createCommittedRowLookup(run: Run): Promise<BatchOptions['committedRow']> {
  const commitment = readStoredCommitment(run)
  if (commitment === null) return undefined
  const path = leavesPath(run.stateDir, commitment.provenance)
  const leaves = await readFile(path).catch((error: unknown) => {
    throw new GdnError('file_error', `can't be read: ${messageOf(error)}`, { place: { file: path }, cause: error })
  })
  return await createRowLookup({ leaves, seed: Buffer.from(commitment.seed, 'hex') })
}

/**
 * Returns a function that checks whether a row is row `n` of a run's commitment, or the row that was drawn for slot
 * `n`. Returns null if the leaves file can't be read.
 */
export async function createCommittedRowCheck(
  stateDir: string,
  { provenance, seed }: StoredCommitment,
  drawn: DrawnRows | null,
): Promise<((row: ManifestRow, n: number) => Promise<boolean>) | null> {
  const leaves = await readFile(leavesPath(stateDir, provenance)).catch(() => null)
  if (leaves === null) return null
  const all = parseLeaves(leaves)
  const { rowHash } = contentHashes()
  return async (row, slot) => {
    const n = drawn?.rows[slot - 1] ?? slot
    return computeLeaf(deriveSalt(Buffer.from(seed, 'hex'), n), await rowHash(row)) === all[n - 1]
  }
}
