import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError, messageOf, systemCode } from '../../../../core/errors.ts'
import { sleep } from '../../../../core/time.ts'
import { anvilCannotRun } from './anvil-binary.ts'
import { chooseNodeAddress, type NodeAddress } from './node-address.ts'
import { BLOCK_GAS_LIMIT } from './upstream-stub.ts'

export interface AnvilOptions {
  binary: string
  chainId: number
  upstreamUrl: string
  /** Becomes the home and working directory of the child: nothing is written to the user's. */
  home: string
  /** Names this child among all processes: it is given as the name of a folder for anvil's cache, which stays unused. */
  marker: string
  /** Called as soon as the child exists, before it listens. */
  onSpawn: (pid: number) => void
  /** Ends a child that doesn't listen yet. */
  signal?: AbortSignal
}

export interface AnvilProcess {
  readonly pid: number
  readonly host: string
  readonly port: number
  /** Resolves with a word on why, when the process is gone. */
  readonly exited: Promise<string>
  kill(): void
  /** SIGTERM, and SIGKILL where that isn't heeded in time. Resolves when the process is gone. */
  stop(graceMs: number): Promise<void>
}

const START_TIMEOUT_MS = 30_000
const LISTENING = /Listening on (127\.[\d.]+):(\d+)/

/** The children of this process, so that none outlives it where it ends without closing them. */
const living = new Set<ChildProcess>()
const killLiving = () => {
  for (const child of living) child.kill('SIGKILL')
}

/**
 * Starts an anvil that mines nothing by itself, and waits until it listens.
 *
 * Why these options: `--no-mining`, because automatic mining was seen to stop for good; `--prune-history`, because
 * states of old blocks go to disk otherwise (13 GB in one run); `--order fifo` and a named hard fork, because a replay
 * has to give the same blocks; `--no-cors`, because any web page could else read what it answers (where it listens keeps
 * pages out: {@link chooseNodeAddress}); `--threads 2`, because one per core is wasted on a node that executes one block at a time.
 *
 * @throws GdnError `native_missing` when the binary can't run here, `unreachable` when it ends before it listens
 */
export async function spawnAnvil(options: AnvilOptions): Promise<AnvilProcess> {
  const { binary, chainId, upstreamUrl, home, marker, onSpawn, signal } = options
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const { host, port } = await chooseNodeAddress()
  const args = ['--host', host, '--port', String(port), '--no-cors', '--no-request-size-limit', '--threads', '2']
  args.push('--chain-id', String(chainId), '--hardfork', 'osaka', '--gas-limit', String(BLOCK_GAS_LIMIT))
  args.push('--accounts', '0', '--no-mining', '--order', 'fifo', '--prune-history')
  args.push('--fork-url', upstreamUrl, '--no-storage-caching', '--no-rate-limit', '--cache-path', join(home, marker))

  const child = spawn(binary, args, {
    cwd: home,
    env: childEnv(home),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: Ctrl-C is for us, who end the node when nothing needs it any more.
    detached: process.platform !== 'win32',
    windowsHide: true,
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000)
  })
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(messageOf(error)))
    child.once('exit', (code, signal) => {
      living.delete(child)
      resolve(signal === null ? `ended with code ${code}` : `ended by ${signal}`)
    })
  })
  const { pid } = child
  if (pid === undefined) {
    const cause = await failed.catch((error: unknown) => error)
    throw anvilCannotRun(binary, startFailure(cause), cause)
  }
  failed.catch(() => {})
  if (living.size === 0 && !process.listeners('exit').includes(killLiving)) process.on('exit', killLiving)
  living.add(child)
  const abort = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted) abort()

  try {
    onSpawn(pid)
    const ended = exited.then((why) => Promise.reject(startError(binary, why, output)))
    const address = await Promise.race([listeningAddress(child), ended])
    return {
      pid,
      ...address,
      exited,
      kill: () => child.kill('SIGKILL'),
      async stop(graceMs) {
        child.kill('SIGTERM')
        const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
        await exited
        clearTimeout(timer)
      },
    }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * Nothing of our own environment: proxy settings would send the requests for the stub elsewhere. (On Windows libuv adds
 * the variables without which no process starts.)
 */
function childEnv(home: string): NodeJS.ProcessEnv {
  const folders = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'TMPDIR', 'TEMP', 'TMP']
  const xdg = ['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME']
  return { ...Object.fromEntries([...folders, ...xdg].map((name) => [name, home])), NO_COLOR: '1' }
}

/** Reads where it listens: the system may have chosen the port. Afterwards the output is drained, since a full pipe would stop the child. */
async function listeningAddress(child: ChildProcess): Promise<NodeAddress> {
  const stopWaiting = new AbortController()
  const found = new Promise<NodeAddress>((resolve) => {
    let output = ''
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const [, host, port] = LISTENING.exec(output) ?? []
      if (host === undefined) return
      child.stdout?.off('data', read).resume()
      resolve({ host, port: Number(port) })
    }
    child.stdout?.on('data', read)
  })
  const late = sleep(START_TIMEOUT_MS, stopWaiting.signal).then(() => {
    throw new GdnError('unreachable', `anvil didn't listen within ${START_TIMEOUT_MS / 1000} s`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([found, late])
  } finally {
    stopWaiting.abort()
  }
}

function startFailure(cause: unknown): string {
  const code = systemCode(cause)
  // With another libc the file is there but its loader isn't, which the system reports in the same words.
  if (code === 'ENOENT') return 'the file or the loader it needs (glibc) is missing'
  return code === 'EACCES' ? 'the file may not be executed' : messageOf(cause)
}

function startError(binary: string, why: string, output: string): GdnError {
  if (/GLIBC|libc\.so|error while loading|dyld|Exec format/i.test(output)) {
    return anvilCannotRun(binary, output.trim().split('\n').at(-1) ?? why)
  }
  return new GdnError('unreachable', `anvil ${why} before it listened`, { details: { output: output.trim() } })
}
