import type { EvmBlockchain } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import type { Networks } from '../settings/types.ts'
import { listChains } from '../store/chains.ts'
import type { Db } from '../store/schema.ts'
import type { RemoteChains, RemoteChainsOptions } from './remote-chains.ts'

const absent = (blockchain: EvmBlockchain): never => {
  throw new Error(`${blockchain} is not reached by RPC URL`)
}

const NONE: RemoteChains = {
  blockchains: [],
  has: () => false,
  network: absent,
  signing: async (blockchain) => absent(blockchain),
  factory: async (_db, blockchain) => absent(blockchain),
  problem: () => null,
  away: async () => [],
  operators: () => [],
  explorerUrl: () => null,
  close: async () => {},
}

/**
 * The networks of the settings. What reaches them is loaded only where there are some.
 *
 * @throws GdnError `invalid_config` where a blockchain of this database is another network than the settings say
 */
export async function openRemote(options: RemoteChainsOptions): Promise<RemoteChains> {
  await refuseOtherNetworks(options.db, options.settings)
  if (options.settings.size === 0) return NONE
  const { openRemoteChains } = await import('./evm/remote/remote-chains.ts')
  return await openRemoteChains(options)
}

/** What stands in the database belongs to the network that it was made for, and to no other. */
async function refuseOtherNetworks(db: Db, settings: Networks): Promise<void> {
  for (const { blockchain, network, chain_id } of await listChains(db)) {
    const chain = settings.get(blockchain as EvmBlockchain)
    if (network === 'embedded' && chain === undefined) continue
    if (network === 'remote' && chain?.chainId === Number(chain_id)) continue
    const here = network === 'embedded' ? 'an embedded chain' : `the network of chain id ${chain_id}`
    const there = chain === undefined ? 'none is configured' : `chain id ${chain.chainId} is configured`
    throw new GdnError('invalid_config', `${blockchain} of this data is ${here}, and ${there}`, {
      hint: 'use another data dir, or the settings that belong to this one',
    })
  }
}
