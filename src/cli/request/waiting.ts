import type { Server } from '../../config/server.ts'
import { count } from '../../core/count.ts'
import type { GdnError } from '../../core/errors.ts'
import * as collections from '../../operations/wait-for-collection.ts'
import * as waiting from '../../operations/waiting.ts'
import { serverFlag } from '../connect/server-flag.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { withProgress } from '../io/progress.ts'

type Target = Pick<Connection, 'client' | 'server'>

/** Returns the dependencies for waiting until something is final on the chain. */
export const waitDeps = ({ sleep, signals }: Deps, client: Connection['client']): waiting.WaitDeps => ({
  client,
  sleep,
  signal: signals.signal,
})

/** Waits until every NFT is deployed or failed, and shows progress. */
export async function waitForNfts(
  deps: Deps,
  { client, server }: Target,
  ids: readonly string[],
  timeoutMs: number,
  until: Pick<waiting.NftWait, 'isDone' | 'isAccepted'> = {},
): Promise<waiting.WaitedForNfts> {
  const title = `Waiting for ${count(ids.length, 'NFT')} to be deployed`
  const waited = await withProgress(deps.io, title, (progress) =>
    waiting.waitForNfts(waitDeps(deps, client), ids, {
      timeoutMs,
      ...until,
      onLook: ({ pending, records }) =>
        progress.update(`${title}: ${ids.length - pending} done, ${pending} to go${waiting.pendingReason(records)}`),
    }),
  )
  return { ...waited, problem: waited.problem && withWayOn(waited.problem, waited.pending, server) }
}

const MAY_WAIT_ON = new Set(['pending', 'max_cost', 'interrupted', 'terminated'])

/** Adds a hint that says how to keep waiting, if the wait ended early. */
function withWayOn(error: GdnError, pending: readonly string[], server: Server): GdnError {
  if (!MAY_WAIT_ON.has(error.code) || pending.length === 0) return error
  return error.withHint(`Run \`gdn nft wait ${pending.map(safe).join(' ')}${serverFlag(server)}\` to keep waiting.`)
}

/** Waits until a transfer is final, and shows progress. */
export async function waitForTransfer(
  deps: Deps,
  { client, server }: Target,
  transfer: waiting.AcceptedTransfer,
  timeoutMs: number,
): Promise<waiting.WaitedForTransfer> {
  const title = 'Waiting for the transfer'
  const waited = await withProgress(deps.io, title, ({ update }) =>
    waiting.waitForTransfer(waitDeps(deps, client), transfer, timeoutMs, (why) => update(title + why)),
  )
  const { ended, problem } = waited
  if (problem !== null && MAY_WAIT_ON.has(problem.code)) {
    const hint = `Run \`gdn nft show ${safe(transfer.nftGdnId)}${serverFlag(server)}\` later to check the owner.`
    return { ...waited, problem: problem.withHint(hint) }
  }
  if (!ended || problem === null) return waited
  const hint = 'The NFT was not transferred. Fix the cause, then run the command again.'
  return { ...waited, problem: problem.withHint(hint) }
}

/** Waits until a collection is deployed and has an address. Shows progress, and adds hints that name commands. */
export async function waitForCollection(
  deps: Deps,
  { client, server }: Target,
  id: string,
  timeoutMs?: number,
): Promise<collections.WaitedForCollection> {
  const title = 'Waiting for the collection to be deployed'
  const { record, problem } = await withProgress(deps.io, title, (progress) =>
    collections.waitForCollection(waitDeps(deps, client), id, timeoutMs, (reason) => progress.update(title + reason)),
  )
  if (problem?.code === 'refused') {
    return { record, problem: problem.withHint('Fix the cause, then run the command again.') }
  }
  if (problem === null || !MAY_WAIT_ON.has(problem.code)) return { record, problem }
  const hint = `Run \`gdn collection show ${safe(id)}${serverFlag(server)}\` later to check its status.`
  return { record, problem: problem.withHint(hint) }
}
