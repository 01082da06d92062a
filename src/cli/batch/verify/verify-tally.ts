import { MAX_LISTED_ROWS } from '../../../batch/rows/max-listed-rows.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { listSome } from '../../../core/list-some.ts'
import { type Io, safe } from '../../io/io.ts'
import { type DifferingRow, formatLineRanges } from '../report/run-error.ts'
import type { VerifiedCounts } from '../report/summary.ts'
import { rowVerifyText, type VerifiedRow } from './verify-rows.ts'

const MAX_SHOWN_TITLES = 5

/** Counts the results of comparing rows with chain and storage. Collects the first rows that differ. */
export class VerifyTally {
  readonly counts: VerifiedCounts = { verified: 0, changed: 0, differing: 0, unread: 0 }
  readonly differing: DifferingRow[] = []
  /** The first rows that changed. The line is null if the row was removed from the manifest. */
  readonly #changedRows: { line: number | null; title: string | null }[] = []
  /** The reason why rows could not be read; null if all rows were read. */
  unreadReason: string | null = null

  add({ result, row, verification }: VerifiedRow): void {
    if (verification === null) return
    if (verification.verified === true) this.counts.verified++
    else if ('changed' in verification) {
      this.counts.changed++
      const { line, title } = result
      if (this.#changedRows.length < MAX_LISTED_ROWS)
        this.#changedRows.push({ line: row === null ? null : line, title })
    } else if (verification.verified === null) {
      this.counts.unread++
      this.unreadReason ??= verification.reason
    } else {
      this.counts.differing++
      const { key, line } = result
      if (this.differing.length < MAX_LISTED_ROWS)
        this.differing.push({ key, line, differs: rowVerifyText(verification) ?? '' })
    }
  }

  /** Warns about everything that was not verified: rows that changed or could not be read, and all files. */
  warn(io: Io): void {
    const { verified, unread, changed } = this.counts
    if (changed > 0) {
      const rows = `${count(changed, 'row')} changed since the mint`
      io.warn(`${rows}: the chain and the storage match the server's current record (${this.#changedText()}).`)
    }
    if (unread > 0)
      io.warn(`${count(unread, 'row')} ${unread === 1 ? 'was' : 'were'} not verified: ${safe(this.unreadReason ?? '')}`)
    if (verified + changed > 0)
      io.note('Files were not checked. To check the files of all tokens, run `gdn collection check`.')
  }

  #changedText(): string {
    const lines = this.#changedRows.flatMap(({ line }) => (line === null ? [] : [{ line }]))
    const removed = this.#changedRows.filter(({ line }) => line === null)
    const titles = removed.slice(0, MAX_SHOWN_TITLES).map(({ title }) => title ?? 'a row without a title')
    const removedRows =
      removed.length === 0 ? [] : [`no longer in the manifest: ${safe(listSome(titles, removed.length, ' and'))}`]
    return [...(lines.length === 0 ? [] : [formatLineRanges(lines)]), ...removedRows].join('; ')
  }

  /** Throws if no row could be read, so that scripts don't treat the command as successful. */
  refuseUnread(): void {
    const { verified, changed, unread } = this.counts
    if (verified + changed > 0 || unread === 0) return
    throw new GdnError('unreachable', `no row could be verified: ${safe(this.unreadReason ?? 'nothing could be read')}`)
  }
}
