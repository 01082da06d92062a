import { bucketsOf, firstSeqOf } from '../store/explorer-counts.ts'
import { nftsAt, type SummaryRow } from '../store/explorer-nfts.ts'
import { countTerms, seqsOfTerms, termsBeginning, withTerms } from '../store/explorer-terms.ts'
import { wordsOf, wordTerm } from '../store/title-index.ts'
import type { Explorer } from './explorer.ts'

/** Words that one of the text may be the beginning of. */
const MOST_ENDINGS = 32
/** So many NFTs at most are compared with the other words, and so many are found. */
const MOST_LOOKED_AT = 20_000
const AT_ONCE = 500
const MOST_FOUND = 1000
/** Beyond this a word is as common as any. */
const COMMON = 2000

/** Words that each of a title's must begin with, as they stand in the index. */
type Wanted = { terms: string[]; count: number }

/**
 * NFTs whose titles have a word for each word of a text, or one that begins so: found by the rarest of them, and bounded
 * whatever there is. Those accepted last come first.
 */
export async function findTitled(
  { db, indexer }: Pick<Explorer, 'db' | 'indexer'>,
  {
    accountIds,
    text,
    collectionId = null,
    limit = MOST_FOUND,
  }: {
    accountIds: readonly string[]
    text: string
    collectionId?: string | null
    limit?: number
  },
): Promise<SummaryRow[]> {
  const words = wordsOf(text)
  if (words.length > 0) await indexer.caughtUp()
  const { from, end } = collectionId === null ? ANYWHERE : await placesHeld(db, collectionId)
  const found: SummaryRow[] = []
  for (const accountId of words.length === 0 ? [] : accountIds) {
    const wanted: Wanted[] = []
    for (const word of words) {
      const terms = await termsBeginning(db, wordTerm(accountId, word), MOST_ENDINGS)
      wanted.push({ terms, count: await countTerms(db, terms, COMMON) })
    }
    wanted.sort((a, b) => a.count - b.count)
    const [rarest, ...others] = wanted
    if (rarest === undefined || rarest.count === 0) continue
    // By itself each of its NFTs is one that is looked for.
    const atOnce = others.length === 0 && collectionId === null ? limit : AT_ONCE
    for (
      let before = end, looked = 0;
      before > from && looked < MOST_LOOKED_AT && found.length < limit;
      looked += atOnce
    ) {
      const candidates = await seqsOfTerms(db, rarest.terms, { before, limit: atOnce })
      let seqs = candidates
      for (const { terms } of others) {
        const having = await withTerms(db, seqs, terms)
        seqs = seqs.filter((seq) => having.has(seq))
      }
      const rows = await nftsAt(db, seqs)
      found.push(...rows.filter((row) => collectionId === null || row.collection_id === collectionId).reverse())
      before = candidates.at(-1) ?? from
      if (candidates.length < atOnce) break
    }
  }
  return found.slice(0, limit)
}

const ANYWHERE = { from: 0, end: Number.MAX_SAFE_INTEGER }

/** The part of all places that a collection's are in: what others have minted before and after isn't looked at. */
async function placesHeld(db: Explorer['db'], collectionId: string): Promise<typeof ANYWHERE> {
  const buckets = await bucketsOf(db, { collectionId, run: null })
  return { from: firstSeqOf(buckets[0]?.bucket ?? 0), end: firstSeqOf((buckets.at(-1)?.bucket ?? -1) + 1) }
}
