import { escapeCell } from '../../core/spreadsheet-text.ts'
import type { OutputFlags } from '../flags/common.ts'
import { csvLine } from './cells.ts'

/** The lines of CSV output. */
export interface Csv {
  /** Returns the first line. For a spreadsheet, a byte order mark says that the text is UTF-8. */
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
export function createCsv({ forSpreadsheet = false }: Pick<OutputFlags, 'forSpreadsheet'>, separator = ','): Csv {
  if (!forSpreadsheet) return { head: (names) => csvLine(names), line: (cells) => csvLine(cells) }
  const line = (cells: readonly string[]) => csvLine(cells.map(escapeCell), separator)
  return { head: (names) => BYTE_ORDER_MARK + line(names), line }
}
