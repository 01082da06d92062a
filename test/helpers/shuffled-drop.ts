import { expect } from 'vitest'
import { derivePublicKey, signRound, verifyBeacon } from '../../src/api/beacon.ts'
import { computeSeal } from '../../src/api/provenance-seal.ts'
import { Commitment, rowContentHash } from '../../src/reveal/leaves.ts'
import { permuteRows, shuffleSeed } from '../../src/reveal/shuffle/permutation.ts'
import { folder } from '../cli/batch/drop.ts'
import { cli } from '../cli/harness.ts'
import { call, createTestCollection, type TestBackend, type TestCollection, until, WALLETS } from './backend.ts'

export const ROWS = 4
const SECRET = Buffer.alloc(32, 5)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
/** The beacon of the file `beacon.json`, for the second implementation. */
export const BEACON = { key: hex(derivePublicKey(SECRET) ?? Buffer.alloc(0)), genesis: 1_600_000_000, period: 3 }
export const BEACON_CHAIN = {
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
const SEAL = computeSeal(provenance)

async function commit(backend: TestBackend, { address }: TestCollection, hash: string) {
  await call(backend, 'commitprovenance', { contract_address: address, provenance: hash })
  await until(
    () => call(backend, 'getprovenances', { contract_address: address }),
    ({ provenances }) => provenances.some(({ provenance: one, status }) => one === hash && status === 'deployed'),
  )
}

async function nftsOf(backend: TestBackend, { address, blockchain }: TestCollection) {
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
export async function shuffledDrop(backend: TestBackend) {
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
  await commit(backend, collection, provenance)
  expect(await mint()).toMatchObject({ code: 0 })
  const sources = ['--rpc-url', `${backend.url}/rpc/polygon`, '--gateway', backend.url]
  return {
    collection,
    path,
    mint,
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
    nfts: () => nftsOf(backend, collection),
    seal: () => commit(backend, collection, SEAL),
    reveal: (round: number) => reveal(backend, collection, round),
  }
}

/** Reveals the drop as the round draws it. Returns the row of each token. */
async function reveal(backend: TestBackend, collection: TestCollection, round: number) {
  const { randomness, signature } = verifyBeacon(BEACON_CHAIN, round, signRound(SECRET, round))
  const rows = permuteRows(shuffleSeed(provenance, randomness), ROWS)
  const drawn = new Map<string, number>()
  for (const { nft_gdn_id, token_id, request_metadata } of await nftsOf(backend, collection)) {
    const row = rows[Number(request_metadata.provenance_row) - 1] ?? 0
    drawn.set(token_id, row)
    const metadata = {
      ...titleOf(row),
      ...{ provenance_salt: hex(commitment.saltOf(row)), provenance_signature: hex(signature) },
    }
    await call(backend, 'updatednft', { nft_gdn_id, contract_address: collection.address, metadata: [metadata] })
  }
  await until(
    () => nftsOf(backend, collection),
    (nfts) => nfts.every(({ revision }) => revision > 0),
  )
  return drawn
}
