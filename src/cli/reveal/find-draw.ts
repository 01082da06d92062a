import { isValidSignature } from '../../api/beacon.ts'
import { isEvm } from '../../api/blockchains.ts'
import type { ProvenanceRecord } from '../../api/endpoints/getprovenances.ts'
import { findRound, isValidMargin } from '../../api/shuffle-rule.ts'
import type { BatchOptions } from '../../batch/types.ts'
import { GdnError } from '../../core/errors.ts'
import type { LocalContents } from '../../files/local-content.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import { PROVENANCE_SIGNATURE } from '../../manifest/reveal-keys.ts'
import { readDropState, type SealedSlots } from '../../reveal/drop-state.ts'
import { Commitment, computeProvenance, parseLeaves, rowContentHash } from '../../reveal/leaves.ts'
import { movedRowsError } from '../../reveal/moved-rows-error.ts'
import { mintedSlots, type RowWithoutNft, refuseOtherIds } from '../../reveal/other-ids.ts'
import { findCommitment } from '../../reveal/read-commitment.ts'
import { withOpenRows } from '../../reveal/rows-with-nfts.ts'
import { type DrawnRows, drawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import {
  createSlotLookup,
  findMisplacedRows,
  isSaltOfAnyLeaf,
  type RevealedRow,
  readShuffleProof,
  type Salts,
} from '../../reveal/slots-shown.ts'
import { findCommittedRun, type StoredCommitment } from '../../reveal/unrevealed.ts'
import { readSealOnChain, toStoredSeal } from '../batch/reveal/seal-on-chain.ts'
import { findSeal, readCommitments } from '../batch/reveal/shuffled-drop.ts'
import { type BeaconFlags, openConfiguredBeacon } from '../connect/open-beacon.ts'
import { openVerifier } from '../connect/open-verifier.ts'
import type { Connection, Deps } from '../deps.ts'

/** A manifest, and the flags that select a beacon for tests. */
interface DrawInput {
  options: BatchOptions
  read: () => AsyncIterable<ManifestItem>
  /** The contents of the manifest's local files. */
  contents: LocalContents
  flags: BeaconFlags
}

interface SealedDrop {
  drop: ProvenanceRecord
  seal: ProvenanceRecord
  rule: { marginSeconds: number }
}

/**
 * Returns the rows that were drawn for the slots of a manifest. Derives them from this machine's records of the reveal,
 * or else from the signature in the metadata of any revealed NFT. This signature must be the beacon's signature for the
 * drop's round.
 *
 * @returns null if the rows aren't shuffled, or if none of them is revealed yet
 * @throws GdnError `refused` if the signature doesn't belong to the round of any drop; `edited_rows` if rows aren't at
 * their positions
 */
export async function findDraw(deps: Deps, connection: Connection, drawing: DrawInput): Promise<DrawnRows | null> {
  const { options } = drawing
  const keptRun = await findCommittedRun(options)
  const ownCommitment = keptRun?.commitment ?? null
  if (!isEvm(options.blockchain) || ownCommitment?.shuffle === null) return null
  if (ownCommitment !== null && keptRun?.drawn != null) {
    const revealedRows = await readRevealedRows(deps, connection, drawing)
    return await checkDrawOrder(deps, connection, drawing, keptRun.drawn, {
      shown: revealedRows,
      salts: { seed: Buffer.from(ownCommitment.seed, 'hex') },
    })
  }
  const drops = await sealedDrops(deps, connection, drawing, ownCommitment)
  if (drops.length === 0) return null
  const revealedRows = await readRevealedRows(deps, connection, drawing)
  if (revealedRows.signature === null) return null
  const contents = await readContents(drawing)
  for (const sealedDrop of drops) {
    if (sealedDrop.seal.status !== 'deployed') continue
    if (!(await isDrawnBy(deps, connection, drawing, sealedDrop, revealedRows.signature))) continue
    const { provenance } = sealedDrop.drop
    const leaves = parseLeaves(await readLeaves(deps, connection, options.blockchain, sealedDrop))
    const drawn = drawnRows({ provenance, slots: leaves.length, signature: revealedRows.signature })
    if (contents === null) return drawn
    const commitment = new Commitment(Buffer.concat(contents), sealedDrop.rule)
    const isUnedited = commitment.provenance === provenance
    // Check that the manifest belongs to this drop, because drops that were sealed at about the same time have the same
    // round.
    const isOfDrop = isUnedited || revealedRows.rows.some(({ salt }) => isSaltOfAnyLeaf(leaves, contents, salt))
    if (!isOfDrop && drops.length > 1) continue
    const seed = isUnedited ? commitment.seed : ownCommitment && Buffer.from(ownCommitment.seed, 'hex')
    const salts = seed === null ? { leaves, contents } : { seed }
    return await checkDrawOrder(deps, connection, drawing, drawn, { shown: revealedRows, salts })
  }
  throw new GdnError(
    'refused',
    `the ${PROVENANCE_SIGNATURE} of an NFT is not from drand, or belongs to another round`,
    {
      hint: 'Nothing was sent. If the drop was revealed with --beacon, add the same flag. Otherwise, restore the metadata with `gdn reveal`.',
    },
  )
}

/** Returns the slots of a manifest's shuffled drop if it is sealed; null if it isn't sealed or the drop is unknown. */
export async function findSealed(deps: Deps, connection: Connection, drawing: DrawInput): Promise<SealedSlots | null> {
  const keptRun = await findCommittedRun(drawing.options)
  const ownCommitment = keptRun?.commitment ?? null
  if (!isEvm(drawing.options.blockchain) || ownCommitment?.shuffle === null) return null
  const drops = await sealedDrops(deps, connection, drawing, ownCommitment)
  const contents = drops.length === 0 ? null : await readContents(drawing)
  if (contents === null) return null
  const rows = Buffer.concat(contents)
  // An edited manifest has a different commitment from that of the drop.
  const sealedDrop = drops.find(({ drop, rule }) => new Commitment(rows, rule).provenance === drop.provenance)
  if (sealedDrop === undefined) return null
  const recordedSeal = readDropState({ reading: keptRun?.reading ?? {} })?.seal ?? null
  const seal =
    recordedSeal?.round == null ? await toStoredSeal(deps, connection, drawing.options, sealedDrop) : recordedSeal
  return { slots: contents.length, state: { phase: 'sealed', seal } }
}

/**
 * Returns whether `gdn reveal` would refuse a manifest because it was edited. It refuses a manifest whose rows match no
 * commitment of the collection. It also refuses a manifest if slots of a shuffled drop are minted although no NFT has
 * the IDs of their rows. Returns false if the server doesn't show any commitment.
 *
 * @param isIncomplete whether some rows have no NFT
 */
export async function isEditedSince(
  deps: Deps,
  connection: Connection,
  drawing: Omit<DrawInput, 'flags'>,
  isIncomplete: boolean,
): Promise<boolean> {
  // Standard input can be read only once. No unrevealed drop has rows from it.
  if (drawing.options.manifestPath === null) return false
  const commitments = await readCommitments(deps, connection, drawing.options.contractAddress)
  if (commitments.length === 0) return false
  const contents = await readContents(drawing)
  const match = contents === null ? null : findCommitment(new Commitment(Buffer.concat(contents), null), commitments)
  if (match === null) return true
  const { provenance, rule } = match
  if (!isIncomplete || rule === null) return false
  const { missing } = await readRevealedRows(deps, connection, drawing)
  const source = { client: connection.client, signal: deps.signals.signal }
  // For a revealed drop, `findDraw` compares the IDs.
  return (await mintedSlots(source, drawing.options, missing, { provenance, slotOf: () => null })).length > 0
}

/** Returns the sealed drops of the collection, or only the drop that this machine has committed to. */
async function sealedDrops(
  deps: Deps,
  connection: Connection,
  { options: { contractAddress } }: DrawInput,
  ownCommitment: StoredCommitment | null,
): Promise<SealedDrop[]> {
  const { client } = connection
  await client.learnCapabilities({ signal: deps.signals.signal })
  if (client.supports('updates') !== true) return []
  const commitments = await readCommitments(deps, connection, contractAddress)
  return commitments.flatMap((drop): SealedDrop[] => {
    const seal = findSeal(commitments, drop.provenance)
    const isOther = ownCommitment !== null && ownCommitment.provenance !== drop.provenance
    const marginSeconds = drop.shuffle_margin ?? 0
    return !isValidMargin(marginSeconds) || seal === undefined || isOther
      ? []
      : [{ drop, seal, rule: { marginSeconds } }]
  })
}

/** Returns the content hashes of the rows; null if the manifest has problems, which the plan reports. */
async function readContents({ read, contents }: Pick<DrawInput, 'read' | 'contents'>): Promise<Buffer[] | null> {
  const hashes: Buffer[] = []
  for await (const item of read()) {
    if ('issue' in item) return null
    const files = new Map<string, string>()
    for (const { key, path } of item.row.localFiles) files.set(key, (await contents.read(path)).sha256)
    hashes.push(rowContentHash(item.row, files))
  }
  return hashes
}

/**
 * Returns the drawn rows if the manifest's rows have the positions and IDs of their slots.
 *
 * @throws GdnError `edited_rows`
 */
async function checkDrawOrder(
  { signals: { signal } }: Deps,
  { client }: Connection,
  { options }: DrawInput,
  drawn: DrawnRows,
  { shown: { rows, missing }, salts }: { shown: RevealedRows; salts: Salts },
): Promise<DrawnRows> {
  const moved = findMisplacedRows(drawn, salts, rows)
  if (moved.length > 0) {
    throw movedRowsError('edited_rows', 'rows of the shuffled drop were moved', {
      file: options.manifestPath,
      rows: moved,
      hint: 'Nothing was sent. Restore the order of the rows, because the draw depends on their positions. To mint more rows, use another manifest.',
    })
  }
  // If no row has an NFT, the manifest was probably renamed. Rows that follow the slots were added later.
  const ofSlots = rows.length === 0 ? [] : missing.filter(({ position }) => position < drawn.slots)
  const { provenance } = drawn
  await refuseOtherIds({ client, signal }, options, ofSlots, { provenance, slotOf: createSlotLookup(drawn, salts) })
  return drawn
}

interface RevealedRows {
  rows: (RevealedRow & { signature: string })[]
  /** The rows without an NFT on the server. */
  missing: RowWithoutNft[]
  /** The signature of the first revealed NFT; null if none is revealed. */
  signature: string | null
}

/** Returns the rows whose NFTs are revealed. */
export async function readRevealedRows(
  { signals: { signal } }: Deps,
  { client }: Connection,
  { options, read }: Pick<DrawInput, 'options' | 'read'>,
): Promise<RevealedRows> {
  return await withOpenRows({ ...options, signal }, client, read(), async ({ readMatches }) => {
    const revealedRows: RevealedRows = { rows: [], missing: [], signature: null }
    for await (const { candidate, nft } of readMatches()) {
      if (nft === undefined)
        revealedRows.missing.push({ position: candidate.row.position, line: candidate.row.row.line })
      const proof = readShuffleProof(nft?.request_metadata)
      if (proof === null) continue
      const { signature, salt } = proof
      revealedRows.signature ??= signature
      const { position, row } = candidate.row
      if (salt !== null) revealedRows.rows.push({ position, line: row.line, salt, signature })
    }
    return revealedRows
  })
}

/** Returns whether a signature belongs to the round of a drop. */
async function isDrawnBy(
  deps: Deps,
  connection: Connection,
  { options, flags }: DrawInput,
  { rule, seal }: SealedDrop,
  signature: string,
): Promise<boolean> {
  const beacon = await openConfiguredBeacon(deps, flags)
  const onChain = await readSealOnChain(deps, connection, { ...options, flags: {} }, seal)
  if (onChain === null) return false
  return isValidSignature(
    beacon.chain,
    findRound(beacon.chain, onChain.time + rule.marginSeconds),
    Buffer.from(signature, 'hex'),
  )
}

/**
 * Returns the leaves file of a drop.
 *
 * @throws GdnError `unreachable`, or `bad_answer` if the content is that of a different file
 */
async function readLeaves(
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
    if (computeProvenance(stored.bytes) === drop.provenance) return stored.bytes
    throw new GdnError('bad_answer', `the leaves file ${url} does not have the hash ${drop.provenance}`)
  } finally {
    await close()
  }
}
