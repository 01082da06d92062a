import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whenTestDone } from './clean-up.ts'

/** Creates an empty folder whose name starts with `prefix`. By default, the folder is removed after the test. */
export async function temporaryFolder(prefix: string, whenDone = whenTestDone): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  whenDone(() => rm(folder, { recursive: true, force: true }))
  return folder
}
