import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../../../core/errors.ts'
import { endOrphan } from './pidfile.ts'

/** Ends every node that a killed backend left running, whether or not its chain is used again. */
export async function endOrphans(stateDir: string): Promise<void> {
  const names = await readdir(stateDir).catch((error) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  await Promise.all(names.filter((name) => name.endsWith('.pid')).map((name) => endOrphan(join(stateDir, name))))
}
