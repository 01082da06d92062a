import { addressUrl, transactionUrl } from '../../../core/block-explorer.ts'
import { type DataDirFlags, resolveDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import type { View } from '../../render/view.ts'

export const TX_VIEW: View = {
  fields: [
    ...['id', 'blockchain', 'kind', 'state', 'signer', 'nonce', 'hash', 'nfts', 'collection_id', 'block_number'],
    ...['gas_used', 'requested_action', 'created_at', 'explorer_url'],
  ],
  columns: ['id', 'blockchain', 'kind', 'state', 'nonce', 'nfts', 'created_at'],
  id: 'id',
}

interface Linkable {
  blockchain: string
  /** The transaction hash; null if only the collection is known. */
  hash: string | null
  contract_address?: string
}

/** Adds links to a block explorer. The links are null if the backend's configuration specifies no block explorer. */
export async function withLinks<Transaction extends Linkable>(
  deps: Pick<Deps, 'env' | 'cwd'>,
  flags: DataDirFlags,
  transactions: readonly Transaction[],
): Promise<(Transaction & { explorer_url: string | null })[]> {
  const { loadServerSettings } = await import('../../../server/settings/settings.ts')
  const { dataDir, settingsFile } = resolveDatabase(deps, flags)
  const { chains, clusters } = await loadServerSettings(dataDir, settingsFile)
  const blockExplorers = new Map(
    [...chains, ...clusters].map(([name, { blockExplorerUrl }]) => [String(name), blockExplorerUrl]),
  )
  return transactions.map((transaction) => {
    const { blockchain, hash, contract_address = '' } = transaction
    const blockExplorer = blockExplorers.get(blockchain)
    const page = (explorer: string) =>
      hash === null ? addressUrl(explorer, contract_address) : transactionUrl(explorer, hash)
    return { ...transaction, explorer_url: blockExplorer ? page(blockExplorer) : null }
  })
}
