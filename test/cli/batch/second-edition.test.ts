/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { fakeApi, OWNER } from '../fake-api.ts'
import { cli } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

/** A manifest whose rows have the IDs 1 to `size`. */
const edition = (size: number, text: string, titleOf = (number: number) => `Harbor #${number}`) =>
  `id,title,description,receiver\n${Array.from({ length: size }, (_, row) => `${row + 1},${titleOf(row + 1)},${text},${OWNER}\n`).join('')}`

/** Mints the first manifest, and returns a function that runs a command for the second one under `--run`. */
async function minted(first: string, second: string) {
  const { path, options } = await folder({ 'one/manifest.csv': first, 'two/manifest.csv': second })
  const api = await fakeApi(service())
  const to = [...TARGET, '--base-url', api.url]
  const run = (command: string[], manifest: string, ...more: string[]) =>
    cli([...command, path(manifest), ...to, ...more], options)
  expect(await run(['batch', 'mint'], 'one/manifest.csv')).toMatchObject({ code: 0 })
  const rows = () => api.bodies('createnft').reduce<number>((sum, body) => sum + Object(body).metadata.length, 0)
  return { rows, again: (...command: string[]) => run(command, 'two/manifest.csv', '--run', 'v2') }
}

describe('a run of another edition in the same collection', () => {
  const text =
    /4 rows have the IDs and titles of rows that the run manifest-\w+ minted, but different content: .*, and the rows would be minted again\./

  test('prompts before it mints rows with the same IDs and titles a second time', async () => {
    const { rows, again } = await minted(edition(4, 'first'), edition(10, 'second'))
    for (let time = 0; time < 2; time++) {
      const { code, stderr } = await again('batch', 'mint')
      expect(code, stderr).toBe(3)
      expect(stderr).toMatch(text)
      expect(stderr).toContain('Mint 10 rows?')
      expect(stderr).toContain('Add --yes to confirm.')
    }
    expect(await again('batch', 'mint', '--dry-run')).toMatchObject({ code: 0, stderr: expect.stringMatching(text) })
    expect(rows()).toBe(4)
    expect(await again('batch', 'mint', '--yes')).toMatchObject({ code: 0, stderr: expect.stringMatching(text) })
    expect(rows()).toBe(14)
  })

  test('is noted by a plan, and apply asks', async () => {
    const { rows, again } = await minted(edition(4, 'first'), edition(10, 'second'))
    expect(await again('plan')).toMatchObject({ stderr: expect.stringMatching(text) })
    expect(await again('apply')).toMatchObject({ code: 3, stderr: expect.stringMatching(text) })
    expect(rows()).toBe(4)
    expect(await again('apply', '--yes')).toMatchObject({ code: 0 })
    expect(rows()).toBe(14)
  })

  test('asks if it is a part of the edition', async () => {
    const { again } = await minted(edition(10, 'first'), edition(4, 'second'))
    expect(await again('batch', 'mint')).toMatchObject({ code: 3, stderr: expect.stringMatching(text) })
  })
})

describe('a run of another drop mints without a question', () => {
  test.each([
    ['if its titles differ', edition(10, 'second', (number) => `Pier #${number}`)],
    ['if fewer than 3 rows are alike', edition(2, 'second')],
    [
      'if fewer than half of the rows are alike',
      edition(10, 'second', (number) => `${number > 3 ? 'Pier' : 'Harbor'} #${number}`),
    ],
  ])('%s', async (_, second) => {
    const { rows, again } = await minted(edition(8, 'first'), second)
    const { code, stderr } = await again('batch', 'mint')
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('second time') })
    expect(rows()).toBeGreaterThan(8)
  })

  test('if all rows have the same title, which is not the number of a row', async () => {
    const titleOf = () => 'Ticket 2027'
    const { again } = await minted(edition(8, 'first', titleOf), edition(8, 'second', titleOf))
    expect(await again('batch', 'mint')).toMatchObject({ code: 0 })
  })
})
