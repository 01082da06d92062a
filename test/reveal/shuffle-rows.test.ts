/** @module-tag slow */

import { rename } from 'node:fs/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { confirmAbandoned } from '../../src/cli/reveal/seal-drop.ts'
import { cli } from '../cli/harness.ts'
import { backendForFile, createTestCollection, type TestBackend, WALLETS } from '../helpers/backend.ts'
import { nftsOf, refusingRelay, rowsOf, shuffledMachine } from '../helpers/shuffled-machine.ts'

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const SIZE = 7

/** Mints a drop of which the slot `REFUSED_ROW` is never minted. */
async function dropWithoutSlot() {
  const collection = await createTestCollection(backend, { enable_transfer: true })
  const relay = await refusingRelay(backend)
  onTestFinished(() => relay.close())
  const machine = await shuffledMachine({ ...backend, url: relay.url }, collection)
  const rows = rowsOf(SIZE)
  expect((await machine.shuffle(rows)).error).toMatchObject({ code: 'batch_failed_rows' })
  return { collection, machine, rows }
}

test('lists the rows that no NFT shows after the reveal, and only counts slots before it', async () => {
  const { collection, machine, rows } = await dropWithoutSlot()
  const inText = async (...more: string[]) => {
    const beacon = ['--beacon', machine.path('beacon.json')]
    return (await cli(['reveal', machine.path('drop.csv'), ...machine.target, ...beacon, ...more], machine.options))
      .stderr
  }
  const before = await machine.reveal(rows, '--dry-run')
  expect(await inText('--dry-run')).toContain(
    '1 slot is not minted. The row that the draw assigns to it is known after the reveal.',
  )
  expect(await inText('--dry-run')).toContain('To seal the drop without it, add --abandon-rows 1.')
  const other = await inText('--dry-run', '--abandon-rows', '2')
  expect(other).toContain("1 row is not minted, so the number can't be 2")
  expect(JSON.parse(before.stdout)).toMatchObject({ not_minted: 1, unrevealed_rows: [], unrevealed_rows_left_out: 1 })
  for (const one of [machine, await shuffledMachine(backend, collection)]) {
    const { stdout } = await one.reveal(rows, '--abandon-rows', '1')
    const titles = (await nftsOf(backend, collection)).map(({ request_metadata: { title } }) => title)
    const missing = Array.from({ length: SIZE }, (_, at) => at + 1).find((row) => !titles.includes(`Row ${row}`)) ?? 0
    expect(JSON.parse(stdout).unrevealed_rows).toEqual([
      { key: `r${missing}`, line: missing + 1, slot: 3, reason: 'the slot that drew the row was not minted' },
    ])
    expect(await inText('--yes')).toContain(
      `  line ${missing + 1} (r${missing}): the slot that drew the row was not minted`,
    )
  }
})

test('names the edited row and its NFT in plans, and the drawn row of each NFT in results', async () => {
  const { collection, machine, rows } = await dropWithoutSlot()
  expect(await machine.reveal(rows, '--abandon-rows', '1')).toMatchObject({ code: 0, error: null })
  const nfts = await nftsOf(backend, collection)
  const titleOf = new Map(nfts.map(({ nft_gdn_id, request_metadata: { title } }) => [nft_gdn_id, title]))
  const results = await machine.cli('batch', 'results', machine.path('drop.csv'), '--json')
  for (const { nft_gdn_id, drawn_key, drawn_line } of JSON.parse(results.stdout)) {
    if (nft_gdn_id === null) continue
    expect([titleOf.get(nft_gdn_id), drawn_line]).toEqual([
      drawn_key.replace('r', 'Row '),
      Number(drawn_key.slice(1)) + 1,
    ])
  }
  const csv = await machine.cli('batch', 'results', machine.path('drop.csv'), '-o', 'csv')
  expect(csv.stdout.split('\n')[0]).toMatch(/,drawn_key,drawn_line\r?$/)
  const row = Number(titleOf.values().next().value?.slice('Row '.length))
  const nft = nfts.find(({ request_metadata: { title } }) => title === `Row ${row}`)
  const edited = rowsOf(SIZE, (at) => (at === row ? 'Edited' : `Row ${at}`))
  const [change] = JSON.parse((await machine.plan(edited)).stdout)
  const { token_id } = nft ?? {}
  expect(change).toMatchObject({ action: 'update', key: `r${row}`, line: row + 1, title: 'Edited', token_id })
  // A receiver belongs to the slot.
  const longer = await machine.reveal(rowsOf(SIZE + 1), '--abandon-rows', '1')
  expect(longer.error).toMatchObject({
    code: 'edited_rows',
    hint: expect.stringContaining('Keep the number and the order'),
  })
  const moved = rows.replace(/^(r1,.*),0x\w+$/m, `$1,${WALLETS[1]}`)
  expect(JSON.parse((await machine.plan(moved)).stdout)[0]).toMatchObject({ action: 'transfer', key: 'r1', line: 2 })
})

test('pairs rows that get their IDs after the reveal with the NFTs of their slots, and names the rows of removed IDs', {
  tags: ['promise'],
}, async () => {
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  // The row that was drawn for a slot differs from another row only by its receiver.
  const rows = rowsOf(SIZE).replaceAll(/0x\w+/g, String(WALLETS[0]))
  const withoutIds = rows.replaceAll(/^r\d,/gm, ',')
  expect(await machine.shuffle(withoutIds)).toMatchObject({ code: 0, error: null })
  expect(await machine.reveal(withoutIds)).toMatchObject({ code: 0, error: null })
  const changesIn = async ({ stdout }: { stdout: string }) =>
    JSON.parse(stdout).filter(({ action }: { action: string }) => action !== 'note')
  expect(await changesIn(await machine.plan(rows))).toEqual([])
  expect(await machine.apply(rows)).toMatchObject({ code: 0, error: null })
  const other = await shuffledMachine(backend, collection)
  expect(await changesIn(await other.plan(rows))).toEqual([])
  expect(await changesIn(await machine.plan(withoutIds))).toMatchObject(
    Array.from({ length: SIZE }, (_, at) => ({
      ...{ action: 'impossible', line: at + 2, title: `Row ${at + 1}` },
      reason: expect.stringContaining(`add id=r${at + 1} to the row`),
    })),
  )
})

test('names a command that mints a failed row before the seal, on each machine', async () => {
  const { collection, machine, rows } = await dropWithoutSlot()
  const retry = expect.stringMatching(/`gdn batch retry drop-\w+ --base-url \S+`/)
  expect((await machine.reveal(rows)).error).toMatchObject({ code: 'refused', hint: retry })
  expect((await machine.run(['batch', 'mint'], rows)).error).toMatchObject({ code: 'refused', hint: retry })
  const failed = JSON.parse((await machine.plan(rows)).stdout).find(({ want }: { want: string }) => want === 'mint')
  expect(failed).toMatchObject({ key: 'r3', reason: expect.stringContaining('run gdn batch retry') })
  const other = await shuffledMachine(backend, collection)
  expect((await other.reveal(rows)).error).toMatchObject({
    code: 'refused',
    hint: expect.stringMatching(/`gdn batch mint \S+ --contract .* --unrevealed <file> --shuffle --shuffle-margin 1s`/),
  })
  const file = machine.path('drop.csv')
  const retried = await cli(['batch', 'retry', file, '--yes', '--base-url', backend.url], machine.options)
  expect(retried.code, retried.stderr).toBe(0)
  expect(retried.stderr).toMatch(/Next: gdn reveal \S+ --contract 0x\w+ --blockchain polygon --base-url/)
  expect(await machine.reveal(rows)).toMatchObject({ code: 0, error: null })
})

test('neither resumes nor retries a sealed drop, and counts its abandoned rows', async () => {
  const { collection, machine, rows } = await dropWithoutSlot()
  expect(await machine.reveal(rows, '--abandon-rows', '1')).toMatchObject({ code: 0, error: null })
  for (const verb of ['resume', 'retry'] as const) {
    expect((await machine.resume(verb, rows)).error, verb).toMatchObject({
      code: 'refused',
      message: expect.stringContaining('the drop is sealed'),
    })
  }
  expect(await nftsOf(backend, collection)).toHaveLength(SIZE - 1)
  const [file, { options }] = [machine.path('drop.csv'), machine]
  const status = await cli(['batch', 'status', file], options)
  expect(status.stderr).toContain(
    'The drop is sealed, and its rows have been drawn by a beacon other than drand, as a rehearsal: 6 of 7 rows are minted, 1 abandoned.',
  )
  const beacon = ['--beacon', machine.path('beacon.json')]
  const plan = await cli(['plan', file, ...machine.target, ...beacon], options)
  expect(plan.stderr).toContain('7 rows: 6 unchanged, 1 abandoned.')
})

test('says how a mint is revealed, that its manifest is needed, and nothing of --again', async () => {
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  expect(await machine.shuffle(rowsOf(2))).toMatchObject({ code: 0, error: null })
  const [file, { options }] = [machine.path('drop.csv'), machine]
  const mint = ['batch', 'mint', file, ...machine.target, '--unrevealed', machine.path('hidden.json')]
  const { stderr } = await cli(mint, options)
  expect(stderr).toMatch(/Next: gdn reveal .*drop\.csv --contract 0x/)
  expect(stderr).toContain('Back up drop.csv and its files: without them, no one can reveal the drop.')
  expect(stderr).not.toContain('--again')
  const beacon = ['--beacon', machine.path('beacon.json')]
  const dry = await cli(['reveal', file, ...machine.target, ...beacon, '--dry-run'], options)
  expect(dry.stderr).toContain('seals it permanently. The beacon in the file signs the round immediately')
  const prompted = await cli(['reveal', file, ...machine.target, ...beacon], options)
  expect([prompted.code, prompted.stderr.replace(/\s+/g, ' ')]).toEqual([
    3,
    expect.stringMatching(
      /A seal is permanent: no more rows of the drop can be minted, and a later round of the beacon that you specified draws the rows\. The beacon in the file signs the round immediately, so gdn does not wait for it\..*Seal the drop with 2 NFTs on polygon.*\?/,
    ),
  ])
  expect(prompted.stderr).not.toContain('The drop is sealed')
  await rename(file, machine.path('ren.csv'))
  const renamed = await cli(['reveal', machine.path('ren.csv'), ...machine.target, ...beacon], options)
  expect(renamed.stderr).toContain('add --run drop.csv --adopt')
  const lost = await cli(['reveal', file, ...machine.target, ...beacon], options)
  expect(lost.stderr).toContain('Only the manifest that was minted can reveal the drop.')
})

test.each<[number, string]>([
  [
    1,
    '1 of 9 slots is not minted. The draw decides which row will have no NFT. To mint it instead, answer no, and run gdn batch mint. Abandon it permanently?',
  ],
  [
    2,
    '2 of 9 slots are not minted. The draw decides which 2 rows will have no NFT. To mint them instead, answer no, and run gdn batch mint. Abandon them permanently?',
  ],
])('prompts before it abandons %i', async (notMinted, question) => {
  const requests: string[][] = []
  const io = { isInteractive: true, confirm: async (...args: string[]) => void requests.push(args) }
  const plan = { rows: 9, notMinted, undeployed: 0 }
  await confirmAbandoned({ io } as never, plan as never, {} as never, 'gdn batch mint')
  expect(requests).toEqual([[question, `--abandon-rows ${notMinted}`]])
  await confirmAbandoned({ io } as never, plan as never, { abandonRows: notMinted } as never, '')
  expect(requests).toHaveLength(1)
})

test('counts NFTs that are not revealed yet in one line of a plan, and lists edited and exchanged rows', async () => {
  const machine = await shuffledMachine(backend, await createTestCollection(backend))
  expect(await machine.shuffle(rowsOf(5))).toMatchObject({ code: 0, error: null })
  const [head = '', a = '', b = '', ...more] = rowsOf(5, (row) => (row === 4 ? 'Edited' : `Row ${row}`)).split('\n')
  const planned = JSON.parse((await machine.plan([head, b, a, ...more].join('\n'))).stdout)
  const edited = planned.filter(({ reason }: { reason: string }) => reason.includes('differs from the committed row'))
  expect(edited.map(({ line }: { line: number }) => line)).toEqual([2, 3, 5])
  const { stdout, stderr } = await cli(['plan', machine.path('drop.csv'), ...machine.target], machine.options)
  expect(stderr).toContain(
    '5 NFTs are not revealed yet. To reveal the drop, first restore the edited rows: gdn reveal ',
  )
  expect(stdout.match(/impossible/g)).toHaveLength(3)
})

test('applies edits beside NFTs that keep their placeholders, and says why these are not revealed', async () => {
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  expect(await machine.shuffle(rowsOf(6))).toMatchObject({ code: 0, error: null })
  const [frozen = '', changed = ''] = (await nftsOf(backend, collection)).map(({ nft_gdn_id }) => nft_gdn_id)
  const change = async (...argv: string[]) => {
    const { code, stderr } = await machine.cli('nft', ...argv, '--yes', '--blockchain', collection.blockchain)
    expect(code, stderr).toBe(0)
  }
  await change('freeze', frozen)
  await change('update', changed, '--title', 'Other')
  expect(JSON.parse((await machine.reveal(rowsOf(6))).stdout)).toMatchObject({ revealed: 4, left: 2 })
  const titles = new Map((await nftsOf(backend, collection)).map((nft) => [nft.nft_gdn_id, nft.request_metadata.title]))
  const shown = [1, 2, 3, 4, 5, 6].find((row) => [...titles.values()].includes(`Row ${row}`))
  const edited = rowsOf(6, (row) => (row === shown ? 'Edited' : `Row ${row}`))
  for (const one of [machine, await shuffledMachine(backend, collection)]) {
    const planned: { action: string; reason: string }[] = JSON.parse((await one.plan(rowsOf(6))).stdout)
    expect(planned.map(({ action, reason }) => `${action}: ${reason}`).sort()).toEqual([
      "drift: the NFT is frozen with its placeholder, so it can't be revealed",
      'drift: the placeholder of the NFT was changed outside the manifest, so gdn reveal skips the NFT',
    ])
  }
  const applied = await machine.apply(edited)
  expect(applied.code, applied.stderr).toBe(0)
  expect(JSON.parse(applied.stdout)).toMatchObject({ updated: 1, minted: 0, transferred: 0 })
})
