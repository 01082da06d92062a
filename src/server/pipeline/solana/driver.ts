import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import type { TransactionRow } from '../../store/transactions.ts'
import type { ChainDriver, DriverOptions, Outcome, Verdict } from '../driver.ts'
import type { FileSources } from '../store-files-again.ts'
import { createExplainer } from './explain.ts'
import { observeSolana } from './observe.ts'
import { estimateSolana, MAX_PENDING, signAgain } from './signing.ts'

const CLAIM_SIZE = 200
/** Interval of balance checks for a signer without funds. */
const FUNDS_MS = 3000

export interface SolanaDriverOptions extends FileSources, DriverOptions<SolanaBlockchain> {
  solana: Pick<SolanaChains, 'signer' | 'network' | 'affordable'>
}

/** A Solana chain, embedded or a cluster. */
export function createSolanaDriver(options: SolanaDriverOptions): ChainDriver {
  const { blockchain, solana, log } = options
  const signing = { ...options, preparedAt: new Map<string, number>() }
  return {
    blockchain,
    claimSize: CLAIM_SIZE,
    // Each NFT has its own transaction: a commit for each would be most of the work.
    commitSize: CLAIM_SIZE,
    hasRoom: (_, { count }, more) => count + more <= MAX_PENDING,
    // The funds of the signer are estimated for one.
    collectionsAtOnce: 1,
    estimate: () => estimateSolana(signing),
    explain: createExplainer(options),

    async observe(claimed) {
      const observed = await observeSolana(await solana.network(blockchain), claimed)
      const isPayable = !observed.some(({ state }) => state === 'lost') || (await solana.affordable(blockchain)) >= 1
      if (isPayable) return observed
      // Signing again for a signer without funds would only cost fees.
      log.warn({ blockchain }, 'transactions are signed again once the signer has funds')
      return observed.map((one) => (one.state === 'lost' ? { state: 'signed', waitMs: FUNDS_MS } : one))
    },

    async judge(transaction, { state, seen }) {
      if (state === 'lost') return await signAgain(options, transaction)
      return state === 'final' ? { verdict: 'done' } : failure(transaction, seen)
    },
  }
}

function failure({ kind, hash }: TransactionRow, { error }: Outcome['seen']): Verdict {
  const what = kind === 'mint' ? 'the network rejected the mint' : 'the collection could not be deployed'
  return { verdict: 'failed', error: `${what}: its transaction ${hash} failed (${error})` }
}
