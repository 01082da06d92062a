import type { ProvenanceRecord } from '../../api/endpoints/getprovenances.ts'
import { GdnError } from '../../core/errors.ts'
import { drawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import type { BeaconSource } from '../../reveal/shuffle/read-beacon.ts'
import { roundFor, type ShuffleRule, timeOfRound } from '../../reveal/shuffle/rule.ts'
import { type BeaconFlags, openBeaconOf } from '../connect/open-beacon.ts'
import type { ReaderFlags } from '../connect/open-verifier.ts'
import type { Connection, Deps } from '../deps.ts'
import type { Progress } from '../io/progress.ts'
import { withProgress } from '../io/progress.ts'
import { type Draw, NOT_DRAWN } from './draw.ts'
import { type Revealing, sealDrop } from './seal-drop.ts'
import { timeOfSeal } from './seal-time.ts'
import { commitmentsOf, sealIn } from './shuffled-drop.ts'

const POLL_MS = 2_000
/** How long relays may lag behind a round. */
const RELAY_LAG_MS = 15_000

/**
 * Draws the rows of a shuffled drop: seals the drop unless it is sealed, waits until the seal is final and the round is
 * published, and reads the round. A dry run neither seals nor waits.
 */
export async function drawRows(
  deps: Deps,
  connection: Connection,
  revealing: Revealing & { flags: BeaconFlags & ReaderFlags; rule: ShuffleRule },
): Promise<Draw> {
  const { opened, rows, flags, rule } = revealing
  const { provenance, rows: slots } = rows.commitment
  const find = async () => {
    const { contractAddress } = opened.options
    return sealIn(await commitmentsOf(deps, connection, contractAddress), provenance)
  }
  const beacon = await openBeaconOf(deps, flags)
  if ((await find()) === undefined) {
    if (flags.dryRun === true) return NOT_DRAWN
    await sealDrop(deps, connection, revealing)
  }
  return await withProgress(deps.io, 'Reading the seal of the drop', async (progress) => {
    const seal = await finalSeal(deps, { find, waits: flags.dryRun !== true, progress })
    if (seal === null) return { ...NOT_DRAWN, seal: (await find())?.provenance ?? null }
    const time = await timeOfSeal(deps, connection, opened.options.blockchain, flags, seal)
    const round = roundFor(beacon.chain, time + rule.marginSeconds)
    const draw = { seal: seal.provenance, round, roundAt: timeOfRound(beacon.chain, round) }
    if (flags.dryRun === true && !beacon.isNamed && deps.now() < draw.roundAt * 1000) return { ...draw, drawn: null }
    const { signature } = await readRound(deps, beacon, round, progress)
    if (beacon.isNamed) deps.io.note(`Round ${round} is by a beacon that you named, so the draw is a simulation.`)
    return { ...draw, drawn: drawnRows({ provenance, slots, signature: Buffer.from(signature).toString('hex') }) }
  })
}

interface Finding {
  find(): Promise<ProvenanceRecord | undefined>
  waits: boolean
  progress: Progress
}

/** Returns the seal once it is final. Returns null if there is none, or if it isn't final and `waits` is false. */
async function finalSeal(deps: Deps, { find, waits, progress }: Finding): Promise<ProvenanceRecord | null> {
  for (;;) {
    const seal = await find()
    if (seal === undefined || seal.is_final === true) return seal ?? null
    if (!waits) return null
    progress.update('Waiting until the seal of the drop is final')
    await resumable(deps.sleep(POLL_MS, deps.signals.signal))
  }
}

/** Reads a round, and waits until it is published. */
async function readRound(deps: Deps, beacon: BeaconSource, round: number, progress: Progress) {
  const { now, sleep, signals } = deps
  const at = timeOfRound(beacon.chain, round) * 1000
  for (;;) {
    try {
      return await beacon.read(round, signals.signal)
    } catch (error) {
      const isEarly = error instanceof GdnError && error.code === 'pending'
      const mayLag = error instanceof GdnError && error.code === 'unreachable' && now() < at + RELAY_LAG_MS
      if (!isEarly && !mayLag) throw error
      const left = Math.max(0, at - now())
      progress.update(`Waiting for round ${round} of drand at ${new Date(at).toISOString()} (${leftText(left)} left)`)
      await resumable(sleep(Math.min(Math.max(left, POLL_MS), POLL_MS * 5), signals.signal))
    }
  }
}

const leftText = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}

/** Adds a hint to the error of a wait that was interrupted. */
const resumable = (waiting: Promise<void>): Promise<void> =>
  waiting.catch((error: unknown) => {
    throw error instanceof GdnError ? error.withHint(RESUME) : error
  })

const RESUME = 'The drop is sealed. Run the same command again to keep waiting.'
