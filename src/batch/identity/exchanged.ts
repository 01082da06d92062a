import { GdnError } from '../../core/errors.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import {
  addMintedValue,
  changedPage,
  type ExchangedField,
  exchangedFields,
  exchangedRows,
} from '../../state/plan-tables.ts'
import type { RowLocation } from '../../state/rows.ts'
import { createTables } from '../../state/temporary-tables.ts'
import { formatLastRowsHint, MAX_PAIRS } from '../rows/edited-rows.ts'
import { identifiesNft, metadataFields } from '../rows/field-changes.ts'
import { parseStoredRow } from '../rows/manifest-row.ts'
import { formatKey } from '../rows/row-key.ts'
import { isLargeShare } from './renumbered.ts'

/**
 * Minimum number of distinct values in an exchange. With fewer values, the exchange may be intentional. For example, a
 * user may swap two titles.
 */
const MIN_EXCHANGED_VALUES = 5

/**
 * Maximum number of rows that may deviate from an exact exchange, because of other edits or later changes to the
 * manifest.
 */
const MAX_EXCESS = 2
const MAX_EXCESS_PART = 0.1

/**
 * Minimum share of the changed rows whose earlier values are now in other rows. A value whose row was removed doesn't
 * count as kept.
 */
const MIN_KEPT_SHARE = 0.75
/** Minimum share of the changed rows that get values of other changed rows, if many rows were removed. */
const MIN_MOVED_SHARE = 0.6

/** Minimum number of transfers for a note about exchanged receivers, even if only a few wallets are involved. */
const MIN_TRANSFERS = 5
const MIN_EXCHANGED_SHARE = 0.9

const PAGE_SIZE = 1_000

interface ExchangeInput {
  rows: RowLocation
  /** Number of rows that have NFTs. */
  rowsWithNfts: number
  isAllowed: boolean
  /** Whether the manifest may belong to another edition, which would explain exchanged values other than receivers. */
  mayBeOther?: boolean
}

/**
 * Refuses changes that mostly exchange the titles, descriptions, files or receivers of rows. The usual cause is that
 * only one column of a spreadsheet was sorted or shifted, or that IDs were renumbered. Intentionally renumbered titles
 * look the same. Dynamic NFTs may exchange attributes and extra keys, such as their rank.
 *
 * @returns notes about fields whose values may be exchanged, and whether titles are exchanged with permission
 * @throws GdnError `edited_rows`
 */
export function refuseExchanged(sql: Sql, drop: Drop, input: ExchangeInput): { notes: string[]; areTitles: boolean } {
  const exchanged = readFields(sql, input.rowsWithNfts)
  const likely = exchanged.filter((field) => isExchanged(field, input.rowsWithNfts))
  const [firstRefused] = likely.filter(isRefusedField)
  if (firstRefused !== undefined && !input.isAllowed)
    throw exchangedRowsError(sql, drop, input.rows, { first: firstRefused, likely })
  const permuted = exchanged.filter((field) => arePermuted(field, input.rowsWithNfts) && !likely.includes(field))
  const possiblyExchanged = exchanged.filter(
    (field) => !permuted.includes(field) && mayBeExchanged(field, input.rowsWithNfts),
  )
  const noted = [...likely, ...possiblyExchanged.filter((field) => !likely.includes(field))]
  const explained = input.mayBeOther === true ? noted.filter(({ field }) => field === 'receiver') : noted
  const notes = explained.map((field) => {
    const isPermitted = input.isAllowed && isRefusedField(field)
    return `${describeField(field)}. ${isPermitted ? '--allow-exchanged permits this' : 'If only one column was sorted, restore it'}`
  })
  return {
    notes: [...permuted.map(formatReceiversNote), ...notes],
    areTitles: likely.some(({ field }) => field === 'title'),
  }
}

/** Returns the changed fields. If a large part of a column changes, the values of new rows are included. */
function readFields(sql: Sql, mintedRowCount: number): ExchangedField[] {
  createTables(sql, 'minted')
  const fields = exchangedFields(sql)
  const large = fields
    .filter((field) => isLarge(field, mintedRowCount) && isRefusedField(field))
    .map(({ field }) => field)
  return large.length > 0 && addMintedValues(sql, new Set(large)) ? exchangedFields(sql) : fields
}

/** Adds the values of the given fields in rows to be minted. Returns whether any value was added. */
function addMintedValues(sql: Sql, fieldNames: ReadonlySet<string>): boolean {
  let isAny = false
  for (let after = -1; ; ) {
    const page = changedPage(sql, 'JOIN', after, PAGE_SIZE)
    for (const { changes, ...record } of page) {
      if (!(JSON.parse(changes) as { action: string }[]).some(({ action }) => action === 'mint')) continue
      const { receiver, metadata } = parseStoredRow(record).row
      for (const [field, value] of [...metadataFields(metadata), ['receiver', receiver] as const]) {
        if (!fieldNames.has(field)) continue
        addMintedValue(sql, field, value)
        isAny = true
      }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_SIZE) return isAny
    after = last.position
  }
}

function exchangedRowsError(
  sql: Sql,
  drop: Drop,
  rows: RowLocation,
  { first, likely }: { first: ExchangedField; likely: readonly ExchangedField[] },
): GdnError {
  const moved = exchangedRows(sql, rows, first.field, MAX_PAIRS)
  const [pair] = moved
  const name = first.field
  const otherFields = likely.filter((other) => other !== first).map(({ field }) => field)
  const example =
    pair === undefined ? '' : ` Row ${formatKey(pair.key)} gets the ${name} of row ${formatKey(pair.was)}.`
  return new GdnError('edited_rows', `${describeField(first)}: ${drop.name}`, {
    hint: [
      `Nothing was sent.${example}`,
      ...(otherFields.length === 0 ? [] : [`The same applies to ${otherFields.join(', ')}.`]),
      'If a column was sorted or shifted without the others, or IDs were changed, restore the column or the IDs.',
      ...formatLastRowsHint(drop),
      'To exchange these values intentionally, for example to renumber titles or to undo an exchange, add --allow-exchanged.',
    ].join('\n'),
    details: {
      run: drop.name,
      field: first.field,
      rows: moved.map(({ key, line }) => ({ key: formatKey(key), line })),
      count: countExchangedRows(first),
    },
  })
}

const isExchanged = (field: ExchangedField, mintedRowCount: number): boolean =>
  field.values >= MIN_EXCHANGED_VALUES &&
  (isBalanced(field) || (isRefusedField(field) && isReordered(field, mintedRowCount)))

/**
 * Returns whether rows exchange the values of a field with each other. After a sort of the column and a few other
 * edits, only a few rows are unbalanced. After transfers between a few wallets or changes to a few titles, most values
 * are added to more or fewer rows than they are removed from.
 */
const isBalanced = ({ moved, changed, excess }: ExchangedField): boolean =>
  isLargeShare(moved, changed) && excess <= Math.max(MAX_EXCESS, moved * MAX_EXCESS_PART)

/** Returns whether a whole column seems to have been reordered, even if rows were added or removed at the same time. */
const isReordered = (field: ExchangedField, mintedRowCount: number): boolean =>
  isLarge(field, mintedRowCount) &&
  (field.kept >= field.changed * MIN_KEPT_SHARE || field.moved >= field.changed * MIN_MOVED_SHARE)

const isLarge = ({ changed }: ExchangedField, mintedRowCount: number): boolean => isLargeShare(changed, mintedRowCount)

/**
 * Returns whether rows may exchange the values of a field, although many rows get values that are new to the column.
 */
const mayBeExchanged = (field: ExchangedField, mintedRowCount: number): boolean =>
  isRefusedField(field) &&
  field.values >= MIN_EXCHANGED_VALUES &&
  (isLargeShare(field.moved, field.changed) ||
    (isLarge(field, mintedRowCount) && isLargeShare(field.kept, field.changed)))

/**
 * Returns whether nearly all transfers go to wallets that lose as many NFTs as they receive, which suggests a sorted
 * column.
 */
const arePermuted = (field: ExchangedField, mintedRowCount: number): boolean =>
  field.field === 'receiver' &&
  field.changed >= MIN_TRANSFERS &&
  (isLarge(field, mintedRowCount) ? field.kept : field.moved) >= field.changed * MIN_EXCHANGED_SHARE

const formatReceiversNote = (field: ExchangedField): string =>
  `${countExchangedRows(field)} of ${field.changed} transfers exchange receivers among rows. If only the receiver column was sorted, restore it: transfers can't be undone`

const isRefusedField = ({ field }: ExchangedField): boolean => field === 'receiver' || identifiesNft(field)

const countExchangedRows = ({ moved, kept, changed }: ExchangedField): number =>
  isLargeShare(moved, changed) ? moved : kept

function describeField(field: ExchangedField): string {
  const name = field.field
  const does = isLargeShare(field.moved, field.changed)
    ? `get the ${name} of another row`
    : `had the ${name} that another row has now`
  return `${countExchangedRows(field)} of ${field.changed} rows with a changed ${name} ${does}`
}
