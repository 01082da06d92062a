import type { EvmBlockchain } from '../../src/api/blockchains.ts'
import type { RemoteChains } from '../../src/server/chain/evm/remote/remote-chains.ts'
import type { AskSigning } from '../../src/server/chain/evm/signers.ts'
import type { ChainDriver } from '../../src/server/pipeline/driver.ts'
import { createEvmDriver, type EvmDriverOptions } from '../../src/server/pipeline/evm/driver.ts'
import type { Store } from '../../src/server/store/open-store.ts'

const absent = () => Promise.reject(new Error('the chain is not there'))
const unused = undefined as never

/** The driver of a chain, for tests that only sign. */
export function evmDriver(
  store: Store,
  signing: AskSigning,
  { blockchain = 'polygon', now = Date.now }: { blockchain?: EvmBlockchain; now?: () => number } = {},
): ChainDriver {
  const remote = { has: () => false } as unknown as RemoteChains
  const chains: EvmDriverOptions['chains'] = {
    ...{
      remote,
      signing: () => signing(blockchain),
      network: absent,
      findSigner: async () => null,
      serves: () => true,
    },
  }
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const files = { storage: unused, fetcher: unused, files: unused }
  return createEvmDriver({ store, blockchain, chains, now, log, onSigned: () => {}, ...files })
}
