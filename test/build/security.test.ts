import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { missingTests, namedRows, testsIn } from '../helpers/named-tests.ts'

const TESTS = fileURLToPath(new URL('../', import.meta.url))

const text = await readFile(`${TESTS}../SECURITY.md`, 'utf8')
const threats = await namedRows('../SECURITY.md')
/** Rows of the OWASP lists: `| API1 | …`, `| V2 | …`. */
const listed = text.split('\n').flatMap((line) => {
  const [, id, what, cell] = /^\| ((?:API|V)\d+) \| (.+?) \| (.+) \|$/.exec(line) ?? []
  return id === undefined ? [] : [{ id, what: what ?? '', cell: cell ?? '' }]
})

describe('the threats', () => {
  test('are numbered consecutively', () => {
    expect(threats.length).toBeGreaterThan(20)
    expect(threats.map(({ number }) => number)).toEqual(threats.map((_, i) => i + 1))
  })

  test.each(threats)('$number, $what: names tests', ({ cell }) => {
    expect(testsIn(cell).length).toBeGreaterThan(0)
  })
})

describe('the OWASP lists', () => {
  test('are complete: ten API risks, fourteen chapters of ASVS', () => {
    const ids = [
      ...Array.from({ length: 10 }, (_, i) => `API${i + 1}`),
      ...Array.from({ length: 14 }, (_, i) => `V${i + 1}`),
    ]
    expect(listed.map(({ id }) => id)).toEqual(ids)
  })

  test.each(listed)('$id, $what: names tests, or explains why it does not apply', ({ cell }) => {
    if (!cell.includes('.test.ts')) expect(cell).toMatch(/^Doesn't apply: .{40}/)
  })
})

test('every test and test file that SECURITY.md names exists', async () => {
  expect(testsIn(text).length).toBeGreaterThan(80)
  expect(await missingTests(text)).toEqual([])
  const files = [...text.matchAll(/`([\w/.-]+\.test\.ts|bad-inputs\.md)[`\s]/g)].map(([, file = '']) => file)
  expect(files.filter((file) => !existsSync(TESTS + file))).toEqual([])
})
