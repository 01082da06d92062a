import { expect, test } from 'vitest'
import { shortPath } from '../../src/core/short-path.ts'

test.each([
  ['/work/drop.csv', '/work', 'drop.csv'],
  ['/work/a/drop.csv', '/work', 'a/drop.csv'],
  ['/work/-drop.csv', '/work', './-drop.csv'],
  ['/other/drop.csv', '/work', '/other/drop.csv'],
  ['/work', '/work', '/work'],
])('names a path below the working directory relative to it: %s in %s', (path, cwd, expected) => {
  expect(shortPath(path, cwd)).toBe(expected)
})
