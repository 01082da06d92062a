import { sameAddress } from '../api/same-address.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { operate } from '../operations/operate.ts'
import type { OperateDeps, Wanted } from '../operations/types.ts'
import { openState, type State } from '../state/open-state.ts'
import { readOperation, releaseOperation } from '../state/operations.ts'
import { endRun } from '../state/runs.ts'
import { moveOperation } from '../state/transitions.ts'
import type { PlannedChange } from './make-plan.ts'

type Target = Pick<Wanted, 'origin' | 'backend'> & {
  blockchain: NonNullable<Wanted['blockchain']>
  contract: string
  stateDir: string
  /** Limit of the wait after the last acceptance, in milliseconds. */
  timeoutMs: number
}

type ApplyDeps = Pick<OperateDeps, 'client' | 'now' | 'sleep' | 'signal'> & {
  onProgress(outcomes: Outcomes): void
}

/** A change that did not take effect. */
export interface Problem {
  key: string
  line: number
  reason: string
}

/** Transfers by their outcome. */
export interface Outcomes {
  transferred: number
  pending: number
  failed: Problem[]
  unknown: Problem[]
}

interface Waiting {
  change: PlannedChange
  operationId: string
  transactionId: string | null
}

/** Transfers in flight. The client limits the rate. */
const IN_FLIGHT = 8
const PER_CALL = 1_000
const LOOK_MS = 1_000

/**
 * Sends the transfers of a plan, each at most once, and waits for their outcome. The ID of an operation is the reference
 * ID of its change. So after a kill the same transfer is resumed, and the server has one transfer for all machines. The
 * sender is the owner in the plan: the server rejects the transfer of an NFT that has another one.
 *
 * @throws GdnError where nothing more can be sent: the server is unreachable, or another process applies the same change
 */
export async function applyTransfers(
  target: Target,
  deps: ApplyDeps,
  changes: AsyncIterable<PlannedChange>,
): Promise<Outcomes> {
  const outcomes: Outcomes = { transferred: 0, pending: 0, failed: [], unknown: [] }
  const state = await openState(target.stateDir, { signal: deps.signal })
  try {
    const waiting: Waiting[] = []
    const iterator = changes[Symbol.asyncIterator]()
    let stopped: unknown = null
    const worker = async () => {
      while (stopped === null) {
        const { value: change, done } = await iterator.next()
        if (done === true) return
        try {
          waiting.push(await transfer(target, deps, state, change))
          outcomes.pending++
        } catch (error) {
          const list = listFor(error, outcomes)
          if (list === null) stopped ??= error
          else list.push({ key: change.key, line: change.line, reason: messageOf(error) })
        }
        deps.onProgress(outcomes)
      }
    }
    const workers = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, worker))
    const broken = workers.find((one) => one.status === 'rejected')
    if (stopped !== null) throw stopped
    if (broken !== undefined) throw broken.reason
    await settle(target, deps, state, waiting, outcomes)
    return outcomes
  } finally {
    state.close()
  }
}

/** Returns where an error of one change belongs; null if it stops the others too. */
function listFor(error: unknown, { failed, unknown }: Outcomes): Problem[] | null {
  if (!(error instanceof GdnError)) return null
  if (error.code === 'refused' || error.code === 'not_found') return failed
  return error.code === 'unknown_outcome' ? unknown : null
}

/** Sends one transfer. Resolves once it is accepted. */
async function transfer(
  { origin, backend, blockchain, contract }: Target,
  { client, now, sleep, signal }: ApplyDeps,
  state: State,
  change: PlannedChange,
): Promise<Waiting> {
  const { nftGdnId, tokenId, reference, fields } = change
  const [{ from: sender, to: receiver } = { from: null, to: null }] = fields
  if (nftGdnId === null || reference === null || sender === null || receiver === null) {
    throw new Error('a transfer without NFT, owner or reference ID was planned')
  }
  const parties = { nft_gdn_id: nftGdnId, sender_wallet_address: sender, receiver_wallet_address: receiver }
  let found: Waiting | null = null
  await operate(
    { state, client, now, sleep, signal, onEvent: () => {}, contested: async () => new Set() },
    {
      endpoint: 'transfernft',
      ...{ origin, backend, blockchain, contract },
      content: { reference_id: reference, ...parties },
      note: 'apply',
      again: false,
      operationId: reference,
      mayForget: false,
      request: async () => ({ contract_address: contract, blockchain, token_id: tokenId, ...parties }),
    },
    async ({ id, accepted }) => {
      found = { change, operationId: id, transactionId: accepted.transaction_gdn_id }
      // It ends when its outcome is known.
      return { ended: false, state: null, problem: null }
    },
  )
  if (found === null) throw new Error('a transfer ended without being accepted')
  return found
}

/** Waits for the outcome of accepted transfers. */
async function settle(
  { timeoutMs }: Target,
  deps: ApplyDeps,
  state: State,
  waiting: readonly Waiting[],
  outcomes: Outcomes,
): Promise<void> {
  const deadline = deps.now() + timeoutMs
  for (let open = [...waiting]; open.length > 0; ) {
    const left: Waiting[] = []
    for (let from = 0; from < open.length; from += PER_CALL) {
      const page = open.slice(from, from + PER_CALL)
      const ends = await endsOf(deps, page)
      for (const one of page) {
        const end = ends.get(one)
        if (end === undefined) {
          left.push(one)
          continue
        }
        await endOperation(state, one.operationId, end === null ? 'deployed' : 'failed', deps.now())
        outcomes.pending--
        if (end === null) outcomes.transferred++
        else outcomes.failed.push({ key: one.change.key, line: one.change.line, reason: end })
      }
      deps.onProgress(outcomes)
    }
    open = left
    if (open.length === 0 || deps.now() > deadline) return
    await deps.sleep(LOOK_MS, deps.signal)
  }
}

/** Returns the transfers that have ended, with the reason of a failure. */
async function endsOf({ client, signal }: ApplyDeps, page: readonly Waiting[]): Promise<Map<Waiting, string | null>> {
  const ends = new Map<Waiting, string | null>()
  const ids = page.flatMap(({ transactionId }) => transactionId ?? [])
  // An extension, as reference IDs are.
  if (client.supportsReferences() === true && ids.length > 0) {
    const { transactions } = await client.call('gettransactions', { transaction_gdn_ids: ids }, { signal })
    const failed = new Map(
      transactions.flatMap((one) => (one.status === 'failed' ? [[one.transaction_gdn_id, one]] : [])),
    )
    for (const one of page) {
      const found = failed.get(one.transactionId ?? '')
      if (found !== undefined) ends.set(one, `the transfer failed: ${found.error ?? 'the server returned no reason'}`)
    }
  }
  const nfts = new Map<string, string | null | undefined>()
  const asked = page.flatMap(({ change }) => change.nftGdnId ?? [])
  for (const nft of (await client.call('getnfts', { nft_gdn_ids: asked }, { signal })).nfts) {
    nfts.set(nft.nft_gdn_id, nft.receiver_wallet_address)
  }
  for (const one of page) {
    const owner = nfts.get(one.change.nftGdnId ?? '')
    const sender = one.change.fields[0]?.from ?? ''
    if (!ends.has(one) && typeof owner === 'string' && !sameAddress(owner, sender)) ends.set(one, null)
  }
  return ends
}

async function endOperation(state: State, id: string, end: 'deployed' | 'failed', now: number): Promise<void> {
  await state.write((sql) => {
    const operation = readOperation(sql, id)
    // Another process may have seen it end.
    if (operation.state === 'accepted') moveOperation(sql, id, end)
    releaseOperation(sql, operation, now)
    endRun(sql, operation.runId, now)
  })
}
