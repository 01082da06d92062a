import { readFile } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { type Figure, formatHeading, report } from '../../bench/figures.ts'
import { figureTables, type Measurement } from '../../bench/page.ts'
import { quotedTables } from '../../bench/quoted.ts'
import { newMeasurement, record } from '../../bench/record.ts'

const measured = (commit: string, parts: readonly string[]): Measurement => ({
  ...{ commit, date: '2026-11-25', machine: { cpu: 'Some CPU', cores: 2, memory_gib: 8 } },
  versions: { node: '24.1.0', anvil: '1.5.0', postgresql: '16.2' },
  figures: parts.map((part) => ({ part, what: `what ${part} measures`, value: 1, unit: 'ms' })),
})

const FIGURE: Figure = {
  ...{ what: 'start', unit: 'ms', samples: [100, 200, 900] },
  against: { what: 'bare Node.js', samples: [50, 50, 300] },
  budget: { atMost: 2 },
}

test('a row is printed once, when its figure is measured', () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const first = report([{ ...FIGURE }])
  expect(write).toHaveBeenCalledTimes(1)
  const second: Figure = { ...FIGURE, what: 'stop' }
  expect(report([...first, second])).toEqual([...first, second])
  expect(write).toHaveBeenCalledTimes(2)
  const [row = ''] = write.mock.calls[0] ?? []
  expect(String(row)).toMatch(/^start +200 ms \(100–900\) +bare Node\.js +50\.0 ms \(50\.0–300\) +3\.00x +≤ 2x +✗\n$/)
  expect(formatHeading('cli').indexOf('against')).toBe(String(row).indexOf('bare Node.js'))
})

test('a table has one commit and one machine, with the versions of what ran', () => {
  const [heading, , facts] = figureTables([measured('0123abcd', ['cli'])]).split('\n')
  expect(heading).toBe('### Commit `0123abcd`, 2026-11-25')
  expect(facts).toBe('Some CPU, 2 cores, 8 GiB of memory, Node.js 24.1.0, anvil 1.5.0, PostgreSQL 16.2.')
})

test('a ratio of paired rounds is the median of their ratios and marked, and a missed budget is shown', () => {
  const [now] = record(
    [measured('0123abcd', [])],
    'start',
    [FIGURE, { ...FIGURE, what: '  again', samples: [80], against: { what: 'bare Node.js', samples: [50] } }],
    4,
  )
  const rows = figureTables([now]).split('\n').slice(-2)
  expect(rows).toEqual([
    '| start | 200 ms | bare Node.js: 50 ms | 3x * | ≤ 2x, **missed** | `start` |',
    '| start: again | 80 ms | bare Node.js: 50 ms | 1.6x | ≤ 2x | `start` |',
  ])
})

test('a measured part leaves the tables of other commits, and an empty table goes', () => {
  const before = [measured('1111', ['cli', 'gas']), measured('2222', ['gas'])]
  const after = record([measured('3333', []), ...before], 'gas', [FIGURE], 4)
  expect(after.map(({ commit, figures }) => [commit, figures.map(({ part }) => part)])).toEqual([
    ['3333', ['gas']],
    ['1111', ['cli']],
  ])
})

test('a measurement names the commit, the machine and the versions', () => {
  expect(newMeasurement()).toMatchObject({
    commit: expect.stringMatching(/^[0-9a-f]{8,}$/),
    date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    machine: { cpu: expect.stringMatching(/\S/), cores: expect.any(Number), memory_gib: expect.any(Number) },
    versions: { node: process.version.slice(1), anvil: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
    seconds: {},
    figures: [],
  })
})

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the pages show what is recorded', async () => {
  const recorded: Measurement[] = JSON.parse(await read('bench/figures.json'))
  const { measured, compared } = quotedTables(recorded)
  expect(await read('docs/benchmarks.md')).toContain(figureTables(recorded))
  expect(await read('README.md')).toContain(measured)
  expect(await read('docs/install.md')).toContain(compared)
})

test('a page that quotes a figure which is no longer measured is an error', () => {
  expect(() => quotedTables([measured('1111', ['throughput'])])).toThrow(
    'no figure with a baseline is recorded for throughput: NFTs',
  )
})

test('no part was measured for longer than 5 minutes', async () => {
  const recorded: Measurement[] = JSON.parse(await read('bench/figures.json'))
  const tooLong = recorded.flatMap(({ seconds = {} }) => Object.entries(seconds).filter(([, taken]) => taken > 300))
  expect(tooLong).toEqual([])
})

test('each row of a quoted table has a cell for every column', async () => {
  const recorded: Measurement[] = JSON.parse(await read('bench/figures.json'))
  for (const table of Object.values(quotedTables(recorded))) {
    const columns = table.split('\n').map((row) => row.split('|').length)
    expect(new Set(columns).size).toBe(1)
  }
})
