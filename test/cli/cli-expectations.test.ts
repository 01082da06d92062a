import { expect, test } from 'vitest'
import { missingTests, namedRows, testsIn } from '../helpers/named-tests.ts'

const rows = await namedRows('cli-expectations.md')

test('lists all fifty expectations', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
})

test.each(rows)('$number, $what: names tests that exist, or says why there are none', async ({ cell }) => {
  if (testsIn(cell).length === 0) expect(cell).toMatch(/^left out: .{40}/)
  expect(await missingTests(cell)).toEqual([])
})
