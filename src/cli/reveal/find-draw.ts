import { isEvm } from '../../api/blockchains.ts'
import type { ProvenanceRecord } from '../../api/endpoints/getprovenances.ts'
import type { BatchOptions } from '../../batch/types.ts'
import { GdnError } from '../../core/errors.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import { PROVENANCE_SIGNATURE, proofIn } from '../../manifest/reveal-keys.ts'
import { leavesIn, provenanceOf } from '../../reveal/leaves.ts'
import { withOpenRows } from '../../reveal/rows-with-nfts.ts'
import { verifyBeacon } from '../../reveal/shuffle/beacon.ts'
import { type DrawnRows, drawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import { roundFor } from '../../reveal/shuffle/rule.ts'
import { keptCommitment } from '../../reveal/unrevealed.ts'
import { type BeaconFlags, openBeaconOf } from '../connect/open-beacon.ts'
import { openVerifier } from '../connect/open-verifier.ts'
import type { Connection, Deps } from '../deps.ts'
import { timeOfSeal } from './seal-time.ts'
import { commitmentsOf, sealIn } from './shuffled-drop.ts'

/** A manifest, and the flags that select a beacon for tests. */
interface Drawing {
  options: BatchOptions
  read: () => AsyncIterable<ManifestItem>
  flags: BeaconFlags
}

interface SealedDrop {
  drop: ProvenanceRecord
  seal: ProvenanceRecord
}

/**
 * Returns the rows that were drawn for the slots of a manifest. They follow from what this machine recorded when it
 * revealed the drop, or else from the signature in the metadata of any revealed NFT, which must be the beacon's for the
 * round of the drop.
 *
 * @returns null if the rows aren't shuffled, or none is revealed yet
 * @throws GdnError `refused` if the signature is of no round of a drop
 */
export async function findDraw(deps: Deps, connection: Connection, drawing: Drawing): Promise<DrawnRows | null> {
  const { client } = connection
  const { options } = drawing
  const kept = await keptCommitment(options)
  const own = kept?.commitment ?? null
  if (!isEvm(options.blockchain) || own?.shuffle === null) return null
  if (kept?.drawn != null) return kept.drawn
  await client.learnIdempotency({ signal: deps.signals.signal })
  if (client.supports('updates') !== true) return null
  const commitments = await commitmentsOf(deps, connection, options.contractAddress)
  const drops = commitments.flatMap((drop): SealedDrop[] => {
    const seal = sealIn(commitments, drop.provenance)
    const isOther = own !== null && own.provenance !== drop.provenance
    return drop.shuffle_margin == null || seal?.status !== 'deployed' || isOther ? [] : [{ drop, seal }]
  })
  if (drops.length === 0) return null
  const signature = await signatureOf(deps, connection, drawing)
  if (signature === null) return null
  for (const one of drops) {
    const drawn = await drawnIn(deps, connection, drawing, one, signature)
    if (drawn !== null) return drawn
  }
  throw new GdnError('refused', `the ${PROVENANCE_SIGNATURE} of an NFT is not by drand, or of another round`, {
    hint: 'Nothing was sent. If the drop was revealed with --beacon, add the same flag. Otherwise, restore the metadata with `gdn reveal`.',
  })
}

/** Returns the signature in the metadata of the first revealed NFT of a manifest; null if none is revealed. */
async function signatureOf(
  { signals: { signal } }: Deps,
  { client }: Connection,
  { options, read }: Drawing,
): Promise<string | null> {
  return await withOpenRows({ ...options, signal }, client, read(), async ({ found }) => {
    for await (const { nft } of found()) {
      const signature = proofIn(nft?.request_metadata)?.[PROVENANCE_SIGNATURE]
      if (typeof signature === 'string' && /^[0-9a-f]{96}$/.test(signature)) return signature
    }
    return null
  })
}

/** Returns the draw of a drop if the signature is of its round; null otherwise. */
async function drawnIn(
  deps: Deps,
  connection: Connection,
  { options: { blockchain }, flags }: Drawing,
  { drop, seal }: SealedDrop,
  signature: string,
): Promise<DrawnRows | null> {
  const beacon = await openBeaconOf(deps, flags)
  const time = await timeOfSeal(deps, connection, blockchain, {}, seal)
  const round = roundFor(beacon.chain, time + (drop.shuffle_margin ?? 0))
  try {
    verifyBeacon(beacon.chain, round, Buffer.from(signature, 'hex'))
  } catch (error) {
    if (error instanceof GdnError && error.code === 'verify_failed') return null
    throw error
  }
  const leaves = await leavesOf(deps, connection, blockchain, { drop, seal })
  return drawnRows({ provenance: drop.provenance, slots: leavesIn(leaves).length, signature })
}

/** Returns the leaves file of a drop. @throws GdnError `unreachable`, or `bad_answer` if it is another file */
async function leavesOf(
  deps: Deps,
  { server }: Connection,
  blockchain: BatchOptions['blockchain'],
  { drop, seal }: SealedDrop,
): Promise<Uint8Array> {
  const { verifier, close } = await openVerifier(deps, {}, blockchain, server)
  try {
    const url = seal.leaves_url ?? ''
    const stored = 'reason' in verifier ? null : await verifier.storage.read(url)
    if (stored?.kind !== 'bytes') throw new GdnError('unreachable', `the leaves file ${url} can't be read`)
    if (provenanceOf(stored.bytes) === drop.provenance) return stored.bytes
    throw new GdnError('bad_answer', `the leaves file ${url} does not have the hash ${drop.provenance}`)
  } finally {
    await close()
  }
}
