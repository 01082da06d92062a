import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Makes a named pipe. */
export async function mkfifo(path: string): Promise<void> {
  await promisify(execFile)('mkfifo', [path])
}
