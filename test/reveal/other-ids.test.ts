/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli, errorOf } from '../cli/harness.ts'
import { createTestCollection, freshDataDir, startTestBackend, type TestBackend } from '../helpers/backend.ts'
import { nftsOf, rowsOf, shuffledMachine } from '../helpers/shuffled-machine.ts'

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

test('plans offer the reveal only of an unedited manifest, and say how to burn an NFT without a row', async () => {
  const collection = await createTestCollection(backend, { enable_burn: true })
  const machine = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  expect((await machine.shuffle(rows)).code).toBe(0)
  const planText = async (manifest: string, ...more: string[]) => {
    await writeFile(machine.path('drop.csv'), manifest)
    const beacon = ['--beacon', machine.path('beacon.json')]
    return (await cli(['plan', machine.path('drop.csv'), ...machine.target, ...beacon, ...more], machine.options))
      .stderr
  }
  const FIRST = 'To reveal the drop, first restore the edited rows: gdn reveal'
  expect(await planText(rows)).toMatch(/3 NFTs not revealed yet\. To reveal them: gdn reveal/)
  expect(await planText(rowsOf(3, (row) => (row === 2 ? 'Edited' : `Row ${row}`)))).toContain(
    `3 NFTs not revealed yet. ${FIRST}`,
  )
  expect(await planText(rowsOf(4))).toContain(FIRST)
  expect(await planText(rows.replace('r2,', 'x2,'))).toContain(FIRST)
  expect((await machine.reveal(rows)).code).toBe(0)
  expect(await planText(rows, '--prune', '--out', machine.path('plan.json'))).toContain(
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
