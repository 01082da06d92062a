import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import type { Store } from '../../store/open-store.ts'
import { countUnfinished } from '../../store/transactions.ts'

interface Purse {
  store: Pick<Store, 'db'>
  solana: Pick<SolanaChains, 'affordable'>
  blockchain: SolanaBlockchain
}

/**
 * Tokens that may be signed for: what the signer can pay for, without those that wait to be executed. 0 while some of
 * these do.
 *
 * @throws GdnError `unreachable` where the funds are at their end; what is accepted waits until they return
 */
export async function payableTokens({ store, solana, blockchain }: Purse): Promise<number> {
  // Counted before the balance is asked for: what is executed in between counts twice, and never not at all.
  const unfinished = await countUnfinished(store.db, { blockchain })
  const affordable = await solana.affordable(blockchain)
  if (affordable < 1 && unfinished === 0) {
    throw new GdnError('unreachable', `the signer of ${blockchain} has not enough funds to pay for a token`, {
      hint: 'send it funds: what waits goes on by itself',
    })
  }
  return Math.max(0, affordable - unfinished)
}

export async function requireFunds(purse: Purse): Promise<void> {
  if ((await payableTokens(purse)) > 0) return
  throw new GdnError('unreachable', `the funds of the signer of ${purse.blockchain} are needed for what is under way`)
}
