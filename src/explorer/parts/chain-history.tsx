import type { ExplorerEvent, Transaction } from '../../server/explorer/types.ts'
import { count, groupDigits } from '../format.ts'
import { StatusBadge } from './status.tsx'
import { Ago, ExternalLink, Gas, Id, Owner } from './text.tsx'

const KIND_LABELS: Readonly<Record<string, string>> = {
  mint: 'Mint',
  grant: 'Mint and transfer',
  transfer: 'Transfer',
  update: 'Update',
  freeze: 'Freeze',
  burn: 'Burn',
  collection: 'New collection',
  make: 'New collection',
}
const kindText = (kind: string) => (Object.hasOwn(KIND_LABELS, kind) ? KIND_LABELS[kind] : kind)

export function Transactions({ transactions }: { transactions: readonly Transaction[] }) {
  if (transactions.length === 0) return <p class="faint">None.</p>
  return (
    <ul class="rows">
      {transactions.map((transaction) => (
        <li key={transaction.transaction_hash} class="row">
          <div class="row-main">
            <b>{kindText(transaction.kind)}</b>
            <span class="chip">{transaction.state}</span>
            {transaction.token_count > 1 && <span class="faint">{count(transaction.token_count, 'NFT')} together</span>}
          </div>
          <div class="row-id">
            <Id text={transaction.transaction_hash} what="transaction hash" />
            <ExternalLink href={transaction.explorer_url}>View on block explorer</ExternalLink>
          </div>
          <div class="row-more faint">
            {transaction.block_number !== null && <span>Block {groupDigits(transaction.block_number)}</span>}
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

/** The events of an NFT, newest first. */
export function History({ events }: { events: readonly ExplorerEvent[] }) {
  return (
    <ol class="timeline">
      {events.map((event) => (
        <li
          key={`${event.kind} ${event.transaction_hash} ${event.block_number} ${event.to} ${event.time}`}
          class={event.status}
        >
          <div class="row-main">
            <EventDescription event={event} />
            {event.status !== 'deployed' && <StatusBadge status={event.status} />}
          </div>
          {event.kind === 'transfer' && event.from !== null && (
            <div class="row-more faint">
              <span>from</span> <Owner address={event.from} />
            </div>
          )}
          {/* The page shows the error of the mint elsewhere. */}
          {event.error !== null && event.kind !== 'mint' && <p class="reason">{event.error}</p>}
          {event.changes !== null && event.changes.length > 0 && <Changes event={event} />}
          <div class="row-more faint">
            {event.block_number !== null && <span>Block {groupDigits(event.block_number)}</span>}
            {event.transaction_hash !== null && <Id text={event.transaction_hash} what="transaction hash" />}
            <ExternalLink href={event.explorer_url}>View on block explorer</ExternalLink>
            {event.time !== null && <Ago time={event.time} />}
          </div>
        </li>
      ))}
    </ol>
  )
}

function EventDescription({ event: { kind, from, to } }: { event: ExplorerEvent }) {
  switch (kind) {
    case 'mint':
      return (
        <>
          <b>Minted to</b> {to !== null && <Owner address={to} />}
        </>
      )
    case 'transfer':
      return (
        <>
          <b>Transferred to</b> {to !== null && <Owner address={to} />}
        </>
      )
    case 'update':
      return <b>Metadata updated</b>
    case 'freeze':
      return <b>Metadata frozen</b>
    case 'burn':
      return (
        <>
          <b>Burned, last owned by</b> {from !== null && <Owner address={from} />}
        </>
      )
  }
}

const ChangeValue = ({ text }: { text: string | null }) =>
  text === null ? <span class="faint">none</span> : text === '' ? <span class="faint">empty</span> : <bdi>{text}</bdi>

function Changes({ event: { changes, changes_left_out: leftOut } }: { event: ExplorerEvent }) {
  return (
    <dl class="changes">
      {changes?.map(({ field, before, after }) => (
        <div key={field}>
          <dt>
            <bdi>{field}</bdi>
          </dt>
          <dd>
            <span class="visually-hidden">before: </span>
            <del>
              <ChangeValue text={before} />
            </del>
            <span class="visually-hidden">after: </span>
            <ins>
              <ChangeValue text={after} />
            </ins>
          </dd>
        </div>
      ))}
      {leftOut > 0 && <div class="faint">and {count(leftOut, 'more change')}</div>}
    </dl>
  )
}
