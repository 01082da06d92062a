import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import { isTransfer, isUpdate, type TransactionRow } from '../../store/transactions.ts'
import type { ChainDriver, DriverOptions, OnSigned, OutcomeVerdict, TransactionOutcome } from '../driver.ts'
import type { FileSources } from '../store-files-again.ts'
import { startBurnFollower } from './burn-follower.ts'
import { createBurnStep } from './burn-step.ts'
import { observeSolana } from './observe.ts'
import { createSolanaMintRecovery } from './recover-mint.ts'
import { MAX_PENDING_PER_COLLECTION, openSolanaPreparer, signAgain } from './transaction-preparer.ts'
import { createSolanaUpdateStep } from './update-step.ts'

const CLAIM_SIZE = 200
/** Interval in milliseconds of balance checks for a signer without funds. */
const FUNDS_RETRY_MS = 3000

export interface SolanaDriverOptions extends FileSources, DriverOptions<SolanaBlockchain> {
  solana: Pick<SolanaChains, 'signer' | 'network' | 'affordable'>
  onSigned: OnSigned
}

/** Creates the driver of a Solana chain, either embedded or a cluster. */
export function createSolanaDriver(options: SolanaDriverOptions): ChainDriver {
  const { blockchain, solana, log } = options
  const preparerOptions = { ...options, preparedAt: new Map<string, number>() }
  return {
    blockchain,
    claimSize: CLAIM_SIZE,
    // Settle many transactions per commit. Each NFT has a separate transaction, so separate commits would take most of
    // the time.
    commitSize: CLAIM_SIZE,
    canSignMore: (_, { count }, more) => count + more <= MAX_PENDING_PER_COLLECTION,
    // Sign for one collection at a time. Otherwise, each collection would assume that it can spend all funds of the
    // signer.
    maxConcurrentCollections: 1,
    commit: (work) => options.store.transaction(work),
    openPreparer: () => openSolanaPreparer(preparerOptions),
    recoverMint: createSolanaMintRecovery(options),
    signUpdates: createSolanaUpdateStep(options),
    signTransfers: createBurnStep(options),
    startFollower: () => startBurnFollower(options),

    async observe(claimed) {
      const observed = await observeSolana(await solana.network(blockchain), claimed)
      const isPayable = !observed.some(({ state }) => state === 'lost') || (await solana.affordable(blockchain)) >= 1
      if (isPayable) return observed
      // Don't sign again while the signer has no funds.
      log.warn({ blockchain }, 'transactions will be signed again once the signer has funds')
      return observed.map((outcome) =>
        outcome.state === 'lost' ? { state: 'signed', waitMs: FUNDS_RETRY_MS } : outcome,
      )
    },

    async judge(transaction, { state, seen }) {
      // The step that signed the change signs it again, depending on the token's state at that time.
      if (state === 'lost' && (isUpdate(transaction) || isTransfer(transaction))) return { kind: 'again' }
      if (state === 'lost') return await signAgain(options, transaction)
      return state === 'final' ? { kind: 'done' } : toFailedVerdict(transaction, seen)
    },
  }
}

/** The error code of Token-2022 for a group that has its maximum size. */
const GROUP_FULL_ERROR_CODE = '3406457177'

function toFailedVerdict({ kind, hash }: TransactionRow, { error }: TransactionOutcome['seen']): OutcomeVerdict {
  const problem = kind === 'collection' ? 'the collection could not be deployed' : `the ${kind} failed on the network`
  const why = error?.includes(GROUP_FULL_ERROR_CODE) ? 'the collection already has its maximum supply' : error
  return { kind: 'failed', error: `${problem}: its transaction ${hash} failed (${why})` }
}
