import type { BatchEvent } from '../../../batch/types.ts'
import type { Now } from '../../../core/time.ts'
import type { Io } from '../../io/io.ts'
import type { DataRecord } from '../../render/view.ts'

/** Minimum interval in milliseconds between events of a coalesced type. */
const MIN_INTERVAL_MS = 500
const COALESCED_EVENTS = new Set<BatchEvent['type']>(['rows', 'looking_up', 'reconciling'])

/**
 * Prints a run as NDJSON on stdout: one snake-case line per event, and the summary as the last line. Coalesced events
 * are printed at most twice a second. Any other event, except a request event, first flushes the newest coalesced
 * event.
 */
export class EventLines {
  readonly #io: Io
  readonly #now: Now
  readonly #printedAt = new Map<BatchEvent['type'], number>()
  readonly #heldEvents = new Map<BatchEvent['type'], BatchEvent>()
  #pendingWrites: Promise<void> = Promise.resolve()

  constructor(io: Io, now: Now = () => performance.now()) {
    this.#io = io
    this.#now = now
  }

  handleEvent(event: BatchEvent): void {
    const { type } = event
    if (COALESCED_EVENTS.has(type)) {
      this.#heldEvents.set(type, event)
      if (this.#now() - (this.#printedAt.get(type) ?? Number.NEGATIVE_INFINITY) >= MIN_INTERVAL_MS) this.#flush(type)
      return
    }
    // A run has hundreds of request events, so they don't flush the held events. All other events do.
    if (type !== 'sending' && type !== 'answered') this.#flush()
    this.#write(eventData(event))
  }

  /** Writes the summary as the last line. Resolves when all output is written. */
  async end(summary: DataRecord): Promise<void> {
    this.#flush()
    this.#write({ event: 'summary', ...summary })
    await this.waitUntilWritten()
  }

  waitUntilWritten(): Promise<void> {
    return this.#pendingWrites
  }

  #flush(only?: BatchEvent['type']): void {
    for (const [type, event] of this.#heldEvents) {
      if (only !== undefined && type !== only) continue
      this.#heldEvents.delete(type)
      this.#printedAt.set(type, this.#now())
      this.#write(eventData(event))
    }
  }

  #write(data: DataRecord): void {
    const line = `${JSON.stringify(data)}\n`
    this.#pendingWrites = this.#pendingWrites.then(() => this.#io.data(line))
  }
}

function eventData(batchEvent: BatchEvent): DataRecord {
  const { type: event } = batchEvent
  switch (batchEvent.type) {
    case 'planned': {
      const { run, resumed, rows, requests, receivers, reordered, files, changes, notes = [] } = batchEvent
      const { added, changed, keptAccepted: kept_accepted, removed } = changes
      return {
        event,
        run: run.name,
        run_id: run.id,
        resumed,
        ...rows,
        requests,
        receivers,
        files,
        reordered,
        changes: { added, changed, kept_accepted, removed },
        notes,
      }
    }
    case 'rows':
      return { event, ...batchEvent.counts }
    case 'resized':
      return { event, chunk_size: batchEvent.chunkSize, message: batchEvent.message }
    default: {
      const { type: _, ...fields } = batchEvent
      return { event, ...fields }
    }
  }
}
