import type { Readable } from 'node:stream'
import { GdnError } from '../../core/errors.ts'
import { redactSecrets } from '../../core/secret.ts'
import { terminalLines, terminalText } from '../../core/terminal-text.ts'
import { wrapLine } from '../text/wrap.ts'
import { type ColorLevel, colorLevel } from './color.ts'
import type { CommandSignals } from './deadline.ts'
import { escapeWorkflowCommands, isInActions } from './in-actions.ts'
import type { LiveBlock } from './live-block.ts'
import type { OutStream } from './out-stream.ts'
import { type Paint, PLAIN_PAINT } from './paint.ts'
import type { Progress } from './progress.ts'

export interface IoSettings {
  /** Whether stdout contains JSON. If so, gdn prints no human-readable text to stderr. */
  machine: boolean
  quiet: boolean
  debug: boolean
  /** Whether gdn may prompt at a terminal. */
  input: boolean
  noColor: boolean
}

/** The error to throw if the user answers no. */
interface DeclinedError {
  /** The message. Default: `nothing was sent`. */
  message?: string
  hint?: string
}

/** The streams of the process, in the form that commands use. */
export interface Io {
  readonly settings: IoSettings
  /**
   * Writes data to stdout. Escapes the data on a terminal, and redacts secrets unless the user asked to see them.
   * Resolves when the stream accepts more data.
   */
  data(text: string): Promise<void>
  /** Writes human-readable output, such as a colored table, to stdout. External text must already be escaped. */
  print(text: string): Promise<void>
  /** Prints escaped text, and opens the user's pager if the text doesn't fit on the terminal. */
  page(text: string): Promise<void>
  /**
   * Writes a human-readable line to stderr, except with -q and in JSON mode. External text must be escaped with `safe`
   * first.
   */
  note(line: string): void
  /** Writes an escaped warning to stderr, even with -q, but not in JSON mode. */
  warn(line: string): void
  debug(line: string): void
  /**
   * Writes a log line to stderr in every mode. On a terminal, escapes control characters in a way that doesn't change
   * the meaning of JSON.
   */
  log(line: string): void
  readonly stdoutTty: boolean
  readonly stderrTty: boolean
  readonly columns: number
  /** Height of the terminal at stdout, in rows. */
  readonly rows: number
  /** If stderr is a terminal, wraps each line to its width. Otherwise, returns the text unchanged. */
  toWidth(text: string): string
  /** Color level of stdout. */
  readonly outColors: ColorLevel
  readonly outPaint: Paint
  readonly errPaint: Paint
  /** Whether the user can be prompted. */
  readonly isInteractive: boolean
  progress(text: string): Promise<Progress>
  /**
   * Creates a block of lines on stderr that is updated in place. Returns null if stderr isn't a terminal, with
   * TERM=dumb, in CI, with -q and in JSON mode.
   */
  block(): Promise<LiveBlock | null>
  /**
   * Returns the width, colors and character set for the lines of a block. Must be called for each update, because the
   * terminal can be resized.
   */
  blockStyle(): { columns: number; paint: Paint; ascii: boolean }
  /**
   * Prompts for confirmation.
   *
   * @throws GdnError `not_confirmed` if the user answers no or gdn can't prompt. If it can't prompt, the hint names
   * `flag`.
   */
  confirm(question: string, flag: string, no?: DeclinedError): Promise<void>
  /** Pauses the command's timeout while a prompt waits for an answer. A signal to the process ends the prompt. */
  prompting<Answer>(prompt: (signal: AbortSignal) => Promise<Answer>): Promise<Answer>
  readonly stdin: Readable & { isTTY?: boolean }
  /** The stream for prompts. It isn't stdout, which only contains data. */
  readonly promptOutput: OutStream
}

interface IoEdge {
  env: NodeJS.ProcessEnv
  stdin: Readable & { isTTY?: boolean }
  stdout: OutStream
  stderr: OutStream
  signals?: Pick<CommandSignals, 'own' | 'prompting'>
}

/** Redacts gdn's own secrets. External text was redacted more thoroughly when it was received. */
const withoutSecrets = (text: string) => redactSecrets(text, 'plain')

/** Escapes external text for a terminal. */
export const safe = terminalText

const PROGRESS_EVERY_MS = 5000

async function createPaint(level: ColorLevel): Promise<Paint> {
  if (level === 0) return PLAIN_PAINT
  const { coloredPaint } = await import('./colored-paint.ts')
  return coloredPaint(level)
}

/** Builds the streams of one command. */
export async function createIo(edge: IoEdge, settings: IoSettings): Promise<Io> {
  const { env, stdout, stderr } = edge
  const stderrTty = stderr.isTTY === true
  // Don't animate CI logs, even if the CI system emulates a terminal.
  const isCapable = env.TERM !== 'dumb' && !isSet(env.CI)
  const animates = stderrTty && isCapable
  const toWidth = (text: string) =>
    stderrTty
      ? text
          .split('\n')
          .map((line) => wrapLine(line, stderr.columns || 80))
          .join('\n')
      : text
  let block: LiveBlock | null = null
  let spinning: { within(step: string): Progress } | null = null
  const aside = (write: () => void) => (block === null ? write() : block.writeAbove(write))
  const say = (text: string) => aside(() => void stderr.write(`${toWidth(text)}\n`))
  const mayAsk = settings.input && stderrTty && !isSet(env.CI) && !isSet(env.GDN_NO_INPUT)
  const isInteractive = mayAsk && edge.stdin.isTTY === true
  const silent = settings.quiet || settings.machine
  const outLevel = colorLevel(stdout, env, settings.noColor)
  const errLevel = colorLevel(stderr, env, settings.noColor)
  const errPaint = await createPaint(errLevel)
  const rows = stdout.rows || 24
  const prompting: Io['prompting'] = (prompt) => edge.signals?.prompting(prompt) ?? prompt(new AbortController().signal)
  const print: Io['print'] = (text) =>
    writeAll(stdout, isInActions(env) ? escapeWorkflowCommands(withoutSecrets(text)) : withoutSecrets(text))

  return {
    settings,
    data: (text) =>
      writeAll(stdout, stdout.isTTY === true ? terminalLines(withoutSecrets(text)) : withoutSecrets(text)),
    print,
    async page(text) {
      if (stdout.isTTY === true && isCapable && settings.input && text.split('\n').length > rows) {
        const { pagerCommand, showInPager } = await import('./pager.ts')
        const command = pagerCommand(env)
        // While the pager runs, it handles Ctrl-C.
        if (command !== null) edge.signals?.own()
        if (command !== null && (await showInPager(command, withoutSecrets(text), env))) return
      }
      await print(text)
    },
    note: (line) => void (silent || say(line)),
    warn: (line) => void (settings.machine || say(line)),
    log: (line) => void stderr.write(stderrTty ? terminalLines(line) : line),
    debug: (line) => settings.debug && aside(() => void stderr.write(`debug: ${line}\n`)),
    stdoutTty: stdout.isTTY === true,
    stderrTty,
    get columns() {
      return stdout.columns || 80
    },
    rows,
    toWidth,
    outColors: outLevel,
    outPaint: await createPaint(outLevel),
    errPaint,
    isInteractive,
    get stdin() {
      return edge.stdin
    },
    promptOutput: stderr,
    async progress(text) {
      if (silent) return { update: () => {}, stop: () => {} }
      if (!animates) return lineProgress(text, say)
      // A terminal shows only one spinner at a time, so a nested step replaces the spinner's text until the step ends.
      if (spinning !== null) return spinning.within(text)
      const { spinner } = await import('./spinner.ts')
      const terminalSpinner = spinner(text, stderr, errLevel > 0)
      let currentText = text
      const update = (next: string) => {
        currentText = next
        terminalSpinner.update(next)
      }
      const handle = {
        within(step: string): Progress {
          const before = currentText
          update(step)
          return { update, stop: () => spinning === handle && update(before) }
        },
      }
      spinning = handle
      return {
        update,
        stop() {
          spinning = null
          terminalSpinner.stop()
        },
      }
    },
    async block() {
      if (silent || !animates) return null
      const { createLiveBlock } = await import('./live-block.ts')
      const liveBlock = createLiveBlock(stderr)
      block = liveBlock
      return {
        ...liveBlock,
        end() {
          liveBlock.end()
          if (block === liveBlock) block = null
        },
      }
    },
    blockStyle: () => ({ columns: stderr.columns || 80, paint: errPaint, ascii: !hasBlockCharacters(env) }),
    async confirm(question, flag, { message = 'nothing was sent', hint } = {}) {
      if (!isInteractive) {
        throw new GdnError('not_confirmed', `confirmation required: ${question}`, { hint: `Add ${flag} to confirm.` })
      }
      const { createPrompts } = await import('./prompts.ts')
      const isConfirmed = await prompting((signal) => createPrompts(stderr, signal).ask(question)).catch(
        (error: unknown) => {
          if (!(error instanceof GdnError)) throw error
          const what = `${message.charAt(0).toUpperCase()}${message.slice(1)}`
          throw error.withHint(`${what}. ${hint ?? 'Run the same command again.'}`)
        },
      )
      if (!isConfirmed) throw new GdnError('not_confirmed', message, { hint })
    },
    prompting,
  }
}

/**
 * Returns the progress display for a stream without animation. Prints a line at the start, and later prints changes at
 * most every few seconds.
 */
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

/**
 * Returns whether the terminal can show block characters. The Linux console's font has only 512 characters, and old
 * Windows consoles don't support Unicode.
 */
export function hasBlockCharacters({ TERM, OS, WT_SESSION, TERM_PROGRAM }: NodeJS.ProcessEnv): boolean {
  if (OS === 'Windows_NT') return isSet(WT_SESSION) || isSet(TERM_PROGRAM)
  return TERM !== 'linux'
}

export function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

/** Writes text, and waits until a slow reader has read enough or has closed the stream. */
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
