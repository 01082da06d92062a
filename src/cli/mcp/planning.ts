import { basename } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import type { Intent } from '../deps.ts'
import type { CommandOutcome } from './call.ts'
import { computeFileDigests } from './files.ts'
import type { Plan, Plans, SkippedPlan } from './plans.ts'
import type { LocalFilesIn } from './row-files.ts'
import type { PlanQuote, Runner, RunOptions } from './runner.ts'
import { firstPageResponse, type ToolResponse } from './tool-response.ts'
import type { Toolbox } from './toolbox.ts'
import { type CommandWords, commandWords, type Tool, type Values } from './tools.ts'
import { keptChangesNotes, toRecords, whyNotRunnable } from './why-not-runnable.ts'
import { Wording } from './wording.ts'

export interface PlanningOptions {
  /** The real path of the folder that must contain all files. */
  root: string
  /** Flags, such as `--local`, that are added to each command that supports them. */
  operatorFlags: readonly string[]
  /** The file with the password for keystores. If null, wallets can neither be created nor sign. */
  passwordFile: string | null
  /**
   * Returns the local files of a manifest. The function is injected, because importing it would make every command load
   * one more file.
   */
  localFilesIn: LocalFilesIn
}

/** Flags of apply that aren't part of a saved plan. */
const APPLY_FLAG_PATTERN = /^--(only|max-burns|max-cost|price|timeout)\b/
/** Commands whose effects can't be undone. */
const IRREVERSIBLE_COMMANDS = new Set(['nft burn', 'nft freeze'])

type Caller = Pick<RunOptions, 'signal' | 'progress' | 'checkPlan'>

/** Plans tool calls, and checks that a plan still has the effect that the user was shown. */
export class Planning {
  readonly #runner: Runner
  readonly #plans: Plans
  readonly #toolbox: Toolbox
  readonly #options: PlanningOptions

  constructor(runner: Runner, plans: Plans, toolbox: Toolbox, options: PlanningOptions) {
    this.#runner = runner
    this.#plans = plans
    this.#toolbox = toolbox
    this.#options = options
  }

  /** Previews a tool call without changing anything, and saves it as a plan. */
  async plan(tool: Tool, values: Values, caller: Caller): Promise<ToolResponse> {
    const files = await computeFileDigests(tool, values, this.#options)
    const words = commandWords(tool, values, tool.flags)
    const [setup, names] = [await this.#digestSetup(caller.signal), await this.#digestNames(caller.signal)]
    const planned = { tool: tool.name, values, files, setup, names }
    const { plan, skipped } = await this.#plans.add(planned, (id) => this.#formatArgv(tool, words, id))
    let shownIntent: Intent = {}
    const outcome = await this.#preview(tool, values, plan.id, {
      ...caller,
      checkPlan(intent, atStart) {
        shownIntent = { ...intent, ...atStart }
      },
    })
    const response = firstPageResponse(outcome)
    if (outcome.code !== 0) return response
    const canSign = this.#options.passwordFile !== null
    const reason = plan.state === 'planned' ? whyNotRunnable(tool, values, outcome, canSign) : null
    const wording = new Wording(tool, this.#toolbox)
    const keptText = keptChangesNotes(outcome, (text) => wording.message(text))
    if (reason !== null) return { ...response, next: reason + keptText }
    await this.#plans.recordShown(plan.id, shownIntent)
    const rest = tool.command === 'apply' ? ' For the rest, call plan with the same arguments and offset.' : ''
    const part = response.page === null ? '' : `This is only the beginning of the plan.${rest} `
    const forGood = isIrreversible(tool, outcome) ? " The changes can't be undone: ask the user first." : ''
    const next = `${part}Nothing was changed.${keptText}${forGood} To run the plan, call ${tool.name} with dry_run false and this plan_id, and nothing else.${describeSkippedPlans(skipped)}`
    return { ...response, status: 'planned', plan_id: plan.id, cost: outcome.cost, next }
  }

  /** @throws GdnError `refused` if the effect of the plan may differ from the effect that was shown */
  async check(tool: Tool, plan: Plan, caller: Caller): Promise<void> {
    if (plan.setup !== (await this.#digestSetup(caller.signal))) {
      throw changedPlanError('the directory or the configuration changed after the plan was created')
    }
    // Links may point to different files than when the plan was created.
    const digests = await computeFileDigests(tool, plan.values, this.#options)
    const file = Object.keys(plan.files).find((path) => plan.files[path] !== digests[path])
    if (file !== undefined) throw changedPlanError('changed after the plan was created', file)
    // The receivers of a started plan are already resolved, and some changes may already be made.
    if (plan.state !== 'planned') return
    if (plan.names !== (await this.#digestNames(caller.signal))) {
      throw changedPlanError('the saved wallets changed after the plan was created')
    }
  }

  async #preview(tool: Tool, values: Values, id: string, caller: Caller): Promise<CommandOutcome & PlanQuote> {
    const { command } = tool
    const run = (previewed: Tool, more: string) => {
      const { flags, args } = commandWords(tool, values, previewed.flags)
      const applied = command === 'apply' ? values : undefined
      return this.#runner.run(this.#runner.argv(previewed, { flags: [...flags, more], args }), { ...caller, applied })
    }
    if (command === 'apply') return await run(this.#toolbox.get('plan'), `--out=${this.#plans.toChangePlanPath(id)}`)
    if (tool.flags.has('--dry-run')) return await run(tool, '--dry-run')
    return { code: 0, data: { command: `gdn ${command}`, arguments: values }, error: null, cost: undefined }
  }

  #formatArgv(tool: Tool, { flags, args }: CommandWords, id: string): string[] {
    const isApply = tool.command === 'apply'
    const ownFlags = isApply ? flags.filter((word) => APPLY_FLAG_PATTERN.test(word)) : [...flags]
    if (tool.flags.has('--yes')) ownFlags.push('--yes')
    // Each NFT is a separate operation, but the plan ID can identify only one operation.
    if (tool.flags.has('--operation') && args.length <= 1) ownFlags.push(`--operation=${id}`)
    return this.#runner.argv(tool, { flags: ownFlags, args: isApply ? [this.#plans.toChangePlanPath(id)] : args })
  }

  async #digestSetup(signal: AbortSignal): Promise<string> {
    const { root, operatorFlags } = this.#options
    return await this.#digestOutput('config list', signal, [root, ...operatorFlags])
  }

  async #digestNames(signal: AbortSignal): Promise<string> {
    return await this.#digestOutput('wallet list', signal)
  }

  /**
   * Returns the digest of a command's output.
   *
   * @throws GdnError if the command fails
   */
  async #digestOutput(command: string, signal: AbortSignal, more: readonly string[] = []): Promise<string> {
    const argv = this.#runner.argv(this.#toolbox.get(command), { flags: [], args: [] })
    const { code, data, error } = await this.#runner.run(argv, { signal })
    if (code === 0) return digest([data, ...more])
    throw new GdnError('invalid_config', error?.message ?? `gdn ${command} failed`, { hint: error?.hint ?? undefined })
  }
}

const digest = (value: unknown) => sha256Hex(JSON.stringify(value))

const isIrreversible = ({ command }: Tool, outcome: CommandOutcome): boolean =>
  IRREVERSIBLE_COMMANDS.has(command) ||
  toRecords(outcome).some(({ irreversible, action }) => irreversible === true || action === 'burn')

const changedPlanError = (message: string, file?: string) =>
  new GdnError('refused', message, {
    place: file === undefined ? undefined : { file },
    hint: 'Nothing was sent. Call with dry_run true to plan again.',
  })

const MAX_LISTED_PLANS = 3

/** Returns a note that lists the skipped plans; an empty string if there are none. */
function describeSkippedPlans(skipped: readonly SkippedPlan[]): string {
  if (skipped.length === 0) return ''
  const listedPlans = skipped.slice(0, MAX_LISTED_PLANS).map(({ file, reason }) => `${basename(file)}: ${reason}`)
  const more = skipped.length > MAX_LISTED_PLANS ? `; and ${skipped.length - MAX_LISTED_PLANS} more` : ''
  return ` Skipped these plans in the folder agent-plans of the state directory: ${listedPlans.join('; ')}${more}. If one of them was started, this plan may send the same requests again: ask the user.`
}
