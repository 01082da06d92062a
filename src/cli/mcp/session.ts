import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { GdnError } from '../../core/errors.ts'
import type { CommandTree, TreeCommand } from '../command-tree.ts'
import type { Money } from '../cost/price.ts'
import type { Deps } from '../deps.ts'
import { call, type Outcome } from './call.ts'
import { digestsOf, filesOf } from './files.ts'
import { LEFT_OUT } from './left-out.ts'
import { type Plan, Plans, type SkippedPlan } from './plans.ts'
import type { Answer } from './result.ts'
import { paged } from './result.ts'
import type { LocalFilesIn } from './row-files.ts'
import { Ledger } from './spending.ts'
import { argvOf, type Tool, toolName, toolOf, type Values, type Words, wordsOf } from './tools.ts'

/** What the operator permits and chooses. */
export interface SessionOptions {
  allowWrites: boolean
  /** The most that the session may cost on public networks; null permits no spending. */
  maxCost: Money | null
  /** A real path. Files are below it. */
  root: string
  /** Flags of every command that has them, such as `--local`. */
  operatorFlags: readonly string[]
  /** The file with the password of new wallets; null permits none. */
  passwordFile: string | null
  /** Milliseconds until a call returns while its work goes on. */
  callTimeout: number
  stateDir: string
  /** Of the commands: if gdn mcp read manifests itself, the reader would be one file more for each command to load. */
  localFilesIn: LocalFilesIn
}

export interface CallContext {
  signal: AbortSignal
  /** Reports progress to the client. */
  progress(message: string, done?: number, total?: number): void
}

/** Commands that print the events of a run. */
const WITH_EVENTS = new Set(['batch mint', 'batch resume', 'batch retry', 'batch reconcile'])
const HEARTBEAT_MS = 5000
/** Errors after which a plan can be done again: nothing of it was decided. */
const NOT_FINAL = new Set([
  ...['unexpected', 'unreachable', 'bad_answer', 'rate_limited', 'pending', 'backend_restored', 'unknown_outcome'],
  ...['interrupted', 'terminated', 'run_busy', 'data_dir', 'data_dir_busy', 'not_confirmed', 'max_cost'],
])

/** The tools of one client, and the work that its calls started. */
export class Session {
  readonly #deps: Deps
  readonly #options: SessionOptions
  readonly #plans: Plans
  readonly #ledger: Ledger
  readonly #tools: ReadonlyMap<string, Tool>
  /** Work in progress, by plan. */
  readonly #working = new Map<string, { promise: Promise<Answer>; stop: AbortController; seen: Seen }>()
  readonly #calls = new Set<Promise<unknown>>()
  readonly #stop = new AbortController()

  private constructor(deps: Deps, options: SessionOptions, tools: ReadonlyMap<string, Tool>) {
    this.#deps = deps
    this.#options = options
    this.#plans = new Plans(`${options.stateDir}/agent-plans`)
    this.#ledger = new Ledger(options.maxCost)
    this.#tools = tools
  }

  static async open(deps: Deps, options: SessionOptions): Promise<Session> {
    const { data } = await call(['help', '--json'], {
      ...{ run: deps.run, edge: deps, signal: deps.signals.signal, permit: deps.permit },
    })
    const session = new Session(deps, options, toolsOf((data as CommandTree).commands))
    await session.#plans.prune(deps.now())
    return session
  }

  /** The tools that the operator permits. */
  get tools(): Tool[] {
    return [...this.#tools.values()].filter((tool) => this.#refusal(tool) === null)
  }

  /** @throws GdnError for a tool that does not exist or is not permitted */
  tool(name: string): Tool {
    const tool = this.#tools.get(name)
    const refusal = tool === undefined ? unknownTool(name) : this.#refusal(tool)
    if (tool === undefined || refusal !== null) throw refusal
    return tool
  }

  /** Runs a tool with values that its schema accepts. @throws GdnError */
  async call(tool: Tool, values: Values, context: CallContext): Promise<Answer> {
    const promise = tool.effect === 'read' ? this.#read(tool, values, context) : this.#write(tool, values, context)
    this.#calls.add(promise)
    return await promise.finally(() => this.#calls.delete(promise))
  }

  /** Stops all work as Ctrl-C does, and resolves when it has ended. */
  async close(): Promise<void> {
    this.#stop.abort(new GdnError('terminated', 'the client disconnected'))
    const work = [...this.#working.values()].map(({ promise }) => promise)
    await Promise.allSettled([...this.#calls, ...work])
  }

  #refusal(tool: Tool): GdnError | null {
    const { allowWrites, passwordFile } = this.#options
    if (tool.effect !== 'read' && !allowWrites) return needs(tool, '--allow-writes')
    if (tool.command === 'wallet generate' && passwordFile === null) return needs(tool, '--password-file <file>')
    return null
  }

  async #read(tool: Tool, { offset, ...values }: Values, context: CallContext): Promise<Answer> {
    await filesOf(tool, values, this.#options.root)
    const limit = AbortSignal.timeout(this.#options.callTimeout)
    const signal = AbortSignal.any([context.signal, limit, this.#stop.signal])
    const outcome = await this.#run(argvOf(tool.command, this.#withFlags(tool, wordsOf(tool, values))), {
      signal,
      progress: context.progress,
    })
    const answer = answerOf(outcome, Number(offset ?? 0))
    if (!limit.aborted || outcome.code === 0) return answer
    return { ...answer, next: 'The call took too long and was stopped. Ask for less, or call again to wait longer.' }
  }

  async #write(tool: Tool, { dry_run: isDry, plan_id: id, ...values }: Values, context: CallContext): Promise<Answer> {
    if (isDry !== false && id === undefined) return await this.#plan(tool, values, context)
    if (isDry !== false) {
      throw usage('dry_run', 'must be false to do a plan', 'Nothing was sent. Omit plan_id to make another plan.')
    }
    if (id === undefined) {
      throw usage('plan_id', 'is required to change anything', 'Nothing was sent. Call with dry_run true first.')
    }
    const plan = await this.#plans.get(String(id))
    const isOther =
      plan.tool !== tool.name || (Object.keys(values).length > 0 && !isDeepStrictEqual(plan.values, values))
    if (isOther) throw usage('plan_id', 'is the plan of another call', 'Nothing was sent. Omit the other arguments.')
    return await this.#do(tool, plan, context)
  }

  /** Runs what shows the effect of a tool without having it, and saves what is to be done. */
  async #plan(tool: Tool, values: Values, context: CallContext): Promise<Answer> {
    const files = await digestsOf(tool, values, this.#options)
    const words = wordsOf(tool, values, tool.flags)
    const planned = { tool: tool.name, values, files, setup: await this.#setup(), names: await this.#names() }
    const { plan, skipped } = await this.#plans.add(planned, (id) => this.#argvFor(tool, words, id))
    const outcome = await this.#preview(tool, values, plan, context)
    const answer = beginningOf(outcome)
    if (outcome.code !== 0) return answer
    const rest = tool.command === 'apply' ? ' For the rest, call plan with the same arguments and offset.' : ''
    const part = answer.page === null ? '' : `This is only the beginning of the plan.${rest} `
    const next = `${part}Nothing was changed. To do it, call ${tool.name} with dry_run false and this plan_id, and nothing else.${noteOf(skipped)}`
    return { ...answer, status: 'planned', plan_id: plan.id, next }
  }

  async #preview(tool: Tool, values: Values, plan: Plan, context: CallContext): Promise<Outcome> {
    const { command, flags } = tool
    const signal = AbortSignal.any([context.signal, this.#stop.signal])
    const work = { signal, progress: context.progress }
    if (command === 'apply') {
      const planning = this.#toolFlags('plan')
      const { flags: given, args } = wordsOf(tool, values, planning)
      const words = this.#withFlags(
        { flags: planning },
        { flags: [...given, `--out=${this.#plans.fileOf(plan.id)}`], args },
      )
      return await this.#run(argvOf('plan', words), work)
    }
    if (flags.has('--dry-run')) {
      const { flags: given, args } = wordsOf(tool, values, flags)
      const words = this.#withFlags(tool, { flags: [...given, '--dry-run'], args })
      return await this.#run(argvOf(command, words), work)
    }
    return { code: 0, data: { command: `gdn ${command}`, arguments: values }, error: null }
  }

  #argvFor(tool: Tool, { flags, args }: Words, id: string): string[] {
    const { command } = tool
    const own = command === 'apply' ? flags.filter((word) => APPLY_FLAGS.test(word)) : [...flags]
    if (tool.flags.has('--yes')) own.push('--yes')
    // Of one NFT: several have an operation each.
    if (tool.flags.has('--operation') && args.length <= 1) own.push(`--operation=${id}`)
    const named = command === 'apply' ? [this.#plans.fileOf(id)] : args
    return argvOf(command, this.#withFlags(tool, { flags: own, args: named }))
  }

  /** Does a plan once. A repeated call waits for the first, or returns its answer. */
  async #do(tool: Tool, plan: Plan, context: CallContext): Promise<Answer> {
    const earlier = this.#working.get(plan.id)
    if (earlier === undefined) {
      if (plan.state === 'done' && plan.answer !== null) {
        return { ...plan.answer, next: DONE_BEFORE }
      }
      await this.#checkUnchanged(tool, plan)
    }
    const work = this.#working.get(plan.id) ?? this.#begin(tool, plan)
    const onCancel = () => work.stop.abort(new GdnError('interrupted', 'the client canceled the call'))
    context.signal.addEventListener('abort', onCancel)
    const beat = setInterval(() => {
      const { message, done, total } = work.seen
      context.progress(message, done, total)
    }, HEARTBEAT_MS)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), this.#options.callTimeout)
    })
    try {
      const answer = await Promise.race([work.promise, late])
      if (answer !== null) return answer
      const next = `The work goes on. To wait for it, call ${tool.name} again with dry_run false and this plan_id.`
      return { ...NOTHING, status: 'running', plan_id: plan.id, next, data: { ...work.seen } }
    } finally {
      clearTimeout(timer)
      clearInterval(beat)
      context.signal.removeEventListener('abort', onCancel)
    }
  }

  /** @throws GdnError `refused` if the plan would have another effect than what was shown */
  async #checkUnchanged(tool: Tool, plan: Plan): Promise<void> {
    const hint = 'Nothing was sent. Call with dry_run true to plan again.'
    if (plan.setup !== (await this.#setup())) {
      throw new GdnError('refused', 'the directory or the configuration changed since it was planned', { hint })
    }
    // What was started has its receivers.
    if (plan.state === 'planned' && plan.names !== (await this.#names())) {
      throw new GdnError('refused', 'the names of addresses changed since it was planned', { hint })
    }
    // Links may lead elsewhere now.
    const now = await digestsOf(tool, plan.values, this.#options)
    const file = Object.keys(plan.files).find((path) => plan.files[path] !== now[path])
    if (file !== undefined) throw new GdnError('refused', 'changed since it was planned', { place: { file }, hint })
  }

  async #setup(): Promise<string> {
    return await this.#digestOf('config list', [this.#options.root, ...this.#options.operatorFlags])
  }

  async #names(): Promise<string> {
    return await this.#digestOf('wallet list')
  }

  /** Returns what identifies the output of a command. @throws GdnError if it fails */
  async #digestOf(command: string, more: readonly string[] = []): Promise<string> {
    const words = this.#withFlags({ flags: this.#toolFlags(toolName(command)) }, { flags: [], args: [] })
    const { code, data, error } = await this.#run(argvOf(command, words), { signal: this.#stop.signal })
    if (code !== 0) {
      throw new GdnError(
        'invalid_config',
        error?.message ?? `gdn ${command} failed`,
        error?.hint ? { hint: error.hint } : {},
      )
    }
    return createHash('sha256')
      .update(JSON.stringify([data, ...more]))
      .digest('hex')
  }

  #begin(tool: Tool, plan: Plan) {
    const stop = new AbortController()
    const seen: Seen = { run: null, message: 'running' }
    const signal = AbortSignal.any([stop.signal, this.#stop.signal])
    const work = async (): Promise<Answer> => {
      // Another call may have done it since this one read the plan.
      const now = await this.#plans.get(plan.id)
      if (now.state === 'done' && now.answer !== null) return { ...now.answer, next: DONE_BEFORE }
      await this.#plans.save({ ...plan, state: 'started' })
      const outcome = await this.#run(plan.argv, { signal, seen })
      const answer = { ...beginningOf(outcome), plan_id: plan.id }
      const isFinal = outcome.code === 0 || !NOT_FINAL.has(outcome.error?.code ?? 'unexpected')
      if (isFinal) await this.#plans.save({ ...plan, state: 'done', answer })
      return isFinal
        ? answer
        : { ...answer, next: `To go on, call ${tool.name} again with dry_run false and this plan_id.` }
    }
    const promise = work().finally(() => this.#working.delete(plan.id))
    // The caller may have left.
    promise.catch(() => {})
    const started = { promise, stop, seen }
    this.#working.set(plan.id, started)
    return started
  }

  async #run(
    argv: readonly string[],
    { signal, seen, progress }: { signal: AbortSignal; seen?: Seen; progress?: CallContext['progress'] },
  ): Promise<Outcome> {
    const hasEvents = argv.some((word) => word === '--output=ndjson')
    const beat = progress === undefined ? undefined : setInterval(() => progress('running'), HEARTBEAT_MS)
    try {
      return await call(argv, {
        run: this.#deps.run,
        edge: this.#deps,
        signal,
        permit: this.#ledger.permit(this.#deps),
        ...(hasEvents ? { onEvent: (event) => see(seen, event) } : {}),
      })
    } finally {
      clearInterval(beat)
    }
  }

  /** Adds the flags for output, and those that the operator chose. */
  #withFlags({ command, flags }: { command?: string; flags: ReadonlySet<string> }, words: Words): Words {
    const isEvents = command !== undefined && WITH_EVENTS.has(command) && !words.flags.includes('--dry-run')
    const own = this.#options.operatorFlags.filter((word) => flags.has(word.split('=', 1)[0] ?? word))
    const { passwordFile } = this.#options
    if (command === 'wallet generate' && passwordFile !== null) own.push(`--password-file=${passwordFile}`)
    if (isEvents) own.push('--output=ndjson')
    else if (flags.has('--json')) own.push('--json')
    return { ...words, flags: [...own, ...words.flags] }
  }

  #toolFlags(name: string): ReadonlySet<string> {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw new Error(`there is no tool ${name}`)
    return new Set([...tool.flags, '--out', '--prune'])
  }
}

/** The flags of apply that a saved plan doesn't have. */
const APPLY_FLAGS = /^--(only|max-burns|timeout)\b/

/** What is known of work in progress. */
interface Seen {
  run: string | null
  message: string
  done?: number
  total?: number
}

/** Keeps what the events of a run tell about its progress. */
function see(seen: Seen | undefined, event: Record<string, unknown>): void {
  if (seen === undefined) return
  if (typeof event.run === 'string') seen.run = event.run
  seen.message = `run: ${String(event.event)}`
  if (event.event !== 'rows') return
  const of = (name: string) => Number(event[name] ?? 0)
  seen.done = of('deployed') + of('failed')
  seen.total = ['pending', 'accepted', 'deployed', 'failed', 'unknown'].reduce((sum, name) => sum + of(name), 0)
  seen.message = `${seen.done} of ${seen.total} rows have an outcome`
}

const DONE_BEFORE = 'This plan was done before. Nothing was done again.'

const MAX_NAMED = 3

/** Names files in the place of plans that were skipped. */
function noteOf(skipped: readonly SkippedPlan[]): string {
  if (skipped.length === 0) return ''
  const named = skipped.slice(0, MAX_NAMED).map(({ file, why }) => `${basename(file)}: ${why}`)
  const more = skipped.length > MAX_NAMED ? `; and ${skipped.length - MAX_NAMED} more` : ''
  return ` Skipped in agent-plans in the state directory: ${named.join('; ')}${more}. If one of them was started, this plan may send its requests again: ask the user.`
}

const NOTHING: Answer = {
  status: 'ok',
  exit_code: null,
  plan_id: null,
  next: null,
  page: null,
  data: null,
  error: null,
}

function answerOf({ code, data, error }: Outcome, offset: number): Answer {
  const part = paged(data, offset)
  const failed = error ?? { code: 'unexpected', message: `exited with ${code}`, hint: null, details: null }
  const isError = code !== 0 && !(code === 10 && error === null)
  return { ...NOTHING, ...part, status: isError ? 'error' : 'ok', exit_code: code, error: isError ? failed : null }
}

/** Returns the answer of a tool that takes no offset. */
function beginningOf(outcome: Outcome): Answer {
  const { page, ...answer } = answerOf(outcome, 0)
  return { ...answer, page: page && { ...page, next_offset: null } }
}

function toolsOf(commands: readonly TreeCommand[]): Map<string, Tool> {
  const planning = commands.find(({ name }) => name === 'plan')?.flags ?? []
  return new Map(
    commands
      .filter(({ name }) => !Object.hasOwn(LEFT_OUT, name))
      .map((command) => [toolName(command.name), toolOf(command, command.name === 'apply' ? planning : [])]),
  )
}

const usage = (field: string, message: string, hint: string) =>
  new GdnError('usage', message, { place: { field }, hint })

const needs = ({ name }: Tool, flag: string) =>
  new GdnError('not_confirmed', `${name} is not allowed`, {
    hint: `Ask the operator to start gdn mcp with ${flag}.`,
  })

function unknownTool(name: string): GdnError {
  const command = Object.keys(LEFT_OUT).find((one) => toolName(one) === name)
  const why = command === undefined ? 'there is no such tool' : `gdn ${command} is no tool: it ${LEFT_OUT[command]}`
  return new GdnError('usage', why, { hint: 'List the tools.' })
}
