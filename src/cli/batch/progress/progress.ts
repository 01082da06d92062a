import type { BatchEvent } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import { maskAmounts } from '../../../core/mask-amounts.ts'
import type { Now } from '../../../core/time.ts'
import { isTimeUp } from '../../../core/time-up.ts'
import { type Io, safe } from '../../io/io.ts'
import type { LiveBlock } from '../../io/live-block.ts'
import type { Signals } from '../../io/signals.ts'
import { type InitialProgress, type Phase, ProgressState } from './progress-state.ts'
import { formatBlock, formatLine } from './progress-text.ts'

/** Minimum intervals in milliseconds between two redraws of the block, and between two log lines. */
const DRAW_EVERY_MS = 100
const LINE_EVERY_MS = 10_000
/** Interval in milliseconds at which an unchanged line is repeated to show that the run is active. */
const SAME_LINE_EVERY_MS = 60_000
const TICK_MS = 1_000

export interface ProgressClock {
  now: Now
  /** Calls `callback` at an interval until the returned function is called. */
  every(ms: number, callback: () => void): () => void
}

type ProgressSignals = Pick<Signals, 'signal' | 'instead'>

const SYSTEM_CLOCK: ProgressClock = {
  now: () => performance.now(),
  every(ms, callback) {
    const timer = setInterval(callback, ms).unref()
    return () => clearInterval(timer)
  },
}

/** Shows the progress of a run on stderr: a block that is redrawn on a terminal, periodic lines elsewhere. */
export class BatchProgress {
  readonly #io: Io
  readonly #clock: ProgressClock
  readonly #state: ProgressState
  readonly #signals: ProgressSignals
  #block: LiveBlock | null = null
  #stopTicking: (() => void) | null = null
  #drawnAt = Number.NEGATIVE_INFINITY
  #stoppedAt: number
  #printedAt: number
  #printedPhase = 'reading'
  #printedLine = ''
  readonly #printedReasons = new Set<string>()

  /**
   * Creates the display of a run.
   *
   * @param knownProgress the state of a resumed run
   */
  constructor(io: Io, signals: ProgressSignals, knownProgress?: InitialProgress, clock: ProgressClock = SYSTEM_CLOCK) {
    this.#io = io
    this.#signals = signals
    this.#clock = clock
    this.#state = new ProgressState(clock.now(), knownProgress)
    this.#printedAt = clock.now()
    this.#stoppedAt = clock.now()
  }

  /** Starts the display, or resumes it after `stop`. */
  async start(): Promise<void> {
    if (this.#stopTicking !== null || this.#io.settings.quiet || this.#io.settings.machine) return
    this.#block = await this.#io.block()
    // The block already shows that the run is stopping. Another message would overwrite part of the block.
    if (this.#block !== null) this.#signals.instead(() => {})
    this.#signals.signal.addEventListener('abort', this.#onAbort)
    this.#state.startedAt += this.#clock.now() - this.#stoppedAt
    this.#stopTicking = this.#clock.every(TICK_MS, () => this.#show(true))
  }

  handleEvent(event: BatchEvent): void {
    this.#state.handleEvent(event, this.#clock.now())
    if (event.type === 'planned') this.#printedPhase = 'sending'
    if (event.type === 'answered' && event.outcome === 'refused') {
      this.#io.debug(safe(`request ${event.request}: ${event.message ?? 'refused'}`))
    }
    if (event.type === 'resized')
      this.#io.note(`Continuing with ${count(event.chunkSize, 'row')} per request: ${safe(event.message)}`)
    // After a retry of absent rows, gdn checks whether the first request arrived late. Usually it didn't, and nothing
    // is printed.
    if (event.type === 'reconciled' && event.adopted + event.absent + event.undecided > 0) {
      this.#io.note(reconciledText(event))
    }
    if (this.#stopTicking !== null) this.#show(false)
  }

  /** Removes the display, so that other messages can be printed. */
  stop(): void {
    this.#signals.signal.removeEventListener('abort', this.#onAbort)
    this.#signals.instead(null)
    if (this.#stopTicking !== null) this.#stoppedAt = this.#clock.now()
    this.#stopTicking?.()
    this.#stopTicking = null
    this.#block?.end()
    this.#block = null
  }

  readonly #onAbort = (): void => {
    this.#state.stop(isTimeUp(this.#signals.signal.reason) ? 'time' : 'signal')
    this.#show(true)
  }

  #show(isDue: boolean): void {
    const now = this.#clock.now()
    if (this.#block === null) this.#printLine(now)
    else if (isDue || now - this.#drawnAt >= DRAW_EVERY_MS) {
      this.#drawnAt = now
      this.#block.show(formatBlock(this.#state, now, this.#io.blockStyle()))
    }
  }

  /**
   * Prints a line when the phase changes, and every ten seconds while the text changes. Each reason for a wait is
   * printed only once, even if the run waits for that reason repeatedly.
   */
  #printLine(now: number): void {
    const phase = this.#state.phase(now)
    const { kind } = phase
    const reason = waitReasonKey(phase)
    const isSaid = reason !== null && this.#printedReasons.has(reason)
    const isOther = kind !== this.#printedPhase || (kind === 'waiting' && reason !== null)
    const isNew = isOther && !isSaid && !(kind === 'sending' && this.#printedPhase === 'held')
    if (!isNew && now - this.#printedAt < LINE_EVERY_MS) return
    const withoutReason = formatLine(this.#state, now, true)
    if (!isNew && withoutReason === this.#printedLine && now - this.#printedAt < SAME_LINE_EVERY_MS) return
    if (reason !== null) this.#printedReasons.add(reason)
    this.#printedPhase = kind
    this.#printedAt = now
    this.#printedLine = withoutReason
    this.#io.note(isSaid ? withoutReason : formatLine(this.#state, now))
  }
}

/**
 * Returns a key for the reason why a run waits; null if there is no reason. The key stays the same if only the amounts
 * in the reason change.
 */
function waitReasonKey(phase: Phase): string | null {
  if (phase.kind === 'held') return `${phase.reason} ${maskAmounts(phase.message)}`
  return phase.kind === 'waiting' && phase.reason !== null ? `waiting ${maskAmounts(phase.reason)}` : null
}

function reconciledText({ adopted, absent, undecided }: Extract<BatchEvent, { type: 'reconciled' }>): string {
  const parts = [`${adopted} found in the collection`]
  if (absent > 0) parts.push(`${absent} absent`)
  if (undecided > 0) parts.push(`${undecided} undecided`)
  return `Rows with an unknown outcome: ${parts.join(', ')}`
}
