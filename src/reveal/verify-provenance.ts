import { createHash } from 'node:crypto'
import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { GdnError } from '../core/errors.ts'
import { PROVENANCE, PROVENANCE_ROW, PROVENANCE_SALT } from '../manifest/reveal-keys.ts'
import {
  decodeString,
  digestSlot,
  metadataState,
  parseTokenId,
  provenanceOfCall as provenanceCall,
  tokenUri,
} from '../verify/abi.ts'
import type { CallResult, ChainReader } from '../verify/chain-reader.ts'
import type { Difference } from '../verify/compare-metadata.ts'
import type { StorageReader } from '../verify/storage-reader.ts'
import { contentOfFile, leafAt, leafOf, leavesIn, provenanceOf } from './leaves.ts'
import { sha256InUrl } from './provenance-in.ts'

/** The commitment that covers a token. */
export interface Provenance {
  /** The hash that is committed on chain. */
  hash: string
  /** The token's row in the leaves file. Rows are numbered from 1. */
  row: number
  rows: number
  /** The first token that was minted after the commitment. */
  firstTokenId: string
  isRevealed: boolean
}

/**
 * `none`: the token has no commitment, for example if it was minted revealed. `differs`: the revealed metadata isn't
 * what was committed to. `unknown`: the chain or the storage can't be read.
 */
export type ProvenanceCheck =
  | { kind: 'none' }
  | { kind: 'proven'; provenance: Provenance }
  | { kind: 'differs'; differences: Difference[] }
  | { kind: 'unknown'; reason: string }

/** Maximum number of tokens in a batch. The search for the batch of a token reads at most this many IDs. */
const MAX_BATCH = 200

type Metadata = Readonly<Record<string, unknown>>

/**
 * Proves from chain and storage alone that the metadata of a token is what its collection was committed to before the
 * token was minted. The minted metadata contains the row number and the URL of the leaves file. The hash of the leaves
 * file is on chain, and the row's leaf must match the metadata.
 */
export async function verifyProvenance(
  chain: Pick<ChainReader, 'call' | 'storageAt'>,
  storage: StorageReader,
  token: { contractAddress: string; tokenId: string },
): Promise<ProvenanceCheck> {
  try {
    return await verify(chain, storage, token)
  } catch (error) {
    if (error instanceof Unreadable) return { kind: 'unknown', reason: error.message }
    if (error instanceof Differing) return { kind: 'differs', differences: [error.difference] }
    throw error
  }
}

class Unreadable extends Error {}

class Differing extends Error {
  readonly difference: Difference

  constructor(difference: Difference) {
    super(difference.what)
    this.difference = difference
  }
}

const differs = (what: string, expected: string, found: string | null) => new Differing({ what, expected, found })

async function verify(
  chain: Pick<ChainReader, 'call' | 'storageAt'>,
  storage: StorageReader,
  { contractAddress: to, tokenId }: { contractAddress: string; tokenId: string },
): Promise<ProvenanceCheck> {
  const id = parseTokenId(tokenId)
  if (id === null) throw new Unreadable('its token ID is not a number')
  const updated = wasUpdated(dataOf(await callOnce(chain, { to, data: metadataState(id) })))
  if (updated === null) return { kind: 'none' }
  const returned = dataOf(await callOnce(chain, { to, data: tokenUri(id) }))
  if (returned === null) throw new GdnError('not_found', `${to} has no token ${tokenId}`)
  const uri = decodeString(returned)
  if (uri === null) throw new Unreadable('it has no token URI')
  const file = await readFile(storage, uri)
  // An NFT that was never updated and has no row number was minted revealed.
  if (!updated && !Object.hasOwn(file, PROVENANCE_ROW) && !Object.hasOwn(file, PROVENANCE_SALT)) return { kind: 'none' }
  const minted = await readFile(storage, await mintedUri(chain, to, id))
  const { [PROVENANCE]: url, [PROVENANCE_ROW]: rowText } = minted
  if (typeof url !== 'string' || typeof rowText !== 'string') {
    if (!Object.hasOwn(file, PROVENANCE_SALT)) return { kind: 'none' }
    throw differs(PROVENANCE, 'in the metadata that was minted', null)
  }
  const leaves = await readBytes(storage, url)
  const hash = provenanceOf(leaves)
  const next = dataOf(await callOnce(chain, { to, data: provenanceCall(hash) }))
  const first = next === null || next === '0x' ? 0n : BigInt(next)
  if (first === 0n) throw differs('the commitment', `${hash} on the chain`, null)
  if (first > id) throw differs('the commitment', `before token ${id}`, `before token ${first}`)
  const row = /^[1-9][0-9]{0,9}$/.test(rowText) ? Number(rowText) : 0
  const leaf = leafAt(leaves, row)
  if (row === 0 || leaf === null) throw differs(PROVENANCE_ROW, 'a row of the leaves file', rowText)
  const rows = leavesIn(leaves).length
  const provenance = { hash, row, rows, firstTokenId: String(first), isRevealed: updated }
  if (!updated) return { kind: 'proven', provenance }
  const salt = file[PROVENANCE_SALT]
  if (typeof salt !== 'string' || !/^[0-9a-f]{64}$/.test(salt)) {
    throw differs(PROVENANCE_SALT, 'the salt that a reveal writes', null)
  }
  const content = await contentOfFile(file, (fileUrl) => sha256Of(storage, fileUrl))
  const found = leafOf(Buffer.from(salt, 'hex'), content)
  if (found !== leaf) throw differs(`the leaf of row ${row}`, leaf, found)
  return { kind: 'proven', provenance }
}

/**
 * Returns whether a token was updated, from the result of `metadataState`. Null for a version 1 collection, which has
 * no commitments.
 */
const wasUpdated = (state: string | null): boolean | null =>
  state !== null && /^0x[0-9a-f]{192}$/i.test(state) ? BigInt(state.slice(0, 66)) > 0n : null

async function callOnce(chain: Pick<ChainReader, 'call'>, call: { to: string; data: string }): Promise<CallResult> {
  const [result] = await readable(() => chain.call([call]))
  return result ?? { kind: 'failed', message: 'no response' }
}

function dataOf(result: CallResult): string | null {
  if (result.kind === 'failed') throw new Unreadable(result.message)
  return result.kind === 'value' ? result.data : null
}

/**
 * Returns the URL of the metadata that a token was minted with, from the digest of its batch in the contract's storage.
 */
async function mintedUri(chain: Pick<ChainReader, 'storageAt'>, to: string, id: bigint): Promise<string> {
  const last = id > BigInt(MAX_BATCH) ? id - BigInt(MAX_BATCH) + 1n : 1n
  const heads: bigint[] = []
  for (let head = id; head >= last; head--) heads.push(head)
  const words = await readable(() => chain.storageAt(to, heads.map(digestSlot)))
  for (const [at, word] of words.entries()) {
    const digest = dataOf(word) ?? ''
    if (!/^0x[0-9a-f]{64}$/i.test(digest)) throw new Unreadable('the storage of the contract is not readable')
    if (BigInt(digest) === 0n) continue
    const cid = CID.createV1(0x70, createDigest(0x12, Buffer.from(digest.slice(2), 'hex')))
    return `ipfs://${cid}/${at}.json`
  }
  throw new Unreadable('the contract has no metadata directory for this token')
}

async function readFile(storage: StorageReader, url: string): Promise<Metadata> {
  const stored = await storage.readJson(url)
  if (stored.kind === 'failed') throw new Unreadable(stored.message)
  if (stored.kind === 'missing') throw differs('metadata', url, null)
  const { value } = stored
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw differs('metadata', 'a JSON object', JSON.stringify(value))
  }
  return value as Metadata
}

async function readBytes(storage: StorageReader, url: string): Promise<Uint8Array> {
  const stored = await storage.read(url)
  if (stored.kind === 'bytes') return stored.bytes
  throw new Unreadable(stored.message)
}

/** Returns the hash of a file. Reads the file unless its URL contains the hash. */
async function sha256Of(storage: StorageReader, url: string): Promise<string> {
  const hash = sha256InUrl(url)
  if (hash !== null) return hash
  return createHash('sha256')
    .update(await readBytes(storage, url))
    .digest('hex')
}

async function readable<Value>(read: () => Promise<Value>): Promise<Value> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof GdnError) || error.code === 'interrupted' || error.code === 'terminated') throw error
    throw new Unreadable(error.message)
  }
}
