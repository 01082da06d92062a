import { type Kysely, sql } from 'kysely'
import type { Db, Schema } from './schema.ts'

/** An NFT as far as it is found by something. */
export interface Indexed {
  seq: number
  account_id: string
  /** JSON, as in the table. */
  metadata: string
  files: string | null
}

/** What of a title, and of a word, can be found. */
const LONGEST_TITLE = 1000
const LONGEST_WORD = 24
const MOST_WORDS = 12
/** Characters of a CID that are kept: of their end, since they begin alike. */
const CID_END = 16

// Scripts that don't part words: each character stands for itself.
const ALONE = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]|\p{Extended_Pictographic}`
const TOKENS = new RegExp(String.raw`${ALONE}|(?:(?!${ALONE})[\p{L}\p{N}])+`, 'gu')

/** A text as it is compared with others: in lower case, without accents, of one spelling. */
export const fold = (text: string): string =>
  text.slice(0, LONGEST_TITLE).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** The words of a text as they are compared; the first twelve. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  for (const [word] of fold(text).matchAll(TOKENS)) {
    words.add([...word].slice(0, LONGEST_WORD).join(''))
    if (words.size === MOST_WORDS) break
  }
  return [...words]
}

/** Terms are an account's own: how much others have doesn't make finding slower. */
const tagOf = (accountId: string) => accountId.slice(-8)

export const wordTerm = (accountId: string, word: string): string => `${tagOf(accountId)} ${word}`
export const cidTerm = (accountId: string, cid: string): string => `${tagOf(accountId)}~${cid.slice(-CID_END)}`

/** What a column of JSON holds; nothing where it is damaged. */
function parsed(json: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json ?? '{}')
    return value !== null && typeof value === 'object' ? { ...value } : {}
  } catch {
    return {}
  }
}

function titleTerms({ account_id, metadata }: Indexed): string[] {
  const { title } = parsed(metadata)
  return typeof title === 'string' ? wordsOf(title).map((word) => wordTerm(account_id, word)) : []
}

function fileTerms({ account_id, files }: Pick<Indexed, 'account_id' | 'files'>): string[] {
  const places = Object.values(parsed(files)).filter((place) => typeof place === 'string' && place !== '')
  return [...new Set(places.map((place) => cidTerm(account_id, String(place).split('/')[0] ?? '')))]
}

// SQLite binds at most 32,766 parameters in a statement; a row here has 2.
const ROWS_AT_ONCE = 5000

async function insertTerms(db: Db, rows: { term: string; seq: number }[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const values = rows.slice(at, at + ROWS_AT_ONCE).map(({ term, seq }) => sql`(${term}, ${sql.lit(seq)})`)
    await sql`insert into nft_terms (term, seq) values ${sql.join(values)} on conflict do nothing`.execute(db)
  }
}

/** NFTs of these rows are found by their titles, and by their files as far as they are stored. */
export async function indexNfts(db: Db, nfts: readonly Indexed[]): Promise<void> {
  const rows = nfts.flatMap((nft) => [...titleTerms(nft), ...fileTerms(nft)].map((term) => ({ term, seq: nft.seq })))
  await insertTerms(db, rows)
}

/** An NFT is found by its files, which are stored by now. */
export async function indexFiles(
  db: Db,
  { seq, collection_id, files }: { seq: number; collection_id: string; files: string },
) {
  if (files === '{}') return
  const { account_id } = await db
    .selectFrom('collections')
    .select('account_id')
    .where('id', '=', collection_id)
    .executeTakeFirstOrThrow()
  await insertTerms(
    db,
    fileTerms({ account_id, files }).map((term) => ({ term, seq })),
  )
}

const PAGE = 1000

/** All NFTs that a database holds. */
export async function indexTitles(database: Db | Kysely<unknown>): Promise<void> {
  const db = database as Kysely<Schema>
  for (let last = 0; ; ) {
    const rows = await db
      .selectFrom('nfts')
      .innerJoin('collections', 'collections.id', 'nfts.collection_id')
      .select(['nfts.seq', 'nfts.metadata', 'nfts.files', 'collections.account_id'])
      .where('nfts.seq', '>', last)
      .orderBy('nfts.seq')
      .limit(PAGE)
      .execute()
    await indexNfts(db, rows)
    last = rows.at(-1)?.seq ?? last
    if (rows.length < PAGE) return
  }
}
