import type { Readable } from 'node:stream'
import { GdnError } from '../../core/errors.ts'
import { redactSecrets } from '../../core/secret.ts'
import { terminalLines, terminalText } from '../../core/terminal-text.ts'
import { wrapLine } from '../text/wrap.ts'
import { type ColorLevel, colorLevel } from './color.ts'
import { isInActions, withoutCommands } from './in-actions.ts'
import type { LiveBlock } from './live-block.ts'
import type { OutStream } from './out-stream.ts'
import { type Paint, PLAIN } from './paint.ts'
import type { Progress } from './progress.ts'

export interface IoSettings {
  /** stdout carries JSON: nothing for people goes to stderr. */
  machine: boolean
  quiet: boolean
  debug: boolean
  /** Whether a question may be asked, where a terminal is there to answer it. */
  input: boolean
  noColor: boolean
}

/** The streams of the process, as commands use them. */
export interface Io {
  readonly settings: IoSettings
  /**
   * Data, on stdout: as it is, but made inert for a terminal, and without any secret that wasn't disclosed. Resolves when
   * there is room for more.
   */
  data(text: string): Promise<void>
  /** Text for people to read, with colors, such as a table: its text from outside is inert already. */
  read(text: string): Promise<void>
  /** A line for people, on stderr; silent with -q and in JSON mode. Text from outside goes through `safe` first. */
  note(line: string): void
  /** As note, but said with -q too. */
  warn(line: string): void
  debug(line: string): void
  /** A line of a log, on stderr in every mode: for what was asked to log there. Inert on a terminal, and the same JSON. */
  log(line: string): void
  readonly stdoutTty: boolean
  readonly stderrTty: boolean
  readonly columns: number
  /** Lines of the terminal that stdout is. */
  readonly rows: number
  /** Breaks lines for people to the width of stderr; off a terminal they stay as they are. */
  toWidth(text: string): string
  /** How much color stdout gets. */
  readonly outColors: ColorLevel
  readonly outPaint: Paint
  readonly errPaint: Paint
  /** Whether a question would be answered by a person. */
  readonly interactive: boolean
  progress(text: string): Promise<Progress>
  /** A block of lines on stderr that is written over, and that messages don't tear; null where there is no terminal. */
  block(): Promise<LiveBlock | null>
  /** How such a block is to look now: the terminal may have been resized. */
  look(): { columns: number; paint: Paint; ascii: boolean }
  /** Asks; false means no. Where nobody can answer, an error that names the flag. */
  confirm(question: string, flag: string): Promise<boolean>
  readonly stdin: Readable & { isTTY?: boolean }
  /** Where questions are asked: stdout belongs to data. */
  readonly promptOutput: OutStream
}

interface IoEdge {
  env: NodeJS.ProcessEnv
  stdin: Readable & { isTTY?: boolean }
  stdout: OutStream
  stderr: OutStream
}

/** What came from outside was searched thoroughly when it came: this is for what is nobody's but ours. */
const withoutSecrets = (text: string) => redactSecrets(text, 'plain')

/** Text from outside, made inert for a terminal. */
export const safe = terminalText

const PROGRESS_EVERY_MS = 5000

async function paintFor(level: ColorLevel): Promise<Paint> {
  if (level === 0) return PLAIN
  const { coloredPaint } = await import('./colored-paint.ts')
  return coloredPaint(level)
}

/** Builds the streams of one run. */
export async function createIo(edge: IoEdge, settings: IoSettings): Promise<Io> {
  const { env, stdout, stderr } = edge
  const stderrTty = stderr.isTTY === true
  // A log with a terminal's width is a log all the same.
  const animates = stderrTty && env.TERM !== 'dumb' && !isSet(env.CI)
  const toWidth = (text: string) =>
    stderrTty
      ? text
          .split('\n')
          .map((line) => wrapLine(line, stderr.columns || 80))
          .join('\n')
      : text
  let block: LiveBlock | null = null
  const aside = (write: () => void) => (block === null ? write() : block.aside(write))
  const say = (text: string) => aside(() => void stderr.write(`${toWidth(text)}\n`))
  const mayAsk = settings.input && stderrTty && !isSet(env.CI) && !isSet(env.GDN_NO_INPUT)
  const interactive = mayAsk && edge.stdin.isTTY === true
  const silent = settings.quiet || settings.machine
  const outLevel = colorLevel(stdout, env, settings.noColor)
  const errLevel = colorLevel(stderr, env, settings.noColor)
  const errPaint = await paintFor(errLevel)

  return {
    settings,
    data: (text) =>
      writeAll(stdout, stdout.isTTY === true ? terminalLines(withoutSecrets(text)) : withoutSecrets(text)),
    read: (text) => writeAll(stdout, isInActions(env) ? withoutCommands(withoutSecrets(text)) : withoutSecrets(text)),
    note: (line) => void (silent || say(line)),
    warn: (line) => void (settings.machine || say(line)),
    log: (line) => void stderr.write(stderrTty ? terminalLines(line) : line),
    debug: (line) => settings.debug && aside(() => void stderr.write(`debug: ${line}\n`)),
    stdoutTty: stdout.isTTY === true,
    stderrTty,
    columns: stdout.columns || 80,
    rows: stdout.rows || 24,
    toWidth,
    outColors: outLevel,
    outPaint: await paintFor(outLevel),
    errPaint,
    interactive,
    get stdin() {
      return edge.stdin
    },
    promptOutput: stderr,
    async progress(text) {
      if (silent) return { update: () => {}, stop: () => {} }
      if (animates) {
        const { spinner } = await import('./spinner.ts')
        return spinner(text, stderr, errLevel > 0)
      }
      return lineProgress(text, say)
    },
    async block() {
      if (silent || !animates) return null
      const { createLiveBlock } = await import('./live-block.ts')
      const made = createLiveBlock(stderr)
      block = made
      return {
        ...made,
        end() {
          made.end()
          if (block === made) block = null
        },
      }
    },
    look: () => ({ columns: stderr.columns || 80, paint: errPaint, ascii: !hasBlockCharacters(env) }),
    async confirm(question, flag) {
      if (!interactive) {
        throw new GdnError('not_confirmed', `this needs a yes: ${question}`, { hint: `add ${flag} to say it` })
      }
      const { prompts } = await import('./prompts.ts')
      return await prompts(stderr).ask(question)
    },
  }
}

/** Off a terminal: a line now, and one whenever something changed and a few seconds have gone by. */
function lineProgress(first: string, say: (line: string) => void): Progress {
  say(first)
  let last = first
  let saidAt = performance.now()
  return {
    update(text) {
      if (text === last || performance.now() - saidAt < PROGRESS_EVERY_MS) return
      last = text
      saidAt = performance.now()
      say(text)
    },
    stop: () => {},
  }
}

/** The console of Linux has a font of 512 characters; an old one of Windows has no Unicode. */
export function hasBlockCharacters({ TERM, OS, WT_SESSION, TERM_PROGRAM }: NodeJS.ProcessEnv): boolean {
  if (OS === 'Windows_NT') return isSet(WT_SESSION) || isSet(TERM_PROGRAM)
  return TERM !== 'linux'
}

export function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

/** Waits while the reader is slower than we are; one that went away is not waited for. */
async function writeAll(stream: OutStream, text: string): Promise<void> {
  if (stream.write(text) !== false || stream.once === undefined) return
  await new Promise<void>((resolve) => {
    const events = ['drain', 'close', 'error'] as const
    const done = () => {
      for (const event of events) stream.off?.(event, done)
      resolve()
    }
    for (const event of events) stream.once?.(event, done)
  })
}
