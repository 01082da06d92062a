import type { ProvenanceRecord } from '../../../api/endpoints/getprovenances.ts'
import { hasFailed } from '../../../api/nft-status.ts'
import { findStatus, lacksEndpoint } from '../../../client/responses.ts'
import type { Connection, Deps } from '../../deps.ts'

/**
 * Returns the commitments of a collection, except failed ones. Returns an empty list if the server doesn't return
 * commitments to this key.
 */
export async function readCommitments(
  { signals: { signal } }: Pick<Deps, 'signals'>,
  { client }: Pick<Connection, 'client'>,
  contract_address: string,
): Promise<ProvenanceRecord[]> {
  const { provenances } = await client
    .call('getprovenances', { contract_address }, { signal })
    .catch((error: unknown) => {
      if (!lacksEndpoint(error) && findStatus(error) !== 403) throw error
      return { provenances: [] }
    })
  return provenances.filter(({ status }) => !hasFailed(status))
}

/** Returns the commitment that seals a drop; undefined if the drop isn't sealed. */
export const findSeal = (commitments: readonly ProvenanceRecord[], provenance: string): ProvenanceRecord | undefined =>
  commitments.find(({ seal_of }) => seal_of === provenance)
