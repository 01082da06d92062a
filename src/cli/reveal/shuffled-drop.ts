import type { ProvenanceRecord } from '../../api/endpoints/getprovenances.ts'
import { hasFailed } from '../../api/nft-status.ts'
import { lacksEndpoint, statusOf } from '../../client/responses.ts'
import type { ReadCommitment } from '../../reveal/read-commitment.ts'
import type { Connection, Deps } from '../deps.ts'

/** Returns the commitments of a collection that didn't fail; none if the server doesn't show any to this key. */
export async function commitmentsOf(
  { signals: { signal } }: Pick<Deps, 'signals'>,
  { client }: Pick<Connection, 'client'>,
  contract_address: string,
): Promise<ProvenanceRecord[]> {
  const { provenances } = await client
    .call('getprovenances', { contract_address }, { signal })
    .catch((error: unknown) => {
      if (!lacksEndpoint(error) && statusOf(error) !== 403) throw error
      return { provenances: [] }
    })
  return provenances.filter(({ status }) => !hasFailed(status))
}

/** Returns the commitment that seals a drop; undefined if there is none. */
export const sealIn = (commitments: readonly ProvenanceRecord[], provenance: string): ProvenanceRecord | undefined =>
  commitments.find(({ seal_of }) => seal_of === provenance)

/**
 * Returns the rows of a manifest with the commitment that the collection has to them, which may have the rule of a
 * shuffle. If it has none, returns them unchanged.
 */
export function asCommitted(rows: ReadCommitment, commitments: readonly ProvenanceRecord[]): ReadCommitment {
  const known = new Set(commitments.map(({ provenance }) => provenance))
  if (known.has(rows.commitment.provenance)) return rows
  for (const marginSeconds of new Set(commitments.flatMap(({ shuffle_margin }) => shuffle_margin ?? []))) {
    const commitment = rows.commitment.withRule({ marginSeconds })
    if (known.has(commitment.provenance)) return { ...rows, commitment }
  }
  return rows
}
