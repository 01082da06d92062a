import { firstSeqInBucket, listBuckets } from '../store/explorer-counts.ts'
import { listNftsAt, type SummaryRow } from '../store/explorer-nfts.ts'
import { countNftsWithTerms, filterSeqsWithTerms, listSeqsWithTerms, termsBeginning } from '../store/explorer-terms.ts'
import { titleWords, wordTerm } from '../store/title-index.ts'
import type { ExplorerDeps } from './explorer.ts'

/** Maximum number of index words that a prefix may match. */
const MAX_ENDINGS = 32
/** Maximum number of NFTs that are compared with the other words. */
const MAX_COMPARED = 20_000
const PAGE_SIZE = 500
const MAX_FOUND = 1000
/** Number at which counting stops. Words that occur more often count as equally common. */
const COMMON_WORD_COUNT = 2000

/** The index entries that match one word of the text, with the number of their NFTs. */
type WordTerms = { terms: string[]; count: number }

/**
 * Finds NFTs by title, newest first. Each word of the search text must be the beginning of a word of the title. The
 * rarest word is looked up first, and the number of words and NFTs that are compared is limited.
 */
export async function findTitled(
  { db, indexer }: Pick<ExplorerDeps, 'db' | 'indexer'>,
  {
    accountIds,
    text,
    collectionId = null,
    limit = MAX_FOUND,
  }: {
    accountIds: readonly string[]
    text: string
    collectionId?: string | null
    limit?: number
  },
): Promise<SummaryRow[]> {
  const words = titleWords(text)
  if (words.length > 0) await indexer.caughtUp()
  const { from, end } = collectionId === null ? FULL_SEQ_RANGE : await placesHeld(db, collectionId)
  const results: SummaryRow[] = []
  for (const accountId of words.length === 0 ? [] : accountIds) {
    const wordTerms: WordTerms[] = []
    for (const word of words) {
      const terms = await termsBeginning(db, wordTerm(accountId, word), MAX_ENDINGS)
      wordTerms.push({ terms, count: await countNftsWithTerms(db, terms, COMMON_WORD_COUNT) })
    }
    wordTerms.sort((a, b) => a.count - b.count)
    const [rarest, ...commoner] = wordTerms
    if (rarest === undefined || rarest.count === 0) continue
    // With a single word, every NFT that has the word is a result, so no more than `limit` are read.
    const nftsPerBatch = commoner.length === 0 && collectionId === null ? limit : PAGE_SIZE
    for (
      let before = end, looked = 0;
      before > from && looked < MAX_COMPARED && results.length < limit;
      looked += nftsPerBatch
    ) {
      const candidates = await listSeqsWithTerms(db, rarest.terms, { before, limit: nftsPerBatch })
      let seqs = candidates
      for (const { terms } of commoner) {
        const having = await filterSeqsWithTerms(db, seqs, terms)
        seqs = seqs.filter((seq) => having.has(seq))
      }
      const rows = await listNftsAt(db, seqs)
      results.push(...rows.filter((row) => collectionId === null || row.collection_id === collectionId).reverse())
      before = candidates.at(-1) ?? from
      if (candidates.length < nftsPerBatch) break
    }
  }
  return results.slice(0, limit)
}

const FULL_SEQ_RANGE = { from: 0, end: Number.MAX_SAFE_INTEGER }

/** Returns the range of a collection's index positions, so that NFTs outside the range aren't read. */
async function placesHeld(db: ExplorerDeps['db'], collectionId: string): Promise<typeof FULL_SEQ_RANGE> {
  const buckets = await listBuckets(db, { collectionId, run: null })
  return { from: firstSeqInBucket(buckets[0]?.bucket ?? 0), end: firstSeqInBucket((buckets.at(-1)?.bucket ?? -1) + 1) }
}
