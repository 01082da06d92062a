import { readDrop } from '../state/drops.ts'
import { openStateIfThere } from '../state/open-state.ts'
import type { Run } from './types.ts'

/** When things happened in a run. ISO 8601, UTC. */
export interface RunTimes {
  startedAt: string
  /** The last answer of the server to a request of rows. */
  answeredAt: string | null
  /** When every row had come to its end. */
  endedAt: string | null
}

/** Also while a process works on the run. */
export async function runTimes({ stateDir, id, startedAt }: Run): Promise<RunTimes> {
  const state = await openStateIfThere(stateDir)
  try {
    const drop = (await state?.read((sql) => readDrop(sql, id))) ?? null
    const iso = (ms: number | null | undefined) => (ms == null ? null : new Date(ms).toISOString())
    return { startedAt, answeredAt: iso(drop?.answeredAt), endedAt: iso(drop?.endedAt) }
  } finally {
    state?.close()
  }
}
