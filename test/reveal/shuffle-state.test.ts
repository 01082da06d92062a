/** @module-tag slow */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { cli } from '../cli/harness.ts'
import { createTestCollection, freshDataDir, startTestBackend, type TestBackend } from '../helpers/backend.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { forward, startKillingRelay } from '../helpers/killing-relay.ts'
import {
  BEACON,
  nftsOf,
  REFUSED_ROW,
  refusingRelay,
  rowsOf,
  type ShuffledMachine,
  shuffledMachine,
} from '../helpers/shuffled-machine.ts'

let data: Awaited<ReturnType<typeof freshDataDir>>
let backend: TestBackend
beforeAll(async () => {
  data = await freshDataDir()
  backend = await startTestBackend(data.path)
})
afterAll(async () => {
  await backend.close()
  await data.remove()
})

const rows = rowsOf(4)
const { secret_key: _, ...chain } = JSON.parse(BEACON)

/** Reveals a drop with a beacon that has no rounds yet, so that it is only sealed. */
async function seal(machine: ShuffledMachine, ...more: string[]) {
  await writeFile(machine.path('no-rounds.json'), JSON.stringify({ ...chain, rounds: [] }))
  const beacon = ['--beacon', machine.path('no-rounds.json')]
  return await machine.run(['reveal', '--yes'], rows, ...beacon, ...more)
}

/** Returns two machines and a drop that the first one has sealed. The slot `REFUSED_ROW` was never minted. */
async function sealedDrop() {
  const collection = await createTestCollection(backend)
  const relay = await refusingRelay(backend)
  onTestFinished(() => relay.close())
  const first = await shuffledMachine({ ...backend, url: relay.url }, collection)
  expect((await first.shuffle(rows)).error).toMatchObject({ code: 'batch_failed_rows' })
  expect((await seal(first, '--abandon-rows', '1')).error).toMatchObject({
    message: expect.stringContaining('no round'),
  })
  const second = await shuffledMachine(backend, collection)
  await writeFile(second.path('drop.csv'), rows)
  const inText = async ({ path, target, options }: ShuffledMachine, command: string, ...more: string[]) =>
    await cli([...command.split(' '), path('drop.csv'), ...target, ...more], options)
  return { collection, first, second, inText }
}

test('a plan of a sealed drop counts rows without an NFT as abandoned, on any machine, and suggests the reveal', async () => {
  const { first, second, inText } = await sealedDrop()
  for (const machine of [first, second]) {
    const { stdout, stderr } = await inText(machine, 'plan')
    expect(stderr).toMatch(/The drop is sealed, and .*round \d+ of (drand|the beacon that you specified)/)
    expect(stderr).toContain('3 NFTs are not revealed yet. To reveal them: gdn reveal ')
    expect(stderr).toContain(
      '1 row of the shuffled drop was abandoned when it was sealed, and can no longer be minted.',
    )
    expect(stderr).toContain('4 rows: 3 impossible, 1 abandoned.')
    expect(stdout + stderr).not.toContain('batch mint')
  }
})

test('a plan of a sealed drop does not count a row that was added since as abandoned', async () => {
  const { first } = await sealedDrop()
  const { stdout } = await first.plan(`${rows}\nr9,Row 9,x,art/1.txt,${rows.split(',').at(-1)}`)
  const added = JSON.parse(stdout).filter(({ key }: { key: string }) => key === 'r9')
  expect(added).toMatchObject([{ action: 'impossible', reason: expect.stringContaining('was edited after') }])
})

test('a plan of a sealed drop suggests to restore the id of a row without an NFT', async () => {
  const { first, inText } = await sealedDrop()
  await writeFile(first.path('drop.csv'), rows.replace('r1,', 'r9,'))
  expect((await inText(first, 'plan')).stderr).toContain('If you changed the id of a row, restore it.')
})

test('refuses to mint a sealed drop with one message, on any machine and with any flags', async () => {
  const { first, second } = await sealedDrop()
  const mints = [
    () => first.shuffle(rows),
    () => first.run(['batch', 'mint'], rows),
    () => first.resume('resume', rows),
    () => second.shuffle(rows),
    () => second.shuffle(rows, '--adopt'),
    () => second.run(['batch', 'mint'], rows),
  ]
  const areRefused = async (message: string, hint: string) => {
    for (const mint of mints) {
      const { error, code } = await mint()
      expect(code).toBe(5)
      expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining(message) })
      expect(error?.hint).toContain(`${hint} ${error?.hint?.match(/\S+drop\.csv/)?.[0]} --contract`)
      expect(error?.hint).not.toContain('--unrevealed')
    }
  }
  await areRefused(
    'the drop is sealed, so its other rows can no longer be minted',
    'To reveal the NFTs, run `gdn reveal',
  )
  expect(await second.reveal(rows, '--abandon-rows', '1')).toMatchObject({ code: 0, error: null })
  const revealed = 'the drop is sealed and revealed, so its other rows can no longer be minted'
  await areRefused(revealed, 'To compare the manifest with the NFTs, run `gdn plan')
})

test('shows the seal and the abandoned rows in status, results and report, and the draw after another machine revealed', async () => {
  const { first, second } = await sealedDrop()
  const file = first.path('drop.csv')
  const recorded = async () => {
    const status = await first.cli('batch', 'status', file)
    const results = JSON.parse((await first.cli('batch', 'results', file, '--json')).stdout)
    const report = await first.cli('batch', 'report', file, '--to', first.path('r.html'), '--force', '--json')
    return { status, results, report: JSON.parse(report.stdout), html: await readFile(first.path('r.html'), 'utf8') }
  }
  const before = await recorded()
  expect(before.status.stdout).toContain('sealed')
  const data = JSON.parse((await first.cli('batch', 'status', file, '--json')).stdout)
  expect(data).toMatchObject({ state: 'sealed', round: expect.any(Number), round_at: expect.stringMatching(/Z$/) })
  expect(before.status.stderr).toMatch(/round \d+ of the beacon that you specified draws its rows/)
  expect(before.status.stderr).toContain(': 3 of 4 rows are minted, 1 abandoned.')
  expect(before.status.stderr).toContain('Next: gdn reveal ')
  expect(before.results.map(({ status }: { status: string }) => status)).toEqual(
    rowsOf(4)
      .split('\n')
      .slice(1)
      .map((_, at) => (at + 1 === REFUSED_ROW ? 'abandoned' : 'deployed')),
  )
  expect(before.report).toMatchObject({ deployed: 3, abandoned: 1, pending: 0, failed: 0, errors: 0 })
  expect(before.html).toContain('The drop is sealed, and ')
  expect(await second.reveal(rows, '--abandon-rows', '1')).toMatchObject({ code: 0, error: null })
  const summary = await first.cli('batch', 'reconcile', file, '--json')
  expect(JSON.parse(summary.stdout)).toMatchObject({ deployed: 3, abandoned: 1, pending: 0, failed: 0 })
  const reconciled = await first.cli('batch', 'reconcile', file)
  expect(reconciled.code).toBe(0)
  expect(reconciled.stderr).toContain('or to record those that another machine revealed: gdn reveal ')
  const after = await recorded()
  expect(after.status.stdout).toContain('finished')
  expect(after.html).toContain('The drop is sealed, and its rows have been drawn')
  for (const { status, line, drawn_line } of after.results) {
    if (status === 'abandoned') expect(drawn_line).toBeUndefined()
    else expect(after.html).toContain(`line ${drawn_line}, drawn for line ${line}<`)
  }
})

test('says on the first machine that a whole drop is revealed after another machine revealed it', async () => {
  const collection = await createTestCollection(backend)
  const first = await shuffledMachine(backend, collection)
  expect(await first.shuffle(rows)).toMatchObject({ code: 0, error: null })
  const second = await shuffledMachine(backend, collection)
  expect(await second.reveal(rows)).toMatchObject({ code: 0, error: null })
  const [file, { options, target }] = [first.path('drop.csv'), first]
  const record = await first.cli('batch', 'status', file)
  expect(record.stderr).toContain('According to the records of this machine, the drop is not sealed yet.')
  expect(record.stderr).toContain('To update this record from the server: gdn batch reconcile ')
  const flags = ['--unrevealed', first.path('hidden.json'), '--shuffle', '--shuffle-margin', '1s', '--yes']
  for (const command of [
    ['batch', 'mint', file, ...target, ...flags],
    ['batch', 'resume', file, '--base-url', backend.url],
  ]) {
    const { code, stderr } = await cli(command, options)
    expect(code).toBe(0)
    expect(stderr).toContain(
      'its rows have been drawn by a beacon other than drand, as a rehearsal: 4 of 4 rows are minted.',
    )
    expect(stderr).not.toContain('Next: gdn reveal')
  }
  const missing = await second.cli('batch', 'status', second.path('drop.csv'))
  expect(missing.stderr).toContain('The records of a run are only on the machine that started it')
})

test('a machine records the rows that another machine minted before it calls rows abandoned', async () => {
  const collection = await createTestCollection(backend)
  const relay = await refusingRelay(backend)
  onTestFinished(() => relay.close())
  const first = await shuffledMachine({ ...backend, url: relay.url }, collection)
  expect((await first.shuffle(rows)).error).toMatchObject({ code: 'batch_failed_rows' })
  const second = await shuffledMachine(backend, collection)
  expect(await second.shuffle(rows)).toMatchObject({ code: 0, error: null })
  // The first machine seals and reveals the drop.
  const revealed = await first.reveal(rows)
  expect(JSON.parse(revealed.stdout)).toMatchObject({ revealed: 4, not_minted: 0 })
  const results = JSON.parse((await first.cli('batch', 'results', first.path('drop.csv'), '--json')).stdout)
  expect(results.map(({ status, drawn_key }: Record<string, string>) => [status, typeof drawn_key])).toEqual(
    Array(4).fill(['deployed', 'string']),
  )
  const status = await first.cli('batch', 'status', first.path('drop.csv'))
  expect(status.stderr).not.toContain('abandoned')
})

test('says that only the minted manifest can reveal a drop if the manifest is lost', async () => {
  const first = await shuffledMachine(backend, await createTestCollection(backend))
  expect(await first.shuffle(rows)).toMatchObject({ code: 0, error: null })
  await rename(first.path('drop.csv'), first.path('lost.csv'))
  for (const command of [['plan'], ['batch', 'mint'], ['reveal']]) {
    const { code, stderr } = await cli([...command, first.path('drop.csv'), ...first.target], first.options)
    expect([code, stderr]).toEqual([2, expect.stringContaining('restore the file from a backup')])
  }
})

test('recognizes a sealed drop whose manifest was renamed, and calls no row abandoned', async () => {
  const collection = await createTestCollection(backend)
  const first = await shuffledMachine(backend, collection)
  expect(await first.shuffle(rows)).toMatchObject({ code: 0, error: null })
  const renamed = first.path('renamed.csv')
  await rename(first.path('drop.csv'), renamed)
  const flags = ['--unrevealed', first.path('hidden.json'), '--shuffle', '--shuffle-margin', '1s', '--yes']
  const run = async (command: string[], ...more: string[]) => {
    const { code, stdout, stderr } = await cli([...command, renamed, ...first.target, ...more], first.options)
    return { code, text: stdout + stderr }
  }
  const secondResult = await run(['batch', 'mint'], ...flags)
  expect(secondResult.text).toMatch(/\n +If this manifest was renamed, add --run drop\.csv --adopt/)
  expect(secondResult.text).not.toContain('to finish it')
  const unsealed = await run(['plan'])
  expect(unsealed.text).toContain('add --run drop.csv --adopt')
  const beacon = ['--beacon', first.path('beacon.json')]
  const other = await run(['reveal'], '--run', 'drop.csv', '--yes', ...beacon)
  expect(other).toMatchObject({ code: 5, text: expect.stringContaining('add --run drop.csv --adopt') })
  expect(await nftsOf(backend, collection)).toMatchObject(Array(4).fill({ revision: 0 }))
  const second = await shuffledMachine(backend, collection)
  expect(await second.reveal(rows)).toMatchObject({ code: 0, error: null })
  const plan = await run(['plan'])
  expect(plan).toMatchObject({ code: 5, text: expect.stringContaining('add --run drop.csv --adopt') })
  expect(plan.text).not.toContain('abandoned')
  const reveal = await run(['reveal'], '--yes', ...beacon)
  expect(reveal.text).toContain('add --run drop.csv --adopt')
  expect(reveal.text).not.toContain('not minted')
  for (const more of [flags, ['--yes']]) {
    expect((await run(['batch', 'mint'], ...more)).text, more.join()).toMatch(/--run (drop\.csv|<former file name>)/)
  }
})

test('shows the revealed rows that were accepted or unknown before the reveal, also after a reconcile', async () => {
  const collection = await createTestCollection(backend)
  const relay = await startKillingRelay(backend)
  onTestFinished(() => relay.close())
  let signal = relay.begin({ at: 3, isDone: true })
  const first = await shuffledMachine({ ...backend, url: relay.url }, collection, () => signal)
  expect((await first.shuffle(rows, '--chunk-size', '1')).code).not.toBe(0)
  expect(relay.isKilled).toBe(true)
  signal = relay.begin(null)
  const second = await shuffledMachine(backend, collection)
  expect(await second.shuffle(rows)).toMatchObject({ code: 0, error: null })
  expect(await first.reveal(rows)).toMatchObject({ code: 0, error: null })
  const shown = async () =>
    JSON.parse((await first.cli('batch', 'results', first.path('drop.csv'), '--json')).stdout).map(
      ({ status, title, drawn_key }: Record<string, string>) => [status, title, `Row ${drawn_key?.slice(1)}`],
    )
  const before = await shown()
  expect(before.map(([status, title]: string[]) => [status, title])).toEqual(
    before.map(([, , drawn]: string[]) => ['deployed', drawn]),
  )
  await first.cli('batch', 'reconcile', first.path('drop.csv'))
  expect(await shown()).toEqual(before)
  const status = await first.cli('batch', 'status', first.path('drop.csv'))
  expect(status.stderr).toContain('a beacon other than drand, as a rehearsal: 4 of 4 rows are minted.')
})

test('names the server of the run in the hints of a run, unless the configuration selects it', async () => {
  const { first } = await sealedDrop()
  const url = first.target.at(-1) ?? ''
  const hintsOf = async (command: string, env: Record<string, string> = {}, ...more: string[]) => {
    const { options } = first
    const argv = ['batch', command, first.path('drop.csv'), ...more]
    const { stderr } = await cli(argv, { ...options, env: { ...options.env, ...env } })
    return stderr.split('\n').filter((line) => /gdn (reveal|batch reconcile) /.test(line))
  }
  for (const command of ['status', 'results']) {
    for (const more of [[], ['--base-url', url]]) {
      const hints = await hintsOf(command, {}, ...more)
      expect(hints).toHaveLength(2)
      for (const hint of hints) expect(hint).toContain(`--base-url ${url}`)
    }
    for (const hint of await hintsOf(command, { GDN_BASE_URL: url })) expect(hint).not.toContain('--base-url')
    for (const hint of await hintsOf(command, { GDN_BASE_URL: 'https://other.example' }))
      expect(hint).toContain(`--base-url ${url}`)
  }
  const [reconciled] = await hintsOf('reconcile')
  expect(reconciled).toContain(`--base-url ${url}`)
})

test('stops a mint whose drop another machine seals', async () => {
  const collection = await createTestCollection(backend)
  const second = await shuffledMachine(backend, collection)
  let requests = 0
  const relay = await startHttpServer(async (request) => {
    if (/\/created?nft$/.test(request.path) && ++requests === 3) {
      const sealed = await seal(second, '--abandon-rows', '2')
      expect(sealed.error).toMatchObject({ message: expect.stringContaining('no round') })
    }
    return await forward(backend.url, request)
  })
  onTestFinished(() => relay.close())
  const first = await shuffledMachine({ ...backend, url: relay.url }, collection)
  const { error, code } = await first.shuffle(rows, '--chunk-size', '1', '--in-order')
  expect([code, error]).toEqual([
    5,
    expect.objectContaining({
      code: 'refused',
      message: expect.stringContaining('is sealed, so no more NFTs of the drop can be minted'),
      hint: expect.stringContaining('run `gdn reveal`'),
    }),
  ])
  expect(requests).toBe(3)
  const { stderr, stdout } = await first.cli('batch', 'status', first.path('drop.csv'))
  expect(stdout + stderr).toContain('2 of 4 rows are minted, 2 abandoned')
})
