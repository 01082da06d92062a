/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { cli, errorOf } from '../cli/harness.ts'
import {
  backendForFile,
  createTestCollection,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../helpers/backend.ts'
import {
  nftsOf,
  REFUSED_ROW,
  refusingRelay,
  rowsOf,
  type ShuffledMachine,
  shuffledMachine,
} from '../helpers/shuffled-machine.ts'

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const OTHER_ID = {
  code: 'edited_rows',
  message: expect.stringContaining('IDs of the shuffled drop were changed after the mint: line 3 was minted as slot 2'),
}

test('refuses to reveal or plan a shuffled drop whose IDs were changed, on each machine', {
  tags: ['promise'],
}, async () => {
  const collection = await createTestCollection(backend)
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  const changed = rows.replace('r2,', 'x2,')
  expect((await one.shuffle(rows)).code).toBe(0)
  const other = await shuffledMachine(backend, collection)
  for (const machine of [one, other]) {
    expect((await machine.reveal(changed, '--abandon-rows', '1')).error).toMatchObject(OTHER_ID)
    expect((await machine.reveal(changed, '--dry-run')).error).toMatchObject(OTHER_ID)
  }
  expect((await one.reveal(rows)).code).toBe(0)
  const before = await nftsOf(backend, collection)
  for (const machine of [one, other]) {
    expect((await machine.plan(changed)).error).toMatchObject(OTHER_ID)
    expect((await machine.apply(changed)).error).toMatchObject(OTHER_ID)
    expect((await machine.reveal(changed)).error).toMatchObject(OTHER_ID)
    const longer = await machine.plan(rowsOf(4))
    expect(longer.code, longer.stderr).toBe(0)
  }
  expect(await nftsOf(backend, collection)).toEqual(before)
})

test('names a row whose ID was changed in a drop that is not shuffled, and reveals the other rows', async () => {
  const collection = await createTestCollection(backend)
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  const changed = rows.replace('r2,', 'x2,')
  expect((await one.mint(rows)).code).toBe(0)
  const other = await shuffledMachine(backend, collection)
  const reason = expect.stringContaining('if you changed the ID, restore it')
  const left = {
    not_minted: 0,
    left: 1,
    unrevealed_rows: [{ key: 'x2', line: 3, reason }],
    unrevealed_rows_left_out: 0,
  }
  for (const machine of [one, other]) {
    const { stdout } = await machine.run(['reveal', '--dry-run'], changed)
    expect(JSON.parse(stdout)).toMatchObject({ to_reveal: 2, ...left })
  }
  for (const machine of [one, other]) {
    const { stdout } = await machine.run(['reveal', '--yes'], changed)
    expect(JSON.parse(stdout)).toMatchObject({ revealed: 2, to_reveal: 0, ...left })
  }
  const { stdout } = await other.run(['reveal', '--yes'], rows)
  expect(JSON.parse(stdout)).toMatchObject({ revealed: 3, not_minted: 0, left: 0 })
  const secondResult = await other.run(['reveal', '--yes'], changed)
  expect(JSON.parse(secondResult.stdout)).toMatchObject({ revealed: 2, ...left })
})

test('a run reveals its rows of a drop that is not shuffled if another run minted the other rows', async () => {
  const collection = await createTestCollection(backend)
  const relay = await refusingRelay(backend)
  onTestFinished(() => relay.close())
  const one = await shuffledMachine({ ...backend, url: relay.url }, collection)
  const rows = rowsOf(REFUSED_ROW)
  expect((await one.mint(rows)).error).toMatchObject({ code: 'batch_failed_rows' })
  const other = await shuffledMachine(backend, collection)
  expect(await other.mint(rows, '--run', 'other', '--adopt')).toMatchObject({ code: 0, error: null })
  const first = await one.run(['reveal', '--yes'], rows)
  expect(JSON.parse(first.stdout)).toMatchObject({ revealed: 2, not_minted: 0, left: 1 })
  const second = await other.run(['reveal', '--yes'], rows, '--run', 'other')
  expect(JSON.parse(second.stdout)).toMatchObject({ revealed: 3, left: 0 })
})

test.each([['shuffle'], ['mint']] as const)(
  'tells to keep the row of a burned NFT of an unrevealed drop (%s), before and after the reveal',
  async (how) => {
    const collection = await createTestCollection(backend, { enable_burn: true })
    const machine = await shuffledMachine(backend, collection)
    const rows = rowsOf(3)
    expect((await machine[how](rows)).code).toBe(0)
    const burn = async () => {
      const nft = (await nftsOf(backend, collection)).find(({ burned }) => burned !== true)
      const argv = ['nft', 'burn', nft?.nft_gdn_id ?? '', '-b', collection.blockchain, '--yes']
      expect(await machine.cli(...argv)).toMatchObject({ code: 0 })
    }
    const burned = { action: 'drift', reason: expect.stringContaining('keep the row and its id') }
    const inPlan = async () => JSON.parse((await machine.plan(rows)).stdout)
    await burn()
    expect((await inPlan())[0]).toMatchObject(burned)
    const beacon = how === 'shuffle' ? ['--beacon', machine.path('beacon.json')] : []
    expect(await machine.run(['reveal', '--yes'], rows, ...beacon)).toMatchObject({ code: 0 })
    await burn()
    expect(await inPlan()).toMatchObject([burned, burned])
    const again = await machine[how](rows)
    expect(again.stdout).toContain('have since been burned')
    expect(again.stdout).not.toContain('another id')
    expect(await nftsOf(backend, collection)).toHaveLength(3)
  },
)

test.each([['shuffle'], ['mint']] as const)(
  'an unrevealed drop (%s) mints no new rows, and no hint suggests it',
  async (how) => {
    const collection = await createTestCollection(backend)
    const machine = await shuffledMachine(backend, collection)
    const rows = rowsOf(3)
    expect((await machine[how](rows)).code).toBe(0)
    const changed = rows.replace('r2,', 'x2,')
    const { error } = await machine[how](changed)
    expect(error).toMatchObject({ code: 'edited_rows', hint: expect.stringContaining('restore them') })
    expect(error?.hint).not.toMatch(/--new-rows|batch results/)
    expect((await machine[how](changed, '--new-rows')).error).toMatchObject({
      code: 'usage',
      message: expect.stringContaining("can't be used with --unrevealed"),
    })
    expect(await nftsOf(backend, collection)).toHaveLength(3)
  },
)

test('publishes no hidden rows in another collection before their reveal, unless --again is given', {
  tags: ['promise'],
}, async () => {
  const [hidden, other] = [await createTestCollection(backend), await createTestCollection(backend)]
  const machine = await shuffledMachine(backend, hidden)
  const rows = rowsOf(3)
  expect((await machine.shuffle(rows)).code).toBe(0)
  const elsewhere = async (...argv: string[]) => {
    const target = ['-c', other.address, '-b', other.blockchain, '--base-url', backend.url]
    const [verb = [], ...more] = [argv[0] === 'mint' ? ['batch', 'mint'] : [argv[0] ?? ''], ...argv.slice(1)]
    const result = await cli([...verb, machine.path('drop.csv'), ...more, ...target], machine.options)
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }
  const text = `3 rows are minted unrevealed in the collection ${hidden.address}`
  expect((await elsewhere('mint', '--json')).error).toMatchObject({
    code: 'refused',
    message: expect.stringContaining(text),
  })
  const planned = await elsewhere('plan', '--json')
  expect(JSON.parse(planned.stdout)).toMatchObject(
    [1, 2, 3].map(() => ({ action: 'impossible', reason: `${text}: reveal them first` })),
  )
  expect((await elsewhere('apply', '--yes', '--json')).code).not.toBe(0)
  expect(await nftsOf(backend, other)).toEqual([])
  const [head, ...lines] = rows.split('\n')
  for (const others of [lines.toReversed(), [...lines.slice(1), String(rowsOf(4).split('\n').at(-1))]]) {
    await writeFile(machine.path('drop.csv'), [head, ...others].join('\n'))
    const { error } = await elsewhere('mint', '--json')
    expect(error).toMatchObject({
      code: 'refused',
      message: expect.stringContaining(`in the collection ${hidden.address}`),
    })
  }
  await writeFile(machine.path('drop.csv'), rows)
  // Rows that stay hidden are minted again with a warning.
  const repeated = await elsewhere('mint', '--unrevealed', machine.path('hidden.json'), '--dry-run')
  expect([repeated.code, repeated.stderr]).toEqual([
    0,
    expect.stringContaining(`${text}, and this run mints them again.`),
  ])
  expect((await elsewhere('mint', '--again', '--dry-run', '--json')).code).toBe(0)
  expect((await machine.reveal(rows)).code).toBe(0)
  const minted = await elsewhere('mint', '--json')
  expect(minted.code, minted.stderr).toBe(0)
})

/** Runs commands of a machine in another collection. */
const inCollection =
  (machine: ShuffledMachine, { address, blockchain }: TestCollection, url: string) =>
  async (command: string[], manifest: string, ...more: string[]) => {
    await writeFile(machine.path('drop.csv'), manifest)
    const target = ['-c', address, '-b', blockchain, '--base-url', url, '--json']
    const result = await cli([...command, machine.path('drop.csv'), ...target, ...more], machine.options)
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }

test('sends no rows that were hidden in another collection after their run began, until they are revealed', {
  tags: ['promise'],
}, async () => {
  const [visible, hidden] = [await createTestCollection(backend), await createTestCollection(backend)]
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  // Three files and the first row are sent, the outcome of the second row is unknown, and two rows are pending.
  let signal = relay.killAfter(4)
  const through = { apiKey: backend.apiKey, url: relay.url }
  const machine = await shuffledMachine(through, visible, () => signal)
  const rows = rowsOf(4)
  expect((await machine.run(['batch', 'mint', '--in-order'], rows)).error).toMatchObject({ code: 'interrupted' })
  expect(await nftsOf(backend, visible)).toHaveLength(1)
  signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const inHidden = inCollection(machine, hidden, relay.url)
  const [head, first, , , last] = rows.split('\n')
  const some = [head, last, first].join('\n')
  const hide = await inHidden(['batch', 'mint'], some, '--unrevealed', machine.path('hidden.json'))
  expect(hide.code, hide.stderr).toBe(0)
  const text = `: 1 row is minted unrevealed in the collection ${hidden.address}, and this mint would publish its metadata`
  const refused = {
    code: 'refused',
    message: expect.stringContaining(text),
    hint: expect.stringMatching(
      /^Nothing was sent\. To publish them, first reveal that drop with `gdn reveal` on this machine\. If gdn can't reveal them, remove the record of that drop with `gdn batch rm \S+`\.$/,
    ),
  }
  await writeFile(machine.path('drop.csv'), rows)
  expect((await machine.cli('batch', 'resume', machine.path('drop.csv'), '-c', visible.address)).stderr).toContain(text)
  expect((await machine.run(['batch', 'mint'], rows)).error).toMatchObject(refused)
  expect(await nftsOf(backend, visible)).toHaveLength(1)
  expect((await inHidden(['reveal', '--yes'], some)).code).toBe(0)
  expect((await machine.run(['batch', 'mint'], rows)).code).toBe(0)
  expect(await nftsOf(backend, visible)).toHaveLength(4)
})

test('publishes no rows that a collection was only committed to, unless --again is given', {
  tags: ['promise'],
}, async () => {
  const [hidden, other] = [await createTestCollection(backend), await createTestCollection(backend)]
  const relay = await refusingRelay(backend)
  onTestFinished(relay.close)
  // The commitment takes effect, but its response is lost.
  let signal = relay.killAfter(-1)
  const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, hidden, () => signal)
  const rows = rowsOf(2)
  expect((await machine.shuffle(rows)).code).not.toBe(0)
  signal = relay.killAfter(Number.POSITIVE_INFINITY)
  const text = `the outcome of committing the collection ${hidden.address} to 2 rows of an unrevealed drop is unknown, and this mint would publish their metadata`
  const message = expect.stringContaining(text)
  const inOther = inCollection(machine, other, relay.url)
  // No commitment can have a row with a remote image.
  const longer = `${rows}\nr3,Row 3,x,https://images.example/3.png,${WALLETS[2]}`
  for (const manifest of [rows, longer])
    expect((await inOther(['batch', 'mint'], manifest)).error).toMatchObject({ message })
  const target = ['-c', other.address, '-b', other.blockchain, '--base-url', relay.url]
  const argv = ['batch', 'mint', '-', '--run', 'piped', ...target, '--json']
  const piped = await cli(argv, { ...machine.options, stdin: rows.replaceAll('art/', `${machine.path('art')}/`) })
  expect(errorOf(piped)).toMatchObject({ message })
  expect((await inOther(['batch', 'mint'], rows, '--again', '--dry-run')).code).toBe(0)
  expect(await nftsOf(backend, other)).toEqual([])
})

test('plans offer the reveal only of an unedited manifest, on each machine, and say how to burn an NFT without a row', async () => {
  const collection = await createTestCollection(backend, { enable_burn: true })
  const machine = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  expect((await machine.shuffle(rows)).code).toBe(0)
  const planText = async ({ path, target, options }: ShuffledMachine, manifest: string, ...more: string[]) => {
    await writeFile(path('drop.csv'), manifest)
    const beacon = ['--beacon', path('beacon.json')]
    return (await cli(['plan', path('drop.csv'), ...target, ...beacon, ...more], options)).stderr
  }
  const FIRST = 'To reveal the drop, first restore the edited rows: gdn reveal'
  const [head, first, ...others] = rows.split('\n')
  for (const one of [machine, await shuffledMachine(backend, collection)]) {
    expect(await planText(one, rows)).toMatch(/3 NFTs are not revealed yet\. To reveal them: gdn reveal/)
    const edited = rowsOf(3, (row) => (row === 2 ? 'Edited' : `Row ${row}`))
    expect(await planText(one, edited)).toContain(`3 NFTs are not revealed yet. ${FIRST}`)
    expect(await planText(one, rowsOf(4))).toContain(FIRST)
    expect(await planText(one, rowsOf(2))).toContain(FIRST)
    expect(await planText(one, [head, ...others, first].join('\n'))).toContain(FIRST)
    expect(await planText(one, rows.replace('r2,', 'x2,'))).toContain(FIRST)
  }
  expect((await machine.reveal(rows)).code).toBe(0)
  expect(await planText(machine, rows, '--prune', '--out', machine.path('plan.json'))).toContain(
    'To burn an NFT without a row, run `gdn nft burn <nft_gdn_id>`.',
  )
})

test('mints no edited row of a shuffled drop again, and reveals the run that committed to the rows', {
  tags: ['promise'],
}, async () => {
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  expect((await machine.shuffle(rows)).code).toBe(0)
  const other = await shuffledMachine(backend, collection)
  const [head, first, ...last] = rows.split('\n')
  const edited = [rowsOf(3, (row) => `Edited ${row}`), [head, ...last].join('\n'), rowsOf(4), `${head}\n${first}`]
  for (const one of [machine, other])
    for (const manifest of edited)
      expect((await one.run(['batch', 'mint'], manifest, '--again')).error, manifest).toMatchObject({
        code: 'refused',
        message: expect.stringContaining('can be minted only once'),
      })
  expect(await nftsOf(backend, collection)).toHaveLength(3)
  // Without a shuffle, --again mints the rows visibly, and the reveal still finds the hidden ones.
  const plain = await shuffledMachine(backend, await createTestCollection(backend))
  expect((await plain.mint(rows)).code).toBe(0)
  expect((await plain.run(['batch', 'mint'], rows, '--again')).code).toBe(0)
  const revealed = await plain.run(['reveal', '--yes'], rows)
  expect(revealed.code, revealed.stderr).toBe(0)
  expect(JSON.parse(revealed.stdout)).toMatchObject({ revealed: 3, left: 0 })
})

test('plans an unrevealed drop with its own NFTs after --again minted its rows, as other machines do', async () => {
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  expect(await machine.mint(rows)).toMatchObject({ code: 0 })
  const own = new Set((await nftsOf(backend, collection)).map(({ nft_gdn_id }) => nft_gdn_id))
  expect(await machine.run(['batch', 'mint'], rows, '--again')).toMatchObject({ code: 0 })
  const planned = async (manifest: string) =>
    JSON.parse((await machine.run(['plan'], manifest)).stdout).filter(
      ({ action }: { action: string }) => action !== 'note',
    )
  const hidden = { action: 'impossible', reason: 'the NFT is not revealed: use gdn reveal' }
  expect(await planned(rows)).toMatchObject([hidden, hidden, hidden])
  expect(await machine.run(['reveal', '--yes'], rows)).toMatchObject({ code: 0 })
  expect(await planned(rows)).toEqual([])
  const edited = rowsOf(3, (row) => (row === 2 ? 'Edited' : `Row ${row}`))
  expect(await planned(edited)).toMatchObject([{ action: 'update', key: 'r2' }])
  expect(await machine.apply(edited)).toMatchObject({ code: 0 })
  const changed = (await nftsOf(backend, collection)).filter(
    ({ request_metadata }) => request_metadata.title === 'Edited',
  )
  expect(changed.map(({ nft_gdn_id }) => own.has(nft_gdn_id))).toEqual([true])
  // A later drop of the manifest has other rows.
  const later = rowsOf(3, (row) => `Later ${row}`)
  expect(await machine.run(['batch', 'mint'], later, '--again')).toMatchObject({ code: 0 })
  expect(await planned(later)).toEqual([])
})

test('reveals no drop whose IDs were exchanged after the reveal', async () => {
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  expect((await machine.shuffle(rows)).code).toBe(0)
  expect((await machine.reveal(rows)).code).toBe(0)
  const exchanged = rows.replace('r1,', 'x,').replace('r2,', 'r1,').replace('x,', 'r2,')
  expect((await machine.reveal(exchanged)).error).toMatchObject({
    code: 'refused',
    message: expect.stringContaining('line 2 was minted as row 2, line 3 was minted as row 1'),
  })
})

test('no plan publishes hidden rows by updates in another collection', async () => {
  const [hidden, visible] = [
    await createTestCollection(backend),
    await createTestCollection(backend, { dynamic: true }),
  ]
  const machine = await shuffledMachine(backend, hidden)
  const target = ['-c', visible.address, '-b', visible.blockchain, '--base-url', backend.url, '--json']
  const file = machine.path('drop.csv')
  await writeFile(
    file,
    rowsOf(3, (row) => `Public ${row}`),
  )
  const minted = await cli(['batch', 'mint', file, ...target], machine.options)
  expect(minted.code, minted.stderr).toBe(0)
  expect(await machine.mint(rowsOf(3), '--run', 'hidden')).toMatchObject({ code: 0, error: null })
  for (const command of [['plan'], ['apply', '--yes']]) {
    const planned = await cli([...command, file, ...target], machine.options)
    expect(errorOf(planned)).toMatchObject({
      code: 'refused',
      message: expect.stringContaining('and this plan would publish their metadata'),
    })
  }
  expect((await nftsOf(backend, visible)).map(({ revision }) => revision)).toEqual([0, 0, 0])
})
