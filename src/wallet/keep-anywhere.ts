import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import { writeNewFile } from '../core/new-file.ts'

export interface KeptElsewhere {
  /** Null where no folder takes it. */
  file: string | null
  /** Why each place before it didn't. */
  reasons: string[]
}

/** Writes what must not be lost into the first folder that takes it, under a name of its own. */
export async function keepAnywhere(folders: readonly string[], name: string, text: string): Promise<KeptElsewhere> {
  const reasons: string[] = []
  for (const folder of folders) {
    const file = join(folder, `${name}-${randomBytes(4).toString('hex')}.json`)
    try {
      if (await writeNewFile(file, text)) return { file, reasons }
    } catch (error) {
      reasons.push(messageOf(error))
    }
  }
  return { file: null, reasons }
}
