import { GdnError } from '../core/errors.ts'
import type { ManifestItem } from '../manifest/read.ts'
import type { ManifestIssue, ManifestRow } from '../manifest/row.ts'
import { type ByteColumn, bytes } from './columns.ts'
import { KeyTable } from './key-table.ts'
import { type Ledger, ROW } from './ledger.ts'
import type { Span } from './lines.ts'
import { type Plan, Planner } from './plan.ts'
import { contentHash, RowKeys, shownKey } from './row-key.ts'
import type { SpooledRow } from './spool.ts'
import type { ManifestChanges } from './types.ts'

const MAX_EXAMPLES = 50
const MAX_ISSUES = 10_000

/** What reading the manifest told, against what the journal and the rows kept so far say. */
export interface Survey {
  plan: Plan
  changes: ManifestChanges
  /** Rows that left the manifest before anything came of them, by request and position, where the journal knows them. */
  dropped: [request: number, position: number][]
}

export interface SurveyOptions {
  chunkSize: number
  inOrder: boolean
  /** Send rows again that were refused, or whose NFT failed. */
  retryFailed: boolean
  /** Send rows again that reconciling found absent. */
  retryAbsent?: boolean
}

/**
 * Reads all rows, enters them in the ledger, and plans those that are still to be sent.
 *
 * @param items the manifest
 * @param earlier gives the rows as this run kept them last; none for a new run
 * @param keep called with each row and whether it is to be sent; tells where it was put
 * @throws GdnError `invalid_manifest` with the faults in `details`: `{ issues, issueCount }`
 */
export async function survey(
  items: AsyncIterable<ManifestItem>,
  earlier: () => AsyncIterable<SpooledRow>,
  ledger: Ledger,
  options: SurveyOptions,
  keep: (spooled: SpooledRow, pending: boolean) => Promise<Span> | Span,
): Promise<Survey> {
  const changes: ManifestChanges = { added: 0, changed: 0, keptAccepted: 0, removed: 0, examples: [] }
  const tell = (kind: 'added' | 'changed' | 'removed', key: string, line: number) => {
    changes[kind]++
    if (changes.examples.length < MAX_EXAMPLES) changes.examples.push({ kind, key: shownKey(key), line })
  }
  const known = new KeyTable()
  const stillThere = bytes()
  for await (const { key, content, row } of earlier()) {
    known.add(key)
    ledger.addRow(key, row.line, content)
  }
  const resumed = known.size > 0 || ledger.rowCount > 0

  const sentAgain = [
    ...(options.retryFailed ? [ROW.refused, ROW.failed] : []),
    ...(options.retryAbsent === true ? [ROW.absent] : []),
  ]
  const keys = new RowKeys()
  const planner = new Planner()
  const seen = bytes()
  const issues: ManifestIssue[] = []
  let issueCount = 0
  const fault = (issue: ManifestIssue) => {
    if (issueCount++ < MAX_ISSUES) issues.push(issue)
  }
  let rows = 0
  for await (const item of items) {
    if ('issue' in item) {
      fault(item.issue)
      continue
    }
    if (issues.length > 0) continue
    const { row } = item
    const content = contentHash(row)
    const key = keys.next(row, content)
    const { row: index, isNew } = ledger.addRow(key, row.line, content)
    if (seen.get(index) === 1) fault(twice(row))
    seen.set(index, 1)
    const old = known.find(key)
    if (old >= 0) stillThere.set(old, 1)
    rows++
    if (isNew && resumed) tell('added', key, row.line)
    ledger.reopen(index, sentAgain)
    if (!ledger.sameContent(index, content)) {
      tell('changed', key, row.line)
      if (!settleChanged(ledger, index, content)) changes.keptAccepted++
    }
    const pending = ledger.state(index) === ROW.pending
    const span = await keep({ key, content, row }, pending)
    if (pending) planner.add(index, row, span)
  }
  if (issueCount > 0) throw invalidManifest(issues, issueCount)
  if (rows === 0) throw new GdnError('invalid_manifest', 'the manifest has no rows')

  if (stillThere.count() < known.size) {
    for await (const { key, row } of earlier())
      if (stillThere.get(known.find(key)) === 0) tell('removed', key, row.line)
  }
  return { plan: planner.plan(options.chunkSize, options.inOrder), changes, dropped: dropUnseen(ledger, seen) }
}

function dropUnseen(ledger: Ledger, seen: ByteColumn): Survey['dropped'] {
  const dropped: Survey['dropped'] = []
  for (let row = 0; row < ledger.rowCount; row++) {
    if (seen.get(row) === 1 || !ledger.drop(row)) continue
    const sent = ledger.sentBy(row)
    if (sent !== null) dropped.push([sent.request, sent.position])
  }
  return dropped
}

/** A row that has another content now is sent anew only if nothing came of the old one; tells whether it is. */
function settleChanged(ledger: Ledger, row: number, content: string): boolean {
  ledger.reopen(row, [ROW.refused])
  if (ledger.state(row) !== ROW.pending) return false
  ledger.setContent(row, content)
  return true
}

const twice = (row: ManifestRow): ManifestIssue => ({
  place: { line: row.line, field: 'id' },
  message: `the id ${JSON.stringify(row.id)} stands in an earlier row too`,
  hint: 'give each row an id of its own, or none',
})

function invalidManifest(issues: readonly ManifestIssue[], issueCount: number): GdnError {
  const [first] = issues
  const more = issueCount > 1 ? ` (and ${issueCount - 1} more)` : ''
  return new GdnError('invalid_manifest', `${first?.message ?? 'invalid'}${more}`, {
    ...(first === undefined ? {} : { place: first.place }),
    ...(first?.hint === undefined ? {} : { hint: first.hint }),
    details: { issues, issueCount },
  })
}
