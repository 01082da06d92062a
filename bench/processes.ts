import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { execa } from 'execa'
import { findAnvil } from '../src/server/chain/evm/embedded/anvil-binary.ts'

type Environment = NodeJS.ProcessEnv

/** Milliseconds from the start of a command to its end. A command that fails is an error. */
export async function timeToEnd(command: string, args: readonly string[], env: Environment = process.env) {
  const since = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [code] = await once(child, 'exit')
  const time = performance.now() - since
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited with ${code}: ${stderr}`)
  return time
}

/** Linux counts the parent's memory in the maximum of a new process, but not in VmHWM. */
const PEAK = `data:text/javascript,${encodeURIComponent(`
import { readFileSync } from 'node:fs'
const peak = () => process.platform === 'linux'
  ? /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]
  : process.resourceUsage().maxRSS
process.on('exit', () => process.stderr.write('peak ' + peak() + '\\n'))`)}`

/** Runs a program of Node.js, and returns its time and its peak RSS, with all its threads. */
export async function timeWithPeak(node: string, args: readonly string[], env: Environment) {
  const since = performance.now()
  const { stdout, stderr } = await execa(node, ['--import', PEAK, ...args], { env, extendEnv: false })
  const ms = performance.now() - since
  // Worker threads print the peak of the process as well.
  const peaks = [...stderr.matchAll(/^peak (\d+)$/gm)].map(([, kib]) => Number(kib))
  return { ms, mib: Math.max(...peaks) / 1024, stdout, stderr }
}

export interface Running {
  child: ChildProcess
  /** The line that was waited for. */
  line: string
  /** Milliseconds until the line was printed. */
  time: number
  /** Resolves when the process has ended. */
  end(): Promise<void>
}

/** Starts a command and waits for a line on its stdout. */
export async function startUntil(
  pattern: RegExp,
  command: string,
  args: readonly string[],
  env: Environment = process.env,
): Promise<Running> {
  const since = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-2000)
  })
  const gone = once(child, 'exit')
  const found = new Promise<string>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      if (pattern.test(line)) resolve(line)
    })
  })
  const early = gone.then(([code]) => {
    throw new Error(`${command} exited with ${code} before it was ready: ${stderr}`)
  })
  early.catch(() => {})
  const line = await Promise.race([found, early])
  return {
    child,
    line,
    time: performance.now() - since,
    async end() {
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** Starts an anvil with its defaults, on a free port. */
export async function startPlainAnvil(): Promise<Running & { url: string }> {
  const running = await startUntil(/^Listening on /, findAnvil(), ['--port', '0'])
  return { ...running, url: `http://${running.line.replace('Listening on ', '').trim()}` }
}

/** A process and all its descendants. */
export function familyOf(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      // The command's name is in parentheses and may contain any character.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      parents.set(Number(name), Number(fields[1]))
    } catch {
      // It has ended in the meantime.
    }
  }
  const family = [pid]
  for (const member of family) {
    for (const [child, parent] of parents) if (parent === member) family.push(child)
  }
  return family
}

/** Resident memory in MiB. Pages that several processes share count for each (`rss`), or in parts (`pss`). */
export function memoryOf(pids: readonly number[]): { rss: number; pss: number } {
  let rss = 0
  let pss = 0
  for (const pid of pids) {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    rss += Number(/^Rss:\s+(\d+)/m.exec(text)?.[1]) / 1024
    pss += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1]) / 1024
  }
  return { rss, pss }
}
