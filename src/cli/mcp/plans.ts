import { randomUUID } from 'node:crypto'
import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { GdnError, messageOf } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { readPrivateFile, writePrivateFile } from '../../core/private-file.ts'
import type { ToolResponse } from './tool-response.ts'

/** Format version. A plan with a different version is never run, because its fields may have different meanings. */
const PLAN_FORMAT_VERSION = 2
/** Maximum size of a plan file in bytes. This is more than the largest message that an agent can send. */
const MAX_PLAN_BYTES = 64 * 1024 * 1024

const planSchema = z.object({
  version: z.literal(PLAN_FORMAT_VERSION),
  id: z.string(),
  tool: z.string(),
  /** The arguments of the tool call. */
  values: z.record(z.string(), z.unknown()),
  /** The command line that runs the plan. */
  argv: z.array(z.string()),
  /** Digests by file, as returned by `computeFileDigests`. If a file has changed, the plan isn't run. */
  files: z.record(z.string(), z.string()),
  /**
   * Digest of the folder and the configuration in effect. If the server or the profile has changed, the plan isn't run.
   */
  setup: z.string(),
  /**
   * Digest of the saved names and their addresses. If it has changed, the plan isn't started, because receivers may
   * differ.
   */
  names: z.string(),
  /** The effect that was shown, and all facts on which it depends. If any of them has changed, the plan isn't run. */
  shown: z.record(z.string(), z.record(z.string(), z.unknown())),
  /** `started`: requests may have been sent. `done`: the outcome is final. */
  state: z.enum(['planned', 'started', 'done']),
  answer: z.unknown(),
})

/** A planned tool call. Each plan is stored in its own file, so that it runs only once, even after a restart. */
export type Plan = Omit<z.output<typeof planSchema>, 'version'> & { answer: ToolResponse | null }

/** A plan that this version of gdn can't run. */
export interface SkippedPlan {
  file: string
  reason: string
}

type PlanInput = Pick<Plan, 'tool' | 'values' | 'files' | 'setup'>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const DAY_MS = 24 * 3_600_000
const MAX_AGE_MS = 7 * DAY_MS
/** Started plans without an outcome are kept longer, because a new plan would repeat their requests. */
const MAX_STARTED_AGE_MS = 90 * DAY_MS

export class Plans {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Saves a plan. If an equal plan was started and has no final outcome, returns that plan instead, because a new plan
   * would repeat its requests.
   *
   * @param argv returns the command line for a plan ID
   * @returns the plan, and the files that were skipped in the search for an equal plan
   */
  async add(
    { names, ...planned }: PlanInput & Pick<Plan, 'names'>,
    argv: (id: string) => string[],
  ): Promise<{ plan: Plan; skipped: SkippedPlan[] }> {
    const skipped: SkippedPlan[] = []
    for (const name of await this.#listFileNames()) {
      const id = parsePlanId(name)
      if (id === null || name !== `${id}.json`) continue
      const earlier = this.#read(id)
      if (typeof earlier === 'string') skipped.push({ file: this.#path(id), reason: earlier })
      else if (earlier?.state === 'started' && isDeepStrictEqual(toPlanInput(earlier), planned)) {
        return { plan: earlier, skipped }
      }
    }
    const id = randomUUID()
    const plan: Plan = { id, ...planned, names, argv: argv(id), shown: {}, state: 'planned', answer: null }
    await this.save(plan)
    return { plan, skipped }
  }

  /** @throws GdnError `not_found_locally`, or `file_error` if this version of gdn can't run the plan */
  async get(id: string): Promise<Plan> {
    const plan = UUID.test(id) ? this.#read(id) : null
    if (typeof plan === 'string') {
      throw new GdnError('file_error', `can't be run by this version of gdn: ${plan}`, {
        place: { file: this.#path(id) },
        hint: 'Nothing was sent. Use the version of gdn that created the plan. If the plan was started, a new plan may send the same requests again.',
      })
    }
    if (plan !== null) return plan
    throw new GdnError('not_found_locally', 'there is no such plan', {
      place: { field: 'plan_id' },
      hint: 'Nothing was sent. Call the tool with dry_run true to create a plan.',
    })
  }

  async save(plan: Plan): Promise<void> {
    await writePrivateFile(this.#path(plan.id), JSON.stringify({ version: PLAN_FORMAT_VERSION, ...plan }))
  }

  /** Records the effect that was shown for a plan. A started plan can be shown again with its remaining effect. */
  async recordShown(id: string, intent: Plan['shown']): Promise<void> {
    const plan = await this.get(id)
    if (plan.state !== 'done') await this.save({ ...plan, shown: intent })
  }

  /** Returns the path of the file that `gdn plan --out` writes and `gdn apply` reads. */
  toChangePlanPath(id: string): string {
    return join(this.#folder, `${id}.changes.json`)
  }

  /**
   * Deletes plans that were last saved more than a week ago, or 90 days ago if they were started and have no outcome.
   * Keeps plans that this version of gdn can't run.
   */
  async prune(now: number): Promise<void> {
    for (const name of await this.#listFileNames()) {
      const id = parsePlanId(name)
      const path = join(this.#folder, name)
      const stats = await fs.lstat(path).catch(() => null)
      if (id === null || stats?.isFile() !== true) continue
      const plan = this.#read(id)
      const keptMs = typeof plan === 'object' && plan?.state === 'started' ? MAX_STARTED_AGE_MS : MAX_AGE_MS
      if (typeof plan !== 'string' && stats.mtimeMs < now - keptMs) await fs.rm(path, { force: true })
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.json`)
  }

  async #listFileNames(): Promise<string[]> {
    return await fs.readdir(this.#folder).catch(() => [])
  }

  /** Returns a plan; null if it doesn't exist; or the reason why this version of gdn can't run it. */
  #read(id: string): Plan | string | null {
    try {
      const bytes = readPrivateFile(this.#path(id), { maxBytes: MAX_PLAN_BYTES })
      if (bytes === null) return null
      const json = parseJson(bytes.toString('utf8'))
      const checked = planSchema.safeParse(json)
      if (!checked.success || checked.data.id !== id) return planFileProblem(json)
      const { version: _version, ...plan } = checked.data
      return plan as Plan
    } catch (error) {
      return messageOf(error)
    }
  }
}

/** Returns the plan ID in a file name; null if the file doesn't belong to a plan. */
function parsePlanId(name: string): string | null {
  const id = name.slice(0, name.indexOf('.'))
  return UUID.test(id) ? id : null
}

/** Returns the reason why this version of gdn can't run a plan. Doesn't quote the file, which may contain any text. */
function planFileProblem(json: unknown): string {
  if (json === null || typeof json !== 'object') return 'it is damaged'
  const version = 'version' in json ? json.version : undefined
  if (version === PLAN_FORMAT_VERSION) return 'it is damaged'
  return `it has ${Number.isSafeInteger(version) ? `version ${version}` : 'no version'}, but this version of gdn supports version ${PLAN_FORMAT_VERSION}`
}

const toPlanInput = ({ tool, values, files, setup }: Plan): PlanInput => ({ tool, values, files, setup })
