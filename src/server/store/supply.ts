import { sql } from 'kysely'
import type { CollectionRow } from './collections.ts'
import { readCollectionCounts, ZERO_COUNTS } from './explorer-counts.ts'
import type { Db } from './schema.ts'

/** The number of NFTs that a collection has, and the number that can be added. */
export interface Supply {
  /** Maximum number of tokens that can ever be minted, including burned ones; null for no limit. */
  max: number | null
  /** Number of tokens that were ever minted, including burned ones. */
  minted: number
  /** Number of accepted NFTs that aren't minted yet. Failed NFTs aren't counted. */
  accepted: number
  /**
   * Number of NFTs that can still be accepted; null for no limit. Negative if the owner has lowered the limit below
   * `minted` plus `accepted`.
   */
  remaining: number | null
}

/**
 * Returns the supply of a collection. Reads counts instead of a row for each NFT.
 *
 * The number of minted tokens is computed in two ways. The first adds deployed NFTs and unknown tokens, and misses
 * tokens of NFTs that count as failed. The second is derived from the next token ID, which is too low while a reverted
 * mint is signed again. Neither counts a token twice, so the larger result is used.
 */
export async function readSupply(
  db: Db,
  { id, max_supply, next_token_id }: Pick<CollectionRow, 'id' | 'max_supply' | 'next_token_id'>,
): Promise<Supply> {
  // On PostgreSQL, each statement sees newer commits. Signed transactions are read before the NFTs, because a mint that
  // becomes final in between would otherwise count twice.
  const { rows } = await sql<{ count: number | string }>`
    select coalesce(sum(token_count), 0) as count from unknown_mints where collection_id = ${id}
    union all
    select coalesce(sum(token_count), 0) from transactions
      where collection_id = ${id} and state = 'signed' and start_id is not null`.execute(db)
  const [unknown = 0, signed = 0] = rows.map(({ count }) => Number(count))
  const { files, waiting, deployed } = (await readCollectionCounts(db, [id])).get(id) ?? ZERO_COUNTS
  const accepted = files + waiting
  const minted = Math.max(deployed + unknown, Number(next_token_id) - 1 - signed)
  const max = max_supply === null ? null : Number(max_supply)
  return { max, minted, accepted, remaining: max === null ? null : max - minted - accepted }
}

/** Returns the number of tokens for which transactions may still be signed. The contract would reject more. */
export function countMintableTokens({
  max_supply,
  next_token_id,
}: Pick<CollectionRow, 'max_supply' | 'next_token_id'>): number {
  if (max_supply === null) return Number.POSITIVE_INFINITY
  return Math.max(0, Number(BigInt(max_supply) - BigInt(next_token_id) + 1n))
}
