import { cutToWidth, displayWidth } from '../text/display-width.ts'
import { shortAddress } from './short-address.ts'

const COLUMN_GAP = 2

const MIN_COLUMN_WIDTH = 8
/** Matches an address or a transaction hash. */
const ADDRESS_PATTERN = /^(0x(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})|[1-9A-HJ-NP-Za-km-z]{43,44})$/

const URL_PATTERN = /^https?:\/\//

type Rows = readonly (readonly string[])[]

/**
 * Shortens cells until the table fits on a terminal: first addresses to their two ends, then the widest columns, and
 * then addresses again. Shortens URLs in the middle. Never shortens the column `whole`, because users copy its values
 * to other commands.
 */
export function fitColumns(headings: readonly string[], rows: Rows, available: number, whole: number): string[][] {
  const widths = measureColumns(headings, rows)
  if (sumWidths(widths) <= available) return rows.map((row) => [...row])
  const isAddress = headings.map((_, i) => i !== whole && rows.some((row) => ADDRESS_PATTERN.test(row[i] ?? '')))
  const shorter = shortAddresses(rows, whole)
  const fitted = measureColumns(headings, shorter)
  narrowColumns(fitted, available, (i) => i !== whole && !isAddress[i])
  narrowColumns(fitted, available, (i) => i !== whole)
  return rows.map((row, at) =>
    row.map((cell, i) => {
      const width = fitted[i] ?? cell.length
      if (i === whole) return cell
      if (ADDRESS_PATTERN.test(cell) && width < 11) return cutMiddle(cell, width - 4, 3)
      const text = shorter[at]?.[i] ?? cell
      return URL_PATTERN.test(text) ? shortUrl(text, width) : cutToWidth(text, width)
    }),
  )
}

/**
 * Shortens addresses if the table doesn't fit, and truncates the cells of one column at the start. Returns null if the
 * table still wouldn't fit.
 */
export function fitByStarts(
  headings: readonly string[],
  all: Rows,
  available: number,
  { column, whole }: { column: number; whole: number },
): Rows | null {
  const rows = fitsWhole(headings, all, available) ? all : shortAddresses(all, whole)
  const widths = measureColumns(headings, rows)
  const width = (widths[column] ?? 0) - Math.max(0, sumWidths(widths) - available)
  if (width < Math.max(MIN_COLUMN_WIDTH, headings[column]?.length ?? 0)) return null
  return rows.map((row) => row.map((cell, i) => (i === column ? cutStart(cell, width) : cell)))
}

/** Truncates a text at the start, for texts such as paths, whose end is more important. */
function cutStart(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  let end = ''
  for (const character of [...text].toReversed()) {
    if (displayWidth(character + end) >= columns) break
    end = character + end
  }
  return `…${end}`
}

/** Returns whether a table fits with shortened addresses. */
export function fitsWithShortAddresses(
  headings: readonly string[],
  rows: Rows,
  available: number,
  whole: number,
): boolean {
  return fitsWhole(headings, shortAddresses(rows, whole), available)
}

function shortAddresses(rows: Rows, whole: number): string[][] {
  return rows.map((row) => row.map((cell, i) => (i !== whole ? shortCell(cell) : cell)))
}

/** Returns whether a table fits without shortened cells. */
export function fitsWhole(headings: readonly string[], rows: Rows, available: number): boolean {
  return sumWidths(measureColumns(headings, rows)) <= available
}

function measureColumns(headings: readonly string[], rows: Rows): number[] {
  return headings.map((heading, i) =>
    rows.reduce((max, row) => Math.max(max, displayWidth(row[i] ?? '')), heading.length),
  )
}

const sumWidths = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width + COLUMN_GAP, -COLUMN_GAP)

/** Narrows the widest permitted columns until the table fits. */
function narrowColumns(widths: number[], available: number, mayBe: (column: number) => boolean): void {
  for (let excess = sumWidths(widths) - available; excess > 0; excess = sumWidths(widths) - available) {
    const widest = widths.reduce((best, width, i) => (mayBe(i) && width > (widths[best] ?? 0) ? i : best), -1)
    const width = widths[widest] ?? 0
    if (width <= MIN_COLUMN_WIDTH) return
    widths[widest] = Math.max(MIN_COLUMN_WIDTH, width - excess)
  }
}

/** Shortens an address. Returns any other text unchanged. */
const shortCell = (text: string): string => (ADDRESS_PATTERN.test(text) ? shortAddress(text) : text)

/** Shortens a URL in the middle and removes its scheme, because URLs often differ at the end. */
function shortUrl(url: string, width: number): string {
  const text = displayWidth(url) <= width ? url : url.replace(URL_PATTERN, '')
  return text.length <= width ? text : cutMiddle(text, Math.ceil((width - 1) / 2), Math.floor((width - 1) / 2))
}

const cutMiddle = (address: string, head: number, tail: number) => `${address.slice(0, head)}…${address.slice(-tail)}`
