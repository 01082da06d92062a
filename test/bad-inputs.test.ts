import { expect, test } from 'vitest'
import { missingTests, namedRows, testsIn } from './helpers/named-tests.ts'

const rows = await namedRows('bad-inputs.md')

test('the fifty-four bad inputs are there', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 54 }, (_, i) => i + 1))
})

test.each(rows)('$number, $what: it has tests, and they exist', async ({ cell }) => {
  expect(testsIn(cell).length).toBeGreaterThan(0)
  expect(await missingTests(cell)).toEqual([])
})
