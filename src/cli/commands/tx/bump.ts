import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, onDatabase } from '../../connect/data-dir.ts'
import { keepPlace } from '../../connect/keep-place.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { txName } from './list.ts'
import { TX_VIEW, withLinks } from './tx-view.ts'

export type BumpFlags = OutputFlags & DataDirFlags

export function command(deps: Deps, run = bump): GdnCommand {
  const bumpCommand = new GdnCommand({
    about:
      'A backend automatically raises the fees of a stuck transaction after the time in stuck_seconds of its configuration. This command raises them at once. The running backend has the key. It signs the same call again with the same nonce and higher fees, at most max_fee_gwei, and watches all attempts.',
    examples: [['Raise the fees now', 'gdn tx bump 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d']],
  })
  bumpCommand.argument('<transaction>')
  addDataDirFlag(bumpCommand)
  addOutputFlags(bumpCommand)
  return bumpCommand.action(async (name: string, flags: BumpFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function bump(deps: Deps, word: string, flags: BumpFlags): Promise<void> {
  const output = createOutput(deps.io, flags, TX_VIEW)
  const name = txName(word)
  const { requestAction } = await import('../../../server/admin/transactions.ts')
  const bumped = await onDatabase(deps, flags, (store) => requestAction(store, name, 'bump', deps.now()))
  await output.one({ ...(await withLinks(deps, flags, [bumped]))[0] })
  deps.io.note(
    keepPlace(`The backend raises its fees at its next check. To see them, run \`gdn tx show ${name}\`.`, flags),
  )
}
