import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, valueFlag } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, onDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { blockchainName, integer, oneOf } from '../../flags/parse.ts'
import { createOutput } from '../../render/output.ts'
import { evmBlockchain } from '../chain/chain-place.ts'
import { TX_VIEW, withLinks } from './tx-view.ts'

const STATES = ['signed', 'final', 'reverted', 'lost', 'cancelled'] as const
const DEFAULT_LIMIT = 50

export interface ListFlags extends OutputFlags, DataDirFlags {
  blockchain?: string
  state?: (typeof STATES)[number]
  limit?: number
}

export function command(deps: Deps, run = list): GdnCommand {
  const listCommand = new GdnCommand({
    about:
      'The newest first. signed: sent and not final yet; final; reverted: the chain refused it; lost: another used its nonce; cancelled. Transactions on Solana are not shown.',
    examples: [
      ['What still waits', 'gdn tx list --state signed'],
      ['Gas of the last hundred, for a script', "gdn tx list --limit 100 --json | jq -r '.[].gas_used'"],
    ],
  })
  valueFlag(listCommand, '-b, --blockchain <name>', 'Of this blockchain only', { parse: blockchainName })
  valueFlag(listCommand, '--state <state>', `In this state only: ${STATES.join(', ')}`, { parse: oneOf(STATES) })
  valueFlag(listCommand, '--limit <n>', `At most so many (${DEFAULT_LIMIT})`, { parse: integer(1, 100_000) })
  addDataDirFlag(listCommand)
  addOutputFlags(listCommand)
  return listCommand.action(async (flags: ListFlags) => await run(deps, flags)) as GdnCommand
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, TX_VIEW)
  const { blockchain, state, limit = DEFAULT_LIMIT } = flags
  const filter = { blockchain: blockchain === undefined ? undefined : evmBlockchain(blockchain), state, limit }
  const { listTransactions } = await import('../../../server/admin/transactions.ts')
  const found = await onDatabase(deps, flags, (store) => listTransactions(store, filter))
  if (found.length === 0) deps.io.note('There are no such transactions.')
  await output.many((await withLinks(deps, flags, found)).map((one) => ({ ...one })))
}

/** The name of a transaction: its id, or a hash. */
export function txName(word: string): string {
  if (/^(0x[0-9a-fA-F]{64}|[0-9a-f-]{36})$/.test(word)) return word.toLowerCase()
  throw new GdnError('usage', 'is neither the id of a transaction nor a hash', {
    place: { flag: '<transaction>' },
    hint: 'gdn tx list shows both',
  })
}
