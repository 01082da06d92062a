import { type ColumnNaming, parseColumnName } from './columns.ts'
import { openCsv } from './csv.ts'
import { decodeText } from './decode.ts'
import { ManifestError } from './manifest-error.ts'
import { openManifestSource } from './source.ts'

export interface CsvHeader {
  separator: string
  /** Names of the columns as spelled in the manifest. */
  names: string[]
}

/** Maximum number of characters to read. */
const HEAD_CHARACTERS = 64 * 1024

/** Returns the header of a CSV manifest. Returns null for another format, or if the file can't be read. */
export async function readCsvHeader(path: string, naming: ColumnNaming = {}): Promise<CsvHeader | null> {
  try {
    const open = await openManifestSource({ path })
    let head = ''
    for await (const piece of decodeText(open.bytes, open.name)) {
      head += piece
      if (head.length >= HEAD_CHARACTERS) break
    }
    if ((open.format ?? (/^\s*[[{]/.test(head) ? 'json' : 'csv')) !== 'csv' || head.trim() === '') return null
    const isKnown = (name: string) => 'role' in parseColumnName(name, { ...naming, unknownColumns: 'error' })
    const { header, delimiter } = await openCsv(yieldOnce(head), open.name, isKnown)
    return { separator: delimiter, names: header.names }
  } catch (error) {
    if (error instanceof ManifestError) return null
    throw error
  }
}

async function* yieldOnce(text: string): AsyncGenerator<string> {
  yield text
}
