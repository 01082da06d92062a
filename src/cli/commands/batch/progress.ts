import type { BatchEvent } from '../../../batch/types.ts'
import type { Now } from '../../../core/time.ts'
import { type Io, safe } from '../../io/io.ts'
import type { LiveBlock } from '../../io/live-block.ts'
import type { Signals } from '../../io/signals.ts'
import { type Known, ProgressState } from './progress-state.ts'
import { formatBlock, formatLine } from './progress-text.ts'

/** The block is drawn at most so often; the log gets a line so often. */
const DRAW_EVERY_MS = 100
const LINE_EVERY_MS = 10_000
/** A line that says nothing new is said so often: a sign of life. */
const SAME_LINE_EVERY_MS = 60_000
const TICK_MS = 1_000

export interface ProgressClock {
  now: Now
  /** Calls again and again until told not to. */
  every(ms: number, act: () => void): () => void
}

type ProgressSignals = Pick<Signals, 'signal' | 'instead'>

const CLOCK: ProgressClock = {
  now: () => performance.now(),
  every(ms, act) {
    const timer = setInterval(act, ms).unref()
    return () => clearInterval(timer)
  },
}

/** The progress of a run on stderr: a block that is written over on a terminal, a line now and then elsewhere. */
export class BatchProgress {
  readonly #io: Io
  readonly #clock: ProgressClock
  readonly #state: ProgressState
  readonly #signals: ProgressSignals
  #block: LiveBlock | null = null
  #stopTicking: (() => void) | null = null
  #drawnAt = Number.NEGATIVE_INFINITY
  #saidAt: number
  #saidPhase = 'reading'
  #saidLine = ''

  /** @param known how a run that goes on stands */
  constructor(io: Io, signals: ProgressSignals, known?: Known, clock: ProgressClock = CLOCK) {
    this.#io = io
    this.#signals = signals
    this.#clock = clock
    this.#state = new ProgressState(clock.now(), known)
    this.#saidAt = clock.now()
  }

  /** Begins, or goes on after `stop`. */
  async start(): Promise<void> {
    if (this.#stopTicking !== null || this.#io.settings.quiet || this.#io.settings.machine) return
    this.#block = await this.#io.block()
    // The block itself says that it stops: another word would be written into it.
    if (this.#block !== null) this.#signals.instead(() => {})
    this.#signals.signal.addEventListener('abort', this.#onAbort)
    this.#stopTicking = this.#clock.every(TICK_MS, () => this.#show(true))
  }

  tell(event: BatchEvent): void {
    this.#state.tell(event, this.#clock.now())
    if (event.type === 'planned') this.#saidPhase = 'sending'
    if (event.type === 'answered' && event.outcome === 'refused') {
      this.#io.debug(safe(`request ${event.request}: ${event.message ?? 'refused'}`))
    }
    if (event.type === 'resized')
      this.#io.note(`Requests hold ${event.chunkSize} rows from here on: ${safe(event.message)}`)
    // After absent rows were sent again it looks whether the first sending came late: mostly there is nothing to tell.
    if (event.type === 'reconciled' && event.adopted + event.absent + event.undecided > 0) {
      this.#io.note(reconciledText(event))
    }
    if (this.#stopTicking !== null) this.#show(false)
  }

  /** Takes it away, so that something else can be said. */
  stop(): void {
    this.#signals.signal.removeEventListener('abort', this.#onAbort)
    this.#signals.instead(null)
    this.#stopTicking?.()
    this.#stopTicking = null
    this.#block?.end()
    this.#block = null
  }

  readonly #onAbort = (): void => {
    this.#state.stop()
    this.#show(true)
  }

  #show(isDue: boolean): void {
    const now = this.#clock.now()
    if (this.#block === null) this.#say(now)
    else if (isDue || now - this.#drawnAt >= DRAW_EVERY_MS) {
      this.#drawnAt = now
      this.#block.show(formatBlock(this.#state, now, this.#io.look()))
    }
  }

  /** A line at once when something else begins, and one every ten seconds while there is something new to say. */
  #say(now: number): void {
    const { kind } = this.#state.phase(now)
    if (kind === this.#saidPhase && now - this.#saidAt < LINE_EVERY_MS) return
    const line = formatLine(this.#state, now)
    if (line === this.#saidLine && now - this.#saidAt < SAME_LINE_EVERY_MS) return
    this.#saidPhase = kind
    this.#saidAt = now
    this.#saidLine = line
    this.#io.note(line)
  }
}

function reconciledText({ adopted, absent, undecided }: Extract<BatchEvent, { type: 'reconciled' }>): string {
  const parts = [`${adopted} found in the collection`]
  if (absent > 0) parts.push(`${absent} not there`)
  if (undecided > 0) parts.push(`${undecided} undecided`)
  return `Rows of unknown outcome: ${parts.join(', ')}`
}
