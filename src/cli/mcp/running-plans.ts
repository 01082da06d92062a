import { GdnError } from '../../core/errors.ts'
import type { CheckPlan } from '../deps.ts'
import { refuseChanged } from '../request/intent.ts'
import type { CommandOutcome } from './call.ts'
import type { Plan, Plans } from './plans.ts'
import { HEARTBEAT_MS, type PlanProgress, type ReportProgress, type Runner } from './runner.ts'
import { firstPageResponse, runningResponse, type ToolResponse } from './tool-response.ts'
import type { Tool } from './tools.ts'
import { isOfOperator } from './wording.ts'

/** Error codes after which a plan can be run again, because its outcome isn't final. */
const RETRYABLE_CODES = new Set([
  ...['unexpected', 'unreachable', 'bad_answer', 'rate_limited', 'pending', 'backend_restored', 'unknown_outcome'],
  ...['interrupted', 'terminated', 'run_busy', 'data_dir', 'data_dir_busy', 'not_confirmed', 'max_cost'],
])

/** The reason why a plan no longer contains an NFT that it would have changed, by command. */
const REMOVED_REASONS: Readonly<Record<string, string>> = {
  'nft burn': 'is already burned',
  'nft freeze': 'is already frozen or burned',
  'nft transfer': 'already belongs to the receiver',
}

const ALREADY_RUN_NOTE = 'This plan has already run. Nothing was repeated.'

interface StartedPlan {
  promise: Promise<ToolResponse>
  stop: AbortController
  seen: PlanProgress
}

interface Caller {
  signal: AbortSignal
  progress: ReportProgress
}

/** Runs each plan only once. A repeated call waits for the running plan or returns the stored response. */
export class RunningPlans {
  readonly #runner: Runner
  readonly #plans: Plans
  readonly #callTimeoutMs: number
  readonly #stopSignal: AbortSignal
  /** Running plans by ID. */
  readonly #started = new Map<string, StartedPlan>()

  /** @param callTimeout milliseconds after which a call returns even if its plan is still running */
  constructor(runner: Runner, plans: Plans, { callTimeout, stop }: { callTimeout: number; stop: AbortSignal }) {
    this.#runner = runner
    this.#plans = plans
    this.#callTimeoutMs = callTimeout
    this.#stopSignal = stop
  }

  /** @param check throws if the effect of the plan may differ from the effect that was shown */
  async runPlan(tool: Tool, plan: Plan, caller: Caller, check: () => Promise<void>): Promise<ToolResponse> {
    if (!this.#started.has(plan.id)) {
      if (plan.state === 'done' && plan.answer !== null) return { ...plan.answer, next: ALREADY_RUN_NOTE }
      await check()
    }
    const work = this.#started.get(plan.id) ?? this.#start(tool, plan)
    const onCancel = () => work.stop.abort(new GdnError('interrupted', 'the client canceled the call'))
    caller.signal.addEventListener('abort', onCancel)
    const beat = setInterval(() => {
      const { message, done, total } = work.seen
      caller.progress(message, done, total)
    }, HEARTBEAT_MS)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), this.#callTimeoutMs)
    })
    try {
      const response = await Promise.race([work.promise, late])
      if (response !== null) return response
      const next = `The plan is still running. To wait for it, call ${tool.name} again with dry_run false and this plan_id.`
      return runningResponse(plan.id, next, { ...work.seen })
    } finally {
      clearTimeout(timer)
      clearInterval(beat)
      caller.signal.removeEventListener('abort', onCancel)
    }
  }

  /** Resolves when no plan is running. */
  async waitUntilSettled(): Promise<void> {
    await Promise.allSettled([...this.#started.values()].map(({ promise }) => promise))
  }

  #start(tool: Tool, plan: Plan): StartedPlan {
    const stop = new AbortController()
    const seen: PlanProgress = { run: null, message: 'running' }
    const signal = AbortSignal.any([stop.signal, this.#stopSignal])
    const promise = this.#run(tool, plan.id, { signal, seen }).finally(() => this.#started.delete(plan.id))
    // Avoid an unhandled rejection if no call is waiting for the plan any more.
    promise.catch(() => {})
    const started = { promise, stop, seen }
    this.#started.set(plan.id, started)
    return started
  }

  async #run(tool: Tool, id: string, running: { signal: AbortSignal; seen: PlanProgress }): Promise<ToolResponse> {
    // Another call or process may have run the plan since the check.
    const plan = await this.#plans.get(id)
    if (plan.state === 'done' && plan.answer !== null) return { ...plan.answer, next: ALREADY_RUN_NOTE }
    await this.#plans.save({ ...plan, state: 'started' })
    const isBegun = plan.state === 'started'
    const checkPlan: CheckPlan = (intent, atStart = {}) =>
      refuseChanged(plan.shown, isBegun ? intent : { ...intent, ...atStart }, {
        isBegun,
        hint: formatRefusalHint(plan),
        without: REMOVED_REASONS[tool.command],
      })
    const outcome = await this.#runner.run(plan.argv, { ...running, checkPlan })
    const response = { ...firstPageResponse(outcome), plan_id: plan.id }
    const isFinal = outcome.code === 0 || !RETRYABLE_CODES.has(outcome.error?.code ?? 'unexpected')
    if (!isFinal) return { ...response, next: formatNextStep(tool, outcome) }
    await this.#plans.save({ ...plan, state: 'done', answer: response })
    return response
  }
}

/** Returns the hint for a plan that is refused because its effect differs from the effect that was shown. */
const formatRefusalHint = ({ state }: Plan): string =>
  `${state === 'started' ? 'Nothing more was sent.' : 'Nothing was sent.'} Call with dry_run true to plan again.`

/** Returns the next step after an error that isn't a final outcome. */
function formatNextStep({ name }: Tool, { error }: CommandOutcome): string {
  const repeat = `call ${name} again with dry_run false and this plan_id.`
  const isLimit = error?.code === 'max_cost'
  if (isLimit && error.hint?.includes('with max_cost') === true) return 'Create a new plan as described in the hint.'
  if (isOfOperator(error?.hint ?? '')) return `After the operator has changed this, ${repeat}`
  // The limit is an argument of the plan, so a higher limit needs a new plan.
  if (isLimit) return 'The max_cost of this plan is too low. Create a new plan with a higher max_cost.'
  return `To continue, ${repeat}`
}
