/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Commitment, rowContentHash } from '../../../src/reveal/leaves.ts'
import { publicKeyOf, signRound, verifyBeacon } from '../../../src/reveal/shuffle/beacon.ts'
import { rowsOfSlots, shuffleSeed } from '../../../src/reveal/shuffle/permutation.ts'
import { roundFor, sealOf } from '../../../src/reveal/shuffle/rule.ts'
import { folder } from '../../cli/drop.ts'
import { cli, errorOf } from '../../cli/harness.ts'
import {
  call,
  createTestCollection,
  freshDataDir,
  startTestBackend,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../../helpers/backend.ts'
import { verifyReveal } from '../../helpers/verify-reveal.ts'

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

const ROWS = 4
const SECRET = Buffer.alloc(32, 5)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const BEACON = { key: hex(publicKeyOf(SECRET) ?? Buffer.alloc(0)), genesis: 1_600_000_000, period: 3 }
const chain = {
  hash: '',
  publicKey: Buffer.from(BEACON.key, 'hex'),
  genesisTime: BEACON.genesis,
  period: BEACON.period,
}
const titleOf = (row: number) => ({ title: `Row ${row}`, description: 'Revealed', file_fields: [] })
const commitment = new Commitment(
  Buffer.concat(Array.from({ length: ROWS }, (_, at) => rowContentHash({ metadata: titleOf(at + 1) }, new Map()))),
  { marginSeconds: 30 },
)
const { provenance } = commitment

async function commit({ address }: TestCollection, hash: string) {
  await call(backend, 'commitprovenance', { contract_address: address, provenance: hash })
  await until(
    () => call(backend, 'getprovenances', { contract_address: address }),
    ({ provenances }) => provenances.some(({ provenance: one, status }) => one === hash && status === 'deployed'),
  )
}

async function nftsOf({ address, blockchain }: TestCollection) {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  const { nfts } = await call(backend, 'getnfts', { nft_gdn_ids })
  return nfts as {
    nft_gdn_id: string
    token_id: string
    revision: number
    request_metadata: { provenance_row: string }
  }[]
}

/** A shuffled drop whose slots are minted in order, by the API, and a machine that verifies it. */
async function drop() {
  const collection = await createTestCollection(backend)
  const slots = Array.from({ length: ROWS }, (_, at) => `Hidden,Soon,${WALLETS[at % 2]},leaves.txt,${at + 1}`)
  const { path, options } = await folder({
    'leaves.txt': String(commitment.leaves),
    'drop.csv': ['title,description,receiver,file:provenance,extra:provenance_row', ...slots].join('\n'),
    'beacon.json': JSON.stringify({
      ...{ public_key: BEACON.key, genesis_time: BEACON.genesis, period: BEACON.period },
      secret_key: hex(SECRET),
    }),
  })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  const at = ['-b', 'polygon', '--base-url', backend.url, '--json']
  const mint = (...more: string[]) =>
    cli(['batch', 'mint', path('drop.csv'), '-c', collection.address, '--dynamic', '--yes', ...at, ...more], {
      ...options,
      env,
    })
  await commit(collection, provenance)
  expect(await mint()).toMatchObject({ code: 0 })
  const sources = ['--rpc-url', `${backend.url}/rpc/polygon`, '--gateway', backend.url]
  return {
    ...{ collection, path, mint },
    /** Verifies a token without a server and an API key. */
    prove: (id: number, ...more: string[]) =>
      cli(['nft', 'verify', `${collection.address}/${id}`, '-b', 'polygon', '--json', ...sources, ...more], options),
    /** Returns what a buyer reads. */
    textOf: async (id: number, ...more: string[]) =>
      (await cli(['nft', 'verify', `${collection.address}/${id}`, '-b', 'polygon', ...sources, ...more], options))
        .stderr,
    verifyNft: (id: string) =>
      cli(['nft', 'verify', id, '--on-chain', '--beacon', path('beacon.json'), ...at], { ...options, env }),
    named: ['--beacon', path('beacon.json')],
  }
}

/** Reveals the drop as the round draws it. Returns the row of each token. */
async function reveal(collection: TestCollection, round: number) {
  const { randomness, signature } = verifyBeacon(chain, round, signRound(SECRET, round))
  const rows = rowsOfSlots(shuffleSeed(provenance, randomness), ROWS)
  const drawn = new Map<string, number>()
  for (const { nft_gdn_id, token_id, request_metadata } of await nftsOf(collection)) {
    const row = rows[Number(request_metadata.provenance_row) - 1] ?? 0
    drawn.set(token_id, row)
    const metadata = {
      ...titleOf(row),
      ...{ provenance_salt: hex(commitment.saltOf(row)), provenance_signature: hex(signature) },
    }
    await call(backend, 'updatednft', { nft_gdn_id, contract_address: collection.address, metadata: [metadata] })
  }
  await until(
    () => nftsOf(collection),
    (nfts) => nfts.every(({ revision }) => revision > 0),
  )
  return drawn
}

test('anybody proves which row a round drew for each token of a shuffled drop', { tags: ['promise'] }, async () => {
  const { collection, path, prove, textOf, verifyNft, named, mint } = await drop()
  const shuffleIn = ({ stdout }: { stdout: string }) => JSON.parse(stdout).provenance
  const open = await prove(2)
  expect(shuffleIn(open)).toMatchObject({ row: null, rows: ROWS, shuffle: { seal_block: null, round: null } })
  expect(await textOf(2)).toContain('the drop is not sealed yet')

  await commit(collection, sealOf(provenance))
  const sealed = await prove(2, ...named)
  const { round, sealed_at, round_at, beacon, is_simulated } = shuffleIn(sealed).shuffle
  expect(round).toBe(roundFor(chain, Date.parse(sealed_at) / 1000 + 30))
  expect(Date.parse(round_at) / 1000).toBe(BEACON.genesis + (round - 1) * 3)
  expect({ beacon, is_simulated }).toEqual({ beacon: 'named', is_simulated: true })
  expect(await textOf(2, ...named)).toContain('is not revealed yet')

  const rows = await reveal(collection, round)
  for (const id of [1, 2, 3, 4]) {
    const row = rows.get(String(id))
    const found = await prove(id, ...named)
    expect(found, found.stderr).toMatchObject({ code: 0 })
    expect(shuffleIn(found)).toMatchObject({ row, is_revealed: true, shuffle: { round } })
  }
  expect(
    await verifyReveal(`${backend.url}/rpc/polygon`, backend.url, collection.address as `0x${string}`, BEACON),
  ).toEqual(rows)
  const text = await textOf(2, ...named)
  expect(text).toContain(
    `row ${rows.get('2')} of 4 was drawn for token 2 by round ${round} of a beacon that you named, published at ${round_at}, after all tokens were minted (block `,
  )
  expect(text).toContain('Nobody chose which token got which row')
  expect(text).toContain('This is a simulation')
  const [first] = await nftsOf(collection)
  expect(await verifyNft(first?.nft_gdn_id ?? '')).toMatchObject({ code: 0 })

  // drand didn't sign this round, and another key didn't either.
  const byDrand = await prove(1)
  expect(byDrand.code).toBe(5)
  expect(errorOf(byDrand).message).toContain("of drand's quicknet")
  const other = Buffer.alloc(32, 6)
  const foreign = { public_key: hex(publicKeyOf(other) ?? other), genesis_time: BEACON.genesis, period: 3 }
  await writeFile(path('other.json'), JSON.stringify(foreign))
  const byOther = await prove(1, '--beacon', path('other.json'))
  expect(byOther.code).toBe(5)
  expect(errorOf(byOther)).toMatchObject({
    message: expect.stringContaining('provenance_signature'),
    hint: expect.stringContaining('was not drawn'),
  })
  expect(errorOf(await prove(1, ...named, '--beacon-url', 'https://drand.example')).message).toContain('--beacon-url')

  // Tokens that are minted after the seal don't belong to the drop.
  expect(await mint('--again', '--allow-duplicates')).toMatchObject({ code: 0 })
  const late = await prove(5, ...named)
  expect(late.code).toBe(5)
  expect(errorOf(late).message).toContain('the seal')
  expect(
    (await verifyReveal(`${backend.url}/rpc/polygon`, backend.url, collection.address as `0x${string}`, BEACON)).size,
  ).toBe(ROWS)
})

test('a token whose row was chosen fails the proof', { tags: ['promise'] }, async () => {
  const { collection, prove, named } = await drop()
  await commit(collection, sealOf(provenance))
  const { round } = JSON.parse((await prove(1, ...named)).stdout).provenance.shuffle
  // The issuer draws with a later round, which suits better.
  await reveal(collection, round + 1)
  const found = await prove(1, ...named)
  expect(found.code).toBe(5)
  expect(errorOf(found).message).toContain(`the signature of round ${round}`)
  const proven = await verifyReveal(
    `${backend.url}/rpc/polygon`,
    backend.url,
    collection.address as `0x${string}`,
    BEACON,
  )
  expect(proven.size).toBe(0)
})
