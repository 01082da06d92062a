/** @module-tag slow */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rowsOfSlots, shuffleSeed } from '../../src/reveal/shuffle/permutation.ts'
import { call, createTestCollection, freshDataDir, startTestBackend, type TestBackend } from '../helpers/backend.ts'
import { nftsOf, rowsOf, type ShownNft, shuffledMachine } from '../helpers/shuffled-machine.ts'

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

const collectionOf = () => createTestCollection(backend)

/** Returns the titles in the order of the tokens. */
const titlesOf = (nfts: readonly ShownNft[]) => nfts.map(({ request_metadata: { title } }) => title)

const SIZE = 7

test('gives each slot the row that the round draws, and keeps its receiver', { tags: ['promise'] }, async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(SIZE)
  const minted = await one.shuffle(rows)
  expect(minted.code, minted.stderr).toBe(0)
  const before = await nftsOf(backend, collection)
  const slots = new Map(before.map((nft) => [nft.nft_gdn_id, Number(nft.request_metadata.provenance_row)]))
  const dry = await one.reveal(rows, '--dry-run')
  expect(JSON.parse(dry.stdout)).toMatchObject({ to_reveal: SIZE, revealed: 0, seal: null, round: null })
  expect((await call(backend, 'getprovenances', { contract_address: collection.address })).provenances).toHaveLength(1)
  const revealed = await one.reveal(rows)
  expect(revealed.code, revealed.stderr).toBe(0)
  const shown = JSON.parse(revealed.stdout)
  expect(shown).toMatchObject({ rows: SIZE, revealed: SIZE, to_reveal: 0, not_minted: 0, left: 0 })
  const { provenances } = await call(backend, 'getprovenances', { contract_address: collection.address })
  expect(provenances).toMatchObject([
    { provenance: shown.provenance, shuffle_margin: 1 },
    { provenance: shown.seal, seal_of: shown.provenance },
  ])
  const after = await nftsOf(backend, collection)
  const signature = after[0]?.request_metadata.provenance_signature ?? ''
  const randomness = createHash('sha256').update(Buffer.from(signature, 'hex')).digest()
  const drawn = rowsOfSlots(shuffleSeed(shown.provenance, randomness), SIZE)
  for (const [at, nft] of after.entries()) {
    const slot = slots.get(nft.nft_gdn_id) ?? 0
    expect(nft.request_metadata).toMatchObject({ title: `Row ${drawn[slot - 1]}`, provenance_signature: signature })
    expect(nft.receiver_wallet_address).toBe(before[at]?.receiver_wallet_address)
  }
  expect(titlesOf(after).sort()).toEqual(
    rows
      .split('\n')
      .slice(1)
      .map((row) => row.split(',')[1]),
  )
  // Another machine gets the same result.
  const other = await shuffledMachine(backend, collection)
  const again = await other.reveal(rows)
  expect([again.code, JSON.parse(again.stdout).revealed]).toEqual([0, SIZE])
  expect(await nftsOf(backend, collection)).toEqual(after)
})

test('resumes a shuffled mint without the flag, and refuses another rule', async () => {
  const one = await shuffledMachine(backend, await collectionOf())
  expect((await one.shuffle(rowsOf(3))).code).toBe(0)
  const resumed = await one.mint(rowsOf(3))
  expect(resumed.code, resumed.stderr).toBe(0)
  const { error } = await one.mint(rowsOf(3), '--shuffle', '--shuffle-margin', '2s')
  expect(error).toMatchObject({
    code: 'edited_rows',
    message:
      "the run drop committed to its rows with --shuffle --shuffle-margin 1s, and the rule can't change",
  })
})
