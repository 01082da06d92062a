import type { BatchEvent, RowCounts } from '../../../batch/types.ts'
import { type Io, safe } from '../../io.ts'
import type { Progress } from '../../progress.ts'
import { count } from '../../waiting.ts'

/** One calm line on stderr: rows by state, what is being waited for. */
export class BatchProgress {
  readonly #io: Io
  #line: Promise<Progress> | undefined
  #counts: RowCounts | undefined
  #doing = 'Reading the manifest'
  #stopped = false

  constructor(io: Io) {
    this.#io = io
  }

  tell(event: BatchEvent): void {
    switch (event.type) {
      case 'planned':
        this.#counts = event.rows
        this.#doing = 'Sending'
        break
      case 'uploaded':
        this.#doing = `Uploading files: ${event.done} of ${event.files}`
        break
      case 'sending':
        this.#doing = event.attempt > 1 ? `Sending request ${event.request} again (${event.attempt})` : 'Sending'
        break
      case 'holding':
        this.#doing = `Waiting ${Math.ceil(event.ms / 1000)} s: ${event.message}`
        break
      case 'waiting':
        this.#doing = `Waiting for ${count(event.pending, 'NFT')} to be deployed`
        break
      case 'rows':
        this.#counts = event.counts
        break
      case 'answered':
        if (event.outcome === 'refused') this.#io.debug(safe(`request ${event.request}: ${event.message ?? 'refused'}`))
        break
    }
    this.#show()
  }

  /** Takes the line away, so that something else can be said; the next event brings it back. */
  stop(): void {
    const line = this.#line
    this.#line = undefined
    this.#stopped = true
    void line?.then((progress) => progress.stop())
  }

  #show(): void {
    const text = this.#text()
    if (this.#line === undefined) {
      this.#stopped = false
      this.#line = this.#io.progress(text)
      return
    }
    void this.#line.then((progress) => {
      if (!this.#stopped) progress.update(text)
    })
  }

  #text(): string {
    if (this.#counts === undefined) return this.#doing
    const { total, deployed, accepted, failed, unknown } = this.#counts
    const parts = [`${deployed} of ${total} deployed`]
    if (accepted > 0) parts.push(`${accepted} accepted`)
    if (failed > 0) parts.push(`${failed} failed`)
    if (unknown > 0) parts.push(`${unknown} unknown`)
    return `${this.#doing} · ${parts.join(', ')}`
  }
}
