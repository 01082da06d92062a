import * as waiting from '../../../operations/waiting.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { waitDeps } from '../../request/waiting.ts'

/** Waits until a transfer is final, and shows the progress. */
export async function waitForTransfer(
  deps: Deps,
  { client, server }: Pick<Connection, 'client' | 'server'>,
  transfer: waiting.AcceptedTransfer,
  timeoutMs: number,
): Promise<waiting.WaitedForTransfer> {
  const progress = await deps.io.progress('Waiting for the transfer')
  try {
    const waited = await waiting.waitForTransfer(waitDeps(deps, client), transfer, timeoutMs)
    const { problem } = waited
    if (problem?.code === 'pending') {
      const hint = `Run \`gdn nft show ${safe(transfer.nftGdnId)}${serverFlag(server)}\` later to check the owner.`
      return { ...waited, problem: problem.withHint(hint) }
    }
    if (!waited.ended || problem === null) return waited
    return {
      ...waited,
      problem: problem.withHint('The NFT was not transferred. Fix the cause, then run the command again.'),
    }
  } finally {
    progress.stop()
  }
}
