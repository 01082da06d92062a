import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const TESTS = fileURLToPath(new URL('../', import.meta.url))

const rows = (await readFile(`${TESTS}cli-expectations.md`, 'utf8'))
  .split('\n')
  .flatMap((line) => /^\| (\d+) \| (.+?) \| (.+) \|$/.exec(line)?.slice(1) ?? [])
  .reduce<{ number: string; what: string; cell: string }[]>((found, text, i, all) => {
    if (i % 3 === 0) found.push({ number: text, what: all[i + 1] ?? '', cell: all[i + 2] ?? '' })
    return found
  }, [])

test('the fifty expectations are there', () => {
  expect(rows.map(({ number }) => Number(number))).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
})

test.each(rows)('$number, $what: its tests exist, or it says why there are none', async ({ cell }) => {
  const named = [...cell.matchAll(/`([^`]+\.test\.ts) › ([^`]+)`/g)]
  if (named.length === 0) expect(cell).toMatch(/^left out: .{40}/)
  for (const [, file = '', title = ''] of named) {
    const source = await readFile(`${TESTS}${file}`, 'utf8')
    expect(source.includes(title), `${file} has no test "${title}"`).toBe(true)
  }
})
