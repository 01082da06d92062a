import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../core/durable-file.ts'
import { GdnError } from '../core/errors.ts'
import { acquireLock } from '../core/process-lock.ts'
import { hasLaterDrop, laterDrop, lockFolder, type Run, runsFolder, withState } from './run-files.ts'

/**
 * Removes everything that is kept of a run: rows, journal and what else bears its id. Only the newest drop of a run may
 * go: the drops are numbered, and a gap would hide the later ones.
 *
 * @throws GdnError `run_busy` while a process works on it, or while there is a later drop
 */
export async function removeRun(run: Run): Promise<void> {
  const { stateDir, id, family, name } = run
  await withState(stateDir, async () => {
    const lock = await acquireLock(lockFolder(stateDir, family), `removing the run ${name}`)
    try {
      if (await hasLaterDrop(run)) {
        const later = laterDrop(run).name
        throw new GdnError('run_busy', `the run ${name} has a later drop, ${later}`, {
          hint: `remove that one first: gdn batch rm ${later}`,
        })
      }
      await removeFiles(stateDir, id)
    } finally {
      await lock.release()
    }
  })
}

/** Removes a journal that tells nothing of its run, and what else bears its id. Nothing can be at work on it. */
export async function removeDamaged(stateDir: string, id: string): Promise<void> {
  await withState(stateDir, () => removeFiles(stateDir, id))
}

/** The journal goes last: until it is gone, the run can be found and removed again. */
async function removeFiles(stateDir: string, id: string): Promise<void> {
  const folder = runsFolder(stateDir)
  const journal = `${id}.journal`
  const others = (await readdir(folder)).filter((name) => name.startsWith(`${id}.`) && name !== journal)
  for (const name of others) await rm(join(folder, name), { force: true })
  await syncFolder(folder)
  await rm(join(folder, journal), { force: true })
  await syncFolder(folder)
}
