import { GdnError } from '../../core/errors.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import { addMinted, changedPage, type ExchangedField, exchangedFields, exchangedRows } from '../../state/plan-tables.ts'
import type { RowsIn } from '../../state/rows.ts'
import { createTables } from '../../state/temporary-tables.ts'
import { lastRows, MAX_PAIRS } from '../rows/edited-rows.ts'
import { identifiesNft, metadataFields } from '../rows/field-changes.ts'
import { storedRowOf } from '../rows/manifest-row.ts'
import { shownKey } from '../rows/row-key.ts'
import { seemChanged } from './renumbered.ts'

/**
 * Minimum number of distinct values in an exchange. With fewer values, the exchange may be intentional. For example, a
 * user may swap two titles.
 */
const MIN_VALUES = 5

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
const MIN_KEPT = 0.75
/** Minimum share of the changed rows that get values of other changed rows, if many rows were removed. */
const MIN_MOVED = 0.6

/** Minimum number of transfers for a note about exchanged receivers, even if only a few wallets are involved. */
const MIN_TRANSFERS = 5
const MIN_EXCHANGED = 0.9

const PAGE = 1_000

interface ExchangeInput {
  rows: RowsIn
  /** Number of rows that have NFTs. */
  named: number
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
export function refuseExchanged(sql: Sql, drop: Drop, judged: ExchangeInput): { notes: string[]; areTitles: boolean } {
  const exchanged = readFields(sql, judged.named)
  const likely = exchanged.filter((field) => isExchanged(field, judged.named))
  const [first] = likely.filter(isRefused)
  if (first !== undefined && !judged.isAllowed) throw exchangedRowsError(sql, drop, judged.rows, { first, likely })
  const permuted = exchanged.filter((field) => arePermuted(field, judged.named) && !likely.includes(field))
  const doubtful = exchanged.filter((field) => !permuted.includes(field) && mayBeExchanged(field, judged.named))
  const noted = [...likely, ...doubtful.filter((field) => !likely.includes(field))]
  const explained = judged.mayBeOther === true ? noted.filter(({ field }) => field === 'receiver') : noted
  const notes = explained.map((field) => {
    const isPermitted = judged.isAllowed && isRefused(field)
    return `${describeField(field)}. ${isPermitted ? '--allow-exchanged permits this' : 'If only one column was sorted, restore it'}`
  })
  return {
    notes: [...permuted.map(noteOfReceivers), ...notes],
    areTitles: likely.some(({ field }) => field === 'title'),
  }
}

/** Returns the changed fields. If a large part of a column changes, the values of new rows are included. */
function readFields(sql: Sql, named: number): ExchangedField[] {
  createTables(sql, 'minted')
  const fields = exchangedFields(sql)
  const large = fields.filter((field) => isLarge(field, named) && isRefused(field)).map(({ field }) => field)
  return large.length > 0 && addMintedValues(sql, new Set(large)) ? exchangedFields(sql) : fields
}

/** Adds the values of the given fields in rows to be minted. Returns whether any value was added. */
function addMintedValues(sql: Sql, fieldNames: ReadonlySet<string>): boolean {
  let isAny = false
  for (let after = -1; ; ) {
    const page = changedPage(sql, 'JOIN', after, PAGE)
    for (const { changes, ...record } of page) {
      if (!(JSON.parse(changes) as { action: string }[]).some(({ action }) => action === 'mint')) continue
      const { receiver, metadata } = storedRowOf(record).row
      for (const [field, value] of [...metadataFields(metadata), ['receiver', receiver] as const]) {
        if (!fieldNames.has(field)) continue
        addMinted(sql, field, value)
        isAny = true
      }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return isAny
    after = last.position
  }
}

function exchangedRowsError(
  sql: Sql,
  drop: Drop,
  rows: RowsIn,
  { first, likely }: { first: ExchangedField; likely: readonly ExchangedField[] },
): GdnError {
  const moved = exchangedRows(sql, rows, first.field, MAX_PAIRS)
  const [pair] = moved
  const name = first.field
  const otherFields = likely.filter((other) => other !== first).map(({ field }) => field)
  const example = pair === undefined ? '' : ` Row ${shownKey(pair.key)} gets the ${name} of row ${shownKey(pair.was)}.`
  return new GdnError('edited_rows', `${describeField(first)}: ${drop.name}`, {
    hint: [
      `Nothing was sent.${example}`,
      ...(otherFields.length === 0 ? [] : [`The same applies to ${otherFields.join(', ')}.`]),
      'If a column was sorted or shifted without the others, or IDs were changed, restore the column or the IDs.',
      ...lastRows(drop),
      'To exchange these values intentionally, for example to renumber titles or to undo an exchange, add --allow-exchanged.',
    ].join('\n'),
    details: {
      run: drop.name,
      field: first.field,
      rows: moved.map(({ key, line }) => ({ key: shownKey(key), line })),
      count: countOf(first),
    },
  })
}

const isExchanged = (field: ExchangedField, named: number): boolean =>
  field.values >= MIN_VALUES && (isBalanced(field) || (isRefused(field) && isReordered(field, named)))

/**
 * Returns whether rows exchange the values of a field with each other. After a sort of the column and a few other
 * edits, only a few rows are unbalanced. After transfers between a few wallets or changes to a few titles, most values
 * are added to more or fewer rows than they are removed from.
 */
const isBalanced = ({ moved, changed, excess }: ExchangedField): boolean =>
  seemChanged(moved, changed) && excess <= Math.max(MAX_EXCESS, moved * MAX_EXCESS_PART)

/** Returns whether a whole column seems to have been reordered, even if rows were added or removed at the same time. */
const isReordered = (field: ExchangedField, named: number): boolean =>
  isLarge(field, named) && (field.kept >= field.changed * MIN_KEPT || field.moved >= field.changed * MIN_MOVED)

const isLarge = ({ changed }: ExchangedField, named: number): boolean => seemChanged(changed, named)

/**
 * Returns whether rows may exchange the values of a field, although many rows get values that are new to the column.
 */
const mayBeExchanged = (field: ExchangedField, named: number): boolean =>
  isRefused(field) &&
  field.values >= MIN_VALUES &&
  (seemChanged(field.moved, field.changed) || (isLarge(field, named) && seemChanged(field.kept, field.changed)))

/**
 * Returns whether nearly all transfers go to wallets that lose as many NFTs as they receive, which suggests a sorted
 * column.
 */
const arePermuted = (field: ExchangedField, named: number): boolean =>
  field.field === 'receiver' &&
  field.changed >= MIN_TRANSFERS &&
  (isLarge(field, named) ? field.kept : field.moved) >= field.changed * MIN_EXCHANGED

const noteOfReceivers = (field: ExchangedField): string =>
  `${countOf(field)} of ${field.changed} transfers exchange receivers among rows. If only the receiver column was sorted, restore it: transfers can't be undone`

const isRefused = ({ field }: ExchangedField): boolean => field === 'receiver' || identifiesNft(field)

const countOf = ({ moved, kept, changed }: ExchangedField): number => (seemChanged(moved, changed) ? moved : kept)

function describeField(field: ExchangedField): string {
  const name = field.field
  const does = seemChanged(field.moved, field.changed)
    ? `get the ${name} of another row`
    : `had the ${name} that another row has now`
  return `${countOf(field)} of ${field.changed} rows with a changed ${name} ${does}`
}
