import { GdnError, isInterruption } from '../core/errors.ts'
import { decodeAddress, decodeString, ownerOfCall, parseTokenId, tokenUriCall } from './abi.ts'
import type { CallResult, ChainReader } from './chain-reader.ts'
import { type Difference, findMetadataDifferences, type RequestedMetadata } from './compare-metadata.ts'
import type { StorageReader } from './storage-reader.ts'

/** The expected state of an NFT. */
export interface ExpectedNft {
  contractAddress: string
  tokenId: string | null
  owner: string
  /** The token URI from the API, or null to accept the token URI on the chain. */
  metadataUrl: string | null
  /** The metadata in the request, or null if the request is unknown. */
  requested: RequestedMetadata | null
}

/**
 * The result of comparing an NFT with the chain and the storage. If one of them could not be read, `verified` is null,
 * and `reason` says why. `isMissing` is true if the token is not on the chain.
 */
export type Verification =
  | { verified: true }
  | { verified: false; differences: Difference[]; isMissing?: true }
  | { verified: null; reason: string }

/** Maximum number of NFTs to verify concurrently. */
const MAX_CONCURRENT_NFTS = 8

/**
 * Compares NFTs with the chain and the storage: the owner, the token URI, and the metadata file at that URI.
 *
 * @example
 * const [first] = await verifyNfts(chain, storage, [{ contractAddress, tokenId: '1', owner, metadataUrl, requested }])
 */
export async function verifyNfts(
  chain: Pick<ChainReader, 'call'>,
  storage: Pick<StorageReader, 'readJson'>,
  claims: readonly ExpectedNft[],
): Promise<Verification[]> {
  const ids = claims.map(({ tokenId }) => (tokenId === null ? null : parseTokenId(tokenId)))
  const calls = claims.flatMap(({ contractAddress: to }, i) => {
    const id = ids[i] ?? null
    return id === null ? [] : [ownerOfCall(id), tokenUriCall(id)].map((data) => ({ to, data }))
  })
  const results = await callAll(chain, calls)
  const verifications: Verification[] = []
  const jobs: (() => Promise<void>)[] = []
  let at = 0
  for (const [i, claim] of claims.entries()) {
    if (ids[i] === null) {
      verifications[i] = { verified: null, reason: 'the token ID is not a number' }
      continue
    }
    const [owner, uri] = [results[at++], results[at++]]
    jobs.push(async () => {
      verifications[i] = await verifyNft(storage, claim, owner ?? NO_RESPONSE, uri ?? NO_RESPONSE)
    })
  }
  const remaining = jobs[Symbol.iterator]()
  const work = async () => {
    for (const job of remaining) await job()
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT_NFTS }, work))
  return verifications
}

const NO_RESPONSE: CallResult = { kind: 'failed', message: 'no response' }

async function callAll(chain: Pick<ChainReader, 'call'>, calls: Parameters<ChainReader['call']>[0]) {
  try {
    return await chain.call(calls)
  } catch (error) {
    if (!(error instanceof GdnError) || isInterruption(error)) throw error
    return calls.map((): CallResult => ({ kind: 'failed', message: error.message }))
  }
}

async function verifyNft(
  storage: Pick<StorageReader, 'readJson'>,
  claim: ExpectedNft,
  owner: CallResult,
  uri: CallResult,
): Promise<Verification> {
  if (owner.kind === 'failed') return { verified: null, reason: owner.message }
  if (uri.kind === 'failed') return { verified: null, reason: uri.message }
  const token = `token ${claim.tokenId}`
  if (owner.kind === 'reverted') {
    const differences = [{ what: token, expected: 'on the chain', found: null }]
    return { verified: false, differences, isMissing: true }
  }
  const differences: Difference[] = []
  const actualOwner = decodeAddress(owner.data)
  if (actualOwner !== claim.owner.toLowerCase()) {
    differences.push({ what: 'owner', expected: claim.owner, found: actualOwner ?? describeCallData(owner.data) })
  }
  const url = uri.kind === 'value' ? decodeString(uri.data) : null
  if (url === null || (claim.metadataUrl !== null && url !== claim.metadataUrl)) {
    differences.push({ what: 'token URI', expected: claim.metadataUrl ?? 'an ipfs URL', found: url })
  }
  if (url !== null && claim.requested !== null) {
    const stored = await storage.readJson(url)
    if (stored.kind === 'json') differences.push(...findMetadataDifferences(claim.requested, stored.value))
    else if (stored.kind === 'missing') differences.push({ what: 'metadata', expected: url, found: null })
    else if (differences.length === 0) return { verified: null, reason: `its metadata: ${stored.message}` }
  }
  return differences.length === 0 ? { verified: true } : { verified: false, differences }
}

/** Returns 'no contract' for empty data. An address without a contract returns empty data for every call. */
const describeCallData = (data: string): string => (data === '0x' ? 'no contract' : data)
