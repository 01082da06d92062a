import { blockchainHint } from '../../api/blockchain-hint.ts'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { hexQuantity } from '../../core/hex-quantity.ts'
import { createSigner } from '../chain/evm/create-signer.ts'
import { randomEvmKey } from '../chain/evm/embedded/embedded-signers.ts'
import { encodeDeployFactory, factoryAddress } from '../chain/evm/factory.ts'
import { sendAs } from '../chain/evm/fork/send-as.ts'
import { type Fork, forkError, forkSettings, startFork } from '../chain/evm/fork/start-fork.ts'
import { deployFactoryGasLimit } from '../chain/evm/gas-limits.ts'
import type { Hex } from '../chain/evm/network.ts'
import { MINTS_IN_FLIGHT } from '../chain/evm/remote/remote-network.ts'
import { createProviders } from '../chain/rpc/providers.ts'
import { type BackendOptions, type StartedBackend, startBackend } from '../main.ts'
import { openDatabase } from '../open-database.ts'
import { findChainId } from '../settings/networks.ts'
import type { ChainSettings } from '../settings/types.ts'
import { recordChain } from '../store/chains.ts'

/** Number of blocks until finality. Blocks of a fork are never reverted. */
const DEPTH = 1
const FEE_CAP_WEI = 10n ** 15n
const SIGNER_BALANCE_WEI = 10n ** 22n

export interface ForkedBackend {
  backend: StartedBackend
  fork: Fork
  close(): Promise<void>
}

export interface ForkTarget {
  blockchain: EvmBlockchain
  /** URL of the network's node. It may contain a provider's key. */
  url: string
}

/**
 * Starts a backend in an empty data directory. Its blockchain is a fork of the public network, with a factory and a
 * funded signer that exist only on the fork.
 *
 * @throws GdnError `usage` if the chain ID isn't known; errors of `startFork` and `startBackend`
 */
export async function startForkedBackend(
  options: BackendOptions,
  { blockchain, url }: ForkTarget,
  signal: AbortSignal,
): Promise<ForkedBackend> {
  const chainId = findChainId(blockchain)
  if (chainId === null) {
    throw new GdnError('usage', `${blockchain} can't be forked, because its chain ID is not known`, {
      hint: blockchainHint(blockchain),
    })
  }
  const folder = `${options.dataDir}-fork`
  const providers = createProviders()
  const fork = await startFork({ blockchain, chainId, urls: [url], providers, folder, depth: DEPTH, signal })
  try {
    const signer = createSigner(randomEvmKey())
    await fork.call('anvil_setBalance', [signer.address, hexQuantity(SIGNER_BALANCE_WEI)])
    const factory = await deployFactory(fork, signer.address)
    const store = await openDatabase(
      { dataDir: options.dataDir, database: undefined, settingsFile: undefined },
      { createIfMissing: true },
    )
    try {
      const chain = { blockchain, network: 'remote', chain_id: chainId, genesis_timestamp: 0 } as const
      await recordChain(store.db, { ...chain, factory_address: factory, created_at: Date.now() })
    } finally {
      await store.close()
    }
    fork.startMining()
    const settings: ChainSettings = {
      blockchain,
      chainId,
      ...forkSettings(fork),
      confirmations: DEPTH,
      finality: DEPTH,
      feeCap: FEE_CAP_WEI,
      mintsInFlight: MINTS_IN_FLIGHT,
      blockExplorerUrl: null,
      isTestNetwork: true,
      operators: [],
    }
    const backend = await startBackend({ ...options, fork: { settings, signers: [signer] } })
    return {
      backend,
      fork,
      async close() {
        await backend.close()
        await fork.close()
      },
    }
  } catch (error) {
    await fork.close()
    throw forkError(blockchain, fork.failureSignal, error)
  }
}

/** Deploys a factory from an account whose key isn't stored. Returns the factory's checksummed address. */
async function deployFactory(fork: Fork, operator: Hex): Promise<Hex> {
  const admin = createSigner(randomEvmKey()).address
  const call = { data: encodeDeployFactory([operator]), gas: deployFactoryGasLimit([operator]) }
  await sendAs(fork, admin, call)
  return factoryAddress(admin)
}
