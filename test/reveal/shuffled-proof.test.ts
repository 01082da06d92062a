/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { derivePublicKey } from '../../src/api/beacon.ts'
import { findRound } from '../../src/api/shuffle-rule.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import { errorOf } from '../cli/harness.ts'
import { backendForFile, type TestBackend, type TestCollection } from '../helpers/backend.ts'
import { show } from '../helpers/explorer.ts'
import { BEACON, BEACON_CHAIN, ROWS, shuffledDrop } from '../helpers/shuffled-drop.ts'
import { verifyReveal } from '../helpers/verify-reveal.ts'

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const shuffleIn = ({ stdout }: { stdout: string }) => JSON.parse(stdout).provenance
const rowsOnChain = ({ address }: TestCollection) =>
  verifyReveal(`${backend.url}/rpc/polygon`, backend.url, address as Hex, BEACON)

/** A shuffled drop that the round of its seal has drawn, with the row of each token. */
async function revealedDrop() {
  const drop = await shuffledDrop(backend)
  await drop.seal()
  const { round, round_at } = shuffleIn(await drop.prove(1, ...drop.named)).shuffle
  return { ...drop, round, round_at, rows: await drop.reveal(round) }
}

test('the proof of a token of an unsealed drop names no row and no round', async () => {
  const { prove, textOf } = await shuffledDrop(backend)
  const unsealed = { seal_block: null, round: null, is_simulated: true }
  expect(shuffleIn(await prove(2))).toMatchObject({ row: null, rows: ROWS, shuffle: unsealed })
  expect(await textOf(2)).toContain('The drop is not sealed yet')
})

test('the proof of a token of a sealed drop names the round that the seal determines', async () => {
  const { prove, textOf, named, seal } = await shuffledDrop(backend)
  await seal()
  const { round, sealed_at, round_at, beacon, is_simulated } = shuffleIn(await prove(2, ...named)).shuffle
  expect(round).toBe(findRound(BEACON_CHAIN, Date.parse(sealed_at) / 1000 + 30))
  expect(Date.parse(round_at) / 1000).toBe(BEACON.genesis + (round - 1) * 3)
  expect({ beacon, is_simulated }).toEqual({ beacon: 'named', is_simulated: true })
  expect(await textOf(2, ...named)).toContain('is not revealed yet')
})

test('anybody proves which row a round drew for each token of a shuffled drop', { tags: ['promise'] }, async () => {
  const { collection, prove, textOf, verifyNft, named, nfts, round, round_at, rows } = await revealedDrop()
  for (const id of [1, 2, 3, 4]) {
    const row = rows.get(String(id))
    const found = await prove(id, ...named)
    expect(found, found.stderr).toMatchObject({ code: 0 })
    expect(shuffleIn(found)).toMatchObject({ row, is_revealed: true, shuffle: { round } })
  }
  expect(await rowsOnChain(collection)).toEqual(rows)
  const text = await textOf(2, ...named)
  expect(text).toContain(
    `Row ${rows.get('2')} of 4 was drawn for token 2 by round ${round} of a beacon that you specified, due at ${round_at}, after all tokens were minted (block `,
  )
  expect(text).toContain('anyone with the key of that beacon could have chosen the rows')
  expect(text).not.toContain('The draw assigned')
  expect(text).toContain('This is a simulation')
  const [first] = await nfts()
  expect(await verifyNft(first?.nft_gdn_id ?? '')).toMatchObject({ code: 0 })
})

test('a proof fails for a beacon that did not sign the round', { tags: ['promise'] }, async () => {
  const { path, prove, named } = await revealedDrop()
  const byDrand = await prove(1)
  expect(byDrand.code).toBe(5)
  expect(errorOf(byDrand)).toMatchObject({
    message: expect.stringContaining("of drand's quicknet"),
    hint: expect.stringContaining('add --beacon <file>'),
  })
  const other = Buffer.alloc(32, 6)
  const foreign = { public_key: hex(derivePublicKey(other) ?? other), genesis_time: BEACON.genesis, period: 3 }
  await writeFile(path('other.json'), JSON.stringify(foreign))
  const byOther = await prove(1, '--beacon', path('other.json'))
  expect(byOther.code).toBe(5)
  expect(errorOf(byOther)).toMatchObject({
    message: expect.stringContaining('provenance_signature'),
    hint: 'The row of the NFT was not drawn by the round that the seal determines.',
  })
  expect(errorOf(await prove(1, ...named, '--beacon-url', 'https://drand.example')).message).toContain('--beacon-url')
})

test('a token that is minted after the seal does not belong to the drop', { tags: ['promise'] }, async () => {
  const { collection, mint, prove, named } = await revealedDrop()
  expect(await mint('--again', '--allow-duplicates')).toMatchObject({ code: 0 })
  const late = await prove(5, ...named)
  expect(late.code).toBe(5)
  expect(errorOf(late).message).toContain('the seal')
  expect((await rowsOnChain(collection)).size).toBe(ROWS)
})

test('a token whose row was chosen fails the proof', { tags: ['promise'] }, async () => {
  const { collection, prove, named, seal, reveal } = await shuffledDrop(backend)
  await seal()
  const { round } = shuffleIn(await prove(1, ...named)).shuffle
  // The issuer draws with a later round, which suits better.
  await reveal(round + 1)
  const found = await prove(1, ...named)
  expect(found.code).toBe(5)
  expect(errorOf(found).message).toContain(`the signature of round ${round}`)
  expect((await rowsOnChain(collection)).size).toBe(0)
})

test('the explorer shows in which state a shuffled drop is, and the parts of the proof', async () => {
  const { nfts, seal, reveal, prove, collection } = await shuffledDrop(backend)
  const [nft] = await nfts()
  const shown = async () => (await show(backend, `nfts/${nft?.nft_gdn_id}`)).shuffle
  const open = await shown()
  expect(open).toMatchObject({
    ...{ slot: Number(nft?.request_metadata.provenance_row), rows: ROWS, is_revealed: false },
    ...{ seal: null, round: null, beacon: null, is_simulated: true, commitment: { time: expect.any(String) } },
  })
  expect((await backend.get(open.leaves_path)).status).toBe(200)
  await seal()
  const sealed = await shown()
  const { provenance } = JSON.parse((await prove(Number(nft?.token_id))).stdout)
  expect(sealed).toMatchObject({
    is_revealed: false,
    commitment: { hash: provenance.hash },
    seal: { hash: provenance.shuffle.seal, block_number: provenance.shuffle.seal_block },
    round: { number: provenance.shuffle.round, url: expect.stringMatching(/^https:\/\/api\.drand\.sh\/52db/) },
  })
  expect(Date.parse(sealed.round.time)).toBe(Date.parse(provenance.shuffle.round_at))
  await reveal(sealed.round.number)
  expect(await shown()).toMatchObject({ ...sealed, is_revealed: true, beacon: 'other' })
  const plain = await show(backend, `collections/${collection.id}`)
  expect(plain).not.toHaveProperty('shuffle')
})
