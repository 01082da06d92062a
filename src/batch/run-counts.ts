import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { pid } from 'node:process'
import * as z from 'zod'
import { loadLedger } from './open-ledger.ts'
import { countsPath, journalPath } from './run-files.ts'
import type { RowCounts } from './types.ts'

/** How journals are counted; what another gdn counted otherwise is counted anew. */
const VERSION = 1

const kept = z.strictObject({
  v: z.literal(VERSION),
  size: z.number(),
  modified: z.number(),
  counts: z.strictObject({
    total: z.number(),
    pending: z.number(),
    unknown: z.number(),
    accepted: z.number(),
    deployed: z.number(),
    failed: z.number(),
  }),
})

/**
 * The rows of a run by state. Folding the journal of a million rows takes seconds, so what it came to is kept beside
 * it, for as long as the journal is as long and as old as it was then. Nothing depends on that file: it is only for
 * looking at runs.
 *
 * @param live whether a process works on the run now: then what is under way isn't unknown yet, and nothing is kept
 * @throws GdnError `data_dir` for a damaged journal
 */
export async function countRows(stateDir: string, id: string, live: boolean): Promise<RowCounts> {
  const path = journalPath(stateDir, id)
  const { size, mtimeMs: modified } = await stat(path)
  if (!live) {
    const found = await readKept(countsPath(stateDir, id))
    if (found?.size === size && found.modified === modified) return found.counts
  }
  const { ledger } = await loadLedger(path)
  const counts = ledger.counts(live)
  if (!live) await keep(countsPath(stateDir, id), { v: VERSION, size, modified, counts })
  return counts
}

async function readKept(path: string): Promise<z.output<typeof kept> | null> {
  try {
    return kept.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

/** A state directory that can't be written to can still be looked at. */
async function keep(path: string, content: z.output<typeof kept>): Promise<void> {
  const draft = `${path}.${pid}`
  try {
    await writeFile(draft, JSON.stringify(content), { mode: 0o600 })
    await rename(draft, path)
  } catch {
    // It is counted anew next time.
  }
}
