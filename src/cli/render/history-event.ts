import type { ResponseOf } from '../../client/api-client.ts'
import { shorten } from '../../core/shorten.ts'
import { shortAddress } from './short-address.ts'

export type HistoryEvent = ResponseOf<'getnfthistory'>['events'][number]

/**
 * Describes an event of an NFT on one line.
 *
 * @param textOf formats a value; default: truncates long values
 */
export function describeEvent({ kind, from, to, changes }: HistoryEvent, textOf = shortText): string {
  if (kind === 'mint') return `to ${to}`
  if (kind === 'transfer') return `${from} to ${to}`
  if (kind === 'burn') return from === null ? 'by its holder' : `of ${from}`
  if (kind === 'freeze' || changes == null || changes.length === 0) return 'of its metadata'
  return changes.map(({ field, before, after }) => `${field}: ${textOf(before)} to ${textOf(after)}`).join(', ')
}

/** Describes an event for machine-readable output, with untruncated values. */
export const describeWholeEvent = (event: HistoryEvent): string =>
  describeEvent(event, (value) => (value === null ? 'none' : `"${value}"`))

/**
 * Describes an event for a narrow terminal. For a transfer, names only the new owner, because earlier events name the
 * old owner.
 */
export function describeEventShortly(event: HistoryEvent): string {
  const { kind, from, to } = event
  if (kind === 'mint' || kind === 'transfer') return `to ${shortAddress(String(to))}`
  return describeEvent({ ...event, from: from === null ? null : shortAddress(String(from)) })
}

const MAX_SHOWN_CHARACTERS = 30

function shortText(value: string | null): string {
  if (value === null) return 'none'
  return `"${shorten(value, MAX_SHOWN_CHARACTERS)}"`
}

/** Shortens a hash to its first and last characters. */
export const shortHash = (hash: unknown): string | null =>
  typeof hash === 'string' ? `${hash.slice(0, 10)}…${hash.slice(-4)}` : null
