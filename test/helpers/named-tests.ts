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

/**
 * Returns the tests that a row names as `file › title` and that don't exist. A title is compared in full, with its
 * placeholders. It may be the name of one case of a table.
 */
export async function missingTests(cell: string): Promise<string[]> {
  const missing: string[] = []
  for (const [, file = '', title = ''] of testsIn(cell)) {
    const source = await readFile(`${TESTS}${file}`, 'utf8').catch(() => '')
    if (!hasTitle(source, title)) missing.push(`${file} › ${title}`)
  }
  return missing
}

/** Whether the first of several arguments, or an element of a row, equals the title. */
function hasTitle(source: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => {
    const text = `${quote}${escaped(title)}${quote}`
    return new RegExp(`\\(\\s*${text},|[[,{]\\s*(name: )?${text}\\s*[\\],}:]`).test(source)
  })
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Returns the tests that a cell names. */
export function testsIn(cell: string): RegExpMatchArray[] {
  return [...cell.matchAll(/`([^`]+\.test\.ts) › ([^`]+)`/g)]
}
