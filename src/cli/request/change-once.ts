import type { Blockchain } from '../../api/blockchains.ts'
import type { EndpointName } from '../../api/endpoints.ts'
import type { RunLimit } from '../../client/run-limit.ts'
import { GdnError } from '../../core/errors.ts'
import { DEFAULT_WAIT_MS } from '../../operations/defaults.ts'
import type { AcceptedOperation } from '../../operations/types.ts'
import { describeFailure, reasonSuffix, toPendingCode, waitForTransaction } from '../../operations/waiting.ts'
import { toPaidFee } from '../cost/paid.ts'
import type { Connection, Deps } from '../deps.ts'
import type { WaitFlags } from '../flags/common.ts'
import type { DataRecord } from '../render/view.ts'
import { type OperationFlags, operateOnce } from './operate-once.ts'
import { showWaitForFinality } from './waiting.ts'

interface ChangeRequest {
  endpoint: Extract<EndpointName, 'updatednft' | 'freezenft' | 'burnnft' | 'commitprovenance'>
  note: string
  blockchain: Blockchain
  contract: string
  /** Identifies the operation. Requests with equal content are the same operation. */
  content: object
  /** Asks for confirmation and returns the request. `limit` is the cost limit of the operation, in wei. */
  request(limit: bigint | null): Promise<object>
  /** Called before a request with an unknown outcome is sent again. Throws to refuse the repetition. */
  checkRepetition?: () => Promise<void>
  /** The reference ID of a change that all machines together make only once. Default: the ID of the operation. */
  reference?: string
  /**
   * The run that contains the operation, and its limit, if the run's requests were permitted together. Default: a
   * separate run.
   */
  limit?: RunLimit
  /** Name of the operation in messages, such as `the update`. */
  what: string
}

/**
 * Sends a change of NFTs or their collection at most once, and waits until its transaction is final.
 *
 * @param print receives the known data about the transaction, even if the change failed or is still pending
 */
export async function changeOnce(
  deps: Deps,
  connection: Connection,
  flags: WaitFlags & OperationFlags,
  change: ChangeRequest,
  print: (outcome: DataRecord) => Promise<void>,
): Promise<void> {
  const { endpoint, note, blockchain, contract, content, request, checkRepetition, reference, what, limit } = change
  await operateOnce(
    deps,
    connection,
    flags,
    { endpoint, blockchain, contract, content, note, request, checkRepetition, reference, limit },
    async ({ accepted: { transaction_gdn_id, accepted_date } }: AcceptedOperation) => {
      const accepted = { status: 'initiated', transaction_gdn_id, accepted_date }
      if (flags.wait === false || transaction_gdn_id === null) {
        await print(accepted)
        return { ended: true, state: null, problem: null }
      }
      const { timeout = DEFAULT_WAIT_MS } = flags
      const title = `Waiting for ${what}`
      const { finalRecord, reason, interruption } = await showWaitForFinality(
        deps,
        connection,
        title,
        (waitDeps, onPoll) => waitForTransaction(waitDeps, transaction_gdn_id, timeout, onPoll),
      )
      if (finalRecord === undefined) {
        await print(accepted)
        const pending = new GdnError(toPendingCode(reason), `${what} is still pending${reasonSuffix(reason)}`, {
          hint: 'Run the same command again to wait longer.',
          details: { transaction_gdn_id },
        })
        const stopped = interruption?.withHint('The request was accepted. Run the same command again to keep waiting.')
        return { ended: false, state: null, problem: stopped ?? pending }
      }
      const { status, transaction_hash, error } = finalRecord
      await print({ ...accepted, status, transaction_hash, ...toPaidFee(finalRecord), error })
      const failure = describeFailure(what, finalRecord)
      if (failure === null) return { ended: true, state: 'deployed', problem: null } as const
      const problem = new GdnError('refused', failure, {
        hint: 'Nothing was changed. Fix the cause, then run the command again.',
        details: { transaction_gdn_id },
      })
      return { ended: true, state: 'failed', problem } as const
    },
  )
}
