import { parseColumnName } from './columns.ts'
import { openCsv } from './csv.ts'
import { decodeText } from './decode.ts'
import { ManifestError } from './manifest-error.ts'
import { openManifestSource } from './source.ts'

/**
 * Finds the lines on which rows of a CSV manifest begin. Messages identify a row by its number in a spreadsheet. That
 * number is lower than the line in the file if earlier cells contain line breaks or a line such as `sep=;` precedes the
 * header.
 *
 * @param rows the `line` of rows and of issues
 * @returns the line in the file for each row. The map is empty for other formats, and incomplete if the file can't be
 * read.
 */
export async function fileLines(path: string, rows: ReadonlySet<number>): Promise<Map<number, number>> {
  const fileLineOf = new Map<number, number>()
  let last = 0
  for (const line of rows) last = Math.max(last, line)
  const addAndCheckDone = (line: number | undefined, fileLine: number | undefined) => {
    if (line !== undefined && fileLine !== undefined && rows.has(line)) fileLineOf.set(line, fileLine)
    return line !== undefined && line >= last
  }
  let text: AsyncGenerator<string> | undefined
  try {
    const source = await openManifestSource({ path })
    if (source.format !== 'csv') return fileLineOf
    text = decodeText(source.bytes, path)
    const isKnown = (name: string) => 'role' in parseColumnName(name, { unknownColumns: 'error' })
    const { header, blocks } = await openCsv(text, path, isKnown)
    if (addAndCheckDone(header.line, header.fileLine)) return fileLineOf
    for await (const block of blocks()) {
      for (const record of block) {
        if (addAndCheckDone('issue' in record ? record.issue.place.line : record.line, record.fileLine))
          return fileLineOf
      }
    }
  } catch (error) {
    if (error instanceof ManifestError) addAndCheckDone(error.issue.place.line, error.fileLine)
  } finally {
    await text?.return(undefined)
  }
  return fileLineOf
}
