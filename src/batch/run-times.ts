import { readJournal } from './journal/read.ts'
import { journalPath, type Run } from './run-files.ts'

/** When things happened in a run, as far as its journal tells. ISO 8601, UTC. */
export interface RunTimes {
  startedAt: string
  /** The last answer of the server to a request of rows. */
  answeredAt: string | null
  /** When every row had come to its end. */
  endedAt: string | null
}

/** Reads them from the journal, also while a process works on the run. */
export async function runTimes({ stateDir, id, startedAt }: Run): Promise<RunTimes> {
  let answered = 0
  let endedAt: string | null = null
  await readJournal(journalPath(stateDir, id), (record) => {
    if (record.t === 'answer') answered = Math.max(answered, record.at)
    if (record.t === 'end') endedAt = record.at
  })
  return { startedAt, answeredAt: answered === 0 ? null : new Date(answered).toISOString(), endedAt }
}
