import type { Blockchain } from '../../api/blockchains.ts'
import { limitIn, type RunLimit } from '../../client/run-limit.ts'
import { GdnError } from '../../core/errors.ts'
import { inCoins } from '../../core/units.ts'
import type { AcceptedOperation } from '../../operations/types.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { costsOf } from './run-limit.ts'

/**
 * Sets the limit of an operation that may have been accepted before.
 *
 * @param permit returns the limit that this command was given; may reject it
 * @throws GdnError `max_cost` if it was accepted without a limit, or if its transaction may cost more; what `permit`
 *   throws
 */
export async function limitAccepted(
  { io, signals: { signal } }: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client'>,
  { id, request, accepted }: AcceptedOperation,
  permit: () => Promise<RunLimit | null>,
): Promise<void> {
  const { client } = connection
  await client.learnIdempotency({ signal })
  const costs = client.limitsCosts() === true ? await costsOf(connection, id, signal) : null
  if (costs === null && client.limitsCosts() === true) throw tooLate('without a limit')
  const limit = await permit()
  const wei = limit === null ? null : limitIn(limit)
  if (wei === null || costs === null) return
  const { contract_address = await addressOf(connection, accepted.transaction_gdn_id, signal) } = JSON.parse(
    request.body,
  )
  if (contract_address === null) throw tooLate('and its collection has no address yet')
  const limited = { run: id, contract_address, blockchain: costs.blockchain as Blockchain, max_cost: String(wei) }
  await client.call('setrunmaxcost', limited, { signal })
  const after = (await costsOf(connection, id, signal)) ?? costs
  const amount = (value: bigint) => safe(`${inCoins(value, 'up')} ${after.currency ?? 'coins'}`)
  const { pending_transactions = 0, counted } = after
  const paid = BigInt(after.fee_paid)
  const most = pending_transactions > 0 ? BigInt(counted ?? 0) : paid
  if (most > wei) {
    const what = pending_transactions > 0 ? `is signed for at most ${amount(most)}` : `has paid ${amount(paid)}`
    throw tooLate(`and its transaction ${what}`)
  }
  if (costs.max_cost !== String(wei)) io.note(`The limit of this request is now ${amount(wei)}.`)
}

const tooLate = (why: string) =>
  new GdnError('max_cost', `the request was accepted before, ${why}`, {
    place: { flag: '--max-cost' },
    hint: 'This command sent nothing. Run it without --max-cost to wait for the request.',
  })

/** Returns the address of a collection that a request creates; null if the server doesn't say it. */
async function addressOf(
  { client }: Pick<Connection, 'client'>,
  id: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  if (id === null) return null
  const { collections } = await client.call('getcollections', { transaction_gdn_ids: [id] }, { signal })
  return collections.find((one) => one.transaction_gdn_ids === id)?.contract_address || null
}
