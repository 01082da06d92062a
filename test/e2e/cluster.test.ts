import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mintAddress } from '../../src/server/chain/solana/mint-address.ts'
import { type ClusterPlace, clusterPlace } from '../helpers/cluster-backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { serve } from '../helpers/served-backend.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../helpers/solana.ts'
import { startCluster, type TestCluster } from '../helpers/solana-cluster.ts'

let cluster: TestCluster
let place: ClusterPlace
let home: string

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gdn-cluster-home-'))
  cluster = await startCluster()
  place = await clusterPlace(cluster)
})
afterAll(async () => {
  await place?.remove()
  await cluster?.close()
  await rm(home, { recursive: true, force: true })
})

test('the installed gdn sets up a Solana cluster, mints on it and inspects it', async () => {
  const bare = gdnAt({ url: 'http://127.0.0.1:1', apiKey: '' }, home)
  const at = ['--data-dir', place.dataDir]
  const planned = await bare.json<{ cost_per_nft: string }>('chain', 'setup', 'solana', '--dry-run', ...at)
  await cluster.fund(place.signer, BigInt(Math.round(20 * Number(planned.cost_per_nft) * 1e9)))
  expect(await bare.json('chain', 'setup', 'solana', ...at)).toMatchObject({ status: 'done', signer: place.signer })

  const backend = await serve(place.dataDir, ['--rate-limits', 'off']).ready
  try {
    const gdn = gdnAt(backend, home)
    const { description, image, wallet_address } = SOLANA_COLLECTION
    const made = await gdn.json<{ contract_address: string; status: string }>(
      ...['collection', 'create', '--name', 'Tide', '-b', 'solana', '--wallet', wallet_address],
      ...['--description', description, '--image', image, '--yes'],
    )
    expect(made.status).toBe('deployed')
    const minted = await gdn.json<{ nft_gdn_id: string; token_id: string; status: string }>(
      ...['nft', 'mint', '-c', made.contract_address, '-b', 'solana', '--receiver', solanaWallet(1)],
      ...['--title', 'Dawn', '--yes'],
    )
    expect(minted).toMatchObject({ status: 'deployed', token_id: mintAddress(place.signer, minted.nft_gdn_id) })
    expect(await cluster.account(minted.token_id)).not.toBeNull()
    const [status] = await bare.json<{ problem: null; nfts_left: number }[]>('chain', 'status', 'solana', ...at)
    expect(status).toMatchObject({ problem: null })
    expect(status?.nfts_left).toBeLessThan(20)
  } finally {
    await backend.end('SIGTERM')
  }
})
