/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordChain } from '../../../src/server/store/chains.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { startCluster, type TestCluster } from '../../helpers/solana-cluster.ts'
import { cli, tempHome } from '../harness.ts'
import type { Finding } from './finding.ts'

const SIGNER = '7EYnhQoR9YM3N7UoaKRoA44Uy8JeaZV3qyouov87awMs'
const OTHER_GENESIS = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'

let cluster: TestCluster
let dir: string
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.close())
beforeEach(async () => {
  ;({ dir, env } = await tempHome())
  await mkdir(join(dir, 'data'))
})

async function setUp() {
  const store = await openStore(join(dir, 'data', 'gdn.db'))
  await recordChain(store.db, {
    ...{ blockchain: 'solana-testnet', network: 'remote', genesis_hash: cluster.genesisHash, genesis_timestamp: 0 },
    ...{ factory_address: SIGNER, created_at: 1 },
  })
  await store.close()
}

async function doctor(genesis = cluster.genesisHash, url = cluster.url) {
  const file = join(dir, 'backend.yaml')
  const place = `rpc_urls: ['${url}'], genesis_hash: ${genesis}`
  const text = `chains: { solana-testnet: { ${place}, signer: { keypair_file: none.json } } }\n`
  await writeFile(file, text, { mode: 0o600 })
  const argv = ['doctor', '--json', '--config', file, '--data-dir', join(dir, 'data')]
  const findings = JSON.parse((await cli(argv, { env })).stdout) as Finding[]
  return (check: string) => findings.filter((finding) => finding.check === check)
}

test('checks each node and the funds of the signer of a cluster, without opening a key', async () => {
  await setUp()
  await cluster.fund(SIGNER, 10_000_000_000n)
  const of = await doctor()
  expect(of('solana-testnet node')).toMatchObject([
    { status: 'ok', message: expect.stringMatching(/^127\.0\.0\.1:\d+ responds in \d+ ms, cluster .+, block \d+$/) },
  ])
  expect(of('solana-testnet signer')).toMatchObject([
    { status: 'ok', message: expect.stringMatching(new RegExp(`^${SIGNER} has 10 SOL, enough for \\d{3,} NFTs$`)) },
  ])
  await cluster.fund(SIGNER, 1000n)
  expect((await doctor())('solana-testnet signer')).toMatchObject([
    {
      status: 'fail',
      message: expect.stringMatching(/ has 0\.000001 SOL on solana-testnet and needs [0-9.]+: send [0-9.]+ SOL$/),
    },
  ])
})

test('reports a node of another cluster, and a cluster that was not set up', async () => {
  const other = await doctor(OTHER_GENESIS)
  expect(other('solana-testnet node')).toMatchObject([{ status: 'fail' }])
  await (await openStore(join(dir, 'data', 'gdn.db'))).close()
  expect((await doctor())('solana-testnet signer')).toMatchObject([
    { status: 'fail', fix: expect.stringContaining('gdn chain setup solana-testnet') },
  ])
})

test('accepts several nodes behind one URL at different blocks', async () => {
  let slot = 1000
  const balancer = await startRpcProxy(cluster.url, {
    batches: false,
    answer: ({ method }) =>
      method === 'getEpochInfo' ? { result: { absoluteSlot: slot--, blockHeight: slot } } : undefined,
  })
  try {
    expect((await doctor(cluster.genesisHash, balancer.url))('solana-testnet node')).toMatchObject([{ status: 'ok' }])
  } finally {
    await balancer.close()
  }
})
