import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const TESTS = fileURLToPath(new URL('../', import.meta.url))

/** A row of a table that names tests: its number, its subject, and the cell with the tests. */
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

/** Returns the tests that a row names as `file › title` and that don't exist. Titles include their placeholders. */
export async function missingTests(cell: string): Promise<string[]> {
  const missing: string[] = []
  for (const [, file = '', title = ''] of testsIn(cell)) {
    const source = await readFile(`${TESTS}${file}`, 'utf8').catch(() => '')
    if (!source.includes(title)) missing.push(`${file} › ${title}`)
  }
  return missing
}

/** Returns the tests that a cell names. */
export function testsIn(cell: string): RegExpMatchArray[] {
  return [...cell.matchAll(/`([^`]+\.test\.ts) › ([^`]+)`/g)]
}
