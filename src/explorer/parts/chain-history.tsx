import type { OwnerChange, Transaction } from '../../server/explorer/types.ts'
import { count, counted } from '../format.ts'
import { Ago, Gas, Id, Outside, Owner } from './text.tsx'

const KINDS: Readonly<Record<string, string>> = {
  mint: 'Mint',
  transfer: 'Transfer',
  collection: 'New collection',
  make: 'New collection',
}
const named = (kind: string) => (Object.hasOwn(KINDS, kind) ? KINDS[kind] : kind)

export function Transactions({ transactions }: { transactions: readonly Transaction[] }) {
  if (transactions.length === 0) return <p class="faint">None.</p>
  return (
    <ul class="rows">
      {transactions.map((transaction) => (
        <li key={transaction.transaction_hash} class="row">
          <div class="row-main">
            <b>{named(transaction.kind)}</b>
            <span class="chip">{transaction.state}</span>
            {transaction.token_count > 1 && (
              <span class="faint">{counted(transaction.token_count, 'NFT')} together</span>
            )}
          </div>
          <div class="row-id">
            <Id text={transaction.transaction_hash} what="transaction hash" />
            <Outside href={transaction.explorer_url}>View on block explorer</Outside>
          </div>
          <div class="row-more faint">
            {transaction.block_number !== null && <span>Block {count(transaction.block_number)}</span>}
            {transaction.gas_used !== null && (
              <span>
                <Gas amount={transaction.gas_used} /> gas
              </span>
            )}
            <Ago time={transaction.created_at} />
          </div>
        </li>
      ))}
    </ul>
  )
}

export function OwnerHistory({ owners }: { owners: readonly OwnerChange[] }) {
  return (
    <ol class="timeline">
      {owners.map((change) => (
        <li key={`${change.transaction_hash} ${change.block_number} ${change.to}`}>
          <div class="row-main">
            <b>{change.from === null ? 'Minted to' : 'Transferred to'}</b>
            <Owner address={change.to} />
          </div>
          {change.from !== null && (
            <div class="row-more faint">
              <span>from</span> <Owner address={change.from} />
            </div>
          )}
          <div class="row-more faint">
            {change.block_number !== null && <span>Block {count(change.block_number)}</span>}
            {change.transaction_hash !== null && <Id text={change.transaction_hash} what="transaction hash" />}
            <Outside href={change.explorer_url}>View on block explorer</Outside>
          </div>
        </li>
      ))}
    </ol>
  )
}
