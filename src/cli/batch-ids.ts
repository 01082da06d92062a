import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sameAddress } from '../api/address.ts'
import { readHeader, readJournal } from '../batch/journal/read.ts'
import { runsFolder } from '../batch/run-files.ts'
import { systemCode } from '../core/errors.ts'

/** The NFTs that the batches of this machine were given as theirs, in a collection. */
export async function idsOfBatches(stateDir: string, origin: string, contract: string): Promise<Set<string>> {
  const folder = runsFolder(stateDir)
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  const ids = new Set<string>()
  for (const name of names.filter((one) => one.endsWith('.journal'))) {
    const path = join(folder, name)
    const run = await readHeader(path)
    if (run === null || run.origin !== origin || !sameAddress(run.contract, contract)) continue
    await readJournal(path, (record) => {
      if ('ids' in record) for (const id of record.ids ?? []) if (id !== null) ids.add(id)
    })
  }
  return ids
}
