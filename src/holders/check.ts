import { checksumAddress } from '../api/address.ts'
import { chunksOf } from '../core/chunks-of.ts'
import { GdnError } from '../core/errors.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import { decodeNumber } from '../verify/abi.ts'
import type { CallResult, ChainReader } from '../verify/chain-reader.ts'
import { CALLS } from './calls.ts'
import { hasCode } from './first-block.ts'
import type { Holder } from './holder-table.ts'
import { numberKey, parseNumberKey } from './number-key.ts'
import type { ReadingStore } from './reading-store.ts'
import { NO_OWNER, type Standard } from './transfers.ts'

export interface CheckOptions {
  reader: Pick<ChainReader, 'request' | 'call' | 'origin'>
  store: ReadingStore
  contract: string
  standard: Standard
  /** The block as a JSON-RPC quantity. */
  block: string
  /** Seed that determines the sample. */
  seed: string
  /** The sum of all counts. */
  total: bigint
  /** Reasons to compare all balances instead of a sample. */
  doubts: readonly string[]
  update: (text: string) => void
}

/** The result of a check that isn't possible with the node. */
export const NOT_CHECKED_NOTE = 'the balances were not checked, because the node does not have the state of the block'

const SAMPLE_SIZE = 100
const CALLS_PER_BATCH = 100

/** A call and the number that it must return. */
interface ExpectedResult {
  data: string
  value: bigint
  /** The subject of the comparison in error messages, such as `holder 0x…` or `token 5`. */
  subject: string
  /** Formats the returned number. */
  format?: (value: bigint) => string
}

/**
 * Compares the stored data with the contract at the same block. Compares the sum with `totalSupply`, and the balances
 * and owners of a sample. If there are doubts, compares all balances. Returns a sentence that describes the comparison.
 *
 * @throws GdnError `verify_failed` if something differs, or if there are doubts that can't be resolved
 */
export async function checkHolders(options: CheckOptions): Promise<string> {
  const { standard, doubts, update } = options
  update('Checking balances')
  const supply = await checkSupply(options)
  const isWhole = doubts.length > 0
  const samples = isWhole ? allBalances(options) : [[...sampledBalances(options), ...sampledTokens(options)]]
  let compared = 0
  for await (const expected of samples) {
    if (!(await compareResults(options, expected))) {
      if (isWhole) throw unprovenError(options, 'the node does not have the state of the block')
      return NOT_CHECKED_NOTE
    }
    compared += expected.length
    update(`Checking balances: ${compared}`)
  }
  const sum = supply ? 'the sum equals totalSupply, and ' : ''
  const subject = standard === 'erc721' && !isWhole ? 'balances and owners' : 'balances'
  return `${sum}${isWhole ? 'all' : 'a sample of'} ${compared} ${subject} match the contract`
}

/**
 * Returns whether the contract has a total supply.
 *
 * @throws GdnError `verify_failed` if the total supply differs from the sum
 */
async function checkSupply({ reader, contract, standard, block, total, doubts }: CheckOptions): Promise<boolean> {
  if (standard === 'erc1155') return false
  const [result] = await reader.call([{ to: contract, data: CALLS.totalSupply() }], block)
  const supply = result?.kind === 'value' ? decodeNumber(result.data) : null
  if (supply === null) return false
  if (supply === total) return true
  throw differsError(`the events add up to ${total}, but totalSupply of ${contract} is ${supply}`, doubts)
}

/** Compares the results of calls. Returns false if the node doesn't have the state of the block. */
async function compareResults(
  { reader, contract, block, doubts }: CheckOptions,
  all: readonly ExpectedResult[],
): Promise<boolean> {
  for (const chunk of chunksOf(all, CALLS_PER_BATCH)) {
    const results = await reader.call(
      chunk.map(({ data }) => ({ to: contract, data })),
      block,
    )
    for (const [at, { subject, value, format = String }] of chunk.entries()) {
      const result: CallResult = results[at] ?? { kind: 'failed', message: 'no response' }
      if (result.kind === 'failed') {
        // Without the state, the node doesn't have the code either. If the node has the code, the call failed for
        // another reason, such as too little gas.
        if ((await hasCode(reader, contract, Number(block))) === null) return false
        throw new GdnError(
          'bad_answer',
          `${reader.origin} can't call the contract to check ${subject}: ${result.message}`,
        )
      }
      const actual = result.kind === 'value' ? decodeNumber(result.data) : null
      if (actual === value) continue
      const has = actual === null ? 'the contract rejects the call' : `${format(actual)} in the contract`
      throw differsError(`${subject}: ${format(value)} according to the events, but ${has}`, doubts)
    }
  }
  return true
}

const differsError = (message: string, doubts: readonly string[]) =>
  new GdnError('verify_failed', message, {
    hint: [
      ...doubts.map((doubt) => `${doubt.charAt(0).toUpperCase()}${doubt.slice(1)}.`),
      'The contract changes balances without the events of its standard, as rebasing tokens do, or the node returned incomplete logs. Nothing was printed. Try another node.',
    ].join(' '),
  })

const unprovenError = ({ doubts }: CheckOptions, why: string) =>
  new GdnError('verify_failed', `the events do not prove the balances: ${doubts.join(', ')}, and ${why}`, {
    hint: 'Use the URL of an archive node, so that gdn can compare all balances.',
  })

const holderText = (owner: string) => `holder ${checksumAddress(`0x${owner}`)}`

const expectBalance = ({ owner, count }: Holder): ExpectedResult => ({
  data: CALLS.balanceOf(owner),
  value: count,
  subject: holderText(owner),
})

interface BalanceRow {
  owner: string
  token: string
  amount: string
}

const expectTokenBalance = ({ owner, token, amount }: BalanceRow): ExpectedResult => ({
  data: CALLS.balanceOfToken(owner, parseNumberKey(token)),
  value: BigInt(amount),
  subject: `${holderText(owner)}, token ${parseNumberKey(token)}`,
})

/** Yields all balances, 100 at a time. */
function* allBalances({ store, standard }: CheckOptions): Generator<ExpectedResult[]> {
  let chunk: ExpectedResult[] = []
  for (const row of expectedBalances()) {
    chunk.push(row)
    if (chunk.length < CALLS_PER_BATCH) continue
    yield chunk
    chunk = []
  }
  yield chunk

  function* expectedBalances(): Generator<ExpectedResult> {
    if (standard === 'erc1155') {
      for (const row of store.iterate<BalanceRow>('SELECT * FROM balances')) yield expectTokenBalance(row)
      return
    }
    for (const { owner, count } of store.iterate<{ owner: string; count: string }>('SELECT * FROM holders')) {
      yield expectBalance({ owner, count: parseNumberKey(count) })
    }
  }
}

/** Returns a hash of the seed and a number, from which the sample is drawn. */
const draw = (seed: string, at: number) => sha256Hex(`${seed}:${at}`)

/**
 * Returns the rows that follow random addresses. Returns all rows if there are few, because an address that closely
 * follows another one is seldom drawn.
 */
function sampledBalances(options: CheckOptions): ExpectedResult[] {
  const { store, standard, seed } = options
  const table = standard === 'erc1155' ? 'balances' : 'holders'
  const few = store.all(`SELECT 1 AS n FROM ${table} LIMIT ${SAMPLE_SIZE + 1}`).length <= SAMPLE_SIZE
  if (few) return [...allBalances(options)].flat()
  const sample = new Map<string, ExpectedResult>()
  for (let at = 0; at < SAMPLE_SIZE; at++) {
    const from = draw(seed, at).slice(0, 40)
    if (standard === 'erc1155') {
      const [row] = store.all<BalanceRow>('SELECT * FROM balances WHERE owner >= ? ORDER BY owner, token LIMIT 1', from)
      if (row !== undefined) sample.set(row.owner + row.token, expectTokenBalance(row))
      continue
    }
    const [row] = store.all<{ owner: string; count: string }>(
      'SELECT owner, count FROM holders WHERE owner >= ? ORDER BY owner LIMIT 1',
      from,
    )
    if (row !== undefined) sample.set(row.owner, expectBalance({ owner: row.owner, count: parseNumberKey(row.count) }))
  }
  return [...sample.values()]
}

/** Returns the tokens that follow random IDs, and random tokens in ERC-2309 ranges. */
function sampledTokens({ store, standard, seed }: CheckOptions): ExpectedResult[] {
  if (standard !== 'erc721') return []
  const sample = new Map<string, ExpectedResult>()
  const add = (key: string, owner: string) => sample.set(key, expectOwner(parseNumberKey(key), owner))
  for (const [table, column] of [
    ['tokens', 'token'],
    ['ranges', 'first'],
  ] as const) {
    const [ends] = store.all<{ low: string | null; high: string | null }>(
      `SELECT MIN(${column}) AS low, MAX(${column}) AS high FROM ${table}`,
    )
    if (typeof ends?.low !== 'string' || typeof ends.high !== 'string') continue
    for (let at = 0; at < SAMPLE_SIZE / 2; at++) {
      const random = BigInt(`0x${draw(seed, at)}`)
      const key = numberKey(scaleRandom(random, parseNumberKey(ends.low), parseNumberKey(ends.high)))
      if (table === 'tokens') {
        const [row] = store.all<{ token: string; owner: string }>(
          `SELECT token, owner FROM tokens WHERE token >= ? AND owner <> '${NO_OWNER}' ORDER BY token LIMIT 1`,
          key,
        )
        if (row !== undefined) add(row.token, row.owner)
        continue
      }
      const [range] = store.all<{ first: string; last: string; owner: string }>(
        'SELECT * FROM ranges WHERE first >= ? ORDER BY first LIMIT 1',
        key,
      )
      if (range === undefined) continue
      const token = numberKey(scaleRandom(random, parseNumberKey(range.first), parseNumberKey(range.last)))
      if (store.all('SELECT 1 AS n FROM tokens WHERE token = ?', token).length === 0) add(token, range.owner)
    }
  }
  return [...sample.values()]
}

const scaleRandom = (random: bigint, low: bigint, high: bigint): bigint => low + (random % (high - low + 1n))

const expectOwner = (token: bigint, owner: string): ExpectedResult => ({
  data: CALLS.ownerOf(token),
  value: BigInt(`0x${owner}`),
  subject: `token ${token}`,
  format: (value) => `owner ${checksumAddress(`0x${value.toString(16).padStart(40, '0')}`)}`,
})
