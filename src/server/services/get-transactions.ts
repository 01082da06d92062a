import { type Blockchain, chainIdOf, isEvm } from '../../api/blockchains.ts'
import { findCoinSymbol } from '../settings/networks.ts'
import { findOutcomes } from '../store/outcomes.ts'
import { knownHash } from '../store/transactions.ts'
import { findLimitReasons, findPendingReason, findStuckReasons } from './pending-reason.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/**
 * Returns the status of the account's transfers, burns, updates, freezes, commitments and collection creations, in the
 * order of the IDs. Omits unknown IDs.
 */
export async function getTransactions(
  deps: Pick<ServiceDeps, 'store' | 'chains' | 'now'>,
  { accountId, parsed, body }: RequestOf<'gettransactions'>,
) {
  const { store, chains } = deps
  const ids = [...new Set(parsed.transaction_gdn_ids)]
  const byId = new Map((await findOutcomes(store.db, accountId, ids)).map((row) => [row.id, row]))
  const pending = [...byId.values()].filter(({ status }) => status === 'initiated')
  const stuck = await findStuckReasons(deps, pending.flatMap(toSignedTransactions))
  const limits = await findLimitReasons(deps, pending)
  const reasons = new Map<string, string | null>()
  for (const { id, hash, blockchain, transaction_id, request_id } of pending) {
    const limit = transaction_id === null ? limits.get(request_id) : stuck.get(transaction_id)
    reasons.set(id, limit ?? (await findPendingReason(chains, blockchain, hash !== null)))
  }
  return {
    requests: { transaction_gdn_ids: body.transaction_gdn_ids },
    transactions: ids.flatMap((id) => {
      const row = byId.get(id)
      if (row === undefined) return []
      const { status, gas_used, fee_paid, error, blockchain } = row
      const hash = knownHash(row.hash)
      const link = hash === null ? null : chains.transactionUrl(blockchain, hash)
      const page = link === null ? {} : { explorer_url: link }
      const pending_reason = reasons.get(id) ?? undefined
      return [
        {
          transaction_gdn_id: id,
          status,
          transaction_hash: hash,
          gas_used,
          error,
          ...paidFeeFields(chains, blockchain, fee_paid),
          pending_reason,
          ...page,
        },
      ]
    }),
  }
}

/** Returns the transaction that was signed for a request. Returns an empty object if there is none. */
export const toSignedTransactions = ({
  transaction_id: id,
  blockchain,
}: {
  transaction_id: string | null
  blockchain: Blockchain
}) => (id === null ? [] : [{ id, blockchain }])

/** Returns the fields of the fee that a transaction has paid. Returns an empty object if the fee isn't known. */
export function paidFeeFields({ remote }: ServiceDeps['chains'], blockchain: Blockchain, fee_paid: string | null) {
  if (!fee_paid || !isEvm(blockchain)) return {}
  const isRemote = remote.has(blockchain)
  const chainId = isRemote ? remote.network(blockchain).chainId : chainIdOf(blockchain)
  return { fee_paid, currency: chainId === null ? null : findCoinSymbol(chainId), is_simulated: !isRemote }
}
