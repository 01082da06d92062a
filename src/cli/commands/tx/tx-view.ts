import { isBlockchain, isEvm } from '../../../api/blockchains.ts'
import { transactionUrl } from '../../../core/explorer-url.ts'
import type { Deps } from '../../deps.ts'
import type { View } from '../../view.ts'
import { type DataDirFlags, databasePlace } from '../key/key-data-dir.ts'

export const TX_VIEW: View = {
  fields: [
    ...['id', 'blockchain', 'kind', 'state', 'signer', 'nonce', 'hash', 'nfts', 'collection_id', 'block_number'],
    ...['gas_used', 'wish', 'created_at', 'explorer_url'],
  ],
  columns: ['id', 'blockchain', 'kind', 'state', 'nonce', 'nfts', 'created_at'],
  id: 'id',
}

/** Transactions with where people look at each; null where the backend's settings name no explorer. */
export async function withLinks<Transaction extends { blockchain: string; hash: string }>(
  deps: Pick<Deps, 'env' | 'cwd'>,
  flags: DataDirFlags,
  transactions: readonly Transaction[],
): Promise<(Transaction & { explorer_url: string | null })[]> {
  const { loadSettings } = await import('../../../server/settings/settings.ts')
  const { dataDir, settingsFile } = databasePlace(deps, flags)
  const { chains } = await loadSettings(dataDir, settingsFile)
  return transactions.map((transaction) => {
    const { blockchain, hash } = transaction
    const explorer = isBlockchain(blockchain) && isEvm(blockchain) ? chains.get(blockchain)?.explorerUrl : null
    return { ...transaction, explorer_url: explorer ? transactionUrl(explorer, hash) : null }
  })
}
