import { sentMetadata } from '../operations/reconcile/content.ts'
import { bytes } from './columns.ts'
import type { RecordFile } from './journal/read.ts'
import type { ReconciledRecord, RunRecord } from './journal/records.ts'
import type { KnownAnswer, Ledger } from './ledger.ts'
import { remember } from './remember.ts'
import { shownKey } from './row-key.ts'
import { ROW, type RowState } from './row-table.ts'
import type { SpooledRow } from './spool.ts'
import type { ResultRow, RowStatus } from './types.ts'

const STATUS: Record<RowState, RowStatus> = {
  [ROW.pending]: 'pending',
  [ROW.unknown]: 'unknown',
  [ROW.accepted]: 'accepted',
  [ROW.deployed]: 'deployed',
  [ROW.failed]: 'failed',
  [ROW.refused]: 'failed',
  [ROW.dropped]: 'pending',
  [ROW.absent]: 'unknown',
}

/** What a result repeats of its row. */
type Shown = Pick<ResultRow, 'line' | 'title'> & { receiver: string }

/** Answers that are kept while rows of the same requests come by. */
const KEPT_ANSWERS = 64

/**
 * The rows of a run with what became of them: those of the manifest in its order, then those that left it after they
 * had been sent. `live`: a process is sending now, so what is under way isn't unknown yet.
 */
export async function* resultRows(
  run: Pick<RunRecord, 'contract'>,
  ledger: Ledger,
  records: RecordFile,
  spool: AsyncIterable<SpooledRow>,
  live = false,
): AsyncGenerator<ResultRow> {
  const answerOf = remember(KEPT_ANSWERS, async (n) =>
    ledger.hasAnswer(n) ? await ledger.readAnswer(records, n) : null,
  )

  const result = async (row: number, key: string, { line, title, receiver }: Shown): Promise<ResultRow> => {
    const state = row < 0 || (live && ledger.isUnderWay(row)) ? ROW.pending : ledger.state(row)
    const shown = { key: shownKey(key), line, title, status: STATUS[state] }
    const base = { ...shown, nft_gdn_id: null, token_id: null, error: null }
    const place = { contract_address: run.contract, receiver_wallet_address: receiver, metadata_url: null }
    const sent = row < 0 ? null : ledger.sentBy(row)
    if (sent === null || state === ROW.pending) return { ...base, ...place }
    const end = await ledger.readEnd(records, row)
    if (end !== null) {
      const owner = end.receiver === '' ? receiver : end.receiver
      const where = { contract_address: end.contract, receiver_wallet_address: owner, metadata_url: end.url }
      return { ...base, ...where, nft_gdn_id: end.id, token_id: end.token_id, error: end.error ?? twice(row) }
    }
    const answer = await answerOf(sent.request)
    const error = HAS_REASON.has(state) ? reason(state, answer, sent.position) : twice(row)
    return { ...base, ...place, nft_gdn_id: answer?.ids?.[sent.position] ?? null, error }
  }

  const twice = (row: number): string | null => {
    const id = ledger.doubled.get(row)
    return id === undefined ? null : TWICE + id
  }

  // A Set of a million rows would take more than all the rest.
  const told = bytes()
  for await (const { key, row } of spool) {
    const index = ledger.rows.find(key)
    if (index >= 0) told.set(index, 1)
    yield await result(index, key, { line: row.line, title: row.metadata.title, receiver: row.receiver })
  }
  for (let n = 1; n <= ledger.lastRequest; n++) {
    const left = ledger.rowsOf(n).map((row, position) => ({ row, position }))
    const untold = left.filter(
      ({ row }) => told.get(row) === 0 && ledger.isCurrent(row, n) && !isIdle(ledger.state(row)),
    )
    if (untold.length === 0) continue
    const { rows, receiver } = await ledger.readRows(records, n)
    const body = await ledger.readBody(records, n)
    const titles = body === null ? [] : (sentMetadata(body) as { title: string }[])
    for (const { row, position } of untold) {
      const [key, line] = rows[position] ?? ['', 0]
      yield await result(row, key, { line, title: titles[position]?.title ?? null, receiver })
    }
  }
}

const isIdle = (state: RowState): boolean => state === ROW.dropped || state === ROW.pending

const HAS_REASON: ReadonlySet<RowState> = new Set([ROW.unknown, ROW.absent, ROW.refused])

/** How the error of a row begins that reconciling didn't find, or couldn't decide about. */
export const ABSENT = 'absent: '
export const UNDECIDED = 'undecided: '
/** And of one that was minted twice; the id of the other NFT follows. */
export const TWICE = 'minted twice: its first sending, taken for absent, turned up as '

/** Why a row is undecided that the server said it took. */
export const NOT_SHOWN = 'the server accepted the request, but shows no NFT with this metadata for it'

/** And of one whose NFT was deployed before its backend was restored. */
export const NOT_KNOWN = 'its NFT was deployed, but the backend was restored from a backup and no longer knows it'
const LOST = 'the backend was restored from a backup and no longer knows its NFT'

function reason(state: RowState, answer: KnownAnswer | null, position: number): string {
  if (answer === null) return 'it was sent, or about to be, and no answer was recorded'
  if (answer.t === 'reconciled') return reconciledReason(answer, position)
  if (answer.t === 'lost') return `the outcome is unknown: ${LOST}`
  if (answer.t !== 'answer') return UNDECIDED + NOT_SHOWN
  const message = answer.message ?? `the server answered ${answer.status ?? 'nothing'}`
  return state === ROW.unknown ? `the outcome is unknown: ${message}` : message
}

const ABSENCE: Readonly<Record<ReconciledRecord['absent'][number][1], string>> = {
  later_rows: 'it is not in the collection, and rows that were sent later are',
  time_alone: 'it is not in the collection after a wait; no row was sent later to compare it with',
  person: 'you said that it was not minted',
}

function reconciledReason({ absent, undecided }: ReconciledRecord, position: number): string {
  const [, basis] = absent.find(([at]) => at === position) ?? []
  if (basis !== undefined) return ABSENT + ABSENCE[basis]
  const [, why = 'the collection does not tell'] = undecided.find(([at]) => at === position) ?? []
  return UNDECIDED + why
}
