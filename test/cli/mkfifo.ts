import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Creates a named pipe at a path, with the `mkfifo` command. */
export async function mkfifo(path: string): Promise<void> {
  await promisify(execFile)('mkfifo', [path])
}
