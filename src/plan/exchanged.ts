import { seemChanged } from '../batch/identity/renumbered.ts'
import { MAX_PAIRS, rowsAsMinted } from '../batch/rows/edited-rows.ts'
import { shownKey } from '../batch/rows/row-key.ts'
import { GdnError } from '../core/errors.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import type { Drop } from '../state/drops.ts'
import { type ExchangedField, exchangedFields, exchangedRows } from '../state/plan-tables.ts'
import { fileField } from './compare.ts'

/** With fewer values, people may well have exchanged them: two titles, or a trait of a few rows. */
const MIN_VALUES = 5

/** Rows beyond an exact exchange: other edits, or changes since the manifest was copied. */
const MAX_EXCESS = 2
const MAX_EXCESS_PART = 0.1

/** Transfers that exchange receivers, from which on a plan warns even if there are only few wallets. */
const MIN_TRANSFERS = 5
const MIN_SWAPPED = 0.9

/**
 * Refuses a plan that mostly exchanges the titles, descriptions, files or receivers of rows. A column of a spreadsheet
 * was sorted or shifted without the others, or the IDs were renumbered. Titles that count up look the same if their
 * numbers were changed by one on purpose. Dynamic NFTs may exchange attributes and extra
 * keys, such as their rank.
 *
 * @returns notes about attributes and extra keys, and about receivers that are exchanged among few wallets
 * @throws GdnError `edited_rows`
 */
export function refuseExchanged(sql: Sql, drop: Drop): string[] {
  const exchanged = exchangedFields(sql)
  const found = exchanged.filter(isExchanged)
  const [first] = found.filter(isRefused)
  if (first === undefined) {
    const notes = found.map((one) => `${textOf(one)}. If a column was sorted alone, restore it`)
    return [...exchanged.filter(arePermuted).map(noteOfReceivers), ...notes]
  }
  const rows = exchangedRows(sql, first.field, MAX_PAIRS)
  const [{ key = '', was = '' } = {}] = rows
  const name = nameOf(first)
  const others = found.filter((one) => one !== first).map(nameOf)
  throw new GdnError('edited_rows', `${textOf(first)}: ${drop.name}`, {
    hint: [
      `Nothing was sent. Row ${shownKey(key)} gets the ${name} of row ${shownKey(was)}.`,
      ...(others.length === 0 ? [] : [`The same applies to ${others.join(', ')}.`]),
      'If a column was sorted or shifted without the others, or IDs were changed, restore it.',
      ...(drop.setId === null ? [] : [rowsAsMinted(drop.name)]),
      'If you changed these values on purpose, for example to renumber titles, add --adopt.',
    ].join('\n'),
    details: {
      run: drop.name,
      field: first.field,
      rows: rows.map(({ line, ...row }) => ({ key: shownKey(row.key), line })),
      count: first.moved,
    },
  })
}

/**
 * Whether rows exchange the values of a field. People who move NFTs among a few wallets, or rows among a few titles,
 * rarely give as many rows to each of them as they take. Edits beside a sorted column do so for few rows.
 */
const isExchanged = ({ values, moved, changed, excess }: ExchangedField): boolean =>
  values >= MIN_VALUES && seemChanged(moved, changed) && excess <= Math.max(MAX_EXCESS, moved * MAX_EXCESS_PART)

/** Whether nearly all transfers are to wallets that lose as many NFTs as they get, as after sorting their column. */
const arePermuted = ({ field, moved, changed }: ExchangedField): boolean =>
  field === 'receiver' && moved >= MIN_TRANSFERS && moved >= changed * MIN_SWAPPED

const noteOfReceivers = ({ moved, changed }: ExchangedField): string =>
  `${moved} of ${changed} transfers exchange receivers among rows. If the receiver column was sorted alone, restore it: transfers can't be undone`

const isRefused = ({ field }: ExchangedField): boolean => !/^(?:attr|extra)[:#]/u.test(field)

const nameOf = ({ field }: ExchangedField): string =>
  field.startsWith(fileField('')) ? field.slice(fileField('').length) : field

const textOf = (one: ExchangedField): string =>
  `${one.moved} of ${one.changed} rows with a changed ${nameOf(one)} get the ${nameOf(one)} of another row`
