import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { ShownAttempt, ShownTransaction } from '../../../server/admin/transactions.ts'
import { GdnCommand } from '../../command.ts'
import {
  addDataDirFlag,
  type DatabaseOptions,
  type DataDirFlags,
  resolveAdministeredDatabase,
  withDatabaseAt,
} from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, type View } from '../../render/output.ts'
import { parseTransactionName } from './list.ts'
import { TX_VIEW, withLinks } from './tx-view.ts'

const VIEW: View = {
  ...TX_VIEW,
  fields: [...TX_VIEW.fields, 'attempts', 'pending_reason'],
  card: ({ attempts, pending_reason, ...record }) => [
    ...TX_VIEW.fields.map((field) => [field, record[field]] as const),
    ['attempts', attemptsText(attempts as readonly ShownAttempt[])],
    ['pending_reason', pending_reason],
  ],
}

/** Formats attempts for a terminal, one per line. */
const attemptsText = (attempts: readonly ShownAttempt[]): string =>
  attempts
    .map(
      ({ hash, max_fee_gwei, cancels }) =>
        `${hash} at ${max_fee_gwei} gwei${cancels ? ', cancels the transaction' : ''}`,
    )
    .join('\n')

export type ShowFlags = OutputFlags & DataDirFlags

export function command(deps: Deps, run = show): GdnCommand {
  return new GdnCommand({
    about:
      'Specify the ID of the transaction or the hash of any of its attempts. Each attempt shows the fees that it offered. If the transaction was signed only once, the field `attempts` is empty after the transaction is final.',
    examples: [
      ['Show a transaction by its hash', `gdn tx show 0x${'1f'.repeat(32)}`],
      ['Print the fees of all attempts', "gdn tx show ID --json | jq -r '.attempts[].max_fee_gwei'"],
    ],
  })
    .argument('<transaction>')
    .with(addDataDirFlag, addOutputFlags)
    .action(async (name: string, flags: ShowFlags) => await run(deps, name, flags))
}

export async function show(deps: Deps, idOrHash: string, flags: ShowFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  const name = parseTransactionName(idOrHash)
  const { showTransaction } = await import('../../../server/admin/transactions.ts')
  const place = await resolveAdministeredDatabase(deps, flags)
  const transaction = await withDatabaseAt(deps, place, (store) => showTransaction(store, name))
  await output.one({
    ...(await withLinks(deps, flags, [transaction]))[0],
    pending_reason: await readPendingReason(deps, place, transaction),
  })
}

/**
 * Returns the reason why the backend can't yet carry out the requested action; null if nothing is requested or nothing
 * prevents it.
 */
async function readPendingReason(deps: Deps, place: DatabaseOptions, transaction: ShownTransaction): Promise<unknown> {
  const { id: name, blockchain, requested_action: action } = transaction
  if (action === null) return null
  const { findReplacement } = await import('./replacement.ts')
  const { data } = await findReplacement(deps, place, { name, blockchain: blockchain as EvmBlockchain }, action)
  return data.pending_reason
}
