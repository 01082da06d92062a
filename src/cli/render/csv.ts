import { escapeCell } from '../../core/spreadsheet-text.ts'
import type { OutputFlags } from '../flags/common.ts'
import type { Io } from '../io/io.ts'
import { csvLine } from './cells.ts'

/** The lines of CSV output. */
export interface Csv {
  /** Returns the first line. In a file for a spreadsheet, a byte order mark before it identifies the text as UTF-8. */
  head(names: readonly string[]): string
  line(cells: readonly string[]): string
}

const BYTE_ORDER_MARK = '\ufeff'

/**
 * Formats CSV as the flags ask for it.
 *
 * @param separator that of the manifest that the output belongs to, which the user's spreadsheet reads. It is used only
 * for a spreadsheet, so that programs always get the same.
 */
export function createCsv(
  { stdoutTty }: Pick<Io, 'stdoutTty'>,
  { forSpreadsheet = false }: Pick<OutputFlags, 'forSpreadsheet'>,
  separator = ',',
): Csv {
  if (!forSpreadsheet) return { head: (names) => csvLine(names), line: (cells) => csvLine(cells) }
  const line = (cells: readonly string[]) => csvLine(cells.map(escapeCell), separator)
  // A terminal would show the mark as an escape sequence.
  return { head: (names) => (stdoutTty ? '' : BYTE_ORDER_MARK) + line(names), line }
}
