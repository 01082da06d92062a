import { existsSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { sha256OfFileSync } from '../../core/sha256-of-file.ts'
import { shellWord } from '../../core/shell-word.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import {
  fillCheckedRows,
  findRowsOfOtherDrop,
  hasOtherUploads,
  isSentSinceFailed,
  rowsWithOtherIds,
  type SharedRow,
  sharedRows,
  storedRowTexts,
} from '../../state/claims.ts'
import { type Drop, isListDrop, listDrops, readStoredList, readUploads } from '../../state/drops.ts'
import { addedRows, type RowLocation } from '../../state/rows.ts'
import { refuseEditedRows } from '../rows/edited-rows.ts'
import type { StoredRow } from '../rows/manifest-row.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import { countOpenRows, countRowsByStatus } from '../rows/row-counts.ts'
import { formatKey } from '../rows/row-key.ts'
import { copyHash, parseRowParts, splitRowText } from '../rows/row-text.ts'
import { formatResumeCommand } from '../runs/how-to-resume.ts'
import { formatMoveHint, formatSameManifestHint } from '../runs/moved-run.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchOptions } from '../types.ts'
import { isLargeShare } from './renumbered.ts'

const MAX_MOVES = 3

interface NamedRow {
  key: string
  line: number
  run: string
}

interface OtherClaims {
  rows: NamedRow[]
  /** The keys of the rows. A row that belongs to several runs counts once. */
  keys: Set<string>
  /** The command that resumes each run, keyed by the run's name. Null for a finished run. */
  resumeCommands: Map<string, string | null>
  /**
   * Whether the manifest of every run in `resumeCommands` differs from this run's manifest. Such a run may be another
   * drop with the same IDs.
   */
  haveOtherManifests: boolean
  /** Whether the content of any row differs from that in the other run. */
  hasOtherContent: boolean
  /** The path of another run's manifest if that file no longer exists, or null. */
  missingManifest: string | null
  /** The hint for a manifest that is another edition of another run's manifest. Null if no such manifest exists. */
  edition: string | null
  /**
   * Hints on how to take over another run whose manifest was moved, and on how to resume a run of this manifest. Each
   * hint has a reason: the rows of this run have the same content as that run's rows, or only the same IDs, or both
   * runs have the same manifest.
   */
  hintReasons: Map<string, 'content' | 'ids' | 'manifest'>
}

/** The rows that a run would send, and the rows whose new keys must not belong to another run. */
interface CheckedRows {
  rows: RowLocation
  /** Whether the rows were read from the manifest. If false, they are the stored rows. */
  isRead: boolean
  /** Positions of pending rows. All other rows have a live operation. */
  pending: Iterable<number>
  /** Rows that were minted under another key. These rows aren't sent, so only their new keys are checked. */
  renamed: readonly { row: StoredRow }[]
}

/**
 * Throws if another run of the collection has already sent or planned a row that this run would send. The transaction
 * that stores the rows of the run calls this function again, because no other process can change the rows during that
 * transaction.
 *
 * The function compares the rows of every other run of the collection by these rules:
 *
 * - Rows are the same if they have the same key, which is the ID, or the content and the copy number.
 * - Two runs with different names and manifests are different drops (`isAnotherDrop`). They may use the same IDs, so
 *   their rows are the same only if the content is the same.
 * - An ENS name and its address count as the same receiver. Rows are the same if one has the name and the other has the
 *   address, and they don't differ otherwise.
 * - Rows that match only by content are still different if their local files have different sizes, and the other run
 *   didn't upload the content of the files.
 * - A row of another run is compared both with the content in its manifest and with the content of its NFT, because the
 *   manifest may have been edited after the mint.
 * - A second drop (`--again`) repeats rows on purpose. Once the second drop has begun, only rows that were added
 *   afterwards are compared, and failed rows that another run has sent since.
 * - A row that got an ID after it was minted isn't sent. Only its new key is compared.
 * - If a new run and another run have a row with the same key, both runs are assumed to use the same manifest.
 *   Edited rows are then refused as well (`refuseEditedRows`).
 *
 * For example, the run jan has the rows 1 and 2, and a new run of another manifest has 1, 2 and 3. Without a name, the
 * new run is refused because of the rows 1 and 2. With `--run feb`, the new run may send each row whose content differs
 * from that in jan. With `--again`, nothing is compared, and all three rows are sent.
 *
 * @throws GdnError `already_accepted`, `edited_rows`
 */
export function refuseClaimedRows(sql: Sql, run: StoredRun, options: BatchOptions, checked: CheckedRows): void {
  const { drop } = run
  if (options.again === true || options.reconcileOnly === true) return
  const collections = new Set(run.collections(sql))
  const otherDrops = listDrops(sql).filter(({ id, collectionId }) => id !== drop.id && collections.has(collectionId))
  if (otherDrops.length === 0) return
  const claimed = noClaims()
  const renamed = new Set(checked.renamed.map(({ row }) => row.key))
  const positions = [...checked.pending, ...checked.renamed.map(({ row }) => row.position)]
  if (positions.length === 0) return
  const hasNames = fillCheckedRows(sql, checked.rows, positions)
  const isNew = drop.setId === null && options.lookup !== false
  const sameContentRows = new Map<string, NamedRow>()
  let added: Set<string> | null = null
  for (const other of otherDrops) {
    let isChecked = (_key: string, _otherKey: string): boolean => true
    if (drop.setId !== null && (drop.again || other.again)) {
      // With `--again`, rows of the first drop may be repeated, so check only rows that were added afterwards, and
      // failed rows that the other run has sent since.
      added ??= new Set(checked.isRead ? addedRows(sql, checked.rows, drop).map(({ key }) => key) : [])
      const keys = added
      isChecked = (key, otherKey) => keys.has(key) || (drop.again && isSentSinceFailed(sql, drop, key, other, otherKey))
    }
    const isOtherDrop = isAnotherDrop(drop, other)
    const sameManifestHint = formatSameManifestHint(drop, other, options)
    const uploaded = createUploadCheck(sql, other)
    let isOneManifest = false
    const which = { kept: rowsAsSent(sql, other), hasNames, lists: [drop, other].filter(isListDrop).length }
    const shared = sharedRows(sql, other, which)
    // A run with the content of the rows is more likely to have had this manifest than a run with a similar path.
    const hasContent = shared.some((row) => row.portable === row.otherPortable)
    const moveHint = formatMoveHint(drop, other, hasContent ? [other] : otherDrops)
    for (const row of shared) {
      // Rows of different drops, or with different keys, are the same only if their content is the same.
      if (isOtherDrop && row.portable !== row.otherPortable && row.isSameAddress !== 1) continue
      if ((isOtherDrop || row.key !== row.otherKey) && haveDifferentFiles(row, uploaded)) continue
      if (
        renamed.has(row.key)
          ? row.key !== row.otherKey || other.scope !== drop.scope
          : !isChecked(row.key, row.otherKey)
      )
        continue
      isOneManifest ||= row.key === row.otherKey
      if (!claimed.resumeCommands.has(other.name))
        claimed.resumeCommands.set(other.name, formatResumeIfOpen(sql, other))
      addClaimedRow(claimed, row, other, { move: moveHint, hasContent, goOn: sameManifestHint })
      claimed.edition ??= formatEditionHint(drop, other, options)
    }
    if (isNew) {
      for (const { key, line } of rowsWithOtherIds(sql))
        sameContentRows.set(key, { key: formatKey(key), line, run: other.name })
    }
    // Shared rows show that both runs use the same manifest, even if its path and name differ.
    if (drop.setId === null && isOneManifest && !isOtherDrop && options.newRows !== true) {
      refuseEditedRows(sql, other, checked.rows)
    }
  }
  if (claimed.keys.size > 0)
    throw alreadyAcceptedError(claimed, drop, Math.max(0, positions.length - claimed.keys.size))
  if (isLargeShare(sameContentRows.size, positions.length)) throw seemsRenamedError([...sameContentRows.values()])
}

const noClaims = (): OtherClaims => ({
  rows: [],
  keys: new Set(),
  resumeCommands: new Map(),
  haveOtherManifests: true,
  hasOtherContent: false,
  missingManifest: null,
  edition: null,
  hintReasons: new Map(),
})

/**
 * Yields the rows of a run as they were sent or last applied. The run may have read an edited manifest since, but its
 * NFTs are still the earlier ones.
 */
export function* rowsAsSent(sql: Sql, drop: Drop) {
  for (const kept of storedRowTexts(sql, drop)) {
    yield { ...kept, portable: copyHash({ line: 0, id: null, ...parseRowParts(splitRowText(kept.body)) }) }
  }
}

function seemsRenamedError(rows: NamedRow[]): GdnError {
  const runs = [...new Set(rows.map(({ run }) => run))]
  const message = `${rows.length} rows of the manifest have the same content as rows with other IDs in ${formatOtherRuns(runs)}: ${runs.join(', ')}`
  return new GdnError('seems_minted', message, {
    hint: [
      'Nothing was sent. If you changed the IDs, restore them.',
      'To mint all rows anyway, run `gdn batch mint` with --again.',
    ].join('\n'),
    details: { rows: rows.slice(0, MAX_LISTED_ROWS), count: rows.length },
  })
}

const formatOtherRuns = (names: readonly string[]): string => (names.length === 1 ? 'another run' : 'other runs')

/** Returns whether the collection has runs of other drops, whose rows may have the same IDs as rows of this run. */
export function hasOtherDrops(sql: Sql, run: StoredRun): boolean {
  const collections = new Set(run.collections(sql))
  return listDrops(sql).some((other) => collections.has(other.collectionId) && isAnotherDrop(run.drop, other))
}

/**
 * Returns whether two runs are different drops, whose rows may have the same IDs. This is the case if at least one run
 * has a name, and the runs have different manifests or both have lists of receivers. If the other run's manifest no
 * longer exists, it may have been moved to the path of this run's manifest.
 */
export function isAnotherDrop(drop: Drop, other: Drop): boolean {
  const { manifest } = other
  if (drop.runName === null && other.runName === null) return false
  if (drop.referenceScope === other.referenceScope) return false
  // Several lists may use the same manifest.
  if (isListDrop(drop) && isListDrop(other)) return true
  if (manifest === null || drop.manifest === null || manifest === drop.manifest) return false
  return drop.setId === null ? existsSync(manifest) : drop.scope !== other.scope
}

/**
 * Throws if another run of the collection minted an NFT that this run would change. For example, manifests with the
 * same file name in different folders have the same reference IDs. If another machine added an ID to the NFT's row, the
 * other run has the NFT under another key.
 *
 * @throws GdnError `already_accepted`
 */
export function refuseNftsOfOthers(sql: Sql, run: StoredRun, options: BatchOptions): void {
  const { drop } = run
  const collections = new Set(run.collections(sql))
  const otherDrops = listDrops(sql).filter(({ id, collectionId }) => id !== drop.id && collections.has(collectionId))
  for (const other of otherDrops) {
    const rows = findRowsOfOtherDrop(sql, drop, other)
    const [first] = rows
    if (first === undefined) continue
    const many = rows.length === 1 ? '1 NFT that would change belongs' : `${rows.length} NFTs that would change belong`
    throw new GdnError('already_accepted', `${many} to another run of this collection: ${other.name}`, {
      hint: [
        `Nothing was sent. ${formatMoveHint(drop, other, otherDrops) ?? ''}`.trimEnd(),
        formatEditionHint(drop, other, options),
        'If this manifest is another drop, add --run <name>.',
      ]
        .filter((hint) => hint !== null)
        .join('\n'),
      details: {
        rows: rows.slice(0, MAX_LISTED_ROWS).map(({ key, line }) => ({ key: formatKey(key), line, run: other.name })),
      },
    })
  }
}

/**
 * Returns the hint for a manifest that is another edition of another run's manifest, such as an edited copy. Returns
 * null if the other run has no other manifest.
 */
function formatEditionHint(drop: Drop, other: Drop, { serverFlags = '' }: BatchOptions): string | null {
  const { manifest, runName, contract, blockchain } = other
  if (manifest === null || manifest === drop.manifest || !existsSync(manifest)) return null
  const only = `If this manifest is another edition of ${manifest}, use only one of the two manifests.`
  // `gdn plan` can't read a list of receivers.
  if (isListDrop(other)) return only
  const run = runName === null ? '' : ` --run ${shellWord(runName)}`
  return `${only} To continue with that one, run \`gdn plan ${shellWord(manifest)} --contract ${contract} --blockchain ${blockchain}${run}${serverFlags}\`.`
}

/**
 * Returns a function that checks whether a run may have minted the current content of a local file. The files of
 * adopted NFTs are unknown.
 */
export function createUploadCheck(sql: Sql, drop: Drop): (path: string) => boolean {
  const isUploaded = new Map<string, boolean>()
  let hashes: ReadonlyMap<string, string> | null = null
  let mayBeAny = false
  return (path) => {
    if (hashes === null) {
      hashes = readUploads(sql, drop.id)
      mayBeAny = hasOtherUploads(sql, drop)
    }
    const result = mayBeAny || (isUploaded.get(path) ?? (hashes.size > 0 && hashes.has(hashIfReadable(path) ?? '')))
    isUploaded.set(path, result)
    return result
  }
}

/** Returns null for an unreadable file, because its upload fails before anything is sent. */
function hashIfReadable(path: string): string | null {
  try {
    return sha256OfFileSync(path)
  } catch {
    return null
  }
}

const haveDifferentFiles = ({ body, otherBody }: SharedRow, isUploaded: (path: string) => boolean): boolean =>
  areFilesDifferent(filesOf(body), filesOf(otherBody), isUploaded)

export const filesOf = (body: Uint8Array | null): ManifestRow['localFiles'] =>
  body === null ? [] : parseRowParts(splitRowText(body)).localFiles

/**
 * Returns whether any two files with the same key differ. Files of the same size count as equal. If the sizes differ,
 * the other run's file may have been replaced after its upload, so the function checks whether the content was
 * uploaded. Ignores missing files, because they may have been moved.
 */
function areFilesDifferent(
  files: ManifestRow['localFiles'],
  otherFiles: ManifestRow['localFiles'],
  isUploaded: (path: string) => boolean,
): boolean {
  return files.some(({ key, path }) => {
    const other = otherFiles.find((file) => file.key === key)
    if (other === undefined || other.path === path) return false
    const [size, otherSize] = [readFileSize(path), readFileSize(other.path)]
    return size !== null && otherSize !== null && size !== otherSize && !isUploaded(path)
  })
}

function formatResumeIfOpen(sql: Sql, drop: Drop): string | null {
  const counts = countRowsByStatus(sql, drop, false)
  // A run that was about to retry failed rows isn't finished, even if it has no open rows.
  const isFinished = drop.endedAt !== null && countOpenRows(counts) === 0
  return isFinished ? null : formatResumeCommand(drop, counts.pending)
}

const readFileSize = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.size ?? null

/** Describes the source of a run's rows for messages: the list of receivers or the manifest. */
function sourceOf(drop: Drop): string {
  const list = readStoredList(drop)
  if (list === null) return 'the manifest'
  return list.path === null ? 'the list' : basename(list.path)
}

function addClaimedRow(
  claimed: OtherClaims,
  row: SharedRow,
  { name, manifest }: Drop,
  { move, hasContent, goOn }: { move: string | null; hasContent: boolean; goOn: string | null },
): void {
  claimed.hasOtherContent ||= row.portable !== row.otherPortable && row.isSameAddress !== 1
  claimed.haveOtherManifests &&= move !== null
  if (move !== null && manifest !== null && !existsSync(manifest)) claimed.missingManifest ??= manifest
  if (move !== null && claimed.hintReasons.get(move) !== 'content')
    claimed.hintReasons.set(move, hasContent ? 'content' : 'ids')
  if (goOn !== null) claimed.hintReasons.set(goOn, 'manifest')
  if (!claimed.keys.has(row.key) && claimed.rows.length < MAX_LISTED_ROWS) {
    claimed.rows.push({ key: formatKey(row.key), line: row.line, run: name })
  }
  claimed.keys.add(row.key)
}

/**
 * Returns the hint on how to mint the rows of a new run if other runs already have some of these rows.
 *
 * @param otherCount the number of rows that no other run has
 */
function formatMintHint(
  drop: Drop,
  { haveOtherManifests, hasOtherContent, missingManifest, edition }: OtherClaims,
  otherCount: number,
): string {
  // See `isAnotherDrop`.
  if (missingManifest !== null) {
    return `If this manifest is another drop, run \`gdn batch mint\` with --again. --run <name> alone is not enough, because the manifest of the other run no longer exists: ${missingManifest}`
  }
  const { runName } = drop
  const isSecond = runName !== null || !haveOtherManifests
  const all = isListDrop(drop) ? 'mint to all receivers, including these' : 'mint all rows, including these'
  const action = otherCount === 0 ? 'mint them a second time' : `${all} a second time`
  const useOne = edition === null ? [] : [edition]
  if (!isSecond) {
    return [
      hasOtherContent
        ? 'If this manifest is another drop, add --run <name>. gdn then mints every row whose content differs, even if its ID is the same.'
        : `If this manifest is another drop, run \`gdn batch mint\` with --run <name> --again to ${action}.`,
      ...useOne,
    ].join('\n')
  }
  const flags = runName === null ? '--run <name> --again' : '--again'
  return [...useOne, `To ${action}, run \`gdn batch mint\` with ${flags}.`].join('\n')
}

function alreadyAcceptedError(claimed: OtherClaims, drop: Drop, otherCount: number): GdnError {
  const { setId } = drop
  const source = sourceOf(drop)
  const { rows, resumeCommands, hintReasons } = claimed
  const count = claimed.keys.size
  const isNew = setId === null
  const names = [...resumeCommands.keys()]
  const openRun = names.find((name) => resumeCommands.get(name) !== null)
  const hasContent = [...hintReasons.values()].includes('content')
  const likelyHints = [...hintReasons].filter(([, reason]) => reason !== 'ids' || !hasContent).map(([hint]) => hint)
  const moveHints = isNew ? likelyHints.slice(0, MAX_MOVES) : []
  const resume = resumeCommands.get(openRun ?? '') ?? ''
  // The command that resumes the run needs the missing manifest.
  const isManifestMissing = claimed.missingManifest !== null && resume.startsWith('gdn batch mint')
  const finish = isManifestMissing ? '' : `, and \`${resume}\` to finish it`
  const many = count === 1 ? `1 row of ${source} belongs` : `${count} rows of ${source} belong`
  return new GdnError(
    'already_accepted',
    `${many} to ${formatOtherRuns(names)} of this collection: ${names.join(', ')}`,
    {
      hint: [
        ...(isManifestMissing ? moveHints : []),
        ...(openRun === undefined
          ? [
              `Nothing was sent. The run ${names[0]} is finished. Run \`gdn batch results ${names[0]}\` to show its NFTs.`,
            ]
          : [
              `Nothing was sent. Run \`gdn batch status ${openRun}\` to show that run${finish}.`,
              `If that run has sent nothing, you can remove it with \`gdn batch rm ${openRun}\`.`,
            ]),
        isListDrop(drop)
          ? 'Only one run can send the same NFT to a receiver.'
          : 'Two rows are the same if they have the same ID or, without IDs, the same content.',
        ...(isManifestMissing ? [] : moveHints),
        ...(isNew && otherCount > 0 && !isListDrop(drop)
          ? [
              `To mint only the other ${otherCount === 1 ? 'row' : `${otherCount} rows`}, remove these rows from ${source}.`,
            ]
          : []),
        isNew
          ? formatMintHint(drop, claimed, otherCount)
          : otherCount === 0
            ? 'To mint all rows of this run a second time, not only these rows, run `gdn batch mint` with --again.'
            : `To send the other rows, remove these rows from ${source} and run the same command again.`,
      ].join('\n'),
      details: { rows: rows.sort((a, b) => a.line - b.line), count },
    },
  )
}
