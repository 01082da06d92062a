/** @module-tag slow */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { findRound } from '../../src/api/shuffle-rule.ts'
import { cli } from '../cli/harness.ts'
import { call, createTestCollection, type TestBackend, type TestCollection, until } from '../helpers/backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'
import { FINALITY, type RemoteBackend, startRemoteBackend } from '../helpers/remote-backend.ts'
import { BEACON, nftsOf, rowsOf, shuffledMachine } from '../helpers/shuffled-machine.ts'
import { verifyReveal } from '../helpers/verify-reveal.ts'

const { public_key: key, genesis_time: genesis, period } = JSON.parse(BEACON)
const MARGIN_S = 1_000

let network: PublicNetwork
let remote: RemoteBackend
let backend: TestBackend
let stopMining = async () => {}
beforeAll(async () => {
  network = await startPublicNetwork()
  remote = await startRemoteBackend(network)
  backend = remote.backend
})
afterAll(async () => {
  await stopMining()
  await remote?.close()
  await network?.close()
})

const mineOn = () => {
  stopMining = network.mineEvery(60)
}

const sealOf = async ({ address }: TestCollection) =>
  (await call(backend, 'getprovenances', { contract_address: address })).provenances.find(({ seal_of }) => seal_of)

async function timeOf(block: number | null | undefined): Promise<number> {
  const found = await network.call<{ timestamp: string }>('eth_getBlockByNumber', [
    `0x${(block ?? 0).toString(16)}`,
    false,
  ])
  return Number(found.timestamp)
}

test('the round follows the final block of the seal, however often reorgs move the seal before', async () => {
  mineOn()
  const collection = await createTestCollection(backend)
  await until(
    () => call(backend, 'getcollections', { transaction_gdn_ids: [collection.id] }),
    ({ collections }) => collections[0]?.status === 'deployed',
  )
  await stopMining()
  await network.call('anvil_mine', [2 * FINALITY, 2])
  mineOn()
  const machine = await shuffledMachine(backend, collection)
  const rows = rowsOf(4)
  const minted = await machine.run(
    ['batch', 'mint'],
    rows,
    ...['--unrevealed', machine.path('hidden.json'), '--shuffle', '--shuffle-margin', `${MARGIN_S}s`, '--yes'],
  )
  expect(minted.code, minted.stderr).toBe(0)

  const ready = machine.reveal(rows)
  onTestFinished(async () => void (await ready))
  const moves: number[] = []
  for (const depth of [2, 3]) {
    const seal = await until(
      () => sealOf(collection),
      (found) => found?.block_number != null && !moves.includes(found.block_number),
    )
    expect(seal?.is_final).toBe(false)
    await stopMining()
    moves.push(seal?.block_number ?? 0)
    const head = Number(await network.call<string>('eth_blockNumber'))
    await network.reorg(Math.max(depth, head - (seal?.block_number ?? head) + 1))
    // The seal comes into a block of another time.
    await network.call('evm_increaseTime', [600])
    mineOn()
  }
  const { code, stdout, stderr } = await ready
  expect(code, stderr).toBe(0)
  const seal = await sealOf(collection)
  expect(seal?.is_final).toBe(true)
  expect(moves).not.toContain(seal?.block_number)
  const time = await timeOf(seal?.block_number)
  const { round } = JSON.parse(stdout)
  expect(round).toBe(findRound({ genesisTime: genesis, period }, time + MARGIN_S))
  const nfts = await nftsOf(backend, collection)
  const proven = await verifyReveal(network.url, backend.url, collection.address as `0x${string}`, {
    key,
    genesis,
    period,
  })
  expect(proven.size).toBe(4)
  for (const { token_id, request_metadata } of nfts) {
    expect(request_metadata.title).toBe(`Row ${proven.get(String(token_id))}`)
  }
  const proof = await cli(
    [
      ...[
        'nft',
        'verify',
        `${collection.address}/1`,
        '-b',
        'polygon',
        '--rpc-url',
        network.url,
        '--gateway',
        backend.url,
      ],
      ...['--beacon', machine.path('beacon.json'), '--json'],
    ],
    machine.options,
  )
  expect(JSON.parse(proof.stdout), proof.stderr).toMatchObject({ provenance: { shuffle: { round } } })
  expect(JSON.parse((await machine.plan(rows)).stdout)).toEqual([])
})
