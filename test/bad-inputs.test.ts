import { expect, test } from 'vitest'
import { missingTests, namedRows, testsIn } from './helpers/named-tests.ts'

const rows = await namedRows('bad-inputs.md')

test('lists fifty-four bad inputs', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 54 }, (_, i) => i + 1))
})

test.each(rows)('$number, $what: names tests that exist', async ({ cell }) => {
  expect(testsIn(cell).length).toBeGreaterThan(0)
  expect(await missingTests(cell)).toEqual([])
})
