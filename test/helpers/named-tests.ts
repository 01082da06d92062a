import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const TESTS = fileURLToPath(new URL('../', import.meta.url))

/** A row of a table that names tests: its number, what it is about, and the cell with the tests. */
export interface NamedRow {
  number: number
  what: string
  cell: string
}

/** The rows `| number | what | tests |` of a Markdown file below `test/`. */
export async function namedRows(file: string): Promise<NamedRow[]> {
  const text = await readFile(`${TESTS}${file}`, 'utf8')
  return text.split('\n').flatMap((line) => {
    const [, number, what, cell] = /^\| (\d+) \| (.+?) \| (.+) \|$/.exec(line) ?? []
    return number === undefined ? [] : [{ number: Number(number), what: what ?? '', cell: cell ?? '' }]
  })
}

/** What a row names, as `file › title`, that isn't there; the title as it is written, with its placeholders. */
export async function missingTests(cell: string): Promise<string[]> {
  const missing: string[] = []
  for (const [, file = '', title = ''] of testsIn(cell)) {
    const source = await readFile(`${TESTS}${file}`, 'utf8').catch(() => '')
    if (!source.includes(title)) missing.push(`${file} › ${title}`)
  }
  return missing
}

/** The tests that a cell names. */
export function testsIn(cell: string): RegExpMatchArray[] {
  return [...cell.matchAll(/`([^`]+\.test\.ts) › ([^`]+)`/g)]
}
