import { spawn } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { isExecutable } from './own-command.ts'

/** Hidden argument that starts the guard process of a temporary folder. `main.ts` handles this argument. */
const GUARD_WORD = '__guard-folder'

/**
 * Waits until stdin ends, which happens when the parent process ends. Then kills the processes that have a pidfile in
 * the folder and name the folder in their command line, and removes the folder. The function can't use anything
 * declared outside it, because Node.js runs the function's source text.
 *
 * @param self the global `process`
 */
export function guardDirectory(directory: string, self: NodeJS.Process): void {
  const { readdirSync, readFileSync, rmSync } = self.getBuiltinModule('node:fs')
  const { execFileSync } = self.getBuiltinModule('node:child_process')
  const commandOf = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    } catch {}
    try {
      return execFileSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' })
    } catch {
      return ''
    }
  }
  const end = () => {
    try {
      for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
        if (!name.endsWith('.pid')) continue
        const { pid } = JSON.parse(readFileSync(`${directory}/${name}`, 'utf8'))
        if (commandOf(pid).includes(directory)) self.kill(pid, 'SIGKILL')
      }
    } catch {}
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  self.stdin.on('end', end).on('error', end).resume()
}

/**
 * Runs `work` with a private temporary folder and removes the folder afterwards. If this process is killed, a guard
 * process removes the folder and kills the processes that have a pidfile in it.
 */
export async function withTemporaryDirectory<Result>(
  prefix: string,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), prefix)))
  const args = isExecutable()
    ? [GUARD_WORD, directory]
    : ['-e', `(${guardDirectory})(process.argv[1], process)`, directory]
  const guard = spawn(execPath, args, {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    windowsHide: true,
  })
  // Ignore errors of the guard. Without a guard, the folder remains only if this process is killed.
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 })
    guard.stdin.destroy()
  }
}
