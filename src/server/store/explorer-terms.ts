import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** A suffix that makes a prefix an upper bound, in byte order, for all strings with that prefix. */
const PREFIX_END = '\u{10ffff}'

/**
 * Returns terms with this prefix, in order. Needs one index lookup per term, regardless of how many NFTs have the term.
 */
export async function termsBeginning(db: Db, start: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ term: string }>`
    with recursive terms (term, number) as (
      select (select min(term) from nft_terms where term >= ${start} and term < ${start + PREFIX_END}), 1
      union all
      select (select min(term) from nft_terms where nft_terms.term > terms.term and nft_terms.term < ${start + PREFIX_END}), number + 1
      from terms where terms.term is not null and number < ${sql.lit(limit)}
    ) select term from terms where term is not null`.execute(db)
  return rows.map((row) => row.term)
}

/**
 * Returns the positions of NFTs that have one of these terms, newest first, with a limit for each term. Each term is
 * read in index order. Otherwise, PostgreSQL would collect all NFTs before returning the first if it expects few NFTs.
 */
const positionsSql = (terms: readonly string[], { before = Number.MAX_SAFE_INTEGER, limit }: PositionPage) =>
  sql`(${sql.join(
    terms.map(
      (term) => sql`
    select * from (
      select seq from nft_terms where term = ${term} and seq < ${sql.lit(before)} order by seq desc limit ${sql.lit(limit)}
    ) as part`,
    ),
    sql` union all `,
  )}) as parts`

interface PositionPage {
  /** Returns only NFTs that were accepted before this position. */
  before?: number
  limit: number
}

/** Counts NFTs with one of these terms, up to a limit. */
export async function countNftsWithTerms(db: Db, terms: readonly string[], limit: number): Promise<number> {
  if (terms.length === 0) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select seq from ${positionsSql(terms, { limit })} limit ${sql.lit(limit)}) as counted`.execute(
    db,
  )
  return Number(rows[0]?.count ?? 0)
}

/** Returns the positions of NFTs that have one of these terms, newest first. */
export async function listSeqsWithTerms(db: Db, terms: readonly string[], part: PositionPage): Promise<number[]> {
  if (terms.length === 0) return []
  const { rows } = await sql<{ seq: number }>`
    select distinct seq from ${positionsSql(terms, part)} order by seq desc limit ${sql.lit(part.limit)}`.execute(db)
  return rows.map((row) => Number(row.seq))
}

/** Returns the given positions whose NFTs have one of the terms. */
export async function filterSeqsWithTerms(
  db: Db,
  seqs: readonly number[],
  terms: readonly string[],
): Promise<Set<number>> {
  if (seqs.length === 0 || terms.length === 0) return new Set()
  const { rows } = await sql<{ seq: number }>`
    select distinct seq from nft_terms where term in (${sql.join(terms)}) and seq in (${sql.join(seqs.map((seq) => sql.lit(seq)))})`.execute(
    db,
  )
  return new Set(rows.map((row) => Number(row.seq)))
}
