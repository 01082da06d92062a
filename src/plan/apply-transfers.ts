import { isSameAddress } from '../api/same-address.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { operate } from '../operations/operate.ts'
import type { OperateDeps, RequestSpec } from '../operations/types.ts'
import { openState, type State } from '../state/open-state.ts'
import { operationState, readOperation, releaseOperation } from '../state/operations.ts'
import { endRun, forgetCommand } from '../state/runs.ts'
import { moveOperation } from '../state/transitions.ts'
import { endedTransactions, findEndedInNfts } from './apply-updates.ts'
import { type AcceptedChange, type ChangeSenderDeps, makeChanges, type Outcomes } from './make-changes.ts'
import type { PlannedChange } from './planned.ts'

type Target = Pick<RequestSpec, 'origin' | 'backend'> & {
  blockchain: NonNullable<RequestSpec['blockchain']>
  contract: string
  stateDir: string
}

type TransferDeps = ChangeSenderDeps & Pick<OperateDeps, 'client'> & { limit?: RunLimit | null }

interface Transfer extends AcceptedChange<PlannedChange> {
  operationId: string
}

/**
 * Sends the transfers of a plan, each at most once, and waits for their outcomes. The reference ID of a change is also
 * the ID of its operation. Therefore, a transfer can be resumed after a kill, and takes effect once even if several
 * machines send it. The sender in the request is the owner from the plan. The server rejects a transfer if the NFT has
 * another owner, or was transferred away and back.
 *
 * @throws GdnError, see `makeChanges`; `run_busy` if another process applies the same change
 */
export async function applyTransfers(
  target: Target,
  deps: TransferDeps,
  changes: AsyncIterable<PlannedChange>,
): Promise<Outcomes> {
  const state = await openState(target.stateDir, { signal: deps.signal })
  try {
    return await makeChanges(
      changes,
      {
        send: (change) => transfer(target, deps, state, change),
        findEnded: (page) => endedTransfers(deps, page),
        onEnd: ({ operationId }, reason) => endOperation(state, operationId, reason === null, deps.now()),
      },
      deps,
    )
  } finally {
    state.close()
  }
}

/** Sends a transfer, and waits until the server has accepted it. */
async function transfer(
  { origin, backend, blockchain, contract }: Target,
  { client, now, sleep, signal, limit = null }: TransferDeps,
  state: State,
  change: PlannedChange,
): Promise<Transfer> {
  const { nftGdnId, tokenId, reference, fields, transfers, receiverName } = change
  const [{ from: sender, to: receiver } = { from: null, to: null }] = fields
  if (nftGdnId === null || reference === null || sender === null || receiver === null) {
    throw new Error('a transfer without an NFT, owner or reference ID was planned')
  }
  const parties = { nft_gdn_id: nftGdnId, sender_wallet_address: sender, receiver_wallet_address: receiver }
  // Delete the record of a transfer that failed. It had no effect, so it can be sent again.
  await state.write((sql) => {
    const earlier = operationState(sql, reference)
    if (earlier?.state === 'failed') forgetCommand(sql, earlier.runId)
  }, signal)
  const { id, accepted } = await operate(
    { state, client, now, sleep, signal, onEvent: () => {} },
    {
      endpoint: 'transfernft',
      origin,
      backend,
      blockchain,
      contract,
      content: { reference_id: reference, ...parties },
      note: 'apply',
      again: false,
      operationId: reference,
      mayForget: false,
      permit: async () => limit,
      request: async () => ({
        contract_address: contract,
        blockchain,
        token_id: tokenId,
        ...parties,
        ...(transfers === null ? {} : { replaces_transfers: transfers }),
        ...(receiverName !== undefined && client.supports('names') === true ? { receiver_name: receiverName } : {}),
      }),
    },
    // Keep the operation open until its outcome is known. `endOperation` then ends it.
    async () => ({ ended: false, state: null, problem: null }),
  )
  return { change, operationId: id, transactionId: accepted.transaction_gdn_id }
}

/** Returns the transfers that have ended, each with the reason for its failure, or null if it succeeded. */
async function endedTransfers(deps: TransferDeps, page: readonly Transfer[]): Promise<Map<Transfer, string | null>> {
  // Servers that support reference IDs also return transactions.
  const isFollowed = deps.client.supports('references') === true
  const ends = isFollowed ? await endedTransactions(deps, page, 'the transfer') : new Map<Transfer, string | null>()
  return await findEndedInNfts(deps, page, ends, ({ receiver_wallet_address: owner }, { change }, failure) => {
    const sender = change.fields[0]?.from ?? ''
    return failure === null && typeof owner === 'string' && !isSameAddress(owner, sender)
  })
}

/**
 * Records the outcome of a transfer. A failed transfer had no effect, so its record is deleted to free the reference ID
 * for another attempt.
 */
async function endOperation(state: State, id: string, isDeployed: boolean, now: number): Promise<void> {
  await state.write((sql) => {
    // Another process may have recorded the outcome already.
    if (operationState(sql, id) === undefined) return
    const operation = readOperation(sql, id)
    if (!isDeployed) return forgetCommand(sql, operation.runId)
    if (operation.state === 'accepted') moveOperation(sql, id, 'deployed')
    releaseOperation(sql, operation, now)
    endRun(sql, operation.runId, now)
  })
}
