import { encodeFunctionResult, zeroAddress } from 'viem'
import type { EvmBlockchain } from '../../src/api/blockchains.ts'
import { gdnCollection } from '../../src/server/chain/evm/contracts/generated/artifacts.ts'
import type { GetSigningTerms } from '../../src/server/chain/evm/evm-signer.ts'
import type { PublicNetwork } from '../../src/server/chain/evm/network.ts'
import type { RemoteChains } from '../../src/server/chain/evm/remote/remote-chains.ts'
import type { RemoteNetwork } from '../../src/server/chain/evm/remote/remote-network.ts'
import type { ChainDriver } from '../../src/server/pipeline/driver.ts'
import { createEvmDriver, type EvmDriverOptions } from '../../src/server/pipeline/evm/driver.ts'
import type { Store } from '../../src/server/store/open-store.ts'
import { SILENT_LOG } from './silent-log.ts'

const RIGHTS = { enableApi: true, enableTransfer: true, revoked: false, locked: false }
const WITHOUT_TOKENS = encodeFunctionResult({
  ...{ abi: gdnCollection.abi, functionName: 'state' },
  result: { owner: zeroAddress, ...RIGHTS, nextTokenId: 1n, maxSupply: 0n },
})

const absent = () => Promise.reject(new Error('the chain is not there'))
const unused = undefined as never

export interface EvmDriverFacts {
  blockchain?: EvmBlockchain
  now?: () => number
  /** A public network, whose collections have no tokens yet. */
  publicNetwork?: Pick<PublicNetwork, 'mintsInFlight'>
}

/** The driver of a chain, for tests that only sign. */
export function evmDriver(
  store: Store,
  signing: GetSigningTerms,
  { blockchain = 'polygon', now = Date.now, publicNetwork }: EvmDriverFacts = {},
): ChainDriver {
  const network = { publicNetwork, request: async () => WITHOUT_TOKENS } as unknown as RemoteNetwork
  const has = () => publicNetwork !== undefined
  const remote = { has, network: () => network } as unknown as RemoteChains
  const chains: EvmDriverOptions['chains'] = {
    ...{
      remote,
      signing: () => signing(blockchain),
      network: publicNetwork === undefined ? absent : async () => network,
      findSigner: async () => null,
      serves: () => true,
    },
  }
  const files = { storage: unused, fetcher: unused, files: unused }
  return createEvmDriver({ store, blockchain, chains, now, log: SILENT_LOG, onSigned: () => {}, ...files })
}
