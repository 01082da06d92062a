import { escapeCell } from '../../core/spreadsheet-text.ts'
import type { OutputFlags } from '../flags/common.ts'
import type { Io } from '../io/io.ts'
import { csvLine } from './view.ts'

/** Formats the lines of CSV output. */
export interface Csv {
  /**
   * Returns the header line. For a spreadsheet, the line starts with a byte order mark, which identifies the file as
   * UTF-8.
   */
  head(names: readonly string[]): string
  line(cells: readonly string[]): string
}

const BYTE_ORDER_MARK = '\ufeff'

/**
 * Returns a CSV formatter for the output flags.
 *
 * @param separator the separator of the output's manifest, which the user's spreadsheet program can read. Used only
 * with --for-spreadsheet, so that scripts can rely on commas.
 */
export function createCsv(
  { stdoutTty }: Pick<Io, 'stdoutTty'>,
  { forSpreadsheet = false }: Pick<OutputFlags, 'forSpreadsheet'>,
  separator = ',',
): Csv {
  if (!forSpreadsheet) return { head: (names) => csvLine(names), line: (cells) => csvLine(cells) }
  const line = (cells: readonly string[]) => csvLine(cells.map(escapeCell), separator)
  // Omit the byte order mark on a terminal, which would show it as an escape sequence.
  return { head: (names) => (stdoutTty ? '' : BYTE_ORDER_MARK) + line(names), line }
}
