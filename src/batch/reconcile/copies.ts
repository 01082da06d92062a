import { identityOf, looseTitle } from '../../operations/reconcile/content.ts'
import { ownersOf } from '../../operations/reconcile/owners.ts'
import type { RecordFile } from '../journal/read.ts'
import type { IntentRecord, ReconciledRecord } from '../journal/records.ts'
import { type Ledger, REQUEST } from '../ledger.ts'
import { NOT_KNOWN, NOT_SHOWN } from '../results.ts'
import { ROW } from '../row-table.ts'
import type { RunContext } from '../run-context.ts'

/** A sending whose outcome isn't known, by its place in the journal. */
export interface Sending {
  n: number
  position: number
  key: string
  line: number
  identity: string
  title: string
  owners: string[]
  /** Found absent before; or, if the row went by another request since, superseded. */
  state: 'unknown' | 'absent' | 'superseded'
  /** Why it can't be taken for absent, whatever the collection shows; null where it can. */
  taken: string | null
}

/** What reconciling is about: the sendings of a run that nobody knows the end of. */
export interface Open {
  sendings: Sending[]
  /** Those that reconciling found before: an NFT that another owner has now may have been one of them. */
  adopted: { identity: string; owners: string[] }[]
  /** Whether the server shows of a row that it accepted something else than it was sent. */
  rewrites: boolean
}

/** Reads what the journal says of the rows whose outcome isn't known. */
export async function openSendings(context: RunContext, markerKey: string | undefined): Promise<Open> {
  const { ledger, records } = context
  const open: Open = { sendings: [], adopted: [], rewrites: false }
  for (let n = 1; n <= ledger.lastRequest; n++) {
    const request = ledger.requestState(n)
    if (request !== REQUEST.unknown && request !== REQUEST.accepted) continue
    const rows = ledger.rowsOf(n)
    const states = rows.map((row): Sending['state'] | null => {
      if (!ledger.isCurrent(row, n)) return request === REQUEST.unknown ? 'superseded' : null
      const state = ledger.state(row)
      return state === ROW.unknown ? 'unknown' : state === ROW.absent ? 'absent' : null
    })
    if (request === REQUEST.accepted && states.every((state) => state === null)) continue
    if (request === REQUEST.accepted) open.rewrites = true
    // Rows that were adopted were sent by somebody else: nothing tells what to look for.
    if ((await ledger.readBody(records, n)) === null) continue
    const intent = await ledger.readIntent(records, n)
    const answer = ledger.hasAnswer(n) ? await ledger.readAnswer(records, n) : null
    const earlier = answer?.t === 'reconciled' ? answer : null
    for (const [position, sent] of sentRows(intent, markerKey).entries()) {
      const state = states[position] ?? null
      if ((earlier?.ids[position] ?? null) !== null) open.adopted.push(sent)
      else if (state !== null && !isSettled(earlier, position)) {
        const wasDeployed = ledger.wasDeployed(rows[position] ?? -1)
        const taken = wasDeployed ? NOT_KNOWN : request === REQUEST.accepted ? NOT_SHOWN : null
        open.sendings.push({ ...sent, n, position, state, taken })
      }
    }
  }
  return open
}

/** A person's word that a row isn't there is taken as final. */
const isSettled = (earlier: ReconciledRecord | null, position: number): boolean =>
  earlier?.absent.some(([at, basis]) => at === position && basis === 'person') ?? false

function sentRows(intent: IntentRecord, markerKey: string | undefined) {
  const body = JSON.parse(intent.body) as {
    receiver_wallet_address: string
    sender_wallet_address?: string
    metadata: unknown[]
  }
  const { receiver_wallet_address: receiver, sender_wallet_address: sender = null } = body
  const owners = ownersOf({ receiver, sender })
  return intent.rows.map(([key, line], position) => ({
    key,
    line,
    owners,
    identity: identityOf(body.metadata[position], markerKey),
    title: looseTitle(body.metadata[position]),
  }))
}

/** Rows that are to be sent again because they were absent; not those of which a person said so. */
export async function repeatedRows(ledger: Ledger, records: RecordFile): Promise<Set<number>> {
  const repeated = new Set<number>()
  for (const n of ledger.requestsIn(REQUEST.unknown)) {
    const rows = ledger.rowsOf(n)
    if (!rows.some((row) => ledger.isCurrent(row, n) && ledger.state(row) === ROW.pending)) continue
    const answer = await ledger.readAnswer(records, n)
    for (const [position, row] of rows.entries()) {
      const isPending = ledger.isCurrent(row, n) && ledger.state(row) === ROW.pending
      if (isPending && answer.t === 'reconciled' && !isSettled(answer, position)) repeated.add(row)
    }
  }
  return repeated
}
