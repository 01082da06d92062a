import { sha256Hex } from '../core/sha256-hex.ts'
import { numberKey, parseNumberKey } from './number-key.ts'
import type { ReadingStore } from './reading-store.ts'
import { NO_OWNER, type Standard } from './transfers.ts'

/** A holder. The address has 40 hex digits in lower case. */
export interface Holder {
  owner: string
  count: bigint
}

/** A token ID or an ERC-2309 range that a holder owns. `amount` is the number of tokens. */
export interface HeldTokens {
  first: bigint
  last: bigint
  amount: bigint
}

/** A balance below zero. No contract has such a balance, so some earlier transfers emitted no events. */
export interface NegativeBalance {
  owner: string
  token: bigint | null
}

/**
 * Fills the table of holders from the stored data, for all tokens or for one token. Returns the sum, and a balance
 * below zero if there is one.
 */
export function countHolders(
  store: ReadingStore,
  token: bigint | null,
): { total: bigint; negative: NegativeBalance | null } {
  let total = 0n
  let negative: NegativeBalance | null = null
  store.transaction(() => {
    store.run('DELETE FROM holders')
    const insert = (owner: string, count: bigint) => {
      if (count > 0n) store.run('INSERT INTO holders VALUES (?, ?, NULL)', owner, numberKey(count))
      total += count
    }
    const add = (owner: string, count: bigint) => {
      const [old] = store.all<{ count: string }>('SELECT count FROM holders WHERE owner = ?', owner)
      if (old === undefined) return insert(owner, count)
      store.run('UPDATE holders SET count = ? WHERE owner = ?', numberKey(parseNumberKey(old.count) + count), owner)
      total += count
    }
    const key = token === null ? null : numberKey(token)
    const only = key === null ? [] : [key]
    const where = key === null ? '' : 'AND token = ?'
    const owners = `SELECT owner, COUNT(*) AS count FROM tokens WHERE owner <> '${NO_OWNER}' ${where} GROUP BY owner`
    for (const { owner, count } of store.iterate<{ owner: string; count: number }>(owners, ...only))
      insert(owner, BigInt(count))
    for (const { first, last, owner } of store.all<RangeRow>('SELECT * FROM ranges')) {
      if (key === null)
        add(owner, parseNumberKey(last) - parseNumberKey(first) + 1n - BigInt(countExplicitTokens(store, first, last)))
      else if (first <= key && key <= last && countExplicitTokens(store, key, key) === 0) add(owner, 1n)
    }
    const balances = `SELECT owner, token, amount FROM balances WHERE TRUE ${where} ORDER BY owner`
    let holder = { owner: '', count: 0n }
    for (const row of store.iterate<{ owner: string; token: string; amount: string }>(balances, ...only)) {
      if (row.owner !== holder.owner) {
        insert(holder.owner, holder.count)
        holder = { owner: row.owner, count: 0n }
      }
      const amount = BigInt(row.amount)
      if (amount > 0n) holder.count += amount
      else negative ??= { owner: row.owner, token: row.token === '' ? null : parseNumberKey(row.token) }
    }
    insert(holder.owner, holder.count)
  })
  return { total, negative }
}

interface RangeRow {
  first: string
  last: string
  owner: string
}

/** Returns the number of tokens in a range whose owners are stored individually. */
function countExplicitTokens(store: ReadingStore, first: string, last: string): number {
  const [row] = store.all<{ n: number }>('SELECT COUNT(*) AS n FROM tokens WHERE token BETWEEN ? AND ?', first, last)
  return Number(row?.n)
}

export interface HolderFilter {
  min: bigint
  /** Addresses to exclude, each with 40 hex digits in lower case. */
  excluded: Iterable<string>
  /** The size of the sample to keep, and the seed from which the holders are drawn. */
  sample: { size: number; seed: string } | null
}

/** Removes the holders that don't match the filter from the table. */
export function filterHolders(store: ReadingStore, { min, excluded, sample }: HolderFilter): void {
  store.transaction(() => {
    for (const owner of excluded) store.run('DELETE FROM holders WHERE owner = ?', owner)
    store.run('DELETE FROM holders WHERE count < ?', numberKey(min))
    if (sample === null) return
    for (const { owner } of store.iterate<{ owner: string }>('SELECT owner FROM holders ORDER BY count, owner')) {
      const draw = sha256Hex(`${sample.seed}:0x${owner}`)
      store.run('UPDATE holders SET draw = ? WHERE owner = ?', draw, owner)
    }
    store.run('DELETE FROM holders WHERE owner NOT IN (SELECT owner FROM holders ORDER BY draw LIMIT ?)', sample.size)
  })
}

/** Returns the number of given addresses that are not holders. */
export function countAbsentOwners(store: ReadingStore, owners: Iterable<string>): number {
  return [...owners].filter((owner) => store.all('SELECT 1 FROM holders WHERE owner = ?', owner).length === 0).length
}

export function countListedHolders(store: ReadingStore): number {
  return Number(store.all<{ n: number }>('SELECT COUNT(*) AS n FROM holders')[0]?.n)
}

/** Yields the holders, ordered by descending count and then by address. */
export function* listHolders(store: ReadingStore): Generator<Holder> {
  const rows = store.iterate<{ owner: string; count: string }>(
    'SELECT owner, count FROM holders ORDER BY count DESC, owner',
  )
  for (const { owner, count } of rows) yield { owner, count: parseNumberKey(count) }
}

/** Creates indexes that make `listHeldTokens` fast for many holders. */
export function createTokenIndexes(store: ReadingStore): void {
  store.run('CREATE INDEX IF NOT EXISTS tokens_by_owner ON tokens (owner, token)')
  store.run('CREATE INDEX IF NOT EXISTS ranges_by_owner ON ranges (owner, first)')
}

/** Number of tokens per page. */
const KEYS_PER_PAGE = 500
/** SQL condition for a held balance. The text of a balance below zero begins with a minus sign. */
const IS_HELD_SQL = "amount NOT LIKE '-%'"

/** Yields the individually stored tokens between two keys, limited to an owner's tokens if an owner is given. */
function* tokenKeys(store: ReadingStore, first: string, last: string, owner: string | null): Generator<string> {
  // Read pages with one prepared statement. A statement for each of a million holders would take most of the time and
  // memory.
  const where = owner === null ? 'token BETWEEN ? AND ?' : 'owner = ? AND token BETWEEN ? AND ?'
  for (let from = first; ; ) {
    const parameters = owner === null ? [from, last] : [owner, from, last]
    const sql = `SELECT token FROM tokens WHERE ${where} ORDER BY token LIMIT ${KEYS_PER_PAGE}`
    const rows = store.all<{ token: string }>(sql, ...parameters)
    for (const { token } of rows) yield token
    const end = rows.at(-1)?.token
    if (rows.length < KEYS_PER_PAGE || end === undefined || end === last) return
    from = numberKey(parseNumberKey(end) + 1n)
  }
}

const FIRST_KEY = numberKey(0n)
const LAST_KEY = numberKey(2n ** 256n - 1n)

/** Returns the number of tokens that have an owner. */
export function countTokens(store: ReadingStore, standard: 'erc721' | 'erc1155'): bigint {
  const count = (sql: string) => BigInt(store.all<{ n: number }>(sql)[0]?.n ?? 0)
  if (standard === 'erc1155') return count(`SELECT COUNT(DISTINCT token) AS n FROM balances WHERE ${IS_HELD_SQL}`)
  let total = count(`SELECT COUNT(*) AS n FROM tokens WHERE owner <> '${NO_OWNER}'`)
  for (const { first, last } of store.all<RangeRow>('SELECT * FROM ranges'))
    total += parseNumberKey(last) - parseNumberKey(first) + 1n - BigInt(countExplicitTokens(store, first, last))
  return total
}

/** Yields the tokens that have an owner. Yields the tokens of ERC-2309 ranges one by one. */
export function* iterateTokens(store: ReadingStore, standard: 'erc721' | 'erc1155'): Generator<bigint> {
  if (standard === 'erc1155') {
    const sql = `SELECT DISTINCT token FROM balances WHERE token > ? AND ${IS_HELD_SQL} ORDER BY token LIMIT ${KEYS_PER_PAGE}`
    return yield* tokenNumbers(store, sql)
  }
  const sql = `SELECT token FROM tokens WHERE token > ? AND owner <> '${NO_OWNER}' ORDER BY token LIMIT ${KEYS_PER_PAGE}`
  yield* tokenNumbers(store, sql)
  for (const range of store.all<RangeRow>('SELECT * FROM ranges ORDER BY first')) {
    for (const { first, last } of listRemainingRanges(store, range))
      for (let token = first; token <= last; token++) yield token
  }
}

/**
 * Yields the tokens that an SQL statement returns. The parameter of the statement is the key after which to continue.
 */
function* tokenNumbers(store: ReadingStore, sql: string): Generator<bigint> {
  for (let after = ''; ; ) {
    const rows = store.all<{ token: string }>(sql, after)
    for (const { token } of rows) yield parseNumberKey(token)
    const end = rows.at(-1)?.token
    if (end === undefined || rows.length < KEYS_PER_PAGE) return
    after = end
  }
}

/**
 * Yields the tokens of a holder. The rest of an ERC-2309 range isn't listed token by token, because it may contain 2⁹⁶
 * tokens.
 */
export function* listHeldTokens(store: ReadingStore, standard: Standard, owner: string): Generator<HeldTokens> {
  if (standard === 'erc1155') {
    const sql = 'SELECT token, amount FROM balances WHERE owner = ? ORDER BY token'
    for (const { token, amount } of store.all<{ token: string; amount: string }>(sql, owner)) {
      yield { first: parseNumberKey(token), last: parseNumberKey(token), amount: BigInt(amount) }
    }
    return
  }
  for (const token of tokenKeys(store, FIRST_KEY, LAST_KEY, owner)) {
    yield { first: parseNumberKey(token), last: parseNumberKey(token), amount: 1n }
  }
  const ranges = store.all<RangeRow>('SELECT * FROM ranges WHERE owner = ? ORDER BY first', owner)
  for (const range of ranges) yield* listRemainingRanges(store, range)
}

/** Yields the rest of an ERC-2309 range, which consists of the tokens whose owners aren't stored individually. */
function* listRemainingRanges(store: ReadingStore, { first, last }: RangeRow): Generator<HeldTokens> {
  let start = parseNumberKey(first)
  for (const token of tokenKeys(store, first, last, null)) {
    const gap = parseNumberKey(token)
    if (gap > start) yield { first: start, last: gap - 1n, amount: gap - start }
    start = gap + 1n
  }
  const end = parseNumberKey(last)
  if (end >= start) yield { first: start, last: end, amount: end - start + 1n }
}
