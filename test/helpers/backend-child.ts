import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { whenFileDone } from './clean-up.ts'

export interface ChildBackend {
  pid: number
  url: string
  apiKey: string
  /** The log of the process so far. */
  log(): string
  kill(signal: NodeJS.Signals): Promise<void>
}

export interface StartFailure {
  error: { code: string; message: string; hint?: string }
}

export interface ChildOptions {
  port?: number
  /** The user to continue as, once the code is loaded. Requires root. */
  uid?: number
  /** The share of chain calls that fail or hang, and the seed that selects them. */
  faults?: { share: number; seed: number }
  /** Arguments of strace that follow the system calls of the process and its threads. */
  strace?: readonly string[]
}

const helpers = fileURLToPath(new URL('.', import.meta.url))
let bundled: Promise<string> | undefined
const running = new Set<ChildBackend>()

/** Bundles the entry for the Node of this run. The file is inside the repository, so that packages are found. */
async function bundle(): Promise<string> {
  const parent = join(helpers, '../.tmp')
  await mkdir(parent, { recursive: true })
  const dir = await mkdtemp(join(parent, 'backend-child-'))
  const outfile = join(dir, 'main.mjs')
  await build({
    entryPoints: [join(helpers, 'backend-child-main.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error',
  })
  return outfile
}

async function cleanUp(): Promise<void> {
  const bundle = bundled
  bundled = undefined
  for (const child of running) await child.kill('SIGKILL')
  if (bundle !== undefined) await rm(join(await bundle, '..'), { recursive: true, force: true })
}

/** Starts a backend in a separate process. Resolves when it is ready, or with the reason for its failure. */
export async function startChildBackend(
  dataDir: string,
  { port = 0, uid, faults = { share: 0, seed: 0 }, strace }: ChildOptions = {},
): Promise<ChildBackend | StartFailure> {
  if (bundled === undefined) {
    bundled = bundle()
    whenFileDone(cleanUp)
  }
  const argv = [await bundled, dataDir, String(port), String(faults.share), String(faults.seed), String(uid ?? '')]
  // -D: the backend is the child, not the tracer.
  const [program, before] =
    strace === undefined ? [process.execPath, []] : ['strace', ['-D', ...strace, process.execPath]]
  const child = spawn(program, [...before, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const line = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    void exited.then(() => resolve(''))
  })
  if (line === '') throw new Error(`the backend ended without a word: ${log}`)
  const report = JSON.parse(line) as { url: string; apiKey: string } | StartFailure
  if ('error' in report) {
    await exited
    return report
  }
  const backend: ChildBackend = {
    ...report,
    pid: child.pid ?? 0,
    log: () => log,
    async kill(signal) {
      running.delete(backend)
      child.kill(signal)
      await exited
    },
  }
  running.add(backend)
  return backend
}

/** Same, for a start that must succeed. */
export async function startedChild(dataDir: string, options: ChildOptions = {}): Promise<ChildBackend> {
  const started = await startChildBackend(dataDir, options)
  if ('error' in started) throw new Error(started.error.message)
  return started
}

/** Same, for a start that must fail. Returns the reason. */
export async function failedChild(dataDir: string, options: ChildOptions = {}): Promise<StartFailure['error']> {
  const started = await startChildBackend(dataDir, options)
  if ('error' in started) return started.error
  await started.kill('SIGKILL')
  throw new Error('the backend started')
}
