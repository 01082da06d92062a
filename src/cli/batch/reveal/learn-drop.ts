import { isValidSignature, QUICKNET } from '../../../api/beacon.ts'
import type { ProvenanceRecord } from '../../../api/endpoints/getprovenances.ts'
import { runRows } from '../../../batch/runs/run-rows.ts'
import { openRun, type Run } from '../../../batch/runs/runs.ts'
import { IDS_PER_REQUEST, readNfts } from '../../../client/read-records.ts'
import type { Settings } from '../../../config/settings.ts'
import { readDropState, type StoredSeal } from '../../../reveal/drop-state.ts'
import { deriveSalt } from '../../../reveal/leaves.ts'
import { type Draw, type DrawnRows, toDraw } from '../../../reveal/shuffle/drawn-rows.ts'
import { findDrawnRows, readShuffleProof } from '../../../reveal/slots-shown.ts'
import { readStoredCommitment, type StoredCommitment } from '../../../reveal/unrevealed.ts'
import { ifReadable } from '../../connect/if-readable.ts'
import type { Connection, Deps } from '../../deps.ts'
import { recordDrop } from './record-drop.ts'
import { toStoredSeal } from './seal-on-chain.ts'
import { findSeal, readCommitments } from './shuffled-drop.ts'

/**
 * Returns the run with the seal and the draw of its shuffled drop, because another machine may have sealed or revealed
 * the drop. If this machine lacks the draw, the function reads the seal and the draw from the server and stores them.
 */
export async function learnDrop<Known extends Run>(deps: Deps, connection: Connection, run: Known): Promise<Known> {
  const state = readDropState(run)
  const commitment = readStoredCommitment(run)
  if (state === null || state.phase === 'drawn' || commitment === null) return run
  const seal = findSeal(await readCommitments(deps, connection, run.contractAddress), commitment.provenance)
  if (seal === undefined && state.phase === 'open') return run
  const draw = seal === undefined ? null : await findShownDraw(deps, connection, run, commitment)
  const learned = { seal: seal === undefined ? null : await sealOf(seal), ...(draw === null ? {} : { draw }) }
  // The signature isn't from drand, so the user named a beacon. Only the machine that named the beacon knows its round.
  if (learned.seal !== null && draw !== null && !learned.seal.isNamed && !isDrawnByDrand(learned.seal, draw))
    learned.seal = { round: null, roundAt: null, isNamed: true }
  await recordDrop(deps, connection, run, learned)
  return { ...run, reading: { ...run.reading, ...learned } }

  async function sealOf(record: ProvenanceRecord): Promise<StoredSeal | null> {
    const rule = commitment?.shuffle
    if (state?.seal?.round != null || rule == null) return state?.seal ?? null
    return await toStoredSeal(deps, connection, run, { seal: record, rule })
  }
}

/**
 * Returns the run with an ID, including the seal and the draw of its shuffled drop. If the server can't be read,
 * returns the run as recorded on this machine.
 */
export async function learnDropOf(deps: Deps, settings: Settings, id: string): Promise<Run> {
  const run = await openRun(settings.stateDir, id)
  if (readDropState(run) === null) return run
  const connection = await deps.connect(settings)
  try {
    return (await ifReadable(deps, learnDrop(deps, connection, run))) ?? run
  } finally {
    await connection.client.close()
  }
}

const isDrawnByDrand = ({ round }: StoredSeal, { signature }: Draw): boolean =>
  round === null || isValidSignature(QUICKNET, round, Buffer.from(signature, 'hex'))

/** Returns the draw, as derived from the first deployed NFTs of a run; null if none of these NFTs is revealed. */
async function findShownDraw(
  { signals: { signal } }: Deps,
  { client }: Connection,
  run: Run,
  { provenance, seed }: StoredCommitment,
): Promise<Draw | null> {
  const positions = new Map<string, number>()
  let slots = 0
  for await (const { row, result } of runRows(run)) {
    if (row === null) continue
    const position = slots++
    const id = result.status === 'deployed' && positions.size < IDS_PER_REQUEST ? result.nft_gdn_id : null
    if (id !== null) positions.set(id, position)
  }
  const nfts = await readNfts({ client, signal }, [...positions.keys()])
  const shownSlots = [...nfts].flatMap(([id, nft]) => {
    const proof = readShuffleProof(nft.request_metadata)
    return proof === null ? [] : [{ ...proof, position: positions.get(id) ?? 0 }]
  })
  const key = Buffer.from(seed, 'hex')
  const drop = { provenance, slots, saltOf: (row: number) => deriveSalt(key, row) }
  const drawn = findDrawnRows(shownSlots, drop)
  // If a signature draws a different row for any NFT, the drop wasn't revealed with this signature.
  const isShownBy = ({ rows, signature }: DrawnRows) =>
    shownSlots.every(
      (shownRow) =>
        shownRow.signature === signature && drop.saltOf(rows[shownRow.position] ?? 0).toString('hex') === shownRow.salt,
    )
  return drawn === null || !isShownBy(drawn) ? null : toDraw(drawn)
}
