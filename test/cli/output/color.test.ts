import { expect, test } from 'vitest'
import { colorLevel } from '../../../src/cli/io/color.ts'
import { fakeApi, knows, nft } from '../fake-api.ts'
import { cli } from '../harness.ts'

test('decides on colors for each stream', () => {
  const terminal = { isTTY: true, getColorDepth: () => 8 }
  expect(colorLevel(terminal, {})).toBe(2)
  expect(colorLevel({}, {})).toBe(0)
  for (const stream of [terminal, {}]) {
    expect(colorLevel(stream, { FORCE_COLOR: '3' })).toBe(3)
    expect(colorLevel(stream, { FORCE_COLOR: '3', NO_COLOR: '1' })).toBe(0)
    expect(colorLevel(stream, { FORCE_COLOR: '1' }, true)).toBe(0)
  }
  expect(colorLevel(terminal, { NO_COLOR: '' })).toBe(2)
  expect(colorLevel(terminal, { TERM: 'dumb' })).toBe(0)
})

test.each([
  ['stdout', { tty: true, stderrTty: false }],
  ['stderr', { tty: false, stderrTty: true }],
  ['both', { tty: true, stderrTty: true }],
  ['neither', { tty: false, stderrTty: false }],
])('uses colors on the terminal only: %s', async (_, streams) => {
  const api = await fakeApi({ getnfts: knows(nft('a')) })
  const show = (id: string) =>
    cli(['nft', 'show', id, '--base-url', api.url], { env: { GDN_API_KEY: 'key' }, colors: true, ...streams })
  expect((await show('a')).stdout.includes('\u001b[32mdeployed')).toBe(streams.tty)
  expect((await show('')).stderr.includes('\u001b[31merror:')).toBe(streams.stderrTty)
  const help = await cli(['nft', 'show', '--help'], { colors: true, ...streams })
  expect(help.stdout.includes('\u001b[')).toBe(streams.tty)
})
