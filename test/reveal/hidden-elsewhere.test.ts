/** @module-tag slow */
import { rm, writeFile } from 'node:fs/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { cli, errorOf } from '../cli/harness.ts'
import {
  backendForFile,
  createTestCollection,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../helpers/backend.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { forward, startKillingRelay } from '../helpers/killing-relay.ts'
import { nftsOf, refusingRelay, rowsOf, type ShuffledMachine, shuffledMachine } from '../helpers/shuffled-machine.ts'

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const newCollections = async () => ({
  hidden: await createTestCollection(backend, { enable_burn: true }),
  visible: await createTestCollection(backend, { dynamic: true }),
})

/** Returns a function that runs commands of a machine in a collection. */
const runner =
  (machine: ShuffledMachine, { address, blockchain }: TestCollection, { url }: { url: string } = backend) =>
  async (command: string, manifest: string, ...more: string[]) => {
    const [verb = '', source, ...flags] = command.split(' ')
    // Standard input has no folder, so its files need absolute paths.
    const stdin = source === '-' ? manifest.replaceAll('art/', `${machine.path('art')}/`) : ''
    await writeFile(machine.path(source?.endsWith('.csv') ? source : 'drop.csv'), manifest)
    const file = source === '-' || source?.endsWith('.json') ? source : machine.path(source ?? 'drop.csv')
    const argv = [...verb.split('.'), file === '-' ? '-' : file, ...flags, ...more]
    const target =
      verb.startsWith('batch.') && verb !== 'batch.mint' ? ['-c', address] : ['-c', address, '-b', blockchain]
    const result = await cli([...argv, ...target, '--base-url', url, '--json'], {
      ...machine.options,
      stdin,
    })
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }

/** Returns the rows of a manifest with these numbers. */
const only = (manifest: string, ...rows: number[]): string => {
  const [head, ...lines] = manifest.split('\n')
  return [head, ...rows.map((row) => lines[row - 1])].join('\n')
}

const titlesIn = async (collection: TestCollection) =>
  (await nftsOf(backend, collection)).map(({ request_metadata: { title } }) => title).sort()

const wouldPublish = (what: 'mint' | 'plan') => ({
  code: 'refused',
  message: expect.stringMatching(new RegExp(`and this ${what} would publish (its|their) metadata`)),
})

test('a run with --again publishes only the rows that were hidden when the flag was given', async () => {
  const { hidden, visible } = await newCollections()
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  let signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, visible, () => signal)
  const rows = rowsOf(4)
  const hide = runner(machine, hidden, relay)
  const inVisible = runner(machine, visible, relay)
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  expect(await hide('batch.mint drop.csv --yes', only(rows, 3), ...placeholder)).toMatchObject({ error: null })
  // Three files and the first row are sent. The request of the second row never reaches the server.
  signal = relay.killAfter(4)
  const begun = await machine.run(['batch', 'mint', '--again', '--in-order', '--chunk-size', '1'], rows)
  expect(begun.error).toMatchObject({ code: 'interrupted' })
  signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const later = only(rows, 4)
  expect(await hide('batch.mint drop.csv --run later --yes', later, ...placeholder)).toMatchObject({ error: null })
  const reason = `1 row is minted unrevealed in the collection ${hidden.address}: reveal it first`
  const planned = JSON.parse((await inVisible('plan drop.csv', rows)).stdout)
  expect(planned).toMatchObject([2, 3, 4].map((row) => ({ key: `r${row}`, action: 'impossible', reason })))
  for (const command of ['batch.mint drop.csv --yes', 'batch.resume drop.csv --yes'])
    expect((await inVisible(command, rows)).error).toMatchObject(wouldPublish('mint'))
  expect((await inVisible('apply drop.csv --yes', rows)).error).toMatchObject({ code: 'refused' })
  expect(await titlesIn(visible)).not.toContain('Row 3')
  expect(await hide('reveal drop.csv --run later --yes', later)).toMatchObject({ error: null })
  expect(await inVisible('batch.resume drop.csv --yes', rows)).toMatchObject({ error: null })
  expect(await titlesIn(visible)).toEqual(['Row 1', 'Row 2', 'Row 3', 'Row 4'])
})

test('a run with --again gets no hidden rows later', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  expect(await machine.mint(rowsOf(4), '--run', 'hidden')).toMatchObject({ error: null })
  const inVisible = runner(machine, visible)
  expect(await inVisible('batch.mint drop.csv --again --yes', only(rowsOf(4), 1, 2))).toMatchObject({ error: null })
  const longer = rowsOf(4)
  expect((await inVisible('batch.mint drop.csv --new-rows --yes', longer)).error).toMatchObject(wouldPublish('mint'))
  expect((await inVisible('apply drop.csv --yes', longer)).error).toMatchObject({ code: 'refused' })
  // Its NFTs can show the rows that it was allowed to publish, but not others.
  const edit = (row: number, title: string) => only(rowsOf(4), 1, 2).replace(`Row ${row}`, title)
  expect(await inVisible('apply drop.csv --yes', edit(2, 'Edited'))).toMatchObject({ error: null })
  expect(await inVisible('apply drop.csv --yes', only(longer, 1, 2))).toMatchObject({ error: null })
  const others = only(longer, 1, 4).replace('r4', 'r2')
  expect((await inVisible('apply drop.csv --yes', others)).error).toMatchObject(wouldPublish('plan'))
  expect(await titlesIn(visible)).toEqual(['Row 1', 'Row 2'])
})

test('no update from standard input or of a saved plan publishes hidden rows', { tags: ['promise'] }, async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const inVisible = runner(machine, visible)
  const open = rowsOf(3, (row) => `Public ${row}`)
  expect(await inVisible('batch.mint - --run us --yes', open)).toMatchObject({ error: null })
  const saved = machine.path('plan.json')
  expect(await inVisible('plan - --run us', rowsOf(3), '--out', saved)).toMatchObject({ error: null })
  expect(await machine.mint(rowsOf(3))).toMatchObject({ error: null })
  for (const command of ['plan - --run us', 'apply - --run us --yes', `apply ${saved} --yes`])
    expect((await inVisible(command, rowsOf(3))).error, command).toMatchObject(wouldPublish('plan'))
  expect((await nftsOf(backend, visible)).map(({ revision }) => revision)).toEqual([0, 0, 0])
  // Other changes aren't affected.
  const rest = only(open, 1, 2, 3).replace('Public 3', 'Public 4')
  expect(await inVisible('apply - --run us --yes', rest)).toMatchObject({ error: null })
})

test('plans of standard input and of a saved plan say that hidden rows can not be minted', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const inVisible = runner(machine, visible)
  const rows = rowsOf(2)
  const saved = machine.path('plan.json')
  expect(await inVisible('plan drop.csv', rows, '--out', saved)).toMatchObject({ error: null })
  expect(await machine.mint(rows, '--run', 'hidden')).toMatchObject({ error: null })
  const reason = `2 rows are minted unrevealed in the collection ${hidden.address}: reveal them first`
  const impossible = [1, 2].map(() => ({ action: 'impossible', reason }))
  expect(JSON.parse((await inVisible('plan - --run us', rows)).stdout)).toMatchObject(impossible)
  const message = expect.stringContaining(reason)
  expect((await inVisible(`apply ${saved} --yes`, rows)).error).toMatchObject({ code: 'refused', message })
  expect(await nftsOf(backend, visible)).toEqual([])
})

test('recognizes hidden rows whose attributes have another order or type, or text in another normal form', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const text = (head: string, row: string) =>
    rowsOf(2, (n) => `Café ${n}`)
      .split('\n')
      .map((line, at) => `${line},${at === 0 ? head : row}`)
      .join('\n')
  const rows = text('attr:zone,attr:hour', 'zone,12')
  expect(await machine.mint(rows)).toMatchObject({ error: null })
  for (const same of [
    text('attr:hour,attr:zone', '12,zone'),
    text('attr:zone,attr(number):hour', 'zone,12'),
    rows.normalize('NFD'),
  ]) {
    const published = await runner(machine, visible)('batch.mint drop.csv --yes', same)
    expect(published.error).toMatchObject(wouldPublish('mint'))
  }
})

test('rows that one collection shows are hidden in no other, but burned rows are', async () => {
  const { hidden, visible } = await newCollections()
  const second = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, hidden)
  const [shown, burned] = [only(rowsOf(4), 1, 2), only(rowsOf(4), 3, 4)]
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  const inSecond = runner(machine, second)
  for (const [run, rows] of [
    ['shown', shown],
    ['burned', burned],
  ] as const) {
    expect(await machine.mint(rows, '--run', run)).toMatchObject({ error: null })
    expect(await inSecond(`batch.mint drop.csv --run ${run} --yes`, rows, ...placeholder)).toMatchObject({
      error: null,
    })
  }
  expect(await machine.run(['reveal', '--yes', '--run', 'shown'], shown)).toMatchObject({ error: null })
  const inVisible = runner(machine, visible)
  expect(await inVisible('batch.mint drop.csv --run one --yes', shown)).toMatchObject({ error: null })
  for (const { nft_gdn_id, request_metadata } of await nftsOf(backend, hidden)) {
    if (request_metadata.title !== 'Hidden') continue
    expect(await machine.cli('nft', 'burn', nft_gdn_id, '-b', hidden.blockchain, '--yes')).toMatchObject({ code: 0 })
  }
  expect(await machine.run(['reveal', '--yes', '--run', 'burned'], burned)).toMatchObject({ code: 0 })
  expect((await inVisible('batch.mint drop.csv --run two --yes', burned)).error).toMatchObject(wouldPublish('mint'))
})

/** Returns the name of the run in a hint to remove it. */
const runToRemove = (error: { hint: string | null } | null) =>
  /gdn batch rm ([^\s`]+)/.exec(error?.hint ?? '')?.[1] ?? ''

test('the revealed rows of a drop are public, but its frozen and burned rows stay hidden until its run is removed', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const rows = rowsOf(4)
  expect(await machine.mint(rows)).toMatchObject({ error: null })
  const nfts = (await nftsOf(backend, hidden)).sort((a, b) => Number(a.token_id) - Number(b.token_id))
  const numbers = nfts.map(({ request_metadata: { provenance_row } }) => Number(provenance_row))
  const [frozen = 0, burned = 0, ...shown] = numbers
  const change = async (verb: string, row: number) =>
    await machine.cli('nft', verb, nfts[numbers.indexOf(row)]?.nft_gdn_id ?? '', '-b', hidden.blockchain, '--yes')
  expect(await change('freeze', frozen)).toMatchObject({ code: 0 })
  expect(await change('burn', burned)).toMatchObject({ code: 0 })
  expect(await machine.run(['reveal', '--yes'], rows)).toMatchObject({ code: 0 })
  const inVisible = runner(machine, visible)
  expect(await inVisible('batch.mint drop.csv --run shown --yes', only(rows, ...shown))).toMatchObject({ error: null })
  for (const row of [frozen, burned]) {
    const { error } = await inVisible(`batch.mint drop.csv --run row-${row} --yes`, only(rows, row))
    expect(error).toMatchObject({ message: expect.stringContaining('1 row is minted unrevealed') })
  }
  const { error } = await inVisible('batch.mint drop.csv --run rest --yes', only(rows, frozen, burned))
  expect(error).toMatchObject(wouldPublish('mint'))
  expect(await machine.cli('batch', 'rm', runToRemove(error), '-c', hidden.address, '--yes')).toMatchObject({ code: 0 })
  expect(await inVisible('batch.mint drop.csv --run rest --yes', only(rows, frozen, burned))).toMatchObject({
    error: null,
  })
})

test('a row stays hidden if it is removed from its manifest after the reveal of the other rows', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const rows = rowsOf(3)
  expect(await machine.mint(rows)).toMatchObject({ error: null })
  const nfts = await nftsOf(backend, hidden)
  const burned = nfts.find(({ request_metadata: { provenance_row } }) => provenance_row === '1')?.nft_gdn_id ?? ''
  const burn = await machine.cli('nft', 'burn', burned, '-b', hidden.blockchain, '--yes')
  expect(burn).toMatchObject({ code: 0 })
  expect(await machine.run(['reveal', '--yes'], rows)).toMatchObject({ code: 0 })
  const edited = only(rows, 3, 2).replace('Row 2', 'Edited')
  expect(await machine.apply(edited)).toMatchObject({ error: null })
  const inVisible = runner(machine, visible)
  expect((await inVisible('batch.mint drop.csv --run one --yes', only(rows, 1))).error).toMatchObject(
    wouldPublish('mint'),
  )
  expect(await inVisible('batch.mint drop.csv --run others --yes', only(rows, 2, 3))).toMatchObject({ error: null })
})

test('rows of a shuffled drop are public once its NFTs show them, and abandoned rows stay hidden', async () => {
  const { hidden, visible } = await newCollections()
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  relay.killAfter(Number.POSITIVE_INFINITY)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden)
  const rows = rowsOf(5)
  expect((await machine.shuffle(rows)).code).not.toBe(0)
  expect(await machine.reveal(rows, '--abandon-rows', '1')).toMatchObject({ code: 0 })
  const titles = await titlesIn(hidden)
  expect(titles).toHaveLength(4)
  const shown = [1, 2, 3, 4, 5].filter((row) => titles.includes(`Row ${row}`))
  const abandoned = [1, 2, 3, 4, 5].filter((row) => !shown.includes(row))
  const inVisible = runner(machine, visible)
  expect((await inVisible('batch.mint drop.csv --run left --yes', only(rows, ...abandoned))).error).toMatchObject({
    message: expect.stringContaining('1 row is minted unrevealed'),
  })
  expect(await inVisible('batch.mint drop.csv --run shown --yes', only(rows, ...shown))).toMatchObject({ error: null })
})

test('says that the outcome of a commitment is unknown, and how to publish its rows', async () => {
  const { hidden, visible } = await newCollections()
  const relay = await startHttpServer(async (request) =>
    request.path.endsWith('/commitprovenance') ? 'drop' : await forward(backend.url, request),
  )
  onTestFinished(relay.close)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden)
  const rows = rowsOf(3)
  expect((await machine.mint(rows, '--timeout', '5s')).error).toMatchObject({ code: 'unknown_outcome' })
  const inVisible = runner(machine, visible)
  const text = `the outcome of committing the collection ${hidden.address} to 2 rows of an unrevealed drop is unknown`
  const planned = JSON.parse((await inVisible('plan drop.csv', only(rows, 1, 2))).stdout)
  expect(planned).toMatchObject(
    [1, 2].map(() => ({ action: 'impossible', reason: `${text}: repeat the mint of that drop first` })),
  )
  const { error } = await inVisible('batch.mint drop.csv --yes', only(rows, 1, 2))
  expect(error).toMatchObject({
    message: expect.stringContaining(`${text}, and this mint would publish their metadata`),
  })
  // Rows that the same collection shows are public.
  const inHidden = runner(machine, hidden)
  expect(await inHidden('batch.mint drop.csv --run public --again --yes', only(rows, 1))).toMatchObject({ error: null })
  expect(await inVisible('batch.mint drop.csv --run first --yes', only(rows, 1))).toMatchObject({ error: null })
  expect((await inVisible('batch.mint drop.csv --run second --yes', only(rows, 2))).error).toMatchObject(
    wouldPublish('mint'),
  )
  const second = await machine.cli('batch', 'rm', runToRemove(error), '--yes')
  expect([second.code, second.stderr]).toEqual([0, expect.any(String)])
  expect(await inVisible('batch.mint drop.csv --run second --yes', only(rows, 2))).toMatchObject({ error: null })
})

test('a mint that is repeated after an unknown outcome of its commitment hides its rows', async () => {
  const { hidden, visible } = await newCollections()
  let isDropped = true
  const relay = await startHttpServer(async (request) =>
    isDropped && request.path.endsWith('/commitprovenance') ? 'drop' : await forward(backend.url, request),
  )
  onTestFinished(relay.close)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden)
  expect((await machine.mint(rowsOf(2), '--timeout', '5s')).error).toMatchObject({ code: 'unknown_outcome' })
  isDropped = false
  expect(await machine.mint(rowsOf(2))).toMatchObject({ error: null })
  const { error } = await runner(machine, visible)('batch.mint drop.csv --run other --yes', rowsOf(2))
  expect(error).toMatchObject({ message: expect.stringContaining('2 rows are minted unrevealed') })
})

test('--again allows rows that one collection hides, but not the same rows hidden in another one later', async () => {
  const { hidden, visible } = await newCollections()
  const later = await createTestCollection(backend)
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  let signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden, () => signal)
  const rows = rowsOf(2)
  expect(await machine.mint(rows, '--run', 'one')).toMatchObject({ error: null })
  signal = relay.killAfter(0)
  const inVisible = async (...argv: string[]) => {
    const target = ['-c', visible.address, '--base-url', relay.url, '--yes', '--json']
    const result = await cli([...argv, ...target], { ...machine.options, signal })
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }
  const begun = await inVisible('batch', 'mint', machine.path('drop.csv'), '-b', visible.blockchain, '--again')
  expect(begun.error).toMatchObject({ code: 'interrupted' })
  signal = relay.killAfter(Number.POSITIVE_INFINITY)
  expect(await machine.cli('batch', 'rm', 'one', '-c', hidden.address, '--yes')).toMatchObject({ code: 0 })
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  const hide = await runner(machine, later, relay)('batch.mint drop.csv --run two --yes', rows, ...placeholder)
  expect(hide).toMatchObject({ error: null })
  expect((await inVisible('batch', 'resume', machine.path('drop.csv'))).error).toMatchObject(wouldPublish('mint'))
  expect(await nftsOf(backend, visible)).toEqual([])
})

test('batch rm warns that rows are no longer public without a revealed run', async () => {
  const { hidden, visible } = await newCollections()
  const second = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, hidden)
  const rows = rowsOf(2)
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  expect(await machine.mint(rows, '--run', 'one')).toMatchObject({ error: null })
  const again = await runner(machine, second)('batch.mint drop.csv --run two --yes', rows, ...placeholder)
  expect(again).toMatchObject({ error: null })
  expect(await machine.run(['reveal', '--yes', '--run', 'one'], rows)).toMatchObject({ error: null })
  const inVisible = runner(machine, visible)
  expect(await inVisible('batch.mint drop.csv --dry-run', rows)).toMatchObject({ error: null })
  const { code, stderr } = await machine.cli('batch', 'rm', 'one', '-c', hidden.address, '--yes')
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^Another drop that is not revealed yet contains rows that one-\S+ has revealed\./),
  ])
  expect((await inVisible('batch.mint drop.csv --dry-run', rows)).error).toMatchObject(wouldPublish('mint'))
})

test('batch rm warns that it ends the protection of hidden rows', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  expect(await machine.mint(rowsOf(2), '--run', 'one')).toMatchObject({ error: null })
  const warning =
    /^The rows of one-\S+ are not revealed yet. If you remove the run, gdn can't prevent their publication/
  const second = await createTestCollection(backend)
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  const again = await runner(machine, second)('batch.mint drop.csv --run two --yes', rowsOf(2), ...placeholder)
  expect(again).toMatchObject({ error: null })
  const remove = async (...which: string[]) => await machine.cli('batch', 'rm', ...which, '--yes')
  // The other run hides the same rows.
  const first = await remove('two', '-c', second.address)
  expect([first.code, first.stderr]).toEqual([0, expect.not.stringMatching(warning)])
  const last = await remove('--finished')
  expect([last.code, last.stderr]).toEqual([0, expect.stringMatching(warning)])
  const published = await runner(machine, visible)('batch.mint drop.csv --yes', rowsOf(2))
  expect(published).toMatchObject({ error: null })
})

test.each(['another collection', 'the same collection'])(
  'a placeholder publishes no row that another drop hides, in %s',
  async (where) => {
    const { hidden } = await newCollections()
    const machine = await shuffledMachine(backend, hidden)
    expect(await machine.mint(rowsOf(1), '--run', 'hidden')).toMatchObject({ error: null })
    const other = where === 'the same collection' ? hidden : await createTestCollection(backend)
    const placeholder = machine.path('row.json')
    await writeFile(placeholder, JSON.stringify({ title: 'Row 1', description: 'x', image: 'art/1.txt' }))
    const mint = runner(machine, other)
    const rows = rowsOf(1, () => 'Other').replace('r1', 's1')
    const { error } = await mint('batch.mint other.csv --yes', rows, '--unrevealed', placeholder)
    expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining('this placeholder would publish') })
    expect(await titlesIn(other)).toEqual(other === hidden ? ['Hidden'] : [])
  },
)

test('an unrevealed mint and its reveal warn of rows that another drop of the collection hides', async () => {
  const { hidden } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  expect(await machine.mint(rowsOf(2))).toMatchObject({ error: null })
  const file = machine.path('other.csv')
  await writeFile(file, `id,title,description,image,receiver\ns2,Row 2,x,art/2.txt,${WALLETS[2]}`)
  const run = async (...argv: string[]) =>
    await machine.cli(...argv, '-c', hidden.address, '-b', hidden.blockchain, '--yes')
  const mint = await run('batch', 'mint', file, '--unrevealed', machine.path('hidden.json'))
  expect([mint.code, mint.stderr]).toEqual([0, expect.stringContaining('and this run mints it again')])
  const reveal = await run('reveal', file)
  expect([reveal.code, reveal.stderr]).toEqual([0, expect.stringContaining('this reveal publishes its metadata')])
})

test('batch rm of a run keeps the protection of rows that another collection is only committed to', async () => {
  const { hidden, visible } = await newCollections()
  const other = await createTestCollection(backend)
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  // The commitment takes effect, but its response is lost.
  let signal = relay.killAfter(-1)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden, () => signal)
  const rows = rowsOf(2)
  expect((await machine.mint(rows)).code).not.toBe(0)
  signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  const hide = await runner(machine, other, relay)('batch.mint drop.csv --run other --yes', rows, ...placeholder)
  expect(hide).toMatchObject({ error: null })
  expect(await machine.cli('batch', 'rm', '--finished', '--yes')).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('not revealed yet'),
  })
  const publish = async () => await runner(machine, visible, relay)('batch.mint drop.csv --yes', rows)
  expect(await publish()).toMatchObject({ error: wouldPublish('mint') })
  const [record] = JSON.parse((await machine.cli('batch', 'list', '--all', '--json')).stdout)
  expect(await machine.cli('batch', 'rm', record.run, '--yes')).toMatchObject({ code: 0 })
  expect(await publish()).toMatchObject({ error: null })
})

test('batch rm warns that it ends the protection of rows that a collection is only committed to', async () => {
  const { hidden, visible } = await newCollections()
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  // The commitment takes effect, but its response is lost.
  let signal = relay.killAfter(-1)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden, () => signal)
  expect((await machine.mint(rowsOf(2))).code).not.toBe(0)
  signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const publish = async () => await runner(machine, visible, relay)('batch.mint drop.csv --yes', rowsOf(2))
  expect(await publish()).toMatchObject({ error: wouldPublish('mint') })
  const [record] = JSON.parse((await machine.cli('batch', 'list', '--all', '--json')).stdout)
  const { code, stderr } = await machine.cli('batch', 'rm', record.run, '--yes')
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^The rows of batch-mint\S+ are not revealed yet\./)])
  expect(await publish()).toMatchObject({ error: null })
})

test('names commands that can publish hidden rows to a resume of a run that has sent none', async () => {
  const { hidden, visible } = await newCollections()
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  let signal = relay.killAfter(0)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, visible, () => signal)
  const rows = rowsOf(2)
  expect((await machine.run(['batch', 'mint'], rows)).error).toMatchObject({ code: 'interrupted' })
  signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  const hide = await runner(machine, hidden, relay)('batch.mint drop.csv --run hidden --yes', rows, ...placeholder)
  expect(hide).toMatchObject({ error: null })
  const inVisible = runner(machine, visible, relay)
  const { error } = await inVisible('batch.resume drop.csv --yes', rows)
  expect(error).toMatchObject(wouldPublish('mint'))
  const ways = /To publish them now, remove the run with `gdn batch rm (\S+)`, and run `gdn batch mint` with --again\.$/
  const [, run = ''] = ways.exec(error?.hint ?? '') ?? []
  expect(await machine.cli('batch', 'rm', run, '--yes')).toMatchObject({ code: 0 })
  expect(await inVisible('batch.mint drop.csv --again --yes', rows)).toMatchObject({ error: null })
})

test.each(['another collection', 'the collection that hides it'])(
  'single mints and updates publish no hidden metadata in %s, unless --again is given',
  async (where) => {
    const hidden = await createTestCollection(backend, { dynamic: true })
    const visible = where === 'another collection' ? await createTestCollection(backend, { dynamic: true }) : hidden
    const machine = await shuffledMachine(backend, hidden)
    expect(await machine.mint(rowsOf(3))).toMatchObject({ error: null })
    const metadata = (row: number) => ['--title', `Row ${row}`, '--description', 'x', '--image', `art/${row}.txt`]
    const target = ['-c', visible.address, '-b', visible.blockchain, '--receiver', WALLETS[0]]
    const run = async (...argv: string[]) => {
      const result = await machine.cli('nft', ...argv, '--yes', '--json')
      return { ...result, error: result.code === 0 ? null : errorOf(result) }
    }
    const refused = (what: string) => ({
      code: 'refused',
      message: `1 row is minted unrevealed in the collection ${hidden.address}, and this ${what} would publish its metadata`,
      hint: expect.stringContaining('To publish them now, add --again.'),
    })
    for (const dryRun of [[], ['--dry-run']])
      expect((await run('mint', ...target, ...metadata(1), ...dryRun)).error).toEqual(
        expect.objectContaining(refused('mint')),
      )
    const { stdout, error } = await run('mint', ...target, '--dynamic', '--title', 'Other')
    expect(error).toBeNull()
    const id = JSON.parse(stdout).nft_gdn_id
    for (const dryRun of [[], ['--dry-run']])
      expect((await run('update', id, '-b', visible.blockchain, ...metadata(2), ...dryRun)).error).toEqual(
        expect.objectContaining(refused('update')),
      )
    const shown = async () => (await titlesIn(visible)).filter((title) => title !== 'Hidden')
    expect(await shown()).toEqual(['Other'])
    // The update of an unrevealed NFT keeps the keys of its proof.
    const unrevealed = (await nftsOf(backend, hidden)).find((nft) => nft.request_metadata.title === 'Hidden')
    const ofUnrevealed = ['update', String(unrevealed?.nft_gdn_id), '-b', hidden.blockchain, ...metadata(3)]
    expect((await run(...ofUnrevealed)).error).toEqual(expect.objectContaining(refused('update')))
    expect(await run('mint', ...target, ...metadata(1), '--again')).toMatchObject({ error: null })
    expect(await run('update', id, '-b', visible.blockchain, ...metadata(2), '--again')).toMatchObject({ error: null })
    expect(await shown()).toEqual(['Row 1', 'Row 2'])
  },
)

test('no run or plan publishes hidden rows in the collection that hides them', { tags: ['promise'] }, async () => {
  const { hidden } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const rows = rowsOf(3)
  const command = runner(machine, hidden)
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  expect(await command('batch.mint drop.csv --yes', only(rows, 1, 2), ...placeholder)).toMatchObject({ error: null })
  const tables = {
    all: rows,
    one: only(rows, 1),
    'other IDs in another order': only(rows, 2, 1).replace('r2', 'x').replace('r1', 'y'),
  }
  for (const [name, table] of Object.entries(tables)) {
    for (const flag of ['--yes', '--dry-run']) {
      const { error } = await command(`batch.mint other.csv --run other ${flag}`, table)
      expect(error, name).toMatchObject(wouldPublish('mint'))
    }
    const reason = expect.stringContaining(`minted unrevealed in the collection ${hidden.address}`)
    const planned = JSON.parse((await command('plan other.csv --run other', table)).stdout)
    expect(planned[0], name).toMatchObject({ action: 'impossible', reason })
    expect((await command('apply other.csv --run other --yes', table)).error, name).toMatchObject({ code: 'refused' })
  }
  expect(await titlesIn(hidden)).toEqual(['Hidden', 'Hidden'])
  const again = await command('batch.mint other.csv --run other --again --yes', only(rows, 1))
  expect(again).toMatchObject({ error: null })
  expect(await command('reveal drop.csv --yes', only(rows, 1, 2))).toMatchObject({ error: null })
  expect(await titlesIn(hidden)).toEqual(['Row 1', 'Row 1', 'Row 2'])
})

/** Mints a row in a collection, kills the command at its request, and hides the row in another collection. */
async function hiddenAfterUnknown(isDone: boolean) {
  const { hidden, visible } = await newCollections()
  const relay = await startKillingRelay(backend)
  onTestFinished(relay.close)
  // The first change uploads the file.
  let signal = relay.begin({ at: 1, isDone })
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, visible, () => signal)
  const rows = rowsOf(1)
  expect((await machine.run(['batch', 'mint'], rows)).error).toMatchObject({ code: 'interrupted' })
  signal = relay.begin(null)
  const placeholder = ['--unrevealed', machine.path('hidden.json')]
  const hide = runner(machine, hidden, relay)
  expect(await hide('batch.mint drop.csv --run hidden --yes', rows, ...placeholder)).toMatchObject({ error: null })
  return { machine, rows, hide, hidden, visible, inVisible: runner(machine, visible, relay) }
}

test('no command repeats a request with an unknown outcome if its rows were hidden since', {
  tags: ['promise'],
}, async () => {
  const { machine, rows, hide, hidden, visible, inVisible } = await hiddenAfterUnknown(false)
  const reconcile =
    /To find out whether rows with an unknown outcome are already minted, run `gdn batch reconcile (\S+)`\.$/
  let run = ''
  const commands = ['batch.mint drop.csv --dry-run', 'batch.mint drop.csv --yes', 'batch.resume drop.csv --yes']
  for (const command of [...commands, 'batch.retry drop.csv --yes']) {
    const { error } = await inVisible(command, rows)
    expect(error, command).toMatchObject({ ...wouldPublish('mint'), hint: expect.stringMatching(reconcile) })
    run = reconcile.exec(error?.hint ?? '')?.[1] ?? ''
  }
  const reason = `1 row is minted unrevealed in the collection ${hidden.address}: reveal it first, or run gdn batch reconcile ${run}`
  expect(JSON.parse((await inVisible('plan drop.csv', rows)).stdout)).toMatchObject([{ action: 'impossible', reason }])
  expect((await inVisible('apply drop.csv --yes', rows)).error).toMatchObject({ code: 'refused' })
  // The stored bytes count, even if the file has gone.
  await rm(machine.path('art/1.txt'))
  expect((await inVisible('batch.resume drop.csv --yes', rows)).error).toMatchObject(wouldPublish('mint'))
  await writeFile(machine.path('art/1.txt'), 'picture 1')
  expect(await nftsOf(backend, visible)).toEqual([])
  expect(await hide('reveal drop.csv --run hidden --yes', rows)).toMatchObject({ error: null })
  expect(await inVisible('batch.resume drop.csv --yes', rows)).toMatchObject({ error: null })
  expect(await titlesIn(visible)).toEqual(['Row 1'])
})

test('a row with an unknown outcome that turns out to be minted may be hidden elsewhere', async () => {
  const { machine, rows, visible, inVisible } = await hiddenAfterUnknown(true)
  const { error } = await inVisible('batch.resume drop.csv --yes', rows)
  expect(error).toMatchObject(wouldPublish('mint'))
  const [, run = ''] = /`gdn batch reconcile (\S+)`/.exec(error?.hint ?? '') ?? []
  expect(await machine.cli('batch', 'reconcile', run)).toMatchObject({ code: 0 })
  expect(await inVisible('apply drop.csv --yes', `${rows}\nr2,Row 2,x,art/2.txt,${WALLETS[1]}`)).toMatchObject({
    error: null,
  })
  expect(await titlesIn(visible)).toEqual(['Row 1', 'Row 2'])
})

test('single commands repeat no request with an unknown outcome if its NFT was hidden since', async () => {
  const { hidden, visible } = await newCollections()
  const relay = await startKillingRelay(backend)
  onTestFinished(relay.close)
  let signal = relay.begin(null)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden, () => signal)
  const metadata = (row: number) => ['--title', `Row ${row}`, '--description', 'x', '--image', `art/${row}.txt`]
  const target = ['-c', visible.address, '-b', visible.blockchain, '--receiver', WALLETS[0]]
  const run = async (...argv: string[]) => {
    const result = await cli(['nft', ...argv, '--base-url', relay.url, '--yes', '--json'], {
      ...machine.options,
      signal,
    })
    return { ...result, error: result.code === 0 ? null : result.stderr }
  }
  const { stdout } = await run('mint', ...target, '--dynamic', '--title', 'Other')
  const commands = [
    ['mint', ...target, ...metadata(1)],
    ['update', JSON.parse(stdout).nft_gdn_id, '-b', visible.blockchain, ...metadata(2)],
  ]
  // The first change uploads the file.
  for (const command of commands) {
    signal = relay.begin({ at: 1, isDone: false })
    expect((await run(...command)).error).toContain('interrupted')
  }
  const minted = ['mint', ...target, ...metadata(3)]
  signal = relay.begin({ at: 1, isDone: true })
  expect((await run(...minted)).error).toContain('interrupted')
  signal = relay.begin(null)
  expect(await machine.mint(rowsOf(3))).toMatchObject({ error: null })
  for (const command of commands) expect((await run(...command)).error).toContain('would publish its metadata')
  // The server has accepted this request, so nothing is sent.
  expect(await run(...minted)).toMatchObject({ error: null })
  expect(await titlesIn(visible)).toEqual(['Other', 'Row 3'])
  for (const command of commands) expect(await run(...command, '--again')).toMatchObject({ error: null })
  expect(await titlesIn(visible)).toEqual(['Row 1', 'Row 2', 'Row 3'])
})

test('checks again before sending whether another command has hidden the rows', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const hide = async (manifest: string, run: string) => {
    await writeFile(machine.path('other.csv'), manifest)
    const argv = ['batch', 'mint', machine.path('other.csv'), '--run', run, '--unrevealed', machine.path('hidden.json')]
    expect(await cli([...argv, ...machine.target, '--yes', '--json'], machine.options)).toMatchObject({ code: 0 })
  }
  const target = ['-c', visible.address, '-b', visible.blockchain, '--yes', '--json']
  const inVisible = async (argv: string[], manifest: string, options: Parameters<typeof cli>[1]) => {
    await writeFile(machine.path('drop.csv'), manifest)
    const result = await cli([...argv, machine.path('drop.csv'), ...target], { ...machine.options, ...options })
    return result.code === 0 ? null : errorOf(result)
  }
  const open = rowsOf(1, () => 'Public')
  expect(await inVisible(['batch', 'mint', '--base-url', backend.url], open, {})).toBeNull()
  // Session limits are checked after the first comparison, as a prompt is.
  const second = only(rowsOf(2), 2)
  const permit = async () => {
    await hide(second, 'second')
    return null
  }
  const mint = ['batch', 'mint', '--run', 'other', '--base-url', backend.url]
  expect(await inVisible(mint, second, { permit })).toMatchObject(wouldPublish('mint'))
  // The limit of the run is compared with its costs after the plan was made.
  let hiding: Promise<void> | undefined
  const relay = await startHttpServer(async (request) => {
    if (request.path.endsWith('/getruncosts')) {
      hiding ??= hide(rowsOf(1), 'first')
      await hiding
    }
    return await forward(backend.url, request)
  })
  onTestFinished(relay.close)
  const apply = ['apply', '--max-cost', '1', '--base-url', relay.url]
  expect(await inVisible(apply, rowsOf(1), {})).toMatchObject(wouldPublish('plan'))
  expect(await titlesIn(visible)).toEqual(['Public'])
})

test('reveal warns that it publishes rows that another collection hides', async () => {
  const { hidden } = await newCollections()
  const other = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, hidden)
  const rows = rowsOf(2)
  for (const [collection, name] of [[hidden, 'first'] as const, [other, 'second'] as const]) {
    const mint = runner(machine, collection)
    const mode = ['--run', name, '--unrevealed', machine.path('hidden.json')]
    expect(await mint('batch.mint drop.csv --yes', rows, ...mode)).toMatchObject({ error: null })
  }
  const warning = `2 rows are minted unrevealed in the collection ${other.address}, and this reveal publishes their metadata.`
  const reveal = async ({ address, blockchain }: TestCollection, ...argv: string[]) =>
    await machine.cli('reveal', machine.path('drop.csv'), '-c', address, '-b', blockchain, ...argv)
  for (const mode of ['--dry-run', '--yes']) {
    const { code, stderr } = await reveal(hidden, '--run', 'first', mode)
    expect([code, stderr]).toEqual([0, expect.stringContaining(warning)])
  }
  expect(await titlesIn(hidden)).toEqual(['Row 1', 'Row 2'])
  const last = await reveal(other, '--run', 'second', '--yes')
  expect([last.code, last.stderr]).toEqual([0, expect.not.stringContaining('this reveal publishes')])
})

test('names --unrevealed only for rows that can be minted with it', async () => {
  const { hidden, visible } = await newCollections()
  const machine = await shuffledMachine(backend, hidden)
  const rows = rowsOf(1)
  expect(await machine.mint(rows, '--run', 'hidden')).toMatchObject({ error: null })
  const hintOf = async (command: string, ...more: string[]) =>
    (await runner(machine, visible)(command, rows, ...more)).error?.hint
  expect(await hintOf('batch.mint drop.csv --yes')).toContain(
    'add --unrevealed <file>. To publish them now, add --again.',
  )
  await writeFile(machine.path('list.csv'), `receiver\n${WALLETS[0]}`)
  const row = machine.path('row.json')
  await writeFile(row, JSON.stringify({ title: 'Row 1', description: 'x', image: 'art/1.txt' }))
  for (const hint of [
    await hintOf('batch.mint - --run piped --yes'),
    await hintOf(`batch.mint ${row} --yes`, '--to', machine.path('list.csv')),
  ]) {
    expect(hint).toContain('To publish them now, add --again.')
    expect(hint).not.toContain('--unrevealed')
  }
})
