import { type RawBuilder, sql } from 'kysely'
import { findCid } from '../../core/ipfs-url.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { isPostgres, rowsAsTable } from './dialect.ts'
import { currentValueSql } from './nfts.ts'
import type { Db } from './schema.ts'

/** Maximum number of indexed characters of a title, and of each of its words. */
const MAX_TITLE_LENGTH = 1000
const MAX_WORD_LENGTH = 24
const MAX_TITLE_WORDS = 12
/**
 * Number of characters of a CID in the index. The last characters are indexed, because the first characters are similar
 * in all CIDs.
 */
const CID_SUFFIX_LENGTH = 16

// In scripts without spaces between words, treat each character as a word.
const SINGLE_CHARACTER_WORD = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]|\p{Extended_Pictographic}`
const WORD_PATTERN = new RegExp(
  String.raw`${SINGLE_CHARACTER_WORD}|(?:(?!${SINGLE_CHARACTER_WORD})[\p{L}\p{N}])+`,
  'gu',
)
/** Matches ASCII text. Most titles are ASCII, which is faster to process. */
const ASCII_PATTERN = /^[\0-\x7f]*$/
const ASCII_WORD_PATTERN = /[a-z0-9]+/g

/** Normalizes a string for comparison: lower case, without accents, in one Unicode form. */
export function fold(text: string): string {
  const start = text.slice(0, MAX_TITLE_LENGTH)
  return ASCII_PATTERN.test(start) ? start.toLowerCase() : start.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

/** Returns the first twelve words of a string, normalized and without duplicates. */
export function titleWords(text: string): string[] {
  const words = new Set<string>()
  const folded = fold(text)
  const isPlain = ASCII_PATTERN.test(folded)
  for (const word of folded.match(isPlain ? ASCII_WORD_PATTERN : WORD_PATTERN) ?? []) {
    words.add(isPlain ? word.slice(0, MAX_WORD_LENGTH) : [...word].slice(0, MAX_WORD_LENGTH).join(''))
    if (words.size === MAX_TITLE_WORDS) break
  }
  return [...words]
}

/**
 * Returns the prefix of an account's terms. Because of the prefix, the data of other accounts doesn't slow down
 * searches in an account.
 */
const accountPrefix = (accountId: string) => accountId.slice(-8)

export const wordTerm = (accountId: string, word: string): string => `${accountPrefix(accountId)} ${word}`
export const cidTerm = (accountId: string, cid: string): string =>
  `${accountPrefix(accountId)}~${cid.slice(-CID_SUFFIX_LENGTH)}`

/** Parses a JSON column. Returns an empty object if it is damaged. */
function parseColumn(json: string | null): Record<string, unknown> {
  const value = parseJson(json ?? '')
  return isObject(value) ? value : {}
}

/** The part of an NFT that is indexed. */
interface IndexedNft {
  seq: number
  account_id: string
  /** The beginning of the NFT's metadata. */
  metadata: string
  files: string | null
}

/**
 * Number of characters of the metadata that are read. Metadata can be megabytes long, and the title usually comes
 * first.
 */
const METADATA_READ_LENGTH = 16_384
const TITLE_START_PATTERN = /^\{"title":"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)/

/** Returns the title from the beginning of an NFT's metadata. */
export function parseTitle(beginning: string): string {
  const text = TITLE_START_PATTERN.exec(beginning)?.[1]
  const { title } = text === undefined ? parseColumn(beginning) : parseColumn(`{"title":"${text}"}`)
  return typeof title === 'string' ? title : ''
}

const titleTerms = ({ account_id, metadata }: IndexedNft): string[] =>
  titleWords(parseTitle(metadata)).map((word) => wordTerm(account_id, word))

function fileTerms(accountId: string, files: Readonly<Record<string, unknown>>): string[] {
  const places = Object.values(files).filter((place) => typeof place === 'string' && place !== '')
  const cids = places.map((place) => findCid(String(place))).filter((cid) => cid !== null)
  return [...new Set(cids.map((cid) => cidTerm(accountId, cid)))]
}

const toTermRows = (nft: IndexedNft) =>
  [...titleTerms(nft), ...fileTerms(nft.account_id, parseColumn(nft.files))].map((term) => [term, nft.seq] as const)

async function insertTerms(db: Db, rows: readonly (readonly [term: string, seq: number])[]): Promise<void> {
  if (rows.length === 0) return
  const inputRows = rowsAsTable(db, { term: 'text', seq: 'bigint' }, rows)
  await sql`insert into nft_terms (term, seq) select term, seq from ${inputRows} as given where true
    on conflict do nothing`.execute(db)
}

/** Indexes the files of NFTs, which may have been fetched after the NFTs were indexed. */
export async function indexFiles(
  db: Db,
  nfts: readonly { claimed: { seq: number; collection_id: string }; files: Readonly<Record<string, string>> }[],
): Promise<void> {
  const ids = new Set(nfts.map(({ claimed }) => claimed.collection_id))
  if (ids.size === 0) return
  const collections = await db
    .selectFrom('collections')
    .select(['id', 'account_id'])
    .where('id', 'in', [...ids])
    .execute()
  const accounts = new Map(collections.map(({ id, account_id }) => [id, account_id]))
  const terms = nfts.flatMap(({ claimed: { seq, collection_id }, files }) =>
    fileTerms(accounts.get(collection_id) ?? '', files).map((term) => [term, seq] as const),
  )
  await insertTerms(db, terms)
}

/**
 * Calls `change`, which changes the current metadata of NFTs, and updates their search terms. Call this in a
 * transaction. NFTs that aren't indexed yet are indexed immediately.
 */
export async function reindexTitles(db: Db, nftIds: readonly string[], change: () => Promise<unknown>): Promise<void> {
  if (nftIds.length === 0) return
  const read = () => listIndexed(db, sql`nfts.id in (${sql.join(nftIds)})`, nftIds.length)
  const before = await read()
  await change()
  const after = new Map((await read()).map((nft) => [nft.seq, toTermRows(nft)]))
  // Use one statement for each NFT. With one statement for several NFTs, SQLite would read all NFTs that have a term.
  for (const nft of before) {
    const present = new Set(after.get(nft.seq)?.map(([term]) => term))
    const gone = toTermRows(nft).flatMap(([term]) => (present.has(term) ? [] : [term]))
    if (gone.length === 0) continue
    await db.deleteFrom('nft_terms').where('seq', '=', nft.seq).where('term', 'in', gone).execute()
  }
  await insertTerms(db, [...after.values()].flat())
}

/** A range of positions (inclusive), and a time in milliseconds at which they were empty. */
type Gap = readonly [from: number, to: number, since: number]

/** Time in milliseconds after which a transaction that reserved a position and hasn't ended counts as failed. */
const MAX_GAP_MS = 5 * 60_000
const MAX_GAPS = 1000

/**
 * Returns the state of the indexing backlog: the last position, the number of remaining positions, and whether empty
 * positions may still be filled.
 */
export async function readIndexBacklog(db: Db): Promise<{ last: number; remaining: number; gaps: boolean }> {
  const { rows } = await sql<{ last: number | null; next: number | null; gaps: string | null }>`
    select (select max(seq) from nfts) as last, (select next_seq from nft_term_cursor) as next,
      (select gaps from nft_term_cursor) as gaps`.execute(db)
  const { last, next, gaps } = rows[0] ?? {}
  const end = Number(last ?? -1)
  return { last: end, remaining: Math.max(0, end + 1 - Number(next ?? 0)), gaps: (gaps ?? '[]') !== '[]' }
}

/**
 * Indexes at most `limit` more NFTs. Call this in a transaction. Indexing each NFT when it is accepted would write one
 * page for each word. In a batch, several words are often on the same page, which is written once.
 *
 * In a cluster, a position may be filled after later ones, so empty positions are checked again.
 *
 * @returns whether no NFTs remain to be indexed, or another process is indexing
 */
export async function indexNextBatch(db: Db, now: number, limit: number): Promise<boolean> {
  await sql`insert into nft_term_cursor (id, next_seq, gaps) values (1, 0, '[]') on conflict do nothing`.execute(db)
  const cursor = await db
    .selectFrom('nft_term_cursor')
    .selectAll()
    .where('id', '=', 1)
    // In a cluster, one process indexes while the other processes do other work.
    .$if(isPostgres(db), (query) => query.forUpdate().skipLocked())
    .executeTakeFirst()
  if (cursor === undefined) return true
  const gaps = (JSON.parse(cursor.gaps) as Gap[]).filter(([, , since]) => since > now - MAX_GAP_MS)
  const filled = gaps.length === 0 ? [] : await listRowsInGaps(db, gaps)
  const rows = await nextRows(db, cursor.next_seq, limit)
  await insertTerms(db, [...filled, ...rows].flatMap(toTermRows))
  const last = rows.at(-1)?.seq
  const remainingGaps = [...removeFilled(gaps, filled), ...findGaps(cursor.next_seq, rows, now)].slice(-MAX_GAPS)
  const next_seq = last === undefined ? cursor.next_seq : last + 1
  const state = { next_seq, gaps: JSON.stringify(remainingGaps) }
  if (state.next_seq !== cursor.next_seq || state.gaps !== cursor.gaps) {
    await db.updateTable('nft_term_cursor').set(state).where('id', '=', 1).execute()
  }
  return rows.length < limit
}

/**
 * Returns a page of NFTs in the order of acceptance, with their accounts. Selects the page before the join. With
 * statistics of only a few NFTs, SQLite would otherwise sort all NFTs. SQLite reads the tables of a cross join in the
 * order in which they are written.
 */
async function listIndexed(db: Db, where: RawBuilder<unknown>, limit: number): Promise<IndexedNft[]> {
  const page = sql`select seq, ${currentValueSql('files')} as files, collection_id,
    substr(${currentValueSql('metadata')}, 1, ${sql.lit(METADATA_READ_LENGTH)}) as metadata
    from nfts where ${where} order by seq limit ${limit}`
  const { rows } = await sql<IndexedNft>`select page.seq, page.files, page.metadata, collections.account_id
    from (${page}) as page cross join collections where collections.id = page.collection_id
    order by page.seq`.execute(db)
  return rows
}

const nextRows = (db: Db, from: number, limit: number): Promise<IndexedNft[]> =>
  listIndexed(db, sql`seq >= ${from}`, limit)

/** Returns at most 1,000 NFTs at positions that were empty before. */
const listRowsInGaps = (db: Db, gaps: readonly Gap[]): Promise<IndexedNft[]> =>
  listIndexed(
    db,
    sql.join(
      gaps.map(([from, to]) => sql`(seq >= ${from} and seq <= ${to})`),
      sql` or `,
    ),
    1000,
  )

/** Returns the empty positions between rows. Positions before the table's first row don't count. */
function findGaps(from: number, rows: readonly { seq: number }[], now: number): Gap[] {
  const gaps: Gap[] = []
  let expected = from === 0 ? (rows[0]?.seq ?? 0) : from
  for (const { seq } of rows) {
    if (seq > expected) gaps.push([expected, seq - 1, now])
    expected = seq + 1
  }
  return gaps
}

function removeFilled(gaps: readonly Gap[], filled: readonly { seq: number }[]): Gap[] {
  let remaining: Gap[] = [...gaps]
  for (const { seq } of filled) {
    remaining = remaining.flatMap((gap) => {
      const [from, to, since] = gap
      if (seq < from || seq > to) return [gap]
      return [[from, seq - 1, since] as const, [seq + 1, to, since] as const].filter(([a, b]) => a <= b)
    })
  }
  return remaining
}
