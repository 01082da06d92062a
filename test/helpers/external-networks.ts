import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { EvmBlockchain } from '../../src/api/blockchains.ts'
import { gdnAt } from './gdn-at.ts'
import { writeKeystore, writePassword } from './keystore-file.ts'
import { type NetworkConditions, startNetworkConditions } from './network-conditions.ts'
import { type PublicEndpoint, startPublicEndpoint } from './public-endpoint.ts'
import { type PublicNetwork, startPublicNetwork } from './public-network.ts'

export interface ExternalNetwork {
  blockchain: EvmBlockchain
  chainId: number
  network: PublicNetwork
  endpoint: PublicEndpoint
  conditions: NetworkConditions
  admin: `0x${string}`
  operators: readonly `0x${string}`[]
  /** Stops mining until `resume`. */
  halt(): Promise<void>
  resume(): Promise<void>
  fund(account: string, coins: number): Promise<void>
  close(): Promise<void>
}

export interface ExternalNetworks {
  folder: string
  dataDir: string
  modern: ExternalNetwork
  legacy: ExternalNetwork
  /** Writes the configuration of the backend, which reaches both networks by their endpoints. */
  settings(of: {
    stuckSeconds: number
    /** Maximum number of signers for each network. */
    signers?: number
  }): Promise<void>
  /** gdn without a backend, for commands that work on the data dir. */
  bare: ReturnType<typeof gdnAt>
  setup(of: ExternalNetwork, ...flags: string[]): string[]
  close(): Promise<void>
}

export const CONFIRMATIONS = 2

/** Represents the successor of a retired testnet, which has a different chain ID. */
const MODERN = { blockchain: 'polygon-mumbai', chainId: 31980, operators: 2 } as const
const LEGACY = { blockchain: 'fantom', chainId: 31981, operators: 2 } as const

/** Two independent networks, one as before EIP-1559, and the data dir of a backend for both. */
export async function startExternalNetworks(options: {
  blockSeconds: number
  random: () => number
}): Promise<ExternalNetworks> {
  const { blockSeconds, random } = options
  const folder = await mkdtemp(join(tmpdir(), 'gdn-external-'))
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  for (const at of [folder, dataDir]) await writePassword(join(at, 'password'))

  const start = async (of: typeof MODERN | typeof LEGACY): Promise<ExternalNetwork> => {
    const isLegacy = of === LEGACY
    const { blockchain, chainId } = of
    const fork = isLegacy ? ['--hardfork', 'berlin'] : []
    // The interval has a resolution of whole seconds, so faster networks are mined explicitly.
    const isQuick = blockSeconds < 1
    const own = { chainId, ...(isQuick ? {} : { blockSeconds }) }
    const network = await startPublicNetwork(['--gas-limit', '30000000', ...fork], own)
    let isHalted = false
    const mining = setInterval(() => {
      if (isQuick && !isHalted) network.mine().catch(() => {})
    }, blockSeconds * 1000)
    const endpoint = await startPublicEndpoint(network.url, isLegacy ? { batchLimit: 2, internalErrors: true } : {})
    const blockMs = blockSeconds * 1000
    const conditions = startNetworkConditions({ network, endpoint, blockMs, random, legacy: isLegacy })
    const admin = generatePrivateKey()
    const keys = Array.from({ length: of.operators }, () => generatePrivateKey())
    await writeKeystore(join(folder, `${blockchain}-admin.json`), admin)
    for (const [index, key] of keys.entries()) await writeKeystore(join(dataDir, `${blockchain}-${index}.json`), key)
    return {
      ...{ blockchain, chainId, network, endpoint, conditions },
      admin: privateKeyToAccount(admin).address,
      operators: keys.map((key) => privateKeyToAccount(key).address),
      async halt() {
        isHalted = true
        if (!isQuick) await network.call('evm_setIntervalMining', [0])
      },
      async resume() {
        isHalted = false
        if (!isQuick) await network.call('evm_setIntervalMining', [blockSeconds])
      },
      async close() {
        clearInterval(mining)
        await conditions.stop().catch(() => {})
        await endpoint.close()
        await network.close()
      },
      fund: (account, coins) =>
        network.call('anvil_setBalance', [account, `0x${BigInt(Math.round(coins * 1e18)).toString(16)}`]),
    }
  }
  const modern = await start(MODERN)
  const legacy = await start(LEGACY)

  const chain = ({ blockchain, chainId, endpoint, operators }: ExternalNetwork, stuckSeconds: number, most: number) => `
  ${blockchain}:
    rpc_urls: ['http://127.0.0.1:1', '${endpoint.url}']
    chain_id: ${chainId}
    test_network: true
    confirmations: ${CONFIRMATIONS}
    finality: 5
    poll_seconds: ${blockSeconds / 4}
    stuck_seconds: ${stuckSeconds}
    operators:
${operators
  .slice(0, most)
  .map((_, index) => `      - { keystore: ${blockchain}-${index}.json, password_file: password }`)
  .join('\n')}`

  return {
    ...{ folder, dataDir, modern, legacy },
    async settings({ stuckSeconds, signers = 2 }) {
      const text = `chains:${[modern, legacy].map((of) => chain(of, stuckSeconds, signers)).join('')}\n`
      await writeFile(join(dataDir, 'backend.yaml'), text, { mode: 0o600 })
    },
    bare: gdnAt({ url: 'http://127.0.0.1:1', apiKey: '' }, folder),
    setup: ({ blockchain }, ...flags) => [
      ...['chain', 'setup', blockchain, '--data-dir', dataDir, '--password-file', join(folder, 'password')],
      ...['--admin-keystore', join(folder, `${blockchain}-admin.json`), ...flags],
    ],
    async close() {
      await Promise.all([modern.close(), legacy.close()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
