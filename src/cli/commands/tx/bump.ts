import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { GdnCommand, switchFlag } from '../../command.ts'
import { addDataDirFlag, administeredPlace, type DataDirFlags, onPlace } from '../../connect/data-dir.ts'
import { keepPlace } from '../../connect/keep-place.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { txName } from './list.ts'
import { REPLACEMENT_VIEW, replacementOf } from './replacement.ts'
import { withLinks } from './tx-view.ts'

export interface BumpFlags extends OutputFlags, DataDirFlags {
  yes?: boolean
}

export function command(deps: Deps, run = bump): GdnCommand {
  const bumpCommand = new GdnCommand({
    about:
      'A backend automatically raises the fees of a transaction that is pending for longer than stuck_seconds in its configuration, unless a limit prevents that. This command raises the fees immediately. The running backend signs the same call again with the same nonce and higher fees, up to max_fee_gwei, and watches all attempts. On a public network, the command shows the new maximum cost of the transaction and prompts for confirmation.',
    examples: [['Raise the fees now', 'gdn tx bump 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d']],
  })
  bumpCommand.argument('<transaction>')
  switchFlag(bumpCommand, '-y, --yes', "Don't prompt before spending")
  addDataDirFlag(bumpCommand)
  addOutputFlags(bumpCommand)
  return bumpCommand.action(async (name: string, flags: BumpFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function bump(deps: Deps, word: string, flags: BumpFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, REPLACEMENT_VIEW)
  const name = txName(word)
  const { findReplaceable, requestAction } = await import('../../../server/admin/transactions.ts')
  const place = await administeredPlace(deps, flags)
  const { blockchain } = await onPlace(deps, place, (store) => findReplaceable(store, name))
  const on = { name, blockchain: blockchain as EvmBlockchain }
  const { costsMoney, nowText, atMostText, data } = await replacementOf(deps, place, on, 'bump')
  const question = `Raise the fees of this transaction on ${blockchain}${nowText}${atMostText}?`
  if (costsMoney && !flags.yes) await io.confirm(question, '--yes')
  const bumped = await onPlace(deps, place, (store) => requestAction(store, name, 'bump', deps.now()))
  await output.one({ ...(await withLinks(deps, flags, [bumped]))[0], ...data })
  io.note(keepPlace(`The backend raises its fees at its next check. To see them, run \`gdn tx show ${name}\`.`, flags))
}
