import type { CheckPlan, Deps } from '../deps.ts'
import { type CommandOutcome, runCommand } from './call.ts'
import type { Ledger } from './spending.ts'
import { type CommandWords, formatArgv, type Tool, type Values } from './tools.ts'

/** Commands that print the events of a run. */
const COMMANDS_WITH_EVENTS = new Set(['batch mint', 'batch resume', 'batch retry', 'batch reconcile'])
/** Commands that may use the password for keystores. */
const COMMANDS_WITH_PASSWORD = new Set(['wallet generate', 'collection set'])

export const HEARTBEAT_MS = 5000

/** Reports progress to the client. */
export type ReportProgress = (message: string, done?: number, total?: number) => void

/** The latest known progress of a plan. */
export interface PlanProgress {
  run: string | null
  message: string
  done?: number
  total?: number
}

export interface RunOptions {
  signal: AbortSignal
  progress?: ReportProgress
  /** The arguments of `apply` if the command is `plan`, which has no flags for the limits of `apply`. */
  applied?: Values | undefined
  checkPlan?: CheckPlan
  /** The progress, which is updated with each event of a run. */
  seen?: PlanProgress
}

/** The cost of a plan, in sentences; undefined if the command didn't request a quote. */
export interface PlanQuote {
  cost: string | undefined
}

/** Runs command lines for a session. Adds the operator's flags and enforces the spending limit. */
export class Runner {
  readonly #deps: Deps
  readonly #ledger: Ledger
  readonly #operatorFlags: readonly string[]
  readonly #passwordFile: string | null

  constructor(
    deps: Deps,
    ledger: Ledger,
    { operatorFlags, passwordFile }: { operatorFlags: readonly string[]; passwordFile: string | null },
  ) {
    this.#deps = deps
    this.#ledger = ledger
    this.#operatorFlags = operatorFlags
    this.#passwordFile = passwordFile
  }

  /** Returns the command line of a tool, including the operator's flags and the flags for machine-readable output. */
  argv({ command, flags }: Pick<Tool, 'command' | 'flags'>, words: CommandWords): string[] {
    const ownFlags = this.#operatorFlags.filter((word) => flags.has(word.split('=', 1)[0] ?? word))
    if (COMMANDS_WITH_PASSWORD.has(command) && this.#passwordFile !== null)
      ownFlags.push(`--password-file=${this.#passwordFile}`)
    if (COMMANDS_WITH_EVENTS.has(command) && !words.flags.includes('--dry-run')) ownFlags.push('--output=ndjson')
    else if (flags.has('--json')) ownFlags.push('--json')
    return formatArgv(command, { ...words, flags: [...ownFlags, ...words.flags] })
  }

  async run(
    argv: readonly string[],
    { signal, seen, progress, applied, checkPlan }: RunOptions,
  ): Promise<CommandOutcome & PlanQuote> {
    let cost: string | undefined
    const hasEvents = argv.some((word) => word === '--output=ndjson')
    const beat = progress === undefined ? undefined : setInterval(() => progress('running'), HEARTBEAT_MS)
    try {
      const outcome = await runCommand(argv, {
        run: this.#deps.run,
        edge: this.#deps,
        signal,
        permit: this.#ledger.permit(this.#deps),
        quote: async (...asked) => {
          cost = await this.#ledger.quote(this.#deps, asked, applied)
        },
        checkPlan,
        onEvent: hasEvents ? (event) => recordProgress(seen, event) : undefined,
      })
      return { ...outcome, cost }
    } finally {
      clearInterval(beat)
    }
  }
}

function recordProgress(progress: PlanProgress | undefined, event: Record<string, unknown>): void {
  if (progress === undefined) return
  if (typeof event.run === 'string') progress.run = event.run
  progress.message = `run: ${String(event.event)}`
  if (event.event !== 'rows') return
  const countOf = (name: string) => Number(event[name] ?? 0)
  progress.done = countOf('deployed') + countOf('failed')
  progress.total = ['pending', 'accepted', 'deployed', 'failed', 'unknown'].reduce(
    (sum, name) => sum + countOf(name),
    0,
  )
  progress.message = `${progress.done} of ${progress.total} rows have an outcome`
}
