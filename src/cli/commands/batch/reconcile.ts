import type { BatchOptions } from '../../../batch/types.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, type Parse, valueFlag } from '../../command.ts'
import { addVerifyFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags } from '../../flags/common.ts'
import { addTimeoutFlag } from '../../flags/wait.ts'
import { addRateFlag, type BatchMintFlags } from './flags.ts'
import { resumeRun } from './resume-run.ts'
import { addRunArgument, whichRun } from './which-run.ts'

type Settled = NonNullable<BatchOptions['settle']>[number]

export interface ReconcileFlags extends BatchMintFlags {
  row?: Settled[]
}

export function command(deps: Deps, run = reconcile): GdnCommand {
  const reconcileCommand = new GdnCommand({
    about:
      'Sends nothing: waits until the list of the collection has caught up, then looks in it for the rows. What is found belongs to the row; a row that is in none of two complete lists is absent; where several rows or NFTs could be meant, it is undecided and you can say it with --row. It also asks for what is accepted and not deployed yet.',
    examples: [
      ['Look again', 'gdn batch reconcile drop.csv'],
      ['This NFT is that row', 'gdn batch reconcile drop.csv --row hour-03=01a1f79d-83c1-74f7-a4f7-669e6b93e805'],
      ['This row was not minted', 'gdn batch reconcile drop.csv --row hour-04=absent'],
    ],
  })
  addRunArgument(reconcileCommand)
  valueFlag(reconcileCommand, '--row <key=id>', 'Say what a row became: the id of its NFT, or absent; several times', {
    parse: settled,
    repeatable: true,
  })
  addRateFlag(reconcileCommand)
  addTimeoutFlag(reconcileCommand)
  addVerifyFlags(reconcileCommand)
  addServerFlags(reconcileCommand)
  addOutputFlags(reconcileCommand)
  return reconcileCommand.action(async (name: string | undefined, flags: ReconcileFlags) => {
    await run(deps, name, flags)
  }) as GdnCommand
}

export async function reconcile(deps: Deps, given: string | undefined, flags: ReconcileFlags): Promise<void> {
  const name = await whichRun(deps, given, flags)
  await resumeRun(deps, name, flags, {
    reconcileOnly: true,
    ...(flags.row === undefined ? {} : { settle: onceEach(flags.row) }),
  })
}

/** `key=id`; a key may hold `=`, an id doesn't. */
const settled: Parse<Settled> = (raw, flag) => {
  const at = raw.lastIndexOf('=')
  const [key, id] = [raw.slice(0, at), raw.slice(at + 1)]
  if (at > 0 && id !== '') return { key, nftGdnId: id === 'absent' ? null : id }
  throw new GdnError('usage', `must be key=id or key=absent, not ${JSON.stringify(raw)}`, {
    place: { flag },
    hint: 'gdn batch results tells the keys of the rows',
  })
}

function onceEach(rows: readonly Settled[]): readonly Settled[] {
  const twice = rows.find(({ key }, i) => rows.findIndex((row) => row.key === key) !== i)
  if (twice === undefined) return rows
  throw new GdnError('usage', `says twice what ${JSON.stringify(twice.key)} became`, {
    place: { flag: '--row' },
    hint: 'say it once',
  })
}
