import { isValidSignature, QUICKNET } from '../../api/beacon.ts'
import type { ProvenanceRecord } from '../../api/endpoints/getprovenances.ts'
import { computeRoundTime, findRound, formatIsoSeconds, type ShuffleRule } from '../../api/shuffle-rule.ts'
import { openRun } from '../../batch/runs/runs.ts'
import type { BatchOptions } from '../../batch/types.ts'
import { GdnError, isInterruption } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { isTimeUp } from '../../core/time-up.ts'
import type { StoredSeal } from '../../reveal/drop-state.ts'
import type { SealCommitment } from '../../reveal/read-seal.ts'
import { drawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import type { BeaconSource, RelayProblem } from '../../reveal/shuffle/read-beacon.ts'
import { findCommittedRun } from '../../reveal/unrevealed.ts'
import { recordDrop } from '../batch/reveal/record-drop.ts'
import { readSealOnChain } from '../batch/reveal/seal-on-chain.ts'
import { findSeal, readCommitments } from '../batch/reveal/shuffled-drop.ts'
import { ifReadable } from '../connect/if-readable.ts'
import { type BeaconFlags, openConfiguredBeacon } from '../connect/open-beacon.ts'
import type { ReaderFlags } from '../connect/open-verifier.ts'
import type { Connection, Deps } from '../deps.ts'
import type { Progress } from '../io/progress.ts'
import { withProgress } from '../io/progress.ts'
import { type Draw, UNDRAWN_STATE } from './draw.ts'
import { permitsNamedBeacon, refuseNamedBeacon } from './named-beacon.ts'
import { revealedSignature } from './revealed-signature.ts'
import { type RevealInput, rehearsalText, remainingTimeText, sealDrop, waitAfterSeal } from './seal-drop.ts'

const POLL_MS = 2_000
/** Maximum time in milliseconds by which relays may lag behind a round. */
const RELAY_LAG_MS = 15_000

/**
 * Draws the rows of a shuffled drop. Seals the drop unless it is sealed, waits until the seal is final and the round is
 * published, and reads the round. A dry run neither seals nor waits. If NFTs are already revealed, uses the round's
 * signature from their metadata.
 *
 * @throws GdnError `refused` if NFTs were revealed with a round of another beacon
 */
export async function drawRows(
  deps: Deps,
  connection: Connection,
  revealing: RevealInput & { flags: BeaconFlags & ReaderFlags; rule: ShuffleRule },
): Promise<Draw> {
  const { opened, rows, flags, rule } = revealing
  const { provenance, rowCount: slots } = rows.commitment
  const find = async () => {
    const { contractAddress } = opened.options
    return findSeal(await readCommitments(deps, connection, contractAddress), provenance)
  }
  const recordKnownSeal = async (seal: StoredSeal | null) =>
    await recordSeal(deps, connection, opened.options, { provenance, seal })
  const beacon = await openConfiguredBeacon(deps, flags)
  const isSealed = (await find()) !== undefined
  const revealed = isSealed ? await revealedSignature(deps, connection, revealing) : null
  if (beacon.isNamed && revealed === null) await refuseNamedBeacon(deps, connection, { ...opened.options, flags })
  const mayRehearse = () => permitsNamedBeacon(deps, connection, { ...opened.options, flags })
  if (!isSealed) {
    const problem = await beacon.unreachable(deps.signals.signal)
    const warning =
      problem === null
        ? null
        : `No drand relay responds (${problem}). A sealed drop can be revealed only when a relay responds.${rehearsalText(await mayRehearse())}`
    if (flags.dryRun === true) {
      if (warning !== null) deps.io.warn(warning)
      deps.io.note(
        `The drop is not sealed yet. Without --dry-run, the command seals it permanently. ${waitAfterSeal(rule, beacon)}`,
      )
      return UNDRAWN_STATE
    }
    if (!(await sealDrop(deps, connection, { ...revealing, rule, beacon, warning }))) return UNDRAWN_STATE
    await recordKnownSeal({ round: null, roundAt: null, isNamed: beacon.isNamed })
  }
  const onChain = (record: ProvenanceRecord) => readSealOnChain(deps, connection, { ...opened.options, flags }, record)
  const waiting: WaitReason = { subject: 'the drop is sealed, but its seal is not final yet' }
  return await withProgress(deps.io, 'Reading the seal of the drop', async (progress) => {
    for (;;) {
      waiting.subject = 'the drop is sealed, but its seal is not final yet'
      const sealed = await waitForFinalSeal(deps, { find, onChain, shouldWait: flags.dryRun !== true, progress }).catch(
        async (error: unknown) => {
          if (error instanceof SealFailedError) await recordKnownSeal(null)
          throw error
        },
      )
      if (sealed === null) return { ...UNDRAWN_STATE, seal: (await find())?.provenance ?? null }
      const { record, seal } = sealed
      const round = findRound(beacon.chain, seal.time + rule.marginSeconds)
      const { isNamed } = beacon
      const draw = { seal: record.provenance, round, roundAt: computeRoundTime(beacon.chain, round), isNamed }
      if (flags.dryRun !== true && revealed === null) await recordKnownSeal({ round, roundAt: draw.roundAt, isNamed })
      if (revealed !== null) {
        if (!isValidSignature(beacon.chain, round, Buffer.from(revealed, 'hex')))
          throw otherBeaconError(beacon, seal, rule, revealed)
        return { ...draw, drawn: drawnRows({ provenance, slots, signature: revealed }) }
      }
      if (flags.dryRun === true && !beacon.isNamed && deps.now() < draw.roundAt * 1000) return { ...draw, drawn: null }
      waiting.subject = `the drop is sealed, but round ${round}, which draws its rows, is not available yet`
      const { signature } = await readRound(deps, beacon, round, progress).catch(async (error: unknown) => {
        if (!hasRelays(error)) throw error
        throw error.with({ hint: `${STILL_SEALED_HINT}${rehearsalText(await mayRehearse())}` })
      })
      // Between the two reads, the node may have caught up, or a reorg may have changed the time of the seal.
      const sealOnChain = await onChain(record)
      if (sealOnChain?.time !== seal.time || sealOnChain.block !== seal.block) {
        await deps.sleep(POLL_MS, deps.signals.signal)
        continue
      }
      if (beacon.isNamed) deps.io.note(createSimulation(round, draw.roundAt * 1000 > deps.now()))
      return { ...draw, drawn: drawnRows({ provenance, slots, signature: Buffer.from(signature).toString('hex') }) }
    }
  }).catch((error: unknown) => {
    throw addResumeHint(error, waiting)
  })
}

const createSimulation = (round: number, isEarly: boolean) =>
  `Round ${round} is from a beacon that you specified${isEarly ? ', and the beacon signed the round early' : ''}, so the draw is a simulation.`

/** Returns the error for NFTs that were revealed with a round of a different beacon than the one in the flags. */
function otherBeaconError(
  { isNamed }: BeaconSource,
  seal: SealCommitment,
  { marginSeconds }: ShuffleRule,
  signature: string,
) {
  const round = findRound(QUICKNET, seal.time + marginSeconds)
  const isDrand = isNamed && isValidSignature(QUICKNET, round, Buffer.from(signature, 'hex'))
  const by = isDrand ? `round ${round} of drand` : isNamed ? 'a round of another beacon' : 'a beacon other than drand'
  return new GdnError('refused', `the NFTs were revealed with ${by}, which determines the rows of the drop`, {
    place: isNamed ? { flag: '--beacon' } : {},
    hint: `Nothing was sent. ${isDrand ? 'Omit --beacon.' : 'To use that beacon, specify its file with --beacon <file>.'}`,
  })
}

interface SealSearch {
  find(): Promise<ProvenanceRecord | undefined>
  onChain(record: ProvenanceRecord): Promise<SealCommitment | null>
  shouldWait: boolean
  progress: Progress
}

/**
 * Returns the seal when it is final according to the server and the node. If it isn't final and `shouldWait` is false,
 * returns null.
 *
 * @throws GdnError `refused` if the seal failed
 */
async function waitForFinalSeal(
  deps: Deps,
  { find, onChain, shouldWait, progress }: SealSearch,
): Promise<{ record: ProvenanceRecord; seal: SealCommitment } | null> {
  for (;;) {
    const record = await find()
    if (record === undefined) throw new SealFailedError()
    const seal = record.is_final === true ? await onChain(record) : null
    if (seal?.isFinal === true) return { record, seal }
    if (!shouldWait) return null
    progress.update('Waiting until the seal of the drop is final')
    await deps.sleep(POLL_MS, deps.signals.signal)
  }
}

class SealFailedError extends GdnError {
  constructor() {
    super('refused', 'the seal of the drop failed, so its rows are not drawn', {
      hint: 'No NFT was updated. Run the same command again to seal the drop.',
    })
  }
}

/** Stores the seal with the drop's run if this machine has minted the drop, so that other commands know the seal. */
async function recordSeal(
  deps: Deps,
  connection: Connection,
  { stateDir, ...options }: BatchOptions,
  { provenance, seal }: { provenance: string; seal: StoredSeal | null },
): Promise<void> {
  const keptRun = await findCommittedRun({ stateDir, ...options })
  if (keptRun?.commitment?.provenance !== provenance) return
  // If this fails, the next command records the seal.
  await ifReadable(deps, recordDrop(deps, connection, await openRun(stateDir, keptRun.id), { seal }))
}

/** The hint for a sealed drop whose round no relay returns. */
const STILL_SEALED_HINT =
  'The drop stays sealed, and nothing is lost. Run the same command again when this machine can reach a drand relay, or set --beacon-url to another relay.'

/** Returns whether an error means that no relay has returned a round. */
const hasRelays = (error: unknown): error is GdnError & { details: { relays: RelayProblem[] } } =>
  error instanceof GdnError && isObject(error.details) && Array.isArray(error.details.relays)

/** Waits until a round is published, and reads it. */
async function readRound(deps: Deps, beacon: BeaconSource, round: number, progress: Progress) {
  const { io, now, sleep, signals } = deps
  const at = computeRoundTime(beacon.chain, round) * 1000
  const of = beacon.isNamed ? 'the beacon that you specified' : 'drand'
  const shownTexts = new Set<string>()
  let hasFailed = false
  // In a log, print one line for each wait, not one for each minute.
  const show = (text: string, more: string) => {
    if (io.stderrTty) progress.update(`${text}${more}`)
    else if (!shownTexts.has(text)) io.note(`${text}${more}`)
    shownTexts.add(text)
  }
  for (;;) {
    if (now() >= at && !hasFailed) progress.update(`Reading round ${round} of ${of}`)
    try {
      return await beacon.read(round, signals.signal)
    } catch (error) {
      const isEarly = error instanceof GdnError && error.code === 'pending'
      const mayLag = error instanceof GdnError && error.code === 'unreachable' && now() < at + RELAY_LAG_MS
      if (!isEarly && !mayLag) throw error
      const msLeft = Math.max(0, at - now())
      hasFailed ||= mayLag
      const last = hasRelays(error) ? error.details.relays.at(-1) : undefined
      if (isEarly)
        show(
          `Waiting for round ${round} of ${of}, due at ${formatIsoSeconds(at / 1000)}`,
          ` (${remainingTimeText(msLeft)} left)`,
        )
      else show(`Waiting for a drand relay that has round ${round}`, ` (${last?.origin}: ${last?.why})`)
      await sleep(Math.min(Math.max(msLeft, POLL_MS), POLL_MS * 5), signals.signal)
    }
  }
}

/** The reason why the command waits, as a sentence. */
interface WaitReason {
  subject: string
}

/** Returns the error for a wait that was interrupted or exceeded --timeout. Returns other errors unchanged. */
function addResumeHint(error: unknown, waiting: WaitReason): unknown {
  if (isTimeUp(error)) return new GdnError('pending', waiting.subject, { hint: RESUME_HINT })
  const isInterrupted = error instanceof GdnError && isInterruption(error)
  return isInterrupted
    ? error.withHint(`${waiting.subject[0]?.toUpperCase()}${waiting.subject.slice(1)}. ${RESUME_HINT}`)
    : error
}

const RESUME_HINT = 'Run the same command again to keep waiting.'
