import type { BatchEvent } from '../../../batch/types.ts'
import type { Now } from '../../../core/time.ts'
import type { Io } from '../../io/io.ts'
import type { DataRecord } from '../../render/cells.ts'

/** Events of which only the newest matters are told at most so often. */
const EVERY_MS = 500
const COALESCED = new Set<BatchEvent['type']>(['rows', 'looking_up', 'reconciling'])

/**
 * A run as NDJSON: each event a line on stdout as it happens, with the names of the API, the summary last. Rows by
 * state and the like come at most twice a second; the newest of them is always told before something else is.
 */
export class EventLines {
  readonly #io: Io
  readonly #now: Now
  readonly #printedAt = new Map<BatchEvent['type'], number>()
  readonly #held = new Map<BatchEvent['type'], BatchEvent>()
  #written: Promise<void> = Promise.resolve()

  constructor(io: Io, now: Now = () => performance.now()) {
    this.#io = io
    this.#now = now
  }

  tell(event: BatchEvent): void {
    const { type } = event
    if (COALESCED.has(type)) {
      this.#held.set(type, event)
      if (this.#now() - (this.#printedAt.get(type) ?? Number.NEGATIVE_INFINITY) >= EVERY_MS) this.#flush(type)
      return
    }
    // While requests come and go by the hundred, the rows wait their turn; before anything else they are told.
    if (type !== 'sending' && type !== 'answered') this.#flush()
    this.#write(eventData(event))
  }

  /** The last line. Resolves when everything is written. */
  async end(summary: DataRecord): Promise<void> {
    this.#flush()
    this.#write({ event: 'summary', ...summary })
    await this.written()
  }

  written(): Promise<void> {
    return this.#written
  }

  #flush(only?: BatchEvent['type']): void {
    for (const [type, event] of this.#held) {
      if (only !== undefined && type !== only) continue
      this.#held.delete(type)
      this.#printedAt.set(type, this.#now())
      this.#write(eventData(event))
    }
  }

  #write(data: DataRecord): void {
    const line = `${JSON.stringify(data)}\n`
    this.#written = this.#written.then(() => this.#io.data(line))
  }
}

/** An event as a program reads it. */
function eventData(batchEvent: BatchEvent): DataRecord {
  const { type: event } = batchEvent
  switch (batchEvent.type) {
    case 'planned': {
      const { run, resumed, rows, requests, receivers, reordered, files, changes } = batchEvent
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
