import { count } from '../../../core/count.ts'
import { flagError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, duration, type OutputFlags, wordList } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { webhookView } from './webhook-view.ts'

export interface ReplayFlags extends OutputFlags, DataDirFlags {
  id?: string[][]
  since?: number
}

export function command(deps: Deps, run = replay): GdnCommand {
  return new GdnCommand({
    about:
      'The command replays the failed events, or the events that the flags select. Events keep their IDs, so that a receiver can recognize repeated events. A disabled webhook becomes active again.',
    examples: [
      ['Replay the failed events', 'gdn webhook replay 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['Replay all events of the last day', 'gdn webhook replay 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --since 24h'],
      ['Replay one event', 'gdn webhook replay ID --id evt_0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5'],
    ],
  })
    .argument('<webhook>')
    .valueFlag('--id <a,b>', 'IDs of the events; repeatable', { parse: wordList, repeatable: true })
    .valueFlag('--since <time>', 'Replay all events of this period, such as 24h, including delivered ones', duration)
    .with(addDataDirFlag, addOutputFlags)
    .action(async (id: string, flags: ReplayFlags) => await run(deps, id, flags))
}

export async function replay(deps: Deps, id: string, flags: ReplayFlags): Promise<void> {
  const output = createOutput(deps.io, flags, webhookView(deps.io, 'replayed'))
  if (flags.id !== undefined && flags.since !== undefined) {
    throw flagError('--since', "can't be used together with --id")
  }
  const now = deps.now()
  const eventIds = flags.id === undefined ? undefined : [...new Set(flags.id.flat())]
  const choice = { eventIds, since: flags.since === undefined ? undefined : now - flags.since }
  const { replayDeliveries } = await import('../../../server/admin/webhooks.ts')
  const { webhook, replayed } = await withBackendDatabase(deps, flags, (store) =>
    replayDeliveries(store, id, choice, now),
  )
  await output.one({ ...webhook, replayed })
  deps.io.note(replayed === 0 ? 'No events to replay.' : `The running backend sends ${count(replayed, 'event')} again.`)
}
