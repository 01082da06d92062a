import type { Blockchain } from '../../api/blockchains.ts'
import { readRunCosts } from '../../client/run-costs.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import { GdnError } from '../../core/errors.ts'
import { formatCoins } from '../../core/units.ts'
import type { AcceptedOperation } from '../../operations/types.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { confirmRaise } from './confirm-spending.ts'

interface AcceptedLimitOptions {
  /** Returns the limit of this command; null if the command has none. Throws if the limit isn't acceptable. */
  commandLimit: (() => Promise<RunLimit | null>) | null
  /** Stores the operation's limit in wei, for repetitions of the same command. */
  storeLimit(wei: bigint | null): Promise<void>
  /** Whether to raise a limit without asking for confirmation. */
  yes: boolean | undefined
}

/**
 * Sets the limit of an operation that may already be accepted: the limit of this command, or the stored limit of an
 * earlier attempt. Repeating the request isn't enough, because that doesn't change the limit that the first request
 * set.
 *
 * @throws GdnError `max_cost` if the operation was accepted without a limit, if its collection has no address yet, or
 * if its transaction may cost more; also the errors of `commandLimit`
 */
export async function limitAcceptedOperation(
  deps: Pick<Deps, 'io' | 'signals' | 'sleep'>,
  connection: Pick<Connection, 'client' | 'server'>,
  { id, request, accepted }: AcceptedOperation,
  { commandLimit, storeLimit, yes }: AcceptedLimitOptions,
): Promise<void> {
  const { client } = connection
  const {
    io,
    signals: { signal },
  } = deps
  if (commandLimit === null && request.maxCost === null) return
  await client.learnCapabilities({ signal })
  const isLimiting = client.supports('runCosts') === true
  const costs = isLimiting ? await readRunCosts(connection, id, signal) : null
  // Don't store a limit that comes too late, because every repetition of the command would then fail.
  const refuse = async (why: string): Promise<never> => {
    await storeLimit(null)
    throw alreadyAcceptedError(why)
  }
  if (costs === null && isLimiting) return await refuse('without a limit')
  const wei = commandLimit === null ? request.maxCost : ((await commandLimit())?.maxCost?.wei ?? null)
  if (wei === null || costs === null) return
  // Cast the type, because the response schema accepts any name.
  const blockchain = costs.blockchain as Blockchain
  const before = costs.max_cost === null ? null : BigInt(costs.max_cost)
  // A stored limit can only lower the server's limit, because the user may have set a lower limit elsewhere.
  const changes = before === null || (commandLimit === null ? before > wei : before !== wei)
  if (commandLimit !== null && changes) {
    const raised = { run: id, maxCost: wei, effect: 'The backend can then send the accepted request.' }
    await confirmRaise(deps, yes, blockchain, connection, raised)
  }
  if (commandLimit !== null) await storeLimit(wei)
  if (changes) {
    const { contract_address = await findCollectionAddress(connection, accepted.transaction_gdn_id, signal) } =
      JSON.parse(request.body)
    if (contract_address === null) return await refuse('and its collection has no address yet')
    const limited = { run: id, contract_address, blockchain, max_cost: String(wei) }
    const only_lower = commandLimit === null ? true : undefined
    await client.call('setrunmaxcost', { ...limited, only_lower }, { signal })
  }
  const after = changes ? ((await readRunCosts(connection, id, signal)) ?? costs) : costs
  const amount = (value: bigint) => safe(`${formatCoins(value, 'up')} ${after.currency ?? 'coins'}`)
  const { pending_transactions = 0, counted } = after
  const paid = BigInt(after.fee_paid)
  const committed = pending_transactions > 0 ? BigInt(counted ?? 0) : paid
  if (committed > wei) {
    const costText = pending_transactions > 0 ? `can cost up to ${amount(committed)}` : `has cost ${amount(paid)}`
    return await refuse(`and its transaction ${costText}`)
  }
  if (changes) io.note(`The limit of this request is now ${amount(wei)}.`)
}

const alreadyAcceptedError = (why: string) =>
  new GdnError('max_cost', `the request was already accepted, ${why}`, {
    place: { flag: '--max-cost' },
    hint: 'The request was not repeated. To wait for the request, run the command without --max-cost.',
  })

/** Returns the address of the collection that a request creates; null if the server doesn't report it. */
async function findCollectionAddress(
  { client }: Pick<Connection, 'client'>,
  id: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  if (id === null) return null
  const { collections } = await client.call('getcollections', { transaction_gdn_ids: [id] }, { signal })
  return collections.find((collection) => collection.transaction_gdn_ids === id)?.contract_address || null
}
