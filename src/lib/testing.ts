import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { env, execPath } from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { GdnError } from '../core/errors.ts'
import type { Local, LocalOptions } from './types.ts'

export type { Local, LocalOptions } from './types.ts'

const GDN = fileURLToPath(new URL('../../bin/gdn.js', import.meta.url))

/**
 * A program that prints how to connect to the backend. It ends when its standard input closes, which happens when
 * `stop()` is called or this process ends.
 */
const REPORT = `
const { GDN_BASE_URL: baseUrl, GDN_API_KEY: apiKey, GDN_STATE_DIR: stateDir } = process.env
console.log(JSON.stringify({ baseUrl, apiKey, stateDir }))
process.stdin.resume()`

const MAX_STDERR = 4000

/**
 * Starts a temporary backend with an embedded blockchain, which mints within a second. The backend stops when this
 * process ends for any reason, and leaves no data behind.
 *
 * @throws GdnError `native_missing` if an optional package isn't installed; `unexpected` with the output of the backend
 *   if it does not start for another reason
 * @example
 * await using local = await startLocal()
 * const gdn = createClient(local)
 */
export async function startLocal(options: LocalOptions = {}): Promise<Local> {
  const argv = [GDN, 'local', 'exec', ...flagsOf(options), '--', execPath, '-e', REPORT]
  const child = spawn(execPath, argv, { stdio: 'pipe', env: { ...env, NO_COLOR: '1' } })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR)
  })
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  const started = await Promise.race([once(lines, 'line'), ended.then(() => null)])
  if (started === null) {
    throw startError(stderr)
  }
  // A backend that isn't stopped must not keep this process alive.
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) (handle as { unref?(): void }).unref?.()
  const stop = async () => {
    child.ref()
    child.stdin.end()
    await ended
  }
  return { ...(JSON.parse(String(started[0])) as Connectable), stop, [Symbol.asyncDispose]: stop }
}

/** Returns the error for a backend that ended at its start, based on its output. */
function startError(stderr: string): GdnError {
  const [, problem, hint] = /^error: (.*?)\n {2}(.*)$/s.exec(stderr.trim()) ?? []
  const why = problem ?? (stderr.trim() || 'it printed no reason')
  const code = hint?.includes('npm install') ? 'native_missing' : 'unexpected'
  return new GdnError(code, `the local backend did not start: ${why}`, { hint: hint?.replaceAll('\n  ', '\n') })
}

type Connectable = Pick<Local, 'baseUrl' | 'apiKey' | 'stateDir'>

/**
 * The global setup of a test runner. Set `globalSetup: 'gdn/testing'` in the configuration of vitest or jest. Tests can
 * then create clients without options.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const { baseUrl, apiKey, stateDir, stop } = await startLocal()
  Object.assign(env, { GDN_BASE_URL: baseUrl, GDN_API_KEY: apiKey, GDN_STATE_DIR: stateDir })
  return stop
}

function flagsOf({ rateLimits = false, apiVersion, faults, fork, allowPrivateFiles = false }: LocalOptions): string[] {
  return [
    `--rate-limits=${rateLimits ? 'on' : 'off'}`,
    ...(apiVersion === undefined ? [] : [`--api-version=${apiVersion}`]),
    ...(faults === undefined ? [] : [`--faults=${faults}`]),
    ...(fork === undefined ? [] : [`--fork=${fork}`]),
    ...(allowPrivateFiles ? ['--allow-private-files'] : []),
  ]
}
