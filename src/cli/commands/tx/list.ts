import { flagError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, blockchainName, integer, type OutputFlags, oneOf } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { parseEvmBlockchain } from '../chain/chain-place.ts'
import { TX_VIEW, withLinks } from './tx-view.ts'

const TRANSACTION_STATES = ['signed', 'mined', 'confirmed', 'final', 'reverted', 'lost', 'cancelled'] as const
const DEFAULT_LIMIT = 50

export interface ListFlags extends OutputFlags, DataDirFlags {
  blockchain?: string
  state?: (typeof TRANSACTION_STATES)[number]
  limit?: number
}

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about:
      'The list starts with the latest transaction. A signed transaction is sent, but not in a block yet. A mined transaction is in a block. A confirmed transaction has the number of confirmations that the network requires. A reorg cannot remove a final transaction. A transaction is reverted if its call failed on the chain, and lost if another transaction used its nonce. It is cancelled if an empty transaction used its nonce. The list does not contain transactions on Solana.',
    examples: [
      ['List the pending transactions', 'gdn tx list --state signed'],
      [
        'Print the gas of the last hundred transactions, for a script',
        "gdn tx list --limit 100 --json | jq -r '.[].gas_used'",
      ],
    ],
  })
    .valueFlag('-b, --blockchain <name>', 'Show only transactions on this blockchain', blockchainName)
    .valueFlag(
      '--state <state>',
      `Show only transactions in this state: ${TRANSACTION_STATES.join(', ')}`,
      oneOf(TRANSACTION_STATES),
    )
    .valueFlag('--limit <n>', `Maximum number of transactions (${DEFAULT_LIMIT})`, integer(1, 100_000))
    .with(addDataDirFlag, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, TX_VIEW)
  const { blockchain, state, limit = DEFAULT_LIMIT } = flags
  const filter = { blockchain: blockchain === undefined ? undefined : parseEvmBlockchain(blockchain), state, limit }
  const { listTransactions } = await import('../../../server/admin/transactions.ts')
  const transactions = await withBackendDatabase(deps, flags, (store) => listTransactions(store, filter))
  if (transactions.length === 0) deps.io.note('No transactions found.')
  await output.many((await withLinks(deps, flags, transactions)).map((transaction) => ({ ...transaction })))
}

/**
 * Returns the ID or hash of a transaction in lower case.
 *
 * @throws GdnError `usage`
 */
export function parseTransactionName(idOrHash: string): string {
  if (/^(0x[0-9a-fA-F]{64}|[0-9a-f-]{36})$/.test(idOrHash)) return idOrHash.toLowerCase()
  throw flagError('<transaction>', 'is neither the ID of a transaction nor a hash', 'Run `gdn tx list` to show both.')
}
