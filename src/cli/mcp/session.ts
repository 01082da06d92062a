import { isDeepStrictEqual } from 'node:util'
import { GdnError } from '../../core/errors.ts'
import type { CommandTree } from '../command-tree.ts'
import type { Money } from '../cost/price.ts'
import type { Deps } from '../deps.ts'
import { runCommand } from './call.ts'
import { resolveInputFiles } from './files.ts'
import { Planning, type PlanningOptions } from './planning.ts'
import { Plans } from './plans.ts'
import { type ReportProgress, Runner } from './runner.ts'
import { RunningPlans } from './running-plans.ts'
import { Ledger } from './spending.ts'
import { pagedResponse, type ToolResponse } from './tool-response.ts'
import { type Permissions, Toolbox } from './toolbox.ts'
import { commandWords, type Tool, type Values } from './tools.ts'

/** The permissions and settings of the session, as chosen by the operator. */
export interface SessionOptions extends Permissions, PlanningOptions {
  /** Spending limit of the session on public networks; null permits no spending. */
  maxCost: Money | null
  /** Maximum duration of a call, in milliseconds. After this time, a running plan continues, and a read is stopped. */
  callTimeoutMs: number
  stateDir: string
}

export interface CallContext {
  signal: AbortSignal
  progress: ReportProgress
}

/** A client's session: its tools, plans and spending limit. */
export class McpSession {
  readonly toolbox: Toolbox
  readonly #options: SessionOptions
  readonly #runner: Runner
  readonly #plans: Plans
  readonly #planning: Planning
  readonly #runningPlans: RunningPlans
  readonly #pendingCalls = new Set<Promise<unknown>>()
  readonly #stop = new AbortController()

  private constructor(deps: Deps, options: SessionOptions, toolbox: Toolbox) {
    this.toolbox = toolbox
    this.#options = options
    this.#runner = new Runner(deps, new Ledger(options.maxCost), options)
    this.#plans = new Plans(`${options.stateDir}/agent-plans`)
    this.#planning = new Planning(this.#runner, this.#plans, toolbox, options)
    this.#runningPlans = new RunningPlans(this.#runner, this.#plans, {
      callTimeout: options.callTimeoutMs,
      stop: this.#stop.signal,
    })
  }

  static async open(deps: Deps, options: SessionOptions): Promise<McpSession> {
    const { data } = await runCommand(['help', '--json'], {
      run: deps.run,
      edge: deps,
      signal: deps.signals.signal,
      permit: deps.permit,
    })
    const session = new McpSession(deps, options, new Toolbox((data as CommandTree).commands, options))
    await session.#plans.prune(deps.now())
    return session
  }

  /**
   * Runs a tool.
   *
   * @param values arguments that match the tool's schema
   * @throws GdnError
   */
  async call(tool: Tool, values: Values, context: CallContext): Promise<ToolResponse> {
    const promise = tool.effect === 'read' ? this.#read(tool, values, context) : this.#write(tool, values, context)
    this.#pendingCalls.add(promise)
    return await promise.finally(() => this.#pendingCalls.delete(promise))
  }

  /** Stops all work gracefully, like Ctrl-C. Resolves when all work has ended. */
  async close(): Promise<void> {
    this.#stop.abort(new GdnError('terminated', 'the client disconnected'))
    await Promise.allSettled([...this.#pendingCalls, this.#runningPlans.waitUntilSettled()])
  }

  async #read(tool: Tool, { offset, ...values }: Values, { signal, progress }: CallContext): Promise<ToolResponse> {
    await resolveInputFiles(tool, values, this.#options.root)
    const limit = AbortSignal.timeout(this.#options.callTimeoutMs)
    const outcome = await this.#runner.run(this.#runner.argv(tool, commandWords(tool, values)), {
      signal: AbortSignal.any([signal, limit, this.#stop.signal]),
      progress,
    })
    const response = pagedResponse(outcome, Number(offset ?? 0))
    if (!limit.aborted || outcome.code === 0) return response
    return { ...response, next: 'The call took too long and was stopped. Request less data, or call again.' }
  }

  async #write(
    tool: Tool,
    { dry_run: isDry, plan_id: id, ...values }: Values,
    context: CallContext,
  ): Promise<ToolResponse> {
    const caller = { ...context, signal: AbortSignal.any([context.signal, this.#stop.signal]) }
    if (isDry !== false && id === undefined) return await this.#planning.plan(tool, values, caller)
    if (isDry !== false) {
      throw fieldUsageError(
        'dry_run',
        'must be false to run a plan',
        'Nothing was sent. Omit plan_id to create another plan.',
      )
    }
    if (id === undefined) {
      throw fieldUsageError(
        'plan_id',
        'is required to change anything',
        'Nothing was sent. Call with dry_run true first.',
      )
    }
    const plan = await this.#plans.get(String(id))
    if (plan.tool !== tool.name) {
      throw fieldUsageError(
        'plan_id',
        `belongs to ${plan.tool}`,
        `Nothing was sent. Call ${plan.tool} with dry_run false.`,
      )
    }
    if (Object.keys(values).length > 0 && !isDeepStrictEqual(plan.values, values)) {
      throw fieldUsageError(
        'plan_id',
        'belongs to a plan with other arguments',
        'Nothing was sent. Pass only plan_id and dry_run false.',
      )
    }
    return await this.#runningPlans.runPlan(
      tool,
      plan,
      context,
      async () => await this.#planning.check(tool, plan, caller),
    )
  }
}

const fieldUsageError = (field: string, message: string, hint: string) =>
  new GdnError('usage', message, { place: { field }, hint })
