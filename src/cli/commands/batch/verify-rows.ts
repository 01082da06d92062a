import type { RunRow } from '../../../batch/run-rows.ts'
import type { RequestedMetadata } from '../../../nft/compare-metadata.ts'
import { type Claim, type Verification, verifyNfts } from '../../../nft/verify.ts'
import type { Verifier } from '../../connect/open-verifier.ts'

export interface VerifiedRow extends RunRow {
  /** Null for a row that isn't deployed. */
  verification: Verification | null
}

/** Rows verified together: two calls each, as many as a node accepts in one batch. */
const TOGETHER = 50

/** Compares each deployed row with chain and storage. Other rows pass through. */
export async function* verifyRows(rows: AsyncIterable<RunRow>, verifier: Verifier): AsyncGenerator<VerifiedRow> {
  let waiting: { row: RunRow; claim: Claim | null }[] = []
  async function* settle(): AsyncGenerator<VerifiedRow> {
    const claims = waiting.flatMap(({ claim }) => claim ?? [])
    const verifications = (await verificationsOf(verifier, claims))[Symbol.iterator]()
    for (const { row, claim } of waiting) {
      yield { ...row, verification: claim === null ? null : (verifications.next().value ?? null) }
    }
    waiting = []
  }
  for await (const row of rows) {
    waiting.push({ row, claim: await claimOf(row) })
    if (waiting.length === TOGETHER) yield* settle()
  }
  yield* settle()
}

async function verificationsOf(verifier: Verifier, claims: readonly Claim[]): Promise<Verification[]> {
  if ('reason' in verifier) return claims.map(() => ({ verified: null, reason: verifier.reason }))
  return await verifyNfts(verifier.chain, verifier.storage, claims)
}

async function claimOf({ result, row, sentMetadata }: RunRow): Promise<Claim | null> {
  if (result.status !== 'deployed') return null
  return {
    contractAddress: result.contract_address,
    tokenId: result.token_id,
    owner: row?.receiver ?? result.receiver_wallet_address,
    metadataUrl: result.metadata_url,
    requested: (await sentMetadata()) as RequestedMetadata | null,
  }
}
