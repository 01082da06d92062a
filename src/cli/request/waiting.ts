import { count } from '../../core/count.ts'
import type { GdnError } from '../../core/errors.ts'
import * as waiting from '../../operations/waiting.ts'
import { serverFlag } from '../connect/server-flag.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { withProgress } from '../io/progress.ts'

type WaitTarget = Pick<Connection, 'client' | 'server'>

/** Waits until something is final on the chain. Shows the title and the texts that `wait` passes to `onPoll`. */
export const showWaitForFinality = <Waited>(
  { io, sleep, signals: { signal } }: Deps,
  { client }: WaitTarget,
  title: string,
  wait: (deps: waiting.WaitDeps, onPoll: (reason: string) => void) => Promise<Waited>,
): Promise<Waited> =>
  withProgress(io, title, ({ update }) => wait({ client, sleep, signal }, (reason) => update(title + reason)))

const RESUMABLE_CODES = new Set(['pending', 'max_cost', 'interrupted', 'terminated'])

/** If the wait ended early, adds a hint about the next step. */
function withNextStep<Waited extends { problem: GdnError | null }>(waited: Waited, hint: string): Waited {
  const { problem } = waited
  return problem !== null && RESUMABLE_CODES.has(problem.code) ? { ...waited, problem: problem.withHint(hint) } : waited
}

/** Waits until every NFT is deployed or failed, and shows progress. */
export async function showWaitForNfts(
  deps: Deps,
  target: WaitTarget,
  ids: readonly string[],
  timeoutMs: number,
  until: Pick<waiting.NftWait, 'isDone' | 'isAccepted'> = {},
): Promise<waiting.WaitedForNfts> {
  const title = `Waiting for ${count(ids.length, 'NFT')} to be deployed`
  const waited = await showWaitForFinality(deps, target, title, (waitDeps, onPoll) =>
    waiting.waitForNfts(waitDeps, ids, {
      timeoutMs,
      ...until,
      onPoll: ({ pending, records }) =>
        onPoll(`: ${ids.length - pending} done, ${pending} to go${waiting.pendingReasonSuffix(records)}`),
    }),
  )
  if (waited.pending.length === 0) return waited
  const command = `gdn nft wait ${waited.pending.map(safe).join(' ')}${serverFlag(target.server)}`
  return withNextStep(waited, `Run \`${command}\` to keep waiting.`)
}

/** Waits until a transfer is final, and shows progress. */
export async function showWaitForTransfer(
  deps: Deps,
  target: WaitTarget,
  transfer: waiting.AcceptedTransfer,
  timeoutMs: number,
): Promise<waiting.WaitedForTransfer> {
  const waited = await showWaitForFinality(deps, target, 'Waiting for the transfer', (waitDeps, onPoll) =>
    waiting.waitForTransfer(waitDeps, transfer, timeoutMs, onPoll),
  )
  const { ended, problem } = waited
  if (ended && problem !== null) {
    const hint = 'The NFT was not transferred. Fix the cause, then run the command again.'
    return { ...waited, problem: problem.withHint(hint) }
  }
  const command = `gdn nft show ${safe(transfer.nftGdnId)}${serverFlag(target.server)}`
  return withNextStep(waited, `Run \`${command}\` later to check the owner.`)
}

/** Waits until a collection is deployed and has an address, and shows progress. */
export async function showWaitForCollection(
  deps: Deps,
  target: WaitTarget,
  id: string,
  timeoutMs?: number,
): Promise<waiting.WaitedForCollection> {
  const waited = await showWaitForFinality(
    deps,
    target,
    'Waiting for the collection to be deployed',
    (waitDeps, onPoll) => waiting.waitForCollection(waitDeps, id, timeoutMs, onPoll),
  )
  if (waited.problem?.code === 'refused') {
    return { ...waited, problem: waited.problem.withHint('Fix the cause, then run the command again.') }
  }
  const command = `gdn collection show ${safe(id)}${serverFlag(target.server)}`
  return withNextStep(waited, `Run \`${command}\` later to check its status.`)
}
