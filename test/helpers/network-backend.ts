import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EncodeFunctionDataParameters, encodeFunctionData, type PrivateKeyAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSigner } from '../../src/server/chain/evm/create-signer.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import type { BackendOptions } from '../../src/server/main.ts'
import { planSetup } from '../../src/server/setup/plan.ts'
import { runSetup } from '../../src/server/setup/run.ts'
import { withChain } from '../../src/server/setup/with-chain.ts'
import { startTestBackend, type TestBackend } from './backend.ts'
import { writeKeystore, writePassword } from './keystore-file.ts'
import type { PublicNetwork } from './public-network.ts'
import { COLLECTION_ABI, type OwnersCall } from './rpc-wallets.ts'
import { SILENT_LOG } from './silent-log.ts'
import { chainPlaceOf, forgetDatabaseOf } from './test-database.ts'

/** A data dir whose polygon is a network by RPC URL after its setup, with funded signers. */
export interface NetworkPlace {
  dataDir: string
  /** The first signer. */
  operator: Hex
  /** Writes the polygon part of backend.yaml in addition to the defaults of these tests. */
  write(chain: { urls: readonly string[]; more?: Readonly<Record<string, unknown>> }): Promise<void>
  start(options?: Partial<BackendOptions>): Promise<TestBackend>
  remove(): Promise<void>
}

const RICH = `0x${(10n ** 21n).toString(16)}`

export const fund = (real: PublicNetwork, address: string) => real.call('anvil_setBalance', [address, RICH])

/**
 * Sets polygon up on a network with 2 blocks of confirmations and 6 blocks until finality.
 *
 * @param options.remote operators in place of keystores
 * @param options.signers number of operators with keystores
 */
export async function setUpNetwork(
  real: PublicNetwork,
  { remote = [], signers = 1 }: { remote?: readonly { remote_signer: string; address: Hex }[]; signers?: number } = {},
): Promise<NetworkPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'gdn-setup-'))
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  const admin = createSigner(generatePrivateKey())
  const keys = Array.from({ length: signers }, () => generatePrivateKey())
  const addresses = keys.map((key) => privateKeyToAccount(key).address)
  for (const address of [admin.address, ...addresses, ...remote.map((one) => one.address)]) await fund(real, address)
  for (const [index, key] of keys.entries()) await writeKeystore(join(dataDir, `operator${index}.json`), key)
  await writePassword(join(dataDir, 'password'))

  const write: NetworkPlace['write'] = async ({ urls, more = {} }) => {
    const chain = {
      rpc_urls: urls,
      confirmations: 2,
      finality: 6,
      poll_seconds: 0.1,
      operators:
        remote.length > 0
          ? remote
          : keys.map((_, index) => ({ keystore: `operator${index}.json`, password_file: 'password' })),
      ...more,
    }
    // JSON is valid YAML.
    await writeFile(join(dataDir, 'backend.yaml'), JSON.stringify({ chains: { polygon: chain } }), { mode: 0o600 })
  }
  await write({ urls: [real.url] })
  const stopMining = real.mineEvery(30)
  try {
    const place = await chainPlaceOf(dataDir)
    await withChain(place, 'polygon', async ({ store, network, operators: opened }) => {
      const operators = opened.map(({ address }) => address)
      const plan = await planSetup({ store, network, admin: admin.address, operators })
      const { signal } = new AbortController()
      const waiting = { now: Date.now, log: SILENT_LOG, signal, report() {} }
      await runSetup({ store, network, admin, operators, plan, ...waiting })
    })
  } finally {
    await stopMining()
  }
  return {
    dataDir,
    operator: addresses[0] as Hex,
    write,
    start: (options = {}) => startTestBackend(dataDir, options),
    async remove() {
      forgetDatabaseOf(dataDir)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Sends a wallet's own transaction on a network. Resolves when it is in the pool. */
export async function sendByWallet(
  real: PublicNetwork,
  account: PrivateKeyAccount,
  address: string,
  call: OwnersCall,
): Promise<Hex> {
  await fund(real, account.address)
  const nonce = Number(await real.call<Hex>('eth_getTransactionCount', [account.address, 'pending']))
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: 137,
    nonce,
    to: address as Hex,
    data: encodeFunctionData({ abi: COLLECTION_ABI, ...call } as EncodeFunctionDataParameters),
    gas: 300_000n,
    maxFeePerGas: 100_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  })
  return await real.call<Hex>('eth_sendRawTransaction', [raw])
}
