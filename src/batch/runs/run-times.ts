import { isoTime } from '../../core/time.ts'
import { readDrop } from '../../state/drops.ts'
import { openStateIfExists } from '../../state/open-state.ts'
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
  const state = await openStateIfExists(stateDir)
  try {
    const drop = (await state?.read((sql) => readDrop(sql, id))) ?? null
    return { startedAt, answeredAt: isoTime(drop?.answeredAt), endedAt: isoTime(drop?.endedAt) }
  } finally {
    state?.close()
  }
}
