import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError, messageOf, systemCode } from '../../../../core/errors.ts'
import { sleep } from '../../../../core/time.ts'
import { anvilCannotRunError } from './anvil-binary.ts'
import { chooseNodeAddress, type NodeAddress } from './node-address.ts'
import { BLOCK_GAS_LIMIT } from './upstream-stub.ts'

export interface AnvilOptions {
  binary: string
  chainId: number
  /** URL of the network to fork. It must not contain a key, because it is visible in the process list. */
  upstreamUrl: string
  /** The block of a public network to fork. Absent for an embedded chain, which forks an empty chain at its genesis. */
  forkBlock?: number
  /** Home and working directory of the child process, so that it doesn't write to the user's home. */
  home: string
  /**
   * Identifies this child process among all processes. It is passed to anvil as the name of a cache folder that gdn
   * doesn't use.
   */
  marker: string
  /** Called as soon as the child process exists, before it listens. */
  onSpawn: (pid: number) => void
  /** Aborts the start by terminating a child process that isn't listening yet. */
  signal?: AbortSignal
}

export interface AnvilProcess {
  readonly pid: number
  readonly host: string
  readonly port: number
  /** Resolves with the reason when the process exits. */
  readonly exited: Promise<string>
  kill(): void
  /** Sends SIGTERM, then SIGKILL if the process doesn't exit in time. Resolves when the process has exited. */
  stop(graceMs: number): Promise<void>
}

const START_TIMEOUT_MS = 30_000
/** Number of states that a fork keeps for reads at recent blocks. */
const FORK_STATES = 128
const LISTENING = /Listening on (127\.[\d.]+):(\d+)/

/** Child processes that are killed if this process exits without closing them. */
const runningNodes = new Set<ChildProcess>()
const killLiving = () => {
  for (const child of runningNodes) child.kill('SIGKILL')
}

/**
 * Starts an anvil process without automatic mining, and waits until it listens.
 *
 * Reasons for the options:
 * - `--no-mining`: gdn mines the blocks, because anvil's automatic mining stopped permanently in tests.
 * - `--prune-history`: otherwise anvil writes the states of old blocks to disk (13 GB in one run).
 * - `--order fifo` and a named hard fork: a replay must produce the same blocks. A fork of a public network has the
 *   hard fork and the gas limit of its network.
 * - `--no-cors`: otherwise any web page could read the responses. {@link chooseNodeAddress} chooses an address that
 *   pages can't send requests to.
 * - `--threads 2`: by default, anvil starts a thread per core, but it executes one block at a time.
 *
 * @throws GdnError `native_missing` if the binary can't run on this system, `unreachable` if it exits before it listens
 */
export async function spawnAnvil(options: AnvilOptions): Promise<AnvilProcess> {
  const { binary, chainId, upstreamUrl, forkBlock, home, marker, onSpawn, signal } = options
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const { host, port } = await chooseNodeAddress()
  const args = ['--host', host, '--port', String(port), '--no-cors', '--no-request-size-limit', '--threads', '2']
  args.push('--chain-id', String(chainId), '--accounts', '0', '--no-mining', '--order', 'fifo')
  if (forkBlock === undefined)
    args.push('--hardfork', 'osaka', '--gas-limit', String(BLOCK_GAS_LIMIT), '--prune-history')
  else args.push('--fork-block-number', String(forkBlock), '--prune-history', String(FORK_STATES), '--retries', '0')
  args.push('--fork-url', upstreamUrl, '--no-storage-caching', '--no-rate-limit', '--cache-path', join(home, marker))

  const child = spawn(binary, args, {
    cwd: home,
    env: childEnv(home),
    stdio: ['ignore', 'pipe', 'pipe'],
    // The node gets its own process group, so that Ctrl-C reaches only gdn. gdn terminates nodes that are no longer
    // needed.
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
      runningNodes.delete(child)
      resolve(signal === null ? `exited with code ${code}` : `was terminated by ${signal}`)
    })
  })
  const { pid } = child
  if (pid === undefined) {
    const cause = await failed.catch((error: unknown) => error)
    throw anvilCannotRunError(binary, startFailure(cause), cause)
  }
  failed.catch(() => {})
  if (runningNodes.size === 0 && !process.listeners('exit').includes(killLiving)) process.on('exit', killLiving)
  runningNodes.add(child)
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
 * Returns the environment of the child process. It has none of this process's variables, because proxy variables would
 * redirect the requests to the upstream stub. On Windows, libuv adds the variables that every process needs.
 */
function childEnv(home: string): NodeJS.ProcessEnv {
  const folders = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'TMPDIR', 'TEMP', 'TMP']
  const xdg = ['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME']
  return { ...Object.fromEntries([...folders, ...xdg].map((name) => [name, home])), NO_COLOR: '1' }
}

/**
 * Reads the address that anvil prints, because the system may have chosen the port. Then drains the output, because a
 * full pipe would block the child process.
 */
async function listeningAddress(child: ChildProcess): Promise<NodeAddress> {
  const stopWaiting = new AbortController()
  const address = new Promise<NodeAddress>((resolve) => {
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
    throw new GdnError('unreachable', `anvil did not listen within ${START_TIMEOUT_MS / 1000} s`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([address, late])
  } finally {
    stopWaiting.abort()
  }
}

function startFailure(cause: unknown): string {
  const code = systemCode(cause)
  // The system also reports ENOENT if the file exists but its loader doesn't, for example with another libc.
  if (code === 'ENOENT') return 'the file or the loader it needs (glibc) is missing'
  return code === 'EACCES' ? 'this user has no permission to execute the file' : messageOf(cause)
}

function startError(binary: string, why: string, output: string): GdnError {
  if (/GLIBC|libc\.so|error while loading|dyld|Exec format/i.test(output)) {
    return anvilCannotRunError(binary, output.trim().split('\n').at(-1) ?? why)
  }
  return new GdnError('unreachable', `anvil ${why} before it started listening`, { details: { output: output.trim() } })
}
