import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { createRemoteNetwork, type RemoteNetwork } from '../chain/evm/remote/remote-network.ts'
import type { Signer } from '../chain/signers.ts'
import { openDataDir } from '../data-dir/open.ts'
import { openSigners } from '../settings/open-signer.ts'
import { type ChainSettings, loadSettings, settingsPath } from '../settings/settings.ts'
import { openStore, type Store } from '../store/open-store.ts'

export interface ChainPlace {
  dataDir: string
  settingsFile: string | undefined
  credentialsDirectory: string | undefined
}

export interface OpenedChain {
  store: Store
  settings: ChainSettings
  network: RemoteNetwork
  operators: readonly Signer[]
}

/**
 * Works on a network of the settings and the database of a data dir, beside its running backend or before its first
 * start.
 *
 * @throws GdnError `invalid_config` where the settings don't name the blockchain; what opening keystores throws
 */
export async function withChain<Result>(
  place: ChainPlace,
  blockchain: EvmBlockchain,
  work: (chain: OpenedChain) => Promise<Result>,
): Promise<Result> {
  const { dataDir, settingsFile } = place
  const settings = (await loadSettings(dataDir, settingsFile)).get(blockchain)
  if (settings === undefined) {
    throw new GdnError('invalid_config', `${blockchain} has no RPC URL in the settings`, {
      place: { file: settingsPath(dataDir, settingsFile) },
      hint: `write chains: ${blockchain}: with rpc_urls and operators there, or name another file with --config`,
    })
  }
  const operators = await openSigners(settings.operators, place.credentialsDirectory)
  const store = await openBeside(dataDir)
  const network = createRemoteNetwork({ ...settings, urls: settings.rpcUrls })
  try {
    return await work({ store, settings, network, operators })
  } finally {
    await network.close()
    await store.close()
  }
}

/** Without a database, one is made, as the first start of the backend would. */
async function openBeside(dataDir: string): Promise<Store> {
  const path = join(dataDir, 'gdn.db')
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  if (isThere) return await openStore(path, { beside: true })
  const lock = await openDataDir(dataDir)
  try {
    return await openStore(path)
  } finally {
    await lock.release()
  }
}
