import type { RecordFile } from './journal/read.ts'
import type { AnswerRecord, IntentRecord, OrderRecord, RunRecord } from './journal/records.ts'
import { type Ledger, ROW, type RowState } from './ledger.ts'
import { shownKey } from './row-key.ts'
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
}

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
  const answers = new Map<number, AnswerRecord | OrderRecord | null>()
  const answerOf = async (n: number) => {
    const kept = answers.get(n)
    if (kept !== undefined) return kept
    const read = ledger.hasAnswer(n) ? await ledger.readAnswer(records, n) : null
    const oldest = answers.keys().next()
    if (answers.size >= KEPT_ANSWERS && oldest.done === false) answers.delete(oldest.value)
    answers.set(n, read)
    return read
  }

  const result = async (row: number, key: string, line: number, receiver: string): Promise<ResultRow> => {
    const state = row < 0 || (live && ledger.isUnderWay(row)) ? ROW.pending : ledger.state(row)
    const base = { key: shownKey(key), line, status: STATUS[state], nft_gdn_id: null, token_id: null, error: null }
    const place = { contract_address: run.contract, receiver_wallet_address: receiver, metadata_url: null }
    const sent = row < 0 ? null : ledger.sentBy(row)
    if (sent === null || state === ROW.pending) return { ...base, ...place }
    const end = await ledger.readEnd(records, row)
    if (end !== null) {
      const owner = end.receiver === '' ? receiver : end.receiver
      const where = { contract_address: end.contract, receiver_wallet_address: owner, metadata_url: end.url }
      return { ...base, ...where, nft_gdn_id: end.id, token_id: end.token_id, error: end.error }
    }
    const answer = await answerOf(sent.request)
    const error = state === ROW.unknown || state === ROW.refused ? reason(state, answer) : null
    return { ...base, ...place, nft_gdn_id: answer?.ids?.[sent.position] ?? null, error }
  }

  const told = new Set<number>()
  for await (const { key, row } of spool) {
    const index = ledger.findRow(key)
    if (index >= 0) told.add(index)
    yield await result(index, key, row.line, row.receiver)
  }
  for (let n = 1; n <= ledger.lastRequest; n++) {
    const left = ledger.rowsOf(n).map((row, position) => ({ row, position }))
    const untold = left.filter(({ row }) => !told.has(row) && ledger.isCurrent(row, n) && !isIdle(ledger.state(row)))
    if (untold.length === 0) continue
    const intent = await ledger.readIntent(records, n)
    for (const { row, position } of untold) {
      const [key, line] = intent.rows[position] ?? ['', 0]
      yield await result(row, key, line, receiverOf(intent))
    }
  }
}

const isIdle = (state: RowState): boolean => state === ROW.dropped || state === ROW.pending

function receiverOf(intent: IntentRecord): string {
  const { receiver_wallet_address } = JSON.parse(intent.body) as { receiver_wallet_address: string }
  return receiver_wallet_address
}

function reason(state: RowState, answer: AnswerRecord | OrderRecord | null): string {
  if (answer === null) return 'it was sent, or about to be, and no answer was recorded'
  if (answer.t === 'order') return 'the server accepted the request, but shows no NFT with this metadata for it'
  const message = answer.message ?? `the server answered ${answer.status ?? 'nothing'}`
  return state === ROW.unknown ? `the outcome is unknown: ${message}` : message
}
