import { existsSync } from 'node:fs'
import { type Blockchain, type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { rejectOnAbort } from '../../core/or-aborted.ts'
import { closeSigners, type Signer } from '../chain/evm/evm-signer.ts'
import { openSigners } from '../chain/evm/open-signer.ts'
import { createRemoteNetwork, type RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import { createProviders } from '../chain/rpc/providers.ts'
import { convertRpcErrors } from '../chain/rpc/refusals.ts'
import { databasePath } from '../data-dir/database-path.ts'
import { openDatabase } from '../open-database.ts'
import { type DatabaseLocation, resolveDatabaseSettings } from '../settings/database.ts'
import { loadServerSettings, settingsPath } from '../settings/settings.ts'
import type { ChainSettings } from '../settings/types.ts'
import type { Store } from '../store/open-store.ts'

export interface ChainOptions extends DatabaseLocation {
  credentialsDirectory: string | undefined
  /** Signal that ends the wait for the network and for opening the database. */
  signal: AbortSignal
}

export interface OpenedChain {
  store: Store
  settings: ChainSettings
  network: RemoteNetwork
  operators: readonly Signer[]
  /** The admin, if its key is in a remote signer. */
  admin: Signer | null
}

/** Returns whether the backend of a data directory runs a blockchain as an embedded chain. */
export async function isEmbedded(place: ChainOptions, blockchain: Blockchain): Promise<boolean> {
  const { chains, clusters } = await loadServerSettings(place.dataDir, place.settingsFile)
  if (isEvm(blockchain) ? chains.has(blockchain) : clusters.has(blockchain)) return false
  return (await resolveDatabaseSettings(place)) === null && existsSync(databasePath(place.dataDir))
}

/**
 * Returns the configuration of a network.
 *
 * @throws GdnError `invalid_config`
 */
export async function chainSettings(
  { dataDir, settingsFile }: Pick<ChainOptions, 'dataDir' | 'settingsFile'>,
  blockchain: EvmBlockchain,
): Promise<ChainSettings> {
  const settings = (await loadServerSettings(dataDir, settingsFile)).chains.get(blockchain)
  if (settings !== undefined) return settings
  throw noRpcUrlError({ dataDir, settingsFile }, blockchain, 'operators')
}

/**
 * Returns the error for a blockchain without settings. The settings may be in a directory other than the one that the
 * command uses.
 */
export const noRpcUrlError = (
  { dataDir, settingsFile }: Pick<ChainOptions, 'dataDir' | 'settingsFile'>,
  blockchain: Blockchain,
  keys: 'operators' | 'signer',
): GdnError =>
  new GdnError('invalid_config', `${blockchain} has no RPC URL in the configuration`, {
    place: { file: settingsPath(dataDir, settingsFile) },
    hint: `If the settings are in another directory, specify that directory with --data-dir, or the file with --config.\nOtherwise, add ${blockchain} with rpc_urls and ${keys} below chains.`,
  })

/**
 * Runs `work` with a configured network and the database of a data directory. The backend may be running, stopped, or
 * not started yet.
 *
 * @param options.keys whether to open the keys of the operators and the admin. Default: true.
 * @throws GdnError `invalid_config` if the blockchain isn't configured; any error from opening keystores
 */
export async function withChain<Result>(
  place: ChainOptions,
  blockchain: EvmBlockchain,
  work: (chain: OpenedChain) => Promise<Result>,
  { keys = true } = {},
): Promise<Result> {
  const settings = await chainSettings(place, blockchain)
  const operators = keys ? await openSigners(settings.operators, place.credentialsDirectory) : []
  const [admin = null] = settings.admin && keys ? await openSigners([settings.admin], place.credentialsDirectory) : []
  const { signal } = place
  const store = await rejectOnAbort(openDatabase(place, { createIfMissing: true }), signal)
  const network = createRemoteNetwork({
    ...settings,
    urls: settings.rpcUrls,
    providers: createProviders(settings.requestLimits),
    signal,
  })
  try {
    return await convertRpcErrors(blockchain, () => work({ store, settings, network, operators, admin }))
  } finally {
    await network.close()
    await closeSigners(admin === null ? operators : [...operators, admin])
    await store.close()
  }
}
