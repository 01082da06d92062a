import { chunksOf } from '../core/chunks-of.ts'
import { hexQuantity } from '../core/hex-quantity.ts'
import { numberKey, parseNumberKey } from '../holders/number-key.ts'
import { CONTRACT_URI_CALL, decodeString, metadataStateCall } from '../verify/abi.ts'
import type { CallResult, ChainReader } from '../verify/chain-reader.ts'
import { readMintedUris } from '../verify/minted-uris.ts'
import { type ArchiveStore, COLLECTION_KEY } from './archive-store.ts'
import { isTooLargeError, type ListOptions } from './list-tokens.ts'

type ListMoreOptions = Pick<ListOptions, 'store' | 'contract' | 'block'> & {
  reader: Pick<ChainReader, 'call' | 'storageAt'>
}

/** Stores the URI of the contract's own metadata (ERC-7572) at the block, if there is one. */
export async function listContractUri({ reader, store, contract, block }: ListMoreOptions): Promise<void> {
  const calls = [{ to: contract, data: CONTRACT_URI_CALL }]
  const [result] = await reader.call(calls, hexQuantity(block.number)).catch((error: unknown): CallResult[] => {
    if (isTooLargeError(error)) return [{ kind: 'failed', message: error.message }]
    throw error
  })
  const add = (uri: string | null, problem: string | null) =>
    store.addTokens([{ token: COLLECTION_KEY, uri, problem, minted: null }])
  if (result?.kind === 'failed')
    return add(null, `contractURI() can't be read: ${result.message.slice(0, MAX_MESSAGE_LENGTH)}`)
  const uri = result?.kind === 'value' ? (decodeString(result.data)?.trim() ?? '') : ''
  if (uri !== '') add(uri, null)
}

const MAX_MESSAGE_LENGTH = 200
const CALLS_PER_BATCH = 50

/**
 * Stores the URL of the original metadata for each updated token of a gdn collection. The proof of a reveal needs the
 * original metadata and the files to which it refers.
 */
export async function listMintedUris(options: ListMoreOptions): Promise<void> {
  const { reader, store, contract, block } = options
  const ids = [...readTokenIds(store)]
  for (const chunk of chunksOf(ids, CALLS_PER_BATCH)) {
    const calls = chunk.map((id) => ({ to: contract, data: metadataStateCall(id) }))
    const states = await reader.call(calls, hexQuantity(block.number))
    // Only gdn's contracts have the called function.
    if (!states.some(isMetadataState)) return
    const updated = chunk.filter((_, at) => isUpdated(states[at]))
    if (updated.length > 0) await addMintedUris(options, updated)
  }
}

function* readTokenIds(store: ArchiveStore): Generator<bigint> {
  for (const { token } of store.tokens()) if (token !== COLLECTION_KEY) yield parseNumberKey(token)
}

const isMetadataState = (state: CallResult | undefined): state is CallResult & { kind: 'value' } =>
  state?.kind === 'value' && /^0x[0-9a-f]{192}$/i.test(state.data)
const isUpdated = (state: CallResult | undefined): boolean =>
  isMetadataState(state) && BigInt(state.data.slice(0, 66)) > 0n

async function addMintedUris(
  { reader, store, contract, block }: ListMoreOptions,
  updated: readonly bigint[],
): Promise<void> {
  const uris = await readMintedUris(reader, contract, updated, { block: hexQuantity(block.number) })
  for (const [id, uri] of uris) store.setMinted(numberKey(id), uri)
}
