import { createReadStream } from 'node:fs'
import { openCsv } from '../../manifest/csv.ts'

/**
 * The row counts of a comparison of two manifests. `of` is the number of rows in the former manifest. `changed` rows
 * have different content or a different image in the new manifest. `onlyImage` is the number of changed rows that
 * differ only in the image. `missing` rows aren't in the new manifest.
 */
export interface RowChangeCounts {
  changed: number
  onlyImage: number
  missing: number
  of: number
}

/**
 * Compares the rows of two manifests by ID, regardless of the paths of their images.
 *
 * @param images the IDs of the rows whose image changed
 * @returns null if one of the manifests can't be read
 */
export async function countChangedRows(
  former: string,
  current: string,
  images: ReadonlySet<number>,
): Promise<RowChangeCounts | null> {
  try {
    const [before, after] = await Promise.all([readRowsById(former), readRowsById(current)])
    const inBoth = [...before].filter(([id]) => after.has(id))
    const unchanged = inBoth.filter(([id, content]) => after.get(id) === content)
    const onlyImage = unchanged.filter(([id]) => images.has(Number(id))).length
    const changed = inBoth.length - unchanged.length + onlyImage
    return { changed, onlyImage, missing: before.size - inBoth.length, of: before.size }
  } catch {
    return null
  }
}

/** Returns the content of each row by ID. */
async function readRowsById(path: string): Promise<Map<string, string>> {
  const { header, blocks } = await openCsv(createReadStream(path, 'utf8'), path, () => true)
  const at = header.names.indexOf('id')
  const rows = new Map<string, string>()
  for await (const block of blocks()) {
    for (const record of block) {
      if ('issue' in record) continue
      const cells = record.cells.map((cell, column): [string, string] => [header.names[column] ?? '', cell])
      const content = cells.filter(([name, cell]) => name !== 'id' && name !== 'image' && cell !== '')
      rows.set(record.cells[at] ?? '', JSON.stringify(content.sort(([a], [b]) => (a < b ? -1 : 1))))
    }
  }
  return rows
}
