import { ZERO_ADDRESS } from '../../../api/address.ts'
import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import type { Log } from '../../log.ts'
import { listDeployedCollectionIds } from '../../store/collections.ts'
import { listTokens, setOwner } from '../../store/nfts.ts'
import type { DriverOptions, OwnerFollower } from '../driver.ts'
import { startLoop } from '../loop.ts'

export interface BurnFollowerOptions extends DriverOptions<SolanaBlockchain> {
  solana: Pick<SolanaChains, 'network'>
  log: Log
}

/** Number of tokens that one request reads. */
const TOKENS_PER_REQUEST = 100
/**
 * Delay between two requests, in poll intervals. With this delay, the follower makes only a small share of all
 * requests.
 */
const POLLS_BETWEEN_REQUESTS = 5

/**
 * Finds tokens that their holders burned. It reads the supplies of all tokens in turn, 100 per request. There is no
 * other way to find burns, because the instruction of a burn doesn't refer to an account of the collection.
 */
export function startBurnFollower({ store, blockchain, solana, log }: BurnFollowerOptions): OwnerFollower {
  let pages = readPages()
  let nextAt = 0

  async function* readPages() {
    for (const collectionId of await listDeployedCollectionIds(store.db, blockchain)) {
      for (let after = 0; ; ) {
        const tokens = await listTokens(store.db, collectionId, { after, limit: TOKENS_PER_REQUEST })
        const heldTokens = tokens.filter(({ token_id, owner }) => token_id !== null && owner !== ZERO_ADDRESS)
        if (heldTokens.length > 0) yield heldTokens
        if (tokens.length < TOKENS_PER_REQUEST) break
        after = tokens.at(-1)?.seq ?? after
      }
    }
  }

  const turn = async () => {
    const network = await solana.network(blockchain)
    if (network.supplies === undefined) return null
    if (performance.now() < nextAt) return nextAt - performance.now()
    const { value: tokens = [], done } = await pages.next()
    if (done) pages = readPages()
    if (tokens.length > 0) {
      const supplies = await network.supplies(tokens.map(({ token_id }) => token_id ?? ''))
      const burned = tokens.filter((_, index) => supplies[index] === 0n)
      if (burned.length > 0) {
        await store.transaction(async (db) => {
          for (const { id } of burned) await setOwner(db, id, ZERO_ADDRESS, 0)
        })
        log.info({ blockchain, nfts: burned.length }, 'holders burned NFTs')
      }
    }
    const wait = POLLS_BETWEEN_REQUESTS * (network.pollMs ?? 0)
    nextAt = performance.now() + wait
    return wait
  }

  const loop = startLoop(`burns ${blockchain}`, turn, log)
  return { ...loop, waitUntilCaughtUp: async () => {} }
}
