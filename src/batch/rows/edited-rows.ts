import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { addressKey } from '../../api/same-address.ts'
import { GdnError } from '../../core/errors.ts'
import { existingPath } from '../../core/existing-path.ts'
import { shellWord } from '../../core/shell-word.ts'
import { formatFileName } from '../../manifest/local-files.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { sentMetadata } from '../../operations/reconcile/content-and-owners.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { type Drop, isUnrevealed } from '../../state/drops.ts'
import {
  appliedBodies,
  type FreshRow,
  freshRows,
  type RemovedSentRow,
  readRemovedSentRows,
  storedRows,
} from '../../state/edited-rows.ts'
import { findRequestBody } from '../../state/row-requests.ts'
import { type RowLocation, readRowPage } from '../../state/rows.ts'
import type { EditedPair, FieldChange } from '../types.ts'
import { fileFieldName, metadataFields } from './field-changes.ts'
import { parseStoredRow, type StoredRow } from './manifest-row.ts'
import { formatKey, isContentKey } from './row-key.ts'
import { parseRowParts, splitRowText } from './row-text.ts'

/**
 * Rows that can't be edits of each other, because their NFTs are already known. `operations` are the operation IDs of
 * rows in the state, and `positions` are the positions of rows in the manifest.
 */
export interface KnownPairs {
  operations: ReadonlySet<string>
  positions: ReadonlySet<number>
}

export const MAX_PAIRS = 50
const PAGE_SIZE = 500

/**
 * Returns the rows that a run has sent but that are no longer in the manifest. Omits rows whose NFT was burned or
 * belongs to another row, because a new row can't be an edit of such a row. The counts in messages include only these
 * rows.
 *
 * @param operations operations of rows whose NFTs belong to other rows or are known to be burned
 */
export const findRemovedSentRows = (
  sql: Sql,
  drop: Drop,
  rows: RowLocation,
  { operations }: Pick<KnownPairs, 'operations'>,
  which: { withReplaced?: boolean } = {},
): RemovedSentRow[] =>
  readRemovedSentRows(sql, drop, rows, which).filter(({ id, burned }) => burned !== 1 && !operations.has(id))

/**
 * Returns the operation IDs of sent rows that are no longer in the manifest, if the manifest also has new rows. A row
 * without an `id` is identified by its content. After an edit, such a row counts as new and the sent row as removed, so
 * sending it would mint a second NFT.
 *
 * @param other the run that sent the rows
 * @param paired rows that can't be edits
 * @throws GdnError `edited_rows`
 */
export function findReplacedIds(
  sql: Sql,
  other: Drop,
  rows: RowLocation,
  { newRows, setId, paired }: { newRows: boolean; setId: number | null; paired: KnownPairs },
): string[] {
  const vanished = findRemovedSentRows(sql, other, rows, paired)
  if (vanished.length === 0) return []
  const fresh = freshRows(sql, other, rows, setId).filter(({ position }) => !paired.positions.has(position))
  if (fresh.length === 0) return []
  if (!newRows) throw editedRowsError(sql, other, rows, { vanished, fresh })
  return vanished.map(({ id }) => id)
}

/**
 * Refuses a new run if its rows may be edits of rows that another run of the manifest has sent.
 *
 * @throws GdnError `edited_rows`
 */
export function refuseEditedRows(sql: Sql, other: Drop, rows: RowLocation): void {
  const unnamed = new Map<string, string[]>()
  for (const { id, key, content } of readRemovedSentRows(sql, other, rows)) {
    if (isContentKey(key)) unnamed.set(content, [...(unnamed.get(content) ?? []), id])
  }
  const paired = { operations: new Set<string>(), positions: new Set<number>() }
  for (const { position, key, content } of freshRows(sql, other, rows, null)) {
    const operation = isContentKey(key) ? undefined : unnamed.get(content)?.shift()
    if (operation === undefined) continue
    paired.operations.add(operation)
    paired.positions.add(position)
  }
  findReplacedIds(sql, other, rows, { newRows: false, setId: null, paired })
}

export const renamedUnknownError = (run: string) =>
  new GdnError('edited_rows', 'IDs were added to rows whose requests have an unknown outcome', {
    hint: `Remove the IDs, run \`gdn batch reconcile ${run}\`, and add the IDs again afterwards.`,
  })

type Fields = Readonly<Record<string, string>>

interface RowFields {
  fields: Fields
  /** The names of the row's local files, by field. */
  files: Fields
  /** The fields of files that no longer exist at their paths. */
  missingFiles?: ReadonlySet<string> | undefined
}

/** Returns the first rows for a message, in the order of the manifest. They may have been sent in a different order. */
export const selectFirstRows = <Row extends Pick<RemovedSentRow, 'line'>>(vanished: readonly Row[]): Row[] =>
  vanished.toSorted((a, b) => a.line - b.line).slice(0, MAX_PAIRS)

/** Pairs each vanished row with the new row that shares the most fields with it. Each new row is used at most once. */
export function matchEditedPairs(
  sql: Sql,
  drop: Drop,
  { vanished, fresh, rows }: { vanished: readonly RemovedSentRow[]; fresh: readonly FreshRow[]; rows: RowLocation },
): EditedPair[] {
  const sentAs = sentRows(sql, drop, vanished)
  const best = vanished.map((row, at) => ({
    key: row.key,
    ...(sentAs[at] ?? { line: row.line, fields: {}, files: {} }),
    score: 0,
    now: null as ({ line: number; position: number } & RowFields) | null,
  }))
  const positions = new Set(fresh.map(({ position }) => position))
  for (let after = -1; ; ) {
    const page = readRowPage(sql, rows, after, PAGE_SIZE)
    for (const record of page) {
      if (!positions.has(record.position)) continue
      const row = parseStoredRow(record)
      const newFields = rowFields(row, drop.manifest)
      for (const candidate of best) {
        const score =
          similarity(...comparableFields(candidate, newFields)) + (candidate.line === row.row.line ? 0.5 : 0)
        const { line } = row.row
        if (score > candidate.score)
          Object.assign(candidate, { score, now: { line, position: record.position, ...newFields } })
      }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_SIZE) break
    after = last.position
  }
  const pairedPositions = new Set<number>()
  for (const candidate of best.toSorted((a, b) => b.score - a.score)) {
    if (candidate.now === null) continue
    const [from, to] = comparableFields(candidate, candidate.now)
    const isLike = candidate.score > Math.max(Object.keys(from).length, Object.keys(to).length) / 2
    if (isLike && !pairedPositions.has(candidate.now.position)) pairedPositions.add(candidate.now.position)
    else candidate.now = null
  }
  return best.map(({ key, line, fields, files, missingFiles, now }) => ({
    line,
    title: fields.title ?? formatKey(key),
    now: now === null ? null : { line: now.line, title: now.fields.title ?? '' },
    changes: now === null ? [] : compareFields(...comparableFields({ fields, files, missingFiles }, now)),
  }))
}

/**
 * Returns vanished rows as they were last applied or, if they never were, as they were sent. Line numbers are those of
 * the stored rows.
 */
function sentRows(sql: Sql, drop: Drop, vanished: readonly RemovedSentRow[]): (RowFields & { line: number })[] {
  const rows = storedRows(
    sql,
    drop,
    vanished.map(({ key }) => key),
  )
  const stored = new Map(rows.map((row) => [row.key, row]))
  const applied = appliedBodies(
    sql,
    drop,
    vanished.map(({ id }) => id),
  )
  return vanished.map((vanishedRow) => {
    const row = stored.get(vanishedRow.key)
    const body = applied.get(vanishedRow.id)
    const last = body ?? row?.body
    const { localFiles, receiverName } = last === undefined ? EMPTY_ROW_PARTS : parseRowParts(splitRowText(last))
    const fields: Record<string, string> = {
      ...idField(vanishedRow),
      ...(body === undefined ? requestFields(sql, vanishedRow) : textFields(body)),
    }
    if (receiverName !== undefined) fields.receiver = receiverName
    return {
      line: row?.line ?? vanishedRow.line,
      fields,
      files: namesOf(localFiles, drop.manifest),
      missingFiles: new Set(
        localFiles.flatMap((file) => (existsSync(existingPath(file.path)) ? [] : fileFieldName(file.key))),
      ),
    }
  })
}

const EMPTY_ROW_PARTS: Pick<ManifestRow, 'localFiles' | 'receiverName'> = { localFiles: [] }

const namesOf = (files: ManifestRow['localFiles'], manifest: string | null): Fields =>
  Object.fromEntries(files.map(({ key, path }) => [fileFieldName(key), formatFileName(manifest, path)]))

/**
 * Returns the fields in which a sent row and a new row can be compared. Local files are compared by name if both names
 * are known.
 */
function comparableFields(sentRow: RowFields, newRow: RowFields): [Fields, Fields] {
  const from = { ...sentRow.fields, ...sentRow.files }
  const to = { ...newRow.fields, ...newRow.files }
  for (const key of Object.keys(newRow.files)) {
    const name = sentRow.files[key]
    // The URL of a local file is known only after its upload. In a copy of the manifest, files are at different paths.
    const isMoved =
      name !== undefined && sentRow.missingFiles?.has(key) === true && basename(name) === basename(to[key] ?? '')
    const isUnknown = name === undefined ? from[key]?.startsWith('ipfs://') === true : basename(name) === to[key]
    if (!isUnknown && !isMoved) continue
    delete from[key]
    delete to[key]
  }
  return [from, to]
}

const idField = ({ key }: Pick<RemovedSentRow, 'key'>): Fields => (isContentKey(key) ? {} : { id: formatKey(key) })

/** Returns the fields of a row as in its request, with the URLs of its local files. */
function requestFields(sql: Sql, { request_id, outcome, position }: RemovedSentRow): Fields {
  const body = outcome === 'found' ? undefined : findRequestBody(sql, request_id)
  if (body === undefined) return {}
  const { receiver_wallet_address: receiver } = JSON.parse(body) as { receiver_wallet_address: string }
  return { receiver, ...fieldsOf(sentMetadata(body)[position]) }
}

function textFields(body: Uint8Array): Fields {
  const { receiver, receiverName, metadata } = parseRowParts(splitRowText(body))
  return { receiver: receiverName ?? receiver, ...fieldsOf(metadata) }
}

function rowFields({ key, row }: StoredRow, manifest: string | null): RowFields {
  const { receiver, receiverName, metadata, localFiles } = row
  const fields = { ...idField({ key }), receiver: receiverName ?? receiver, ...fieldsOf(metadata) }
  return { fields, files: namesOf(localFiles, manifest) }
}

const fieldsOf = (metadata: unknown): Fields => Object.fromEntries(metadataFields(metadata as Record<string, unknown>))

/**
 * Returns the number of fields that two rows share. Titles and descriptions count in proportion to their shared words.
 */
function similarity(a: Fields, b: Fields): number {
  let score = 0
  for (const [name, value] of Object.entries(a)) {
    const other = b[name]
    if (isSameValue(name, value, other)) score++
    else if (other !== undefined && (name === 'title' || name === 'description'))
      score += computeWordOverlap(value, other)
  }
  return score
}

function computeWordOverlap(a: string, b: string): number {
  const words = new Set(a.toLowerCase().split(/\W+/u))
  const otherWords = new Set(b.toLowerCase().split(/\W+/u))
  const shared = [...words].filter((word) => otherWords.has(word)).length
  return shared / Math.max(words.size, otherWords.size)
}

function compareFields(from: Fields, to: Fields): FieldChange[] {
  const names = new Set([...Object.keys(from), ...Object.keys(to)])
  return [...names]
    .filter((field) => !isSameValue(field, from[field], to[field]))
    .map((field) => ({ field, from: from[field] ?? null, to: to[field] ?? null }))
}

const isSameValue = (field: string, a: string | undefined, b: string | undefined): boolean =>
  a === b || (field === 'receiver' && a !== undefined && b !== undefined && addressKey(a) === addressKey(b))

function editedRowsError(
  sql: Sql,
  drop: Drop,
  rows: RowLocation,
  { vanished, fresh }: { vanished: readonly RemovedSentRow[]; fresh: readonly FreshRow[] },
): GdnError {
  const { name: run } = drop
  const [gone, added] = [vanished.length, fresh.length]
  const subject = gone === 1 ? '1 row that the run has sent is' : `${gone} rows that the run has sent are`
  const newRowsText = added === 1 ? '1 row is new' : `${added} rows are new`
  const isUnnamed = [vanished, fresh].every((each) => each.some(({ key }) => isContentKey(key)))
  const pairs = matchEditedPairs(sql, drop, { vanished: selectFirstRows(vanished), fresh, rows })
  return new GdnError('edited_rows', `${subject} no longer in the manifest, and ${newRowsText}: ${run}`, {
    hint: [
      ...(isUnnamed ? formatEditedRowsHints(drop, pairs) : [...EDITED_ID, ...formatLastRowsHint(drop)]),
      formatNewRowsHint(drop, 'new rows as well'),
    ].join('\n'),
    details: { run, vanished: gone, new: added, pairs },
  })
}

/**
 * Returns the hint on how to get the rows as they were before an edit. Returns none for a run that has not begun, or
 * for an unrevealed drop, whose results have the placeholder's metadata.
 */
export const formatLastRowsHint = (drop: Drop): string[] =>
  drop.setId === null || isUnrevealed(drop) ? [] : [resultsText(drop.name)]

/** Returns the hint on how to mint new rows in addition to rows that are no longer in the manifest. */
export const formatNewRowsHint = (drop: Drop, rows: string): string =>
  isUnrevealed(drop)
    ? "The rows of an unrevealed drop can't be changed. To mint more rows, use another manifest."
    : `To mint the ${rows}, add --new-rows.`

const resultsText = (run: string): string =>
  `To get the rows as gdn last minted or applied them, run \`gdn batch results ${run} -o csv --for-spreadsheet\`. To use that file as the manifest, remove the burned rows. Also remove the column key and all columns after it.`

/** Returns the hint for edited rows without an ID. If only one column was sorted, the pairs are guesses. */
export function formatEditedRowsHints(drop: Drop, pairs: readonly EditedPair[]): string[] {
  const [field, ...otherFields] = new Set(pairs.flatMap(({ changes }) => changes.map((change) => change.field)))
  const [receiver, ...otherReceivers] = new Set(pairs.flatMap(({ changes }) => changes.map(({ from }) => from)))
  const isOtherReceiver = field === 'receiver' && otherFields.length === 0 && typeof drop.reading.receiver === 'string'
  if (isOtherReceiver && receiver != null && otherReceivers.length === 0) {
    return [
      'Nothing was sent. With a different receiver, a row without an ID would be minted a second time.',
      `The run minted these rows to ${receiver}. To resume it, use --receiver ${shellWord(receiver)}.`,
    ]
  }
  const column = field !== undefined && otherFields.length === 0 ? `the column ${field}` : 'a column'
  return [
    'Nothing was sent. An edited row without an ID would be minted a second time.',
    ...(pairs.length < 2 ? [] : [`If ${column} was sorted or shifted without the others, restore it.`]),
    "If you edited rows, revert the edits: gdn can't find the NFT of an edited row without an ID.",
    'To edit the rows later, revert the edits, add an id column to the manifest, and run `gdn apply`. Then edit the rows again.',
    ...(drop.dynamic
      ? []
      : ['The NFTs of the run were minted without --dynamic, so gdn can update them only in a dynamic collection.']),
    ...formatLastRowsHint(drop),
  ]
}

const EDITED_ID = [
  'Nothing was sent. A row whose ID was changed, added or removed would be minted a second time.',
  'If you changed IDs, restore them.',
]
