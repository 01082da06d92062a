import * as waiting from '../../../operations/wait-for-collection.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'

/** Waits until a collection is deployed and has an address, with progress and hints that name commands. */
export async function waitForCollection(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  id: string,
  timeoutMs?: number,
): Promise<waiting.WaitedForCollection> {
  const progress = await deps.io.progress('Waiting for the collection to be deployed')
  try {
    const { sleep, signals } = deps
    const waited = await waiting.waitForCollection({ client, sleep, signal: signals.signal }, id, timeoutMs)
    const { record, problem } = waited
    if (problem === null) return waited
    const hint =
      problem.code === 'refused'
        ? 'Fix the cause, then run the command again.'
        : `Run \`gdn collection show ${safe(id)}${serverFlag(server)}\` later to check its status.`
    const isWaiting = problem.code === 'pending' || problem.code === 'refused'
    return { record, problem: isWaiting ? problem.withHint(hint) : problem }
  } finally {
    progress.stop()
  }
}
