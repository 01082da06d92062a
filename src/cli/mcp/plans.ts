import { randomUUID } from 'node:crypto'
import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { GdnError, systemCode } from '../../core/errors.ts'
import { writePrivateFile } from '../../core/private-file.ts'
import type { Answer } from './result.ts'

const planSchema = z.object({
  id: z.string(),
  tool: z.string(),
  /** The arguments that it was planned with. */
  values: z.record(z.string(), z.unknown()),
  /** The words of the command line that do it. */
  argv: z.array(z.string()),
  /** SHA-256 by file: a plan isn't done with other contents. */
  files: z.record(z.string(), z.string()),
  /** Digest of the directory and the configuration in effect: a plan isn't done with another server or profile. */
  setup: z.string(),
  /** Digest of the names of addresses: a plan isn't begun with other receivers. */
  names: z.string(),
  /** `started`: something may have been sent. `done`: its outcome is final. */
  state: z.enum(['planned', 'started', 'done']),
  answer: z.unknown(),
})

/** What a tool is going to do, in a file of its own, so that it is done once, also after a restart. */
export type Plan = z.output<typeof planSchema> & { answer: Answer | null }

type Planned = Pick<Plan, 'tool' | 'values' | 'files' | 'setup'>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const KEPT_MS = 7 * 24 * 3_600_000

export class Plans {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Saves a plan. If the same was planned before, started and not finished, returns that one: a new plan would send the
   * request again.
   *
   * @param argv returns the words for the ID of the plan
   */
  async add({ names, ...planned }: Planned & Pick<Plan, 'names'>, argv: (id: string) => string[]): Promise<Plan> {
    for (const id of await this.#ids()) {
      const earlier = await this.#read(id)
      if (earlier?.state === 'started' && isDeepStrictEqual(plannedIn(earlier), planned)) return earlier
    }
    const id = randomUUID()
    const plan: Plan = { id, ...planned, names, argv: argv(id), state: 'planned', answer: null }
    await this.save(plan)
    return plan
  }

  /** @throws GdnError `not_found_locally` */
  async get(id: string): Promise<Plan> {
    const plan = UUID.test(id) ? await this.#read(id) : null
    if (plan !== null) return plan
    throw new GdnError('not_found_locally', 'there is no such plan', {
      place: { field: 'plan_id' },
      hint: 'Nothing was sent. Call the tool with dry_run true to plan it.',
    })
  }

  async save(plan: Plan): Promise<void> {
    await writePrivateFile(this.#path(plan.id), JSON.stringify(plan))
  }

  /** Path of a further file of a plan. */
  fileOf(id: string): string {
    return join(this.#folder, `${id}.changes.json`)
  }

  /** Deletes plans that nobody has used for a week. */
  async prune(now: number): Promise<void> {
    for (const name of await fs.readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name)
      const found = await fs.stat(path).catch(() => null)
      if (found !== null && found.mtimeMs < now - KEPT_MS) await fs.rm(path, { force: true })
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.json`)
  }

  async #ids(): Promise<string[]> {
    const names = await fs.readdir(this.#folder).catch(() => [])
    return names.flatMap((name) => (UUID.test(name.slice(0, -'.json'.length)) ? [name.slice(0, -'.json'.length)] : []))
  }

  async #read(id: string): Promise<Plan | null> {
    try {
      return planSchema.parse(JSON.parse(await fs.readFile(this.#path(id), 'utf8'))) as Plan
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return null
      throw new GdnError('file_error', "can't be read", { place: { file: this.#path(id) }, cause: error })
    }
  }
}

const plannedIn = ({ tool, values, files, setup }: Plan): Planned => ({ tool, values, files, setup })
