import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LOG_FILE } from '../../../config/local-backend.ts'
import { childEnvironment } from '../../../core/child-environment.ts'
import { GdnError } from '../../../core/errors.ts'
import { makePrivateDirectory, openToAppend } from '../../../core/private-file.ts'
import { withTimeout } from '../../../core/with-timeout.ts'
import type { Deps } from '../../deps.ts'

const START_WITHIN_MS = 60_000
const END_WITHIN_MS = 5000
const SHOWN_LOG_LINES = 15

export interface SpawnedBackend {
  url: string
  pid: number
}

/**
 * Starts `gdn serve` detached from this process. Redirects its log and stderr to the log file in the data directory.
 * Reads its ready line from a pipe, because the line contains the key.
 */
export async function spawnBackend(deps: Deps, dataDir: string, flags: readonly string[]): Promise<SpawnedBackend> {
  await makePrivateDirectory(dataDir)
  const logFile = join(dataDir, LOG_FILE)
  const log = openToAppend(logFile)
  const [program, ...first] = deps.program
  const args = [...first, 'serve', '--json', '--data-dir', dataDir, '--log-file', logFile, ...flags]
  const env = childEnvironment(deps.env)
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', log], env, windowsHide: true })
  closeSync(log)
  const { stdout } = child
  try {
    return await readStartLine(stdout, child, deps.signals.signal)
  } catch (error) {
    await terminate(child)
    const lines = await lastLines(logFile)
    throw backendStartError(error, lines, logFile)
  } finally {
    stdout?.destroy()
    child.unref()
  }
}

/** Terminates a backend that failed to start. Otherwise, the backend would keep the data directory locked. */
async function terminate(child: ReturnType<typeof spawn>): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  child.kill('SIGTERM')
  await withTimeout(ended, END_WITHIN_MS)
  child.kill('SIGKILL')
}

async function readStartLine(
  stdout: NodeJS.ReadableStream | null,
  child: ReturnType<typeof spawn>,
  signal: AbortSignal,
): Promise<SpawnedBackend> {
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`it was not ready within ${START_WITHIN_MS / 1000} s`)),
      START_WITHIN_MS,
    )
    const stop = (settle: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = () => stop(() => reject(signal.reason))
    signal.addEventListener('abort', onAbort, { once: true })
    child.once('error', (error) => stop(() => reject(error)))
    child.once('exit', (code, name) => stop(() => reject(new Error(`it exited with ${name ?? `code ${code}`}`))))
    let text = ''
    stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      const end = text.indexOf('\n')
      if (end < 0) return
      const { url, pid } = JSON.parse(text.slice(0, end)) as SpawnedBackend
      stop(() => resolve({ url, pid }))
    })
  })
}

/** Returns the JSON error that the backend reported on stderr, or else an error with the end of the log. */
function backendStartError(error: unknown, lines: string[], logFile: string): GdnError {
  if (error instanceof GdnError) return error
  const reported = lines.map(parseErrorLine).findLast((candidate) => candidate !== undefined)
  const reason = error instanceof Error ? error.message : String(error)
  if (reported !== undefined) return new GdnError(reported.code, reported.message, { hint: reported.hint ?? undefined })
  const tail = lines.length === 0 ? '' : `\nEnd of its log:\n${lines.join('\n')}`
  return new GdnError('unexpected', `the backend didn't start: ${reason}${tail}`, {
    hint: `Read the log in ${logFile}.`,
  })
}

function parseErrorLine(line: string): { code: GdnError['code']; message: string; hint: string | null } | undefined {
  if (!line.startsWith('{"error":')) return undefined
  try {
    return JSON.parse(line).error
  } catch {
    return undefined
  }
}

export async function lastLines(path: string, count = SHOWN_LOG_LINES): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .slice(-count)
}
