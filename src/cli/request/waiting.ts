import type { NftRecord } from '../../api/nft-record.ts'
import type { Server } from '../../config/server.ts'
import type { GdnError } from '../../core/errors.ts'
import * as waiting from '../../operations/waiting.ts'
import { serverFlag } from '../connect/server-flag.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { count } from '../render/count.ts'

/** What waiting for a chain needs, from what a command has. */
export const waitDeps = ({ sleep, signals }: Deps, client: Connection['client']): waiting.WaitDeps => ({
  client,
  sleep,
  signal: signals.signal,
})

/** Waits until every NFT is deployed or failed, and shows the progress. */
export async function waitForNfts(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  ids: readonly string[],
  timeoutMs: number,
  isDone?: (record: NftRecord) => boolean,
): Promise<waiting.WaitedForNfts> {
  const title = `Waiting for ${count(ids.length, 'NFT')} to be deployed`
  const progress = await deps.io.progress(title)
  try {
    const waited = await waiting.waitForNfts(waitDeps(deps, client), ids, {
      timeoutMs,
      isDone,
      onLook: ({ pending, records }) =>
        progress.update(`${title}: ${ids.length - pending} done, ${pending} to go${waiting.pendingReason(records)}`),
    })
    return { ...waited, problem: waited.problem && withWayOn(waited.problem, waited.pending, server) }
  } finally {
    progress.stop()
  }
}

const MAY_WAIT_ON = new Set(['pending', 'interrupted', 'terminated'])

/** Adds a hint to a wait that ended early: how to keep waiting later. */
function withWayOn(error: GdnError, pending: readonly string[], server: Server): GdnError {
  if (!MAY_WAIT_ON.has(error.code) || pending.length === 0) return error
  return error.withHint(`Run \`gdn nft wait ${pending.map(safe).join(' ')}${serverFlag(server)}\` to keep waiting.`)
}
