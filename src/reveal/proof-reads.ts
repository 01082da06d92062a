import { GdnError, isInterruption } from '../core/errors.ts'
import { sha256Hex } from '../core/sha256-hex.ts'
import { PROVENANCE_ROW } from '../manifest/reveal-keys.ts'
import { decodeNumber, provenanceOfCall } from '../verify/abi.ts'
import type { CallResult, ChainReader } from '../verify/chain-reader.ts'
import type { Difference } from '../verify/compare-metadata.ts'
import { readMintedUris } from '../verify/minted-uris.ts'
import type { StorageReader } from '../verify/storage-reader.ts'
import { parseSha256InUrl } from './provenance-in.ts'
import type { BeaconSource } from './shuffle/read-beacon.ts'

// These functions read the data of proofs. They throw `UnreadableError` if the chain or the storage can't be read.

/** The sources from which a proof is read. */
export interface ProofSources {
  chain: Pick<ChainReader, 'call' | 'storageAt' | 'request' | 'origin'>
  storage: StorageReader
  /** Opens the beacon of shuffled drops. */
  openBeacon: () => Promise<BeaconSource>
  signal: AbortSignal
}

export type Metadata = Readonly<Record<string, unknown>>

export class UnreadableError extends Error {}

export class DifferingError extends Error {
  readonly difference: Difference
  /** The hint on the difference. Undefined if the metadata differs from that of the row. */
  readonly hint: string | undefined

  constructor(difference: Difference, hint?: string) {
    super(difference.what)
    this.difference = difference
    this.hint = hint
  }
}

export const differenceError = (what: string, expected: string, found: string | null, hint?: string) =>
  new DifferingError({ what, expected, found }, hint)

export async function callOnce(
  chain: Pick<ChainReader, 'call'>,
  call: { to: string; data: string },
  block?: string,
): Promise<CallResult> {
  const [result] = await toUnreadable(() => chain.call([call], block))
  return result ?? { kind: 'failed', message: 'no response' }
}

export function requireData(result: CallResult): string | null {
  if (result.kind === 'failed') throw new UnreadableError(result.message)
  return result.kind === 'value' ? result.data : null
}

/**
 * Returns the ID of the next token to be minted when a hash was committed; 0 if the hash isn't committed.
 *
 * @param block the block whose state is read. Default: the newest block
 */
export async function readFirstTokenId(
  chain: Pick<ChainReader, 'call'>,
  to: string,
  hash: string,
  block?: string,
): Promise<bigint> {
  const next = requireData(await callOnce(chain, { to, data: provenanceOfCall(hash) }, block))
  return next === null ? 0n : (decodeNumber(next) ?? 0n)
}

/** Returns the row number in minted metadata, which is a slot if the rows are shuffled; null if there is none. */
export function parseRowNumber({ [PROVENANCE_ROW]: text }: Metadata): number | null {
  return typeof text === 'string' && /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : null
}

/** Returns the URL of the metadata that a token was minted with. */
export async function mintedUri(chain: Pick<ChainReader, 'storageAt'>, to: string, id: bigint): Promise<string> {
  const uri = (await toUnreadable(() => readMintedUris(chain, to, [id]))).get(id)
  if (uri === undefined) throw new UnreadableError('the contract has no metadata directory for this token')
  return uri
}

export async function readMetadataFile(storage: StorageReader, url: string): Promise<Metadata> {
  const stored = await storage.readJson(url)
  if (stored.kind === 'failed') throw new UnreadableError(stored.message)
  if (stored.kind === 'missing') {
    // If the gateway doesn't have the file, reading its bytes throws. Otherwise, the file isn't JSON.
    await readBytes(storage, url)
    throw differenceError('metadata', 'a JSON object', null)
  }
  const { value } = stored
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw differenceError('metadata', 'a JSON object', JSON.stringify(value))
  }
  return value as Metadata
}

export async function readBytes(storage: StorageReader, url: string): Promise<Uint8Array> {
  const stored = await storage.read(url)
  if (stored.kind === 'bytes') return stored.bytes
  throw new UnreadableError(stored.message)
}

/** Returns the hash of a file. Reads the file unless its URL contains the hash. */
export async function hashFileAt(storage: StorageReader, url: string): Promise<string> {
  const hash = parseSha256InUrl(url)
  if (hash !== null) return hash
  return sha256Hex(await readBytes(storage, url))
}

export async function toUnreadable<Value>(read: () => Promise<Value>): Promise<Value> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof GdnError) || isInterruption(error)) throw error
    throw new UnreadableError(error.message)
  }
}
