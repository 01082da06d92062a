import { type RawBuilder, sql } from 'kysely'
import { cidOf } from '../../core/ipfs-url.ts'
import { isPostgres } from './dialect.ts'
import type { Db } from './schema.ts'

/** What of a title, and of a word, can be found. */
const LONGEST_TITLE = 1000
const LONGEST_WORD = 24
const MOST_WORDS = 12
/** Characters of a CID that are kept: of their end, since they begin alike. */
const CID_END = 16

// Scripts that don't part words: each character stands for itself.
const ALONE = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]|\p{Extended_Pictographic}`
const TOKENS = new RegExp(String.raw`${ALONE}|(?:(?!${ALONE})[\p{L}\p{N}])+`, 'gu')
/** Most titles are ASCII, and for those there is less to do. */
const PLAIN = /^[\0-\x7f]*$/
const PLAIN_TOKENS = /[a-z0-9]+/g

/** A text as it is compared with others: in lower case, without accents, of one spelling. */
export function fold(text: string): string {
  const start = text.slice(0, LONGEST_TITLE)
  return PLAIN.test(start) ? start.toLowerCase() : start.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

/** The words of a text as they are compared; the first twelve. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  const folded = fold(text)
  const isPlain = PLAIN.test(folded)
  for (const word of folded.match(isPlain ? PLAIN_TOKENS : TOKENS) ?? []) {
    words.add(isPlain ? word.slice(0, LONGEST_WORD) : [...word].slice(0, LONGEST_WORD).join(''))
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

/** An NFT as far as it is found by something. */
interface Indexed {
  seq: number
  account_id: string
  /** The beginning of it. */
  metadata: string
  files: string | null
}

/** So much of an NFT's metadata is read: it may be megabytes, and its title stands first. */
const METADATA_READ = 16_384
const TITLE_BEGUN = /^\{"title":"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)/

/** The title in the beginning of an NFT's metadata. */
export function titleIn(beginning: string): string {
  const text = TITLE_BEGUN.exec(beginning)?.[1]
  const { title } = text === undefined ? parsed(beginning) : parsed(`{"title":"${text}"}`)
  return typeof title === 'string' ? title : ''
}

const titleTerms = ({ account_id, metadata }: Indexed): string[] =>
  wordsOf(titleIn(metadata)).map((word) => wordTerm(account_id, word))

function fileTerms({ account_id, files }: Pick<Indexed, 'account_id' | 'files'>): string[] {
  const places = Object.values(parsed(files)).filter((place) => typeof place === 'string' && place !== '')
  const cids = places.map((place) => cidOf(String(place))).filter((cid) => cid !== null)
  return [...new Set(cids.map((cid) => cidTerm(account_id, cid)))]
}

/** As one parameter or two, and not two for each row: making such a statement would take longer than carrying it out. */
async function insertTerms(db: Db, rows: readonly (readonly [term: string, seq: number])[]): Promise<void> {
  if (rows.length === 0) return
  const given = isPostgres(db)
    ? sql`select * from unnest(${sql.val(rows.map(([term]) => term))}::text[], ${sql.val(rows.map(([, seq]) => seq))}::bigint[])`
    : sql`select value ->> 0, value ->> 1 from json_each(${JSON.stringify(rows)}) where true`
  await sql`insert into nft_terms (term, seq) ${given} on conflict do nothing`.execute(db)
}

/** An NFT is found by its files from now on: they were fetched after it may have been indexed. */
export async function indexFiles(
  db: Db,
  { seq, collection_id, files }: { seq: number; collection_id: string; files: string },
): Promise<void> {
  if (files === '{}') return
  const { account_id } = await db
    .selectFrom('collections')
    .select('account_id')
    .where('id', '=', collection_id)
    .executeTakeFirstOrThrow()
  await insertTerms(
    db,
    fileTerms({ account_id, files }).map((term) => [term, seq] as const),
  )
}

/** Places of the order of acceptance, both included, that were empty, since a time in milliseconds. */
type Gap = readonly [from: number, to: number, since: number]

/** A transaction that took a place and hasn't ended after so long has come to nothing. */
const GAP_MS = 5 * 60_000
const MOST_GAPS = 1000

/** How much isn't indexed: of places, those up to the last one, and those that may be filled yet. */
export async function indexBacklog(db: Db): Promise<{ last: number; left: number; gaps: boolean }> {
  const { rows } = await sql<{ last: number | null; next: number | null; gaps: string | null }>`
    select (select max(seq) from nfts) as last, (select next_seq from nft_term_cursor) as next,
      (select gaps from nft_term_cursor) as gaps`.execute(db)
  const { last, next, gaps } = rows[0] ?? {}
  const end = Number(last ?? -1)
  return { last: end, left: Math.max(0, end + 1 - Number(next ?? 0)), gaps: (gaps ?? '[]') !== '[]' }
}

/**
 * Goes on with the index by at most so many NFTs; call it in a transaction. Written with each NFT, it would cost as many
 * pages of the disk as it has words; so many at a time share them.
 *
 * Where several processes accept, a place may be filled after later ones: places found empty are looked at again.
 *
 * @returns whether it has come to the end
 */
export async function indexMore(db: Db, now: number, limit: number): Promise<boolean> {
  await sql`insert into nft_term_cursor (id, next_seq, gaps) values (1, 0, '[]') on conflict do nothing`.execute(db)
  const cursor = await db
    .selectFrom('nft_term_cursor')
    .selectAll()
    .where('id', '=', 1)
    // Of several processes one does it; the others see to what they have to do.
    .$if(isPostgres(db), (query) => query.forUpdate().skipLocked())
    .executeTakeFirst()
  if (cursor === undefined) return true
  const gaps = (JSON.parse(cursor.gaps) as Gap[]).filter(([, , since]) => since > now - GAP_MS)
  const filled = gaps.length === 0 ? [] : await rowsAt(db, gaps)
  const rows = await nextRows(db, cursor.next_seq, limit)
  await insertTerms(
    db,
    [...filled, ...rows].flatMap((nft) =>
      [...titleTerms(nft), ...fileTerms(nft)].map((term) => [term, nft.seq] as const),
    ),
  )
  const last = rows.at(-1)?.seq
  const left = [...without(gaps, filled), ...gapsIn(cursor.next_seq, rows, now)].slice(-MOST_GAPS)
  const next_seq = last === undefined ? cursor.next_seq : last + 1
  const state = { next_seq, gaps: JSON.stringify(left) }
  if (state.next_seq !== cursor.next_seq || state.gaps !== cursor.gaps) {
    await db.updateTable('nft_term_cursor').set(state).where('id', '=', 1).execute()
  }
  return rows.length < limit
}

/**
 * A page of NFTs in the order of their acceptance, with their accounts. The page is chosen before the join: with
 * statistics of a few NFTs SQLite would sort all of them. It reads the tables of a cross join in this order.
 */
async function indexed(db: Db, where: RawBuilder<unknown>, limit: number): Promise<Indexed[]> {
  const page = sql`select seq, files, collection_id, substr(metadata, 1, ${sql.lit(METADATA_READ)}) as metadata
    from nfts where ${where} order by seq limit ${limit}`
  const { rows } = await sql<Indexed>`select page.seq, page.files, page.metadata, collections.account_id
    from (${page}) as page cross join collections where collections.id = page.collection_id
    order by page.seq`.execute(db)
  return rows
}

const nextRows = (db: Db, from: number, limit: number): Promise<Indexed[]> => indexed(db, sql`seq >= ${from}`, limit)

/** What was written to empty places meanwhile, as far as a batch of it. */
const rowsAt = (db: Db, gaps: readonly Gap[]): Promise<Indexed[]> =>
  indexed(
    db,
    sql.join(
      gaps.map(([from, to]) => sql`(seq >= ${from} and seq <= ${to})`),
      sql` or `,
    ),
    1000,
  )

/** Empty places between rows. Before the first row of all there never was one. */
function gapsIn(from: number, rows: readonly { seq: number }[], now: number): Gap[] {
  const gaps: Gap[] = []
  let expected = from === 0 ? (rows[0]?.seq ?? 0) : from
  for (const { seq } of rows) {
    if (seq > expected) gaps.push([expected, seq - 1, now])
    expected = seq + 1
  }
  return gaps
}

function without(gaps: readonly Gap[], filled: readonly { seq: number }[]): Gap[] {
  let left: Gap[] = [...gaps]
  for (const { seq } of filled) {
    left = left.flatMap((gap) => {
      const [from, to, since] = gap
      if (seq < from || seq > to) return [gap]
      return [[from, seq - 1, since] as const, [seq + 1, to, since] as const].filter(([a, b]) => a <= b)
    })
  }
  return left
}
