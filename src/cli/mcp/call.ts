import { Readable } from 'node:stream'
import { GdnError } from '../../core/errors.ts'
import type { CheckPlan, Deps, Edge, PermitSpending, QuoteSpending } from '../deps.ts'

/** The output and exit code of a command line. */
export interface CommandOutcome {
  code: number
  /**
   * The output on stdout: parsed JSON, or text if it isn't JSON. For a command that prints events, this is the summary.
   */
  data: unknown
  error: { code: string; message: string; hint: string | null; details: unknown } | null
}

export interface CallDeps {
  run: Deps['run']
  edge: Pick<Edge, 'env' | 'cwd' | 'program'>
  signal: AbortSignal
  permit: PermitSpending
  quote?: QuoteSpending
  checkPlan?: CheckPlan | undefined
  /** Called for each event of a run if the command prints events. */
  onEvent?: ((event: Record<string, unknown>) => void) | undefined
}

/** Maximum output in characters. If a command prints more, the caller must use flags that reduce its output. */
const MAX_OUTPUT_CHARACTERS = 32 * 1024 * 1024

/**
 * Runs a command line in this process, with its own streams and without a terminal. Calls may run concurrently.
 *
 * @param argv the arguments. They must contain `--json`, or `--output=ndjson` for events, the last of which contains
 * the result.
 */
export async function runCommand(
  argv: readonly string[],
  { run, edge, signal, permit, quote, checkPlan, onEvent }: CallDeps,
): Promise<CommandOutcome> {
  const stdout = collector(onEvent)
  const stderr = collector()
  const code = await run(argv, {
    env: edge.env,
    cwd: edge.cwd,
    program: edge.program,
    stdin: Readable.from([]),
    stdout,
    stderr,
    permit,
    quote,
    checkPlan,
    signals: {
      signal,
      again: new AbortController().signal,
      own: () => {},
      instead: () => {},
      hangup: () => {},
      release: () => {},
    },
  })
  const [error = null] = stderr.text.trim().split('\n').slice(-1).map(parseErrorLine)
  return { code, data: onEvent === undefined ? parseJsonOrText(stdout.text) : stdout.last(), error }
}

function collector(onEvent?: (event: Record<string, unknown>) => void) {
  let text = ''
  let last: Record<string, unknown> | null = null
  return {
    write(chunk: string) {
      text += chunk
      if (onEvent !== undefined) {
        const lines = text.split('\n')
        text = lines.pop() ?? ''
        for (const line of lines) {
          last = JSON.parse(line) as Record<string, unknown>
          onEvent(last)
        }
      }
      if (text.length > MAX_OUTPUT_CHARACTERS) {
        throw new GdnError('refused', `the output is larger than ${MAX_OUTPUT_CHARACTERS} characters`, {
          hint: 'Reduce the output, for example with limit, status or fields.',
        })
      }
      return true
    },
    get text() {
      return text
    },
    last() {
      const { event = null, ...rest } = last ?? {}
      return event === 'summary' ? rest : null
    },
  }
}

function parseJsonOrText(text: string): unknown {
  if (text.trim() === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function parseErrorLine(line: string): CommandOutcome['error'] {
  const json = parseJsonOrText(line)
  return json !== null && typeof json === 'object' && 'error' in json ? (json.error as CommandOutcome['error']) : null
}
