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
