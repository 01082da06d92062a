import { type Beacon, verifyBeacon } from '../api/beacon.ts'
import { computeSeal } from '../api/provenance-seal.ts'
import { computeRoundTime, findRound, type ShuffleRule } from '../api/shuffle-rule.ts'
import { chunksOf } from '../core/chunks-of.ts'
import { GdnError } from '../core/errors.ts'
import { isObject } from '../core/json.ts'
import { PROVENANCE, PROVENANCE_SIGNATURE } from '../manifest/reveal-keys.ts'
import { isDevelopmentNode } from '../verify/block-at.ts'
import { readMintedUris } from '../verify/minted-uris.ts'
import { computeProvenance } from './leaves.ts'
import {
  differenceError,
  type Metadata,
  type ProofSources,
  parseRowNumber,
  readBytes,
  toUnreadable,
  UnreadableError,
} from './proof-reads.ts'
import { readSeal } from './read-seal.ts'
import { permuteRows, shuffleSeed } from './shuffle/permutation.ts'
import type { BeaconSource } from './shuffle/read-beacon.ts'

/** The proof that nobody chose the row of a token. */
export interface ShuffleProof {
  /** The number in the minted metadata. The permutation maps it to the row. */
  slot: number
  /** The row that was drawn; null if the token isn't revealed. */
  row: number | null
  marginSeconds: number
  /** The hash that seals the drop once the collection commits to it. */
  seal: string
  /**
   * The block of the seal and the round that it determines. Null if the drop isn't sealed. Times are Unix times in
   * seconds.
   */
  sealed: { block: number; time: number; round: number; roundTime: number } | null
  /** Whether the user specified the beacon. */
  isNamed: boolean
  /** Whether the chain is simulated. Its operator then chooses the block timestamps. */
  isSimulated: boolean
}

/** The drop that a token belongs to. */
interface Drop {
  /** The address of the collection. */
  to: string
  /** The first token after the commitment. */
  first: bigint
  hash: `0x${string}`
  rows: number
  rule: ShuffleRule
  leavesUrl: string
}

/**
 * Proves that a slot belongs to a token, and determines the row that the round drew for the token.
 *
 * @param revealed the metadata of the token; null if it wasn't updated since its mint
 */
export async function verifyShuffle(
  sources: ProofSources,
  drop: Drop,
  token: { id: bigint; slot: number },
  revealed: Metadata | null,
): Promise<ShuffleProof> {
  const { to, hash, rows, rule } = drop
  const { id, slot } = token
  const seal = computeSeal(hash)
  const chainSeal = await readSeal(sources.chain, to, seal)
  const source = await sources.openBeacon()
  const { isNamed, chain } = source
  const isSimulated = chainSeal?.isSimulated ?? (await toUnreadable(() => isDevelopmentNode(sources.chain)))
  const proof = { slot, row: null, marginSeconds: rule.marginSeconds, seal, isNamed, isSimulated }
  if (chainSeal === null && revealed !== null)
    throw differenceError('the seal', `${seal} on the chain`, null, NOT_SEALED_REASON)
  if (chainSeal !== null && id >= chainSeal.firstTokenId) {
    const before = `before token ${chainSeal.firstTokenId} was minted`
    throw differenceError('the seal', `after token ${id} was minted`, before, OTHER_DROP_REASON)
  }
  await refuseTakenSlot(sources, drop, token)
  if (chainSeal === null) return { ...proof, sealed: null }
  const { block, time, isFinal } = chainSeal
  const round = findRound(chain, time + rule.marginSeconds)
  const sealed = { block, time, round, roundTime: computeRoundTime(chain, round) }
  if (revealed === null) return { ...proof, sealed }
  if (!isFinal) throw new UnreadableError(`block ${block}, which sealed the drop, is not final yet`)
  const { randomness } = await readBeacon(sources, source, round, revealed)
  const row = permuteRows(shuffleSeed(hash, randomness), rows)[slot - 1] ?? null
  return { ...proof, row, sealed }
}

const NOT_SEALED_REASON = 'The NFT was revealed before its drop was sealed, so its row was chosen instead of drawn.'
const OTHER_DROP_REASON = "The token isn't part of the shuffled drop, and there is no proof of its metadata."
const NOT_DRAWN_REASON = 'The row of the NFT was not drawn by the round that the seal determines.'
const REHEARSAL_HINT = 'To verify a rehearsal with a beacon file, add --beacon <file>.'

/** Returns the round from the signature in the revealed metadata, or else from the beacon. */
async function readBeacon(
  { signal }: ProofSources,
  source: BeaconSource,
  round: number,
  { [PROVENANCE_SIGNATURE]: signature }: Metadata,
): Promise<Beacon> {
  const name = source.isNamed ? 'of the beacon that you specified' : "of drand's quicknet"
  try {
    if (signature === undefined) return await source.read(round, signal)
    const isHex = typeof signature === 'string' && /^[0-9a-f]{96}$/.test(signature)
    return verifyBeacon(source.chain, round, isHex ? Buffer.from(signature, 'hex') : Buffer.alloc(0))
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
    if (signature === undefined) throw new UnreadableError(error.message)
    const why = source.isNamed ? NOT_DRAWN_REASON : `${NOT_DRAWN_REASON} ${REHEARSAL_HINT}`
    throw differenceError(PROVENANCE_SIGNATURE, `the signature of round ${round} ${name}`, String(signature), why)
  }
}

/** Maximum number of earlier tokens. A hostile contract can return any numbers. */
const MAX_EARLIER = 1_000_000n
/** Number of tokens whose URLs are read with one call. */
const TOKENS_PER_CALL = 1_000n
/** Number of metadata files that are read at the same time. */
const MAX_CONCURRENT_READS = 32

/** Yields the metadata URLs with which earlier tokens of a drop were minted, a few at a time. */
async function* earlierUris(chain: ProofSources['chain'], to: string, first: bigint, id: bigint) {
  for (let next = first; next < id; next += TOKENS_PER_CALL) {
    const ids = Array.from(
      { length: Number(id - next < TOKENS_PER_CALL ? id - next : TOKENS_PER_CALL) },
      (_, at) => next + BigInt(at),
    )
    yield* chunksOf(
      [...(await toUnreadable(() => readMintedUris(chain, to, ids, { from: first })))],
      MAX_CONCURRENT_READS,
    )
  }
}

/**
 * Rejects a token if an earlier token of the drop has the same slot. Otherwise, someone could choose one of two rows
 * for the slot.
 */
async function refuseTakenSlot(
  { chain, storage }: ProofSources,
  { to, first, hash, leavesUrl }: Drop,
  { id, slot }: { id: bigint; slot: number },
): Promise<void> {
  if (id - first > MAX_EARLIER)
    throw new UnreadableError(`too many tokens of the drop were minted before token ${id}: ${id - first}`)
  const isOfDrop = new Map([[leavesUrl, true]])
  for await (const some of earlierUris(chain, to, first, id)) {
    const files = await Promise.all(some.map(async ([other, uri]) => ({ other, stored: await storage.readJson(uri) })))
    for (const { other, stored } of files) {
      if (stored.kind !== 'json')
        throw new UnreadableError(`the metadata of token ${other} can't be read: ${stored.message}`)
      const minted = isObject(stored.value) ? stored.value : {}
      const { [PROVENANCE]: url } = minted
      if (parseRowNumber(minted) !== slot || typeof url !== 'string') continue
      // Compare the content, because the same leaves file can have several URLs.
      const isSame = isOfDrop.get(url) ?? computeProvenance(await readBytes(storage, url)) === hash
      isOfDrop.set(url, isSame)
      if (isSame)
        throw differenceError(
          `slot ${slot}`,
          `only in token ${id}`,
          `in token ${other}, which was minted before`,
          OTHER_DROP_REASON,
        )
    }
  }
}
