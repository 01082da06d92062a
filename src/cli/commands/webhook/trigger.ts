import { EVENT_TYPES } from '../../../api/webhook-events.ts'
import { GdnCommand } from '../../command.ts'
import { addDataDirFlag } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, oneOf } from '../../flags/common.ts'
import { type TestFlags, test } from './test.ts'

const eventType = oneOf(EVENT_TYPES)

export function command(deps: Deps, run = test): GdnCommand {
  return new GdnCommand({
    about: `The backend sends the event once, signed like a real event, even if the webhook does not subscribe to it. The body contains "test": true, and the event ID begins with evt_test_. The data has the fields of a real event, but describes an NFT or collection that does not exist. Events: ${EVENT_TYPES.join(', ')}. The exit code is 5 if the receiver does not accept the event, and 8 if no backend sends it.`,
    examples: [
      ['Test how a receiver handles an NFT', 'gdn webhook trigger 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d nft.deployed'],
      ['Test how a receiver handles a failure', 'gdn webhook trigger 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d nft.failed'],
    ],
  })
    .argument('<webhook>')
    .wordArgument('<event>', EVENT_TYPES)
    .with(addDataDirFlag, addOutputFlags)
    .action(
      async (id: string, event: string, flags: TestFlags) => await run(deps, id, flags, eventType(event, '<event>')),
    )
}
