import { GdnError } from '../core/errors.ts'
import { formatBytes } from '../core/format-bytes.ts'
import { hexQuantity } from '../core/hex-quantity.ts'
import { hasCode } from '../holders/first-block.ts'
import { countTokens, iterateTokens } from '../holders/holder-table.ts'
import { numberKey } from '../holders/number-key.ts'
import type { ReadingStore } from '../holders/reading-store.ts'
import { decodeString, tokenUriCall, uriCall } from '../verify/abi.ts'
import type { Block } from '../verify/block-at.ts'
import type { CallResult, ChainReader } from '../verify/chain-reader.ts'
import { substituteId } from '../verify/contract/token-uri.ts'
import type { ArchiveStore, ListedToken } from './archive-store.ts'
import { MAX_TOKENS, MAX_URI_BYTES } from './limits.ts'

export interface ListOptions {
  reader: Pick<ChainReader, 'request' | 'call' | 'origin'>
  /** The holders of the tokens at the block. */
  holders: ReadingStore
  store: ArchiveStore
  contract: string
  standard: 'erc721' | 'erc1155'
  block: Block
  /** Maximum size of all token URIs in bytes. */
  maxBytes: number
  onProgress(done: number, all: number): void
}

const CALLS_PER_BATCH = 50
const MAX_MESSAGE_LENGTH = 200

/**
 * Stores all tokens that have an owner, with their URIs at the block.
 *
 * @returns false if the node no longer has the state of the block
 * @throws GdnError `refused` if the collection has more tokens or larger token URIs than an archive may contain
 */
export async function listTokens(options: ListOptions): Promise<boolean> {
  const { holders, store, standard, contract, maxBytes, onProgress } = options
  const all = countTokens(holders, standard)
  if (all > BigInt(MAX_TOKENS)) {
    throw new GdnError('refused', `${contract} has ${all} tokens, but an archive can have at most ${MAX_TOKENS}`, {
      hint: 'A number this large usually comes from an ERC-2309 event, which creates a range of tokens at once.',
    })
  }
  if (all === 0n) {
    throw new GdnError('not_found', `${contract} has no tokens with an owner at block ${options.block.number}`, {
      hint: 'Check the address and the network.',
    })
  }
  let done = 0
  let bytes = 0
  const next = iterateTokens(holders, standard)
  for (;;) {
    const ids = [...takeItems(next, CALLS_PER_BATCH)]
    if (ids.length === 0) return true
    const tokens = await readUris(options, ids)
    if (tokens === null) return false
    bytes += tokens.reduce((sum, { uri }) => sum + (uri?.length ?? 0), 0)
    if (bytes > maxBytes) {
      throw new GdnError('refused', `the token URIs of ${contract} are larger than ${formatBytes(maxBytes)} in total`, {
        hint: 'Set a higher limit with --max-size.',
      })
    }
    store.addTokens(tokens)
    done += ids.length
    onProgress(done, Number(all))
  }
}

/** Yields at most `count` items, and leaves the other items in the generator. */
function* takeItems<Item>(items: Generator<Item>, count: number): Generator<Item> {
  for (let yielded = 0; yielded < count; yielded++) {
    const next = items.next()
    if (next.done === true) return
    yield next.value
  }
}

/** Returns the tokens with their URIs, or null if the node doesn't have the state of the block. */
async function readUris(options: ListOptions, ids: readonly bigint[]): Promise<ListedToken[] | null> {
  const { reader, contract, standard, block } = options
  const results = await callEach(options, ids)
  if (results.some(({ kind }) => kind === 'failed')) {
    // Without the state, the node doesn't have the code either. If the node has the code, the calls failed for another
    // reason, such as too little gas.
    if ((await hasCode(reader, contract, block.number)) === null) return null
  }
  return results.map((result, at) => {
    const id = ids[at] ?? 0n
    const { uri, problem } = decodeUri(result)
    return { token: numberKey(id), uri: uri !== null && standard === 'erc1155' ? substituteId(uri, id) : uri, problem }
  })
}

/** Returns the URIs of tokens 0 and 1 at the block for both standards, except URIs that can't be read. */
export async function readFirstUris(options: Pick<ListOptions, 'reader' | 'contract' | 'block'>): Promise<string[]> {
  const results: CallResult[] = []
  for (const standard of ['erc721', 'erc1155'] as const)
    results.push(...(await callEach({ ...options, standard }, [0n, 1n])))
  return results.flatMap((result) => decodeUri(result).uri ?? [])
}

/** Calls the contract for each token. If the response to all calls is too large, makes the calls one by one. */
async function callEach(
  { reader, contract, standard, block }: Pick<ListOptions, 'reader' | 'contract' | 'standard' | 'block'>,
  ids: readonly bigint[],
) {
  const call = standard === 'erc721' ? tokenUriCall : uriCall
  const callTokens = (tokenIds: readonly bigint[]) =>
    reader.call(
      tokenIds.map((id) => ({ to: contract, data: call(id) })),
      hexQuantity(block.number),
    )
  try {
    return await callTokens(ids)
  } catch (error) {
    if (!isTooLargeError(error)) throw error
  }
  const results: CallResult[] = []
  for (const id of ids) {
    try {
      results.push(...(await callTokens([id])))
    } catch (error) {
      if (!isTooLargeError(error)) throw error
      results.push({ kind: 'reverted', message: TOO_LARGE_PROBLEM })
    }
  }
  return results
}

const TOO_LARGE_PROBLEM = `the token URI is larger than ${MAX_URI_BYTES / 2 ** 20} MiB`
/** Returns whether an error means that the transport rejected a response as too large. */
export const isTooLargeError = (error: unknown): error is GdnError =>
  error instanceof GdnError && /longer than \d+ MiB/.test(error.message)

function decodeUri(result: CallResult): { uri: string | null; problem: string | null } {
  const none = (problem: string) => ({ uri: null, problem })
  if (result.kind !== 'value') {
    if (result.message === TOO_LARGE_PROBLEM) return none(TOO_LARGE_PROBLEM)
    const message = result.message.slice(0, MAX_MESSAGE_LENGTH)
    return none(`the contract returns no token URI: ${message}`)
  }
  if (result.data.length > 2 * MAX_URI_BYTES) return none(TOO_LARGE_PROBLEM)
  const uri = decodeString(result.data)
  if (uri === null) return none('the contract returns a token URI that is not text')
  return uri.trim() === '' ? none('the token URI is empty') : { uri: uri.trim(), problem: null }
}
