import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { GdnError, systemCode } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import type { Deps } from '../../deps.ts'

/** Maximum time in milliseconds for the command to exit after its backend failed. */
const END_WITHIN_MS = 5000

/**
 * Runs the command with gdn's own stdio streams, and returns its exit code. Forwards the first signal to the command,
 * and kills the command on the second signal.
 *
 * @param failed a signal that stops the command. Its reason is thrown.
 */
export async function runChild(
  deps: Deps,
  file: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  failed: AbortSignal,
): Promise<number> {
  const { signal, again } = deps.signals
  if (signal.aborted) throw signal.reason
  return await new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', env, cwd: deps.cwd })
    const passOn = () => {
      const interrupted = signal.reason instanceof GdnError && signal.reason.code === 'interrupted'
      // At a terminal, the command also receives Ctrl-C. Don't forward it, because many programs exit immediately on a
      // second Ctrl-C.
      if (!interrupted) child.kill('SIGTERM')
      else if (!deps.io.stdin.isTTY) child.kill('SIGINT')
    }
    const end = () => child.kill('SIGKILL')
    let late: NodeJS.Timeout | undefined
    const fail = () => {
      child.kill('SIGTERM')
      late = setTimeout(end, END_WITHIN_MS)
    }
    signal.addEventListener('abort', passOn, { once: true })
    again.addEventListener('abort', end, { once: true })
    failed.addEventListener('abort', fail, { once: true })
    child.once('error', (error) => reject(cannotRunError(file, error)))
    child.once('exit', (code, name) => {
      clearTimeout(late)
      signal.removeEventListener('abort', passOn)
      again.removeEventListener('abort', end)
      if (failed.aborted) return reject(failed.reason)
      resolve(code ?? (name === null ? EXIT.unexpected : 128 + constants.signals[name]))
    })
  })
}

function cannotRunError(file: string, error: Error): GdnError {
  const missing = systemCode(error) === 'ENOENT'
  return new GdnError('usage', missing ? `command "${file}" not found` : `"${file}" can't be run: ${error.message}`)
}
