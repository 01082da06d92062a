import { generateKeyPairSync } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { base58btc } from 'multiformats/bases/base58'
import type { BackendOptions } from '../../src/server/main.ts'
import { setUpCluster, withCluster } from '../../src/server/setup/cluster.ts'
import { startTestBackend, type TestBackend } from './backend.ts'
import type { TestCluster } from './solana-cluster.ts'
import { chainPlaceOf, forgetDatabaseOf } from './test-database.ts'

export interface ClusterPlace {
  dataDir: string
  /** Address of the signer. */
  signer: string
  /** Writes the solana part of backend.yaml in addition to the defaults of these tests. */
  write(chain?: { urls?: readonly string[]; more?: Readonly<Record<string, unknown>> }): Promise<void>
  setUp(): Promise<void>
  start(options?: Partial<BackendOptions>): Promise<TestBackend>
  remove(): Promise<void>
}

/** A keypair in the format of solana-keygen. */
export function newKeypair(): { bytes: number[]; address: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32)
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return { bytes: [...seed, ...key], address: base58btc.baseEncode(key) }
}

/** A data dir whose solana is a cluster by RPC URL, before its setup. */
export async function clusterPlace(cluster: TestCluster): Promise<ClusterPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'gdn-cluster-'))
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  const { bytes, address } = newKeypair()
  await writeFile(join(dataDir, 'signer.json'), JSON.stringify(bytes), { mode: 0o600 })
  const write: ClusterPlace['write'] = async ({ urls = [cluster.url], more = {} } = {}) => {
    const solana = {
      rpc_urls: urls,
      genesis_hash: cluster.genesisHash,
      poll_seconds: 0.1,
      signer: { keypair_file: 'signer.json' },
      ...more,
    }
    const path = join(dataDir, 'backend.yaml')
    await writeFile(path, JSON.stringify({ chains: { solana } }), { mode: 0o600 })
    await chmod(path, 0o600)
  }
  await write()
  return {
    dataDir,
    signer: address,
    write,
    async setUp() {
      const place = await chainPlaceOf(dataDir)
      await withCluster(place, 'solana', (opened) => setUpCluster(opened, Date.now()))
    },
    start: (options = {}) => startTestBackend(dataDir, options),
    async remove() {
      forgetDatabaseOf(dataDir)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
