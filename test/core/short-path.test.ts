import { expect, test } from 'vitest'
import { shortPath } from '../../src/core/short-path.ts'

test.each([
  ['/home/a/drop.csv', '/home/a', 'drop.csv'],
  ['/home/a/a/drop.csv', '/home/a', 'a/drop.csv'],
  ['/home/a/-drop.csv', '/home/a', './-drop.csv'],
  ['/other/drop.csv', '/home/a', '/other/drop.csv'],
  ['/home/a', '/home/a', '/home/a'],
])('names a path below the working directory relative to it: %s in %s', (path, cwd, expected) => {
  expect(shortPath(path, cwd)).toBe(expected)
})
