import { listCommitments, parseTerms } from '../store/updates.ts'
import { findOwnCollection } from './find-own-collection.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Returns the hashes that the account's collection is committed to, oldest first. */
export async function getProvenances(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed: { contract_address } }: RequestOf<'getprovenances'>,
) {
  const collection = await findOwnCollection(store.db, accountId, { contractAddress: contract_address })
  const rows = await listCommitments(store.db, collection.id)
  return {
    requests: { contract_address },
    provenances: rows.map(({ id, terms, transaction, ...row }) => ({
      ...row,
      transaction_gdn_id: id,
      transaction_hash: transaction?.hash ?? null,
      block_number: transaction?.block_number ?? null,
      is_final: row.status === 'deployed' && transaction?.watched !== 1,
      shuffle_margin: parseTerms(terms).shuffle_margin ?? null,
      seal_of: parseTerms(terms).seal_of ?? null,
      leaves_url: parseTerms(terms).leaves_url ?? null,
    })),
  }
}
