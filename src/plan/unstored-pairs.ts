import { ServerNames } from '../batch/identity/server-names.ts'
import type { StoredPair } from '../batch/identity/store-pairs.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { BatchClient } from '../batch/types.ts'
import { mintReferences } from '../state/draft-rows.ts'
import type { Candidate, NftSource } from './find-nfts.ts'

/**
 * Returns the pairs that are in the state but not on the server, because storing them there was interrupted or isn't
 * supported.
 */
export async function unstoredPairs(
  { state }: StoredRun,
  source: NftSource,
  client: Pick<BatchClient, 'supports'>,
  candidates: readonly Candidate[],
): Promise<StoredPair[]> {
  if (!source.hasReferences) return []
  const unknown = new Map(
    candidates.flatMap((candidate) =>
      candidate.named === null && candidate.sent?.nft != null && candidate.row.row.id !== null
        ? [[candidate.sent.id, candidate] as const]
        : [],
    ),
  )
  if (unknown.size === 0) return []
  const minted = await state.read((sql) => mintReferences(sql, unknown.keys()))
  const renamed = minted.flatMap(({ id, operation, reference }) => {
    const candidate = unknown.get(id)
    const isRenamed = candidate !== undefined && reference !== null && reference !== candidate.reference
    return isRenamed ? [{ operation, reference, candidate }] : []
  })
  const pairOf = ({ operation, candidate }: (typeof renamed)[number], alias: StoredPair['alias']): StoredPair => ({
    nftGdnId: candidate.sent?.nft ?? '',
    operation,
    reference: candidate.reference,
    sent: null,
    alias,
    key: candidate.row.key,
  })
  if (client.supports('aliases') !== true) return renamed.map((renaming) => pairOf(renaming, 'impossible'))
  const records = await new ServerNames(source.client, source).lookUp(renamed)
  return renamed.flatMap((renaming) => {
    const record = records.get(renaming)
    const isOpen =
      record?.nft_gdn_id === renaming.candidate.sent?.nft &&
      record?.reference_kind === 'content' &&
      typeof record.reference_alias !== 'string'
    return isOpen ? [pairOf(renaming, 'wanted')] : []
  })
}
