import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { PermitSpending, QuoteSpending } from '../../src/cli/deps.ts'
import { run } from '../../src/cli/run.ts'
import type { Keyring } from '../../src/config/keyring.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { Clock } from '../../src/core/time.ts'
import { timeUpError } from '../../src/core/time-up.ts'
import { hurriedClock } from '../helpers/hurried-clock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

export interface CliOptions {
  /** Whether the streams are a terminal. */
  tty?: boolean
  /** Whether stderr is a terminal; messages are wrapped to its width then. */
  stderrTty?: boolean
  columns?: number
  /** Whether terminals have colors. */
  colors?: boolean
  env?: NodeJS.ProcessEnv
  cwd?: string
  stdin?: string
  /** Called with each text that a command writes to stdout. */
  onStdout?: (text: string) => void
  /** The same for stderr. */
  onStderr?: (text: string) => void
  /** Called when a command opens stdin. */
  onStdin?: () => void
  signal?: AbortSignal
  permit?: PermitSpending
  quote?: QuoteSpending
  /** Defaults to one that waits less than the system's. */
  clock?: Clock
  /** The keyring of the system; without it, the machine has none. */
  keyring?: Keyring
}

export interface CliResult {
  code: number
  stdout: string
  stderr: string
}

/** A temporary home that is removed when the test ends. */
export async function tempHome(): Promise<{ dir: string; env: NodeJS.ProcessEnv }> {
  const dir = await temporaryFolder('gdn-cli-')
  return { dir, env: { HOME: dir, TERM: 'xterm-256color', GDN_PACE_DIR: join(dir, 'pace') } }
}

function sink(tty: boolean, columns: number, colors: boolean, onText: (text: string) => void = () => {}) {
  let text = ''
  return {
    isTTY: tty,
    columns,
    getColorDepth: () => (colors ? 4 : 1),
    // For spinners.
    cursorTo: () => true,
    clearLine: () => true,
    moveCursor: () => true,
    write(chunk: string) {
      text += chunk
      onText(chunk)
      return true
    },
    get text() {
      return text
    },
  }
}

/** Options for a command whose --timeout is over as soon as it waits between two looks at the server. */
export const timeUpWhileWaiting = () => stoppedWhileWaiting(timeUpError(300_000))

/** Options for a command that Ctrl-C interrupts as soon as it waits between two looks at the server. */
export const interruptedWhileWaiting = () => stoppedWhileWaiting(new GdnError('interrupted', 'interrupted'))

function stoppedWhileWaiting(reason: GdnError): Required<Pick<CliOptions, 'signal' | 'clock'>> {
  const stop = new AbortController()
  const clock = hurriedClock()
  const sleep: typeof clock.sleep = async (_ms, signal) => {
    stop.abort(reason)
    signal?.throwIfAborted()
  }
  return { signal: stop.signal, clock: { ...clock, sleep } }
}

/** Runs a command line in this process, with its own streams, environment and folder. */
export async function cli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const {
    tty = false,
    stderrTty = false,
    columns = 80,
    colors = false,
    stdin = '',
    onStdin = () => {},
    signal = new AbortController().signal,
    keyring,
    permit,
    quote,
    clock = hurriedClock(),
  } = options
  const home = options.env?.HOME === undefined ? await tempHome() : undefined
  const input = Readable.from([Buffer.from(stdin)])
  const stdout = sink(tty, columns, colors, options.onStdout)
  const stderr = sink(stderrTty, columns, colors, options.onStderr)
  const code = await run(argv, {
    env: { ...home?.env, ...options.env },
    cwd: options.cwd ?? home?.dir ?? options.env?.HOME ?? tmpdir(),
    get stdin() {
      onStdin()
      return input
    },
    stdout,
    stderr,
    program: [process.execPath, ''],
    signals: {
      signal,
      again: new AbortController().signal,
      own: () => {},
      instead: () => {},
      hangup: () => {},
      release: () => {},
    },
    ...(permit === undefined ? {} : { permit }),
    quote,
    clock,
    async openKeyring() {
      if (keyring !== undefined) return keyring
      throw new GdnError('native_missing', 'there is no keyring here')
    },
  })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

/** The error that a command printed to stderr in JSON mode. */
export function errorOf({ stderr }: CliResult): {
  code: string
  message: string
  hint: string | null
  details: unknown
} {
  const [line = '', ...rest] = stderr.split('\n')
  if (rest.join('') !== '') throw new Error(`more than one line on stderr: ${stderr}`)
  return JSON.parse(line).error
}
