import { parseRule, type ShuffleRule } from '../api/shuffle-rule.ts'
import { GdnError } from '../core/errors.ts'
import { PROVENANCE, PROVENANCE_ROW, PROVENANCE_SALT } from '../manifest/reveal-keys.ts'
import { decodeString, metadataStateCall, parseTokenId, tokenUriCall } from '../verify/abi.ts'
import type { Difference } from '../verify/compare-metadata.ts'
import type { StorageReader } from '../verify/storage-reader.ts'
import { computeLeaf, computeProvenance, hashFileContent, parseLeaves, readLeaf } from './leaves.ts'
import {
  callOnce,
  DifferingError,
  differenceError,
  hashFileAt,
  mintedUri,
  type ProofSources,
  parseRowNumber,
  readBytes,
  readFirstTokenId,
  readMetadataFile,
  requireData,
  UnreadableError,
} from './proof-reads.ts'
import type { ShuffleProof } from './verify-shuffle.ts'

/** The commitment that covers a token. */
export interface Provenance {
  /** The hash that is committed on chain. */
  hash: string
  /**
   * The token's row in the leaves file. Rows are numbered from 1. Null if the rows are shuffled and the token isn't
   * revealed.
   */
  row: number | null
  rows: number
  /** The first token that was minted after the commitment. */
  firstTokenId: string
  isRevealed: boolean
  /** The proof that the row was drawn; null if the rows aren't shuffled. */
  shuffle: ShuffleProof | null
}

/**
 * `none`: the token has no commitment, for example because it was minted revealed. `differs`: the revealed metadata
 * differs from the commitment. `unknown`: the chain or the storage can't be read.
 */
export type ProvenanceCheck =
  | { kind: 'none' }
  | { kind: 'proven'; provenance: Provenance }
  | { kind: 'differs'; differences: Difference[]; hint: string | undefined }
  | { kind: 'unknown'; reason: string }

/**
 * Proves, using only the chain and the storage, that the collection was committed to a token's metadata before the
 * mint. The minted metadata contains the row number and the URL of the leaves file. The hash of the leaves file is on
 * chain, and the row's leaf must match the metadata.
 */
export async function verifyProvenance(
  sources: ProofSources,
  token: { contractAddress: string; tokenId: string },
): Promise<ProvenanceCheck> {
  try {
    return await verify(sources, token)
  } catch (error) {
    if (error instanceof UnreadableError) return { kind: 'unknown', reason: error.message }
    if (error instanceof DifferingError) return { kind: 'differs', differences: [error.difference], hint: error.hint }
    throw error
  }
}

async function verify(
  sources: ProofSources,
  { contractAddress: to, tokenId }: { contractAddress: string; tokenId: string },
): Promise<ProvenanceCheck> {
  const { chain, storage } = sources
  const id = parseTokenId(tokenId)
  if (id === null) throw new UnreadableError('the token ID is not a number')
  const updated = wasUpdated(requireData(await callOnce(chain, { to, data: metadataStateCall(id) })))
  if (updated === null) return { kind: 'none' }
  const returned = requireData(await callOnce(chain, { to, data: tokenUriCall(id) }))
  if (returned === null) throw new GdnError('not_found', `${to} has no token ${tokenId}`)
  const uri = decodeString(returned)
  if (uri === null) throw new UnreadableError('the token has no token URI')
  const file = await readMetadataFile(storage, uri)
  // An NFT that was never updated and has no row number was minted revealed.
  if (!updated && !Object.hasOwn(file, PROVENANCE_ROW) && !Object.hasOwn(file, PROVENANCE_SALT)) return { kind: 'none' }
  const minted = await readMetadataFile(storage, await mintedUri(chain, to, id))
  const { [PROVENANCE]: url, [PROVENANCE_ROW]: rowText } = minted
  if (typeof url !== 'string' || typeof rowText !== 'string') {
    if (!Object.hasOwn(file, PROVENANCE_SALT)) return { kind: 'none' }
    throw differenceError(PROVENANCE, 'in the metadata that was minted', null)
  }
  const leaves = await readBytes(storage, url)
  const hash = computeProvenance(leaves)
  const first = await readFirstTokenId(chain, to, hash)
  if (first === 0n) throw differenceError('the commitment', `${hash} on the chain`, null)
  if (first > id) throw differenceError('the commitment', `before token ${id}`, `before token ${first}`)
  const rule = ruleOf(leaves)
  const all = parseLeaves(leaves)
  const numbered = parseRowNumber(minted)
  if (numbered === null || numbered > all.length)
    throw differenceError(PROVENANCE_ROW, 'a row of the leaves file', rowText)
  let row: number | null = numbered
  let shuffle: ShuffleProof | null = null
  if (rule !== null) {
    const drop = { to, first, hash, rows: all.length, rule, leavesUrl: url }
    const { verifyShuffle } = await import('./verify-shuffle.ts')
    shuffle = await verifyShuffle(sources, drop, { id, slot: numbered }, updated ? file : null)
    row = shuffle.row
  }
  const provenance = { hash, row, rows: all.length, firstTokenId: String(first), isRevealed: updated, shuffle }
  if (updated && row !== null)
    await verifyLeaf(storage, file, { row, leaf: readLeaf(leaves, row) ?? '', isShuffled: rule !== null })
  return { kind: 'proven', provenance }
}

/** Compares the revealed metadata of a token with the leaf of its row. */
async function verifyLeaf(
  storage: StorageReader,
  file: Readonly<Record<string, unknown>>,
  { row, leaf, isShuffled }: { row: number; leaf: string; isShuffled: boolean },
): Promise<void> {
  const salt = file[PROVENANCE_SALT]
  if (typeof salt !== 'string' || !/^[0-9a-f]{64}$/.test(salt)) {
    throw differenceError(PROVENANCE_SALT, 'the salt that a reveal writes', null)
  }
  const content = await hashFileContent(file, (fileUrl) => hashFileAt(storage, fileUrl), isShuffled)
  const actualLeaf = computeLeaf(Buffer.from(salt, 'hex'), content)
  if (actualLeaf !== leaf) throw differenceError(`the leaf of row ${row}`, leaf, actualLeaf)
}

function ruleOf(leaves: Uint8Array): ShuffleRule | null {
  try {
    return parseRule(leaves)
  } catch (error) {
    if (error instanceof GdnError) throw new UnreadableError(error.message)
    throw error
  }
}

/**
 * Returns whether a token was updated, based on the result of `metadataStateCall`. Returns null for a version 1
 * collection, which has no commitments.
 */
const wasUpdated = (state: string | null): boolean | null =>
  state !== null && /^0x[0-9a-f]{192}$/i.test(state) ? BigInt(state.slice(0, 66)) > 0n : null
