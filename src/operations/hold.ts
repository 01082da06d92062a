import { randomUUID } from 'node:crypto'
import { GdnError } from '../core/errors.ts'
import {
  isAtWork,
  isOutOfSight,
  LOCK_TIMING,
  type LockHolder,
  type LockTiming,
  lookAt,
  thisProcess,
} from '../core/lock-holder.ts'
import { sleep } from '../core/time.ts'
import type { Sql } from '../sqlite/shared-database.ts'
import type { State } from '../state/open-state.ts'
import { findLive, insertOperation, type Operation, type OperationName } from '../state/operations.ts'
import { beat, checkFence, type HeldBy, heldBy, insertRun, letGo, type RunHold, takeRun } from '../state/runs.ts'

/** A run that this process has to itself, in the database. */
export class HeldRun {
  readonly #state: State
  readonly #hold: RunHold
  readonly #beat: NodeJS.Timeout
  #isReleased = false

  constructor(state: State, hold: RunHold, beatMs: number = LOCK_TIMING.beatMs) {
    this.#state = state
    this.#hold = hold
    // Where it can't be written, the run will be seen to be lost in time.
    this.#beat = setInterval(() => {
      state.write((sql) => beat(sql, hold, Date.now())).catch(() => undefined)
    }, beatMs).unref()
  }

  get runId(): string {
    return this.#hold.runId
  }

  /** Changes something of the run in one transaction. @throws GdnError `run_busy` where another process took it over */
  async write<Result>(work: (sql: Sql) => Result): Promise<Result> {
    return await this.#state.write((sql) => {
      checkFence(sql, this.#hold)
      return work(sql)
    })
  }

  /** Changes something of the run and lets it go, in one transaction. */
  async release(last: (sql: Sql) => void = () => {}): Promise<void> {
    if (this.#isReleased) return
    clearInterval(this.#beat)
    await this.#state.write((sql) => {
      checkFence(sql, this.#hold)
      last(sql)
      letGo(sql, this.#hold)
    })
    this.#isReleased = true
  }
}

export interface Claimed {
  operation: Operation
  run: HeldRun
  /** Whether this process entered it just now. */
  isNew: boolean
}

type Look =
  | { kind: 'taken'; hold: RunHold; operation: Operation; isNew: boolean }
  | { kind: 'held'; by: HeldBy & { holder: LockHolder }; runId: string }

/**
 * Takes the live operation of a name for this process, or enters it. Of several processes that ask at the same time, one
 * gets it.
 *
 * @param note what this process does, for another one that finds it at work
 * @throws GdnError `run_busy` while another process has it
 */
export async function claimOperation(
  state: State,
  name: OperationName,
  { note, signal, timing = LOCK_TIMING }: { note: string; signal: AbortSignal; timing?: LockTiming },
): Promise<Claimed> {
  const mine = await thisProcess(note)
  for (;;) {
    const look = await state.write((sql): Look => lookOrTake(sql, name, mine, note), signal)
    if (look.kind === 'taken') {
      return { operation: look.operation, run: new HeldRun(state, look.hold, timing.beatMs), isNew: look.isNew }
    }
    await waitForEnd(state, look, timing, signal)
    const hold = await state.write((sql) => takeRun(sql, look.runId, look.by, mine, Date.now()), signal)
    const operation = hold === null ? null : await state.read((sql) => findLive(sql, name), signal)
    if (hold !== null && operation !== null) {
      return { operation, run: new HeldRun(state, hold, timing.beatMs), isNew: false }
    }
  }
}

function lookOrTake(sql: Sql, name: OperationName, mine: LockHolder, note: string): Look {
  const now = Date.now()
  const live = findLive(sql, name)
  if (live === null) {
    const run = newRun(note)
    const hold = insertRun(sql, { ...run, holder: mine, now })
    return { kind: 'taken', hold, operation: insertOperation(sql, randomUUID(), run.id, name), isNew: true }
  }
  const by = heldBy(sql, live.runId)
  if (by.holder !== null) return { kind: 'held', by: { ...by, holder: by.holder }, runId: live.runId }
  const hold = takeRun(sql, live.runId, by, mine, now)
  if (hold === null) throw new Error('a run changed within a transaction')
  return { kind: 'taken', hold, operation: live, isNew: false }
}

const SHORT_DIGITS = 4

/** The run of a single command: `nft-mint-3f9a`. */
export function newRun(note: string): { id: string; kind: 'command'; name: string; note: string } {
  const id = randomUUID()
  return { id, kind: 'command', name: `${note.replaceAll(' ', '-')}-${id.slice(0, SHORT_DIGITS)}`, note }
}

/** Passes once the holder of a run is known to have ended. @throws GdnError `run_busy` */
export async function waitForEnd(
  state: State,
  { by, runId }: Pick<Extract<Look, { kind: 'held' }>, 'by' | 'runId'>,
  timing: LockTiming,
  signal: AbortSignal | undefined,
): Promise<void> {
  const known = await lookAt(by.holder, timing)
  if (known.kind === 'ended') return
  if (known.kind === 'alive') throw isAtWork(by.holder)
  // A clock that was put back must not let a holder look alive for ever.
  const left = known.patienceMs - Math.abs(Date.now() - by.beatAt)
  if (left > 0) throw isOutOfSight(by.holder, left)
  await sleep(timing.watchMs, signal)
  const later = await state
    .read((sql) => heldBy(sql, runId), signal)
    .catch((error: unknown) => {
      // It ended well meanwhile, and left nothing.
      if (error instanceof GdnError && error.code === 'run_busy') return null
      throw error
    })
  if (later !== null && later.beatAt !== by.beatAt) throw isOutOfSight(by.holder, null)
}
