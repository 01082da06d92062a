import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { count } from '../../../core/count.ts'
import { GdnCommand, switchFlag } from '../../command.ts'
import { addDataDirFlag, administeredPlace, type DataDirFlags, onPlace } from '../../connect/data-dir.ts'
import { keepPlace } from '../../connect/keep-place.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { txName } from './list.ts'
import { REPLACEMENT_VIEW, replacementOf } from './replacement.ts'
import { withLinks } from './tx-view.ts'

export interface CancelFlags extends OutputFlags, DataDirFlags {
  yes?: boolean
}

export function command(deps: Deps, run = cancel): GdnCommand {
  const cancelCommand = new GdnCommand({
    about:
      'The running backend signs an empty transaction with the same nonce and higher fees. When the empty transaction is final, the NFTs, the collection or the transfer of the original transaction get the status failed, with the reason. If the original transaction is mined instead, nothing is canceled. On a public network, the command shows the maximum cost of either transaction and prompts for confirmation.',
    examples: [['Cancel the transaction', 'gdn tx cancel 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d']],
  })
  cancelCommand.argument('<transaction>')
  switchFlag(cancelCommand, '-y, --yes', "Don't prompt")
  addDataDirFlag(cancelCommand)
  addOutputFlags(cancelCommand)
  return cancelCommand.action(async (name: string, flags: CancelFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function cancel(deps: Deps, word: string, flags: CancelFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, REPLACEMENT_VIEW)
  const name = txName(word)
  const { findReplaceable, requestAction } = await import('../../../server/admin/transactions.ts')
  const place = await administeredPlace(deps, flags)
  const { kind, nfts, blockchain } = await onPlace(deps, place, (store) => findReplaceable(store, name))
  const on = { name, blockchain: blockchain as EvmBlockchain }
  const { atMostText, data } = await replacementOf(deps, place, on, 'cancel')
  const what = nfts > 0 ? `${count(nfts, 'NFT')} ${nfts === 1 ? 'fails' : 'fail'}` : `a ${kind} fails`
  const others = nfts > 0 ? ' Later NFTs of the collection wait until the empty transaction is final.' : ''
  const question = `Cancel this transaction, so that ${what} on ${blockchain}${atMostText}?${others}`
  if (!flags.yes) await io.confirm(question, '--yes', { message: 'nothing was canceled' })
  const canceled = await onPlace(deps, place, (store) => requestAction(store, name, 'cancel', deps.now()))
  await output.one({ ...(await withLinks(deps, flags, [canceled]))[0], ...data })
  io.note(
    keepPlace(`The backend replaces it at its next check. To see the result, run \`gdn tx show ${name}\`.`, flags),
  )
}
