import { readDrop } from '../../state/drops.ts'
import { openStateIfThere } from '../../state/open-state.ts'
import type { Run } from '../types.ts'

/** Times of a run in UTC (ISO 8601). */
export interface RunTimes {
  startedAt: string
  /** Time when the server last responded to a request with rows. */
  answeredAt: string | null
  /** Time when every row was deployed or failed. */
  endedAt: string | null
}

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
