import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { open, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, extname, relative, resolve, sep } from 'node:path'
import * as z from 'zod'
import { type Blockchain, isBlockchain } from '../api/blockchains.ts'
import { referenceLabelSchema } from '../api/reference-id.ts'
import { TRAIT_TYPES } from '../api/traits.ts'
import type { BatchOptions } from '../batch/types.ts'
import { writeDurably } from '../core/durable-file.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { isObject, parseJson } from '../core/json.ts'
import type { LocalContents } from '../files/local-content.ts'
import { createFileCheck } from '../manifest/local-files.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { PLAN_BEGINNING } from '../manifest/source.ts'
import type { NftChange } from './compare.ts'
import type { ChangePlan, PlannedChange, SavedPlanReader } from './planned.ts'

const VERSION = 1

const headerSchema = z.object({
  gdn_plan: z.literal(VERSION),
  /** SHA-256 of the lines after this one. */
  sha256: z.string(),
  /** The manifest's path relative to the folder of the plan. Null if the manifest isn't a file. */
  manifest: z.string().nullable(),
  run: z.string().nullable(),
  origin: z.string(),
  url: z.string(),
  backend_id: z.string().nullable(),
  incarnation: z.string().nullable(),
  blockchain: z.custom<Blockchain>((value) => typeof value === 'string' && isBlockchain(value)),
  contract_address: z.string(),
  take_over: z.boolean(),
  /** The label of the run. `adopt` contains the labels that it replaces. */
  label: referenceLabelSchema.nullable().default(null),
  adopt: z.array(z.string()).default([]),
  /** Whether the manifest was moved. If so, a machine with a run at the earlier path stores the new path. */
  moved: z.boolean().default(false),
  prune: z.boolean(),
  /** Whether to mint new rows even if sent rows were removed from the manifest. */
  new_rows: z.boolean().default(false),
  /** Whether to mint, without a prompt, rows that equal another row. */
  allow_duplicates: z.boolean().default(false),
  counts: z.record(z.string(), z.number()),
})

export type PlanHeader = z.output<typeof headerSchema>

const pairSchemas = { key: z.string() }
const objectSchema = <Type>() => z.custom<Type>((value) => value !== null && typeof value === 'object')
const burnSchema = z.object({ burn: objectSchema<PlannedChange>() })
const lineSchema = z.object({
  row: z.object({
    line: z.number(),
    id: z.string().nullable(),
    receiver: z.string(),
    receiverName: z.string().optional(),
    sender: z.string().nullable(),
    senderName: z.string().optional(),
    metadata: z.looseObject({
      title: z.string(),
      description: z.string(),
      file_fields: z.array(z.object({ ...pairSchemas, url: z.string() })),
      attribute: z
        .array(
          z.object({
            tag: z.string(),
            value: z.string(),
            display_type: z.enum(TRAIT_TYPES).optional(),
            max_value: z.string().optional(),
          }),
        )
        .optional(),
    }),
    localFiles: z.array(z.object({ ...pairSchemas, path: z.string(), sha256: z.string() })),
  }),
  changes: z.array(objectSchema<NftChange>()),
})

/** Maximum number of characters in a line. A row with its changes is always shorter. */
const MAX_LINE = 16 * 1024 * 1024
const READ_BYTES = 1024 * 1024

interface PlanReading {
  contents: LocalContents
  saved: SavedPlanReader
  /** Folders whose files may be published, in addition to that of the plan. */
  fileFolders: readonly string[]
  signal: AbortSignal
}

interface SaveOptions {
  options: BatchOptions
  takeOver: boolean
  prune: boolean
  allowDuplicates: boolean
  contents: LocalContents
}

/**
 * Writes a plan to a private file. The first line contains the plan's inputs. Each further line contains a row with its
 * changes, or a burn. The plan can therefore be applied without the manifest.
 */
export async function savePlan(
  path: string,
  plan: ChangePlan,
  { options, takeOver, prune, allowDuplicates, contents }: SaveOptions,
): Promise<void> {
  const folder = await realpath(dirname(path))
  const lines = () => planLines(plan, folder, contents)
  const hash = createHash('sha256')
  for await (const text of lines()) hash.update(text)
  const { origin, backend, manifestPath, runName, blockchain, contractAddress } = options
  const first: PlanHeader = {
    gdn_plan: VERSION,
    sha256: hash.digest('hex'),
    manifest: manifestPath === null ? null : relativeTo(folder, manifestPath),
    run: runName ?? null,
    origin,
    url: backend?.url ?? origin,
    backend_id: backend?.id ?? null,
    incarnation: backend?.incarnation ?? null,
    blockchain,
    contract_address: contractAddress,
    take_over: takeOver,
    label: options.label ?? null,
    adopt: [...plan.relabeled.labels],
    moved: plan.movedFrom !== null,
    prune,
    new_rows: options.newRows === true,
    allow_duplicates: allowDuplicates,
    counts: plan.counts,
  }
  await writeDurably(path, async (file) => {
    await file.write(`${JSON.stringify(first)}\n`)
    let text = ''
    for await (const next of lines()) {
      text += next
      if (text.length < 64 * 1024) continue
      await file.write(text)
      text = ''
    }
    await file.write(text)
  })
}

async function* planLines(plan: ChangePlan, folder: string, contents: LocalContents): AsyncGenerator<string> {
  for await (const { row, changes } of plan.rows()) {
    const localFiles = []
    for (const { key, path } of row.row.localFiles) {
      localFiles.push({ key, path: relativeTo(folder, path), sha256: (await contents.read(path)).sha256 })
    }
    yield `${JSON.stringify({ row: { ...row.row, localFiles }, changes })}\n`
  }
  for await (const burn of plan.burns()) yield `${JSON.stringify({ burn })}\n`
}

/**
 * Returns a path relative to the folder of the plan, with `/` as separator. The path is valid on another machine that
 * has the same files.
 */
const relativeTo = (folder: string, path: string): string => relative(folder, path).split(sep).join('/')

/**
 * Throws unless a plan can be saved at a path. A plan replaces only an earlier plan or an empty file.
 * @throws GdnError `file_error`
 */
export async function refuseOtherFile(path: string): Promise<void> {
  const folder = await stat(dirname(path)).catch(() => null)
  if (folder?.isDirectory() !== true) throw unwritablePlanError(path, 'its folder does not exist', 'Create it first.')
  const stats = await stat(path).catch(() => null)
  if (stats === null || (stats.isFile() && stats.size === 0) || (await isPlanFile(path))) return
  throw unwritablePlanError(path, 'already exists and is not a saved plan', 'Use another path.')
}

const unwritablePlanError = (file: string, message: string, hint: string) =>
  new GdnError('file_error', message, { place: { file }, hint })

async function isPlanFile(path: string): Promise<boolean> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(() => null)
  if (file === null) return false
  try {
    // Don't read from a pipe, because it can be read only once, and the manifest is read from it later.
    if (!(await file.stat()).isFile()) return false
    const { buffer } = await file.read({ buffer: Buffer.alloc(PLAN_BEGINNING.length), position: 0 })
    return buffer.toString('latin1') === PLAN_BEGINNING
  } finally {
    await file.close()
  }
}

/** Maximum size of a JSON file in bytes. Larger files are not read. */
const MAX_ROWLESS = 1024 * 1024

/**
 * Returns whether a JSON file contains no rows. Such a file can't be a manifest, so it may have been meant as a plan.
 */
export async function hasNoRows(path: string): Promise<boolean> {
  const stats = await stat(path)
  if (extname(path).toLowerCase() !== '.json' || !stats.isFile() || stats.size > MAX_ROWLESS) return false
  const text = (await readFile(path, 'utf8')).trim()
  const value = parseJson(text)
  if (isObject(value)) return value.title === undefined && value.metadata === undefined
  return value === undefined && !/^[[{]/.test(text)
}

/**
 * Returns the header of a plan; null for any other file.
 * @throws GdnError `usage` for a plan that can't be used
 */
export async function readPlanHeader(path: string, signal: AbortSignal): Promise<PlanHeader | null> {
  if (!(await isPlanFile(path))) return null
  for await (const text of readLines(path, signal)) {
    const parsed = parseJson(text)
    const version = isObject(parsed) ? parsed.gdn_plan : null
    if (Number.isSafeInteger(version) && version !== VERSION) {
      throw planFileError(
        path,
        `is a plan of version ${version}, but this version of gdn supports version ${VERSION}`,
        'Nothing was sent. Run `gdn plan <manifest> --out <file>` again, and review the plan.',
      )
    }
    const checked = headerSchema.safeParse(parsed)
    if (!checked.success) throw editedPlanError(path)
    const { manifest } = checked.data
    return { ...checked.data, manifest: manifest === null ? null : resolve(await realpath(dirname(path)), manifest) }
  }
  throw editedPlanError(path)
}

/**
 * Yields the rows of a plan. If the file was edited, throws after the last row at the latest, so don't use any row
 * before then. A plan may come from another person, so its files are checked like those of a manifest.
 *
 * @throws GdnError `refused` if a local file has changed since the plan was made, or must not be published
 */
export async function* readPlan(
  path: string,
  { sha256 }: PlanHeader,
  { contents, saved, fileFolders, signal }: PlanReading,
): AsyncGenerator<ManifestItem> {
  const hash = createHash('sha256')
  const folder = await realpath(dirname(path))
  const check = createFileCheck([folder, ...fileFolders])
  let isFirst = true
  for await (const text of readLines(path, signal)) {
    if (isFirst) {
      isFirst = false
      continue
    }
    hash.update(`${text}\n`)
    const parsed = parseJson(text)
    const burning = burnSchema.safeParse(parsed)
    if (burning.success) {
      await saved.burn(burning.data.burn)
      continue
    }
    const checked = lineSchema.safeParse(parsed)
    if (!checked.success) throw editedPlanError(path)
    const { row, changes } = checked.data
    const localFiles = row.localFiles.map((file) => ({ ...file, path: resolve(folder, file.path) }))
    for (const file of localFiles) {
      const { problem } = await check(file.path)
      if (problem !== null) throw untrustedPlanError(`${file.key} of line ${row.line} ${problem.message}`)
      if ((await contents.read(file.path)).sha256 !== file.sha256) throw otherFileError(file.path)
    }
    await saved.row(changes)
    yield { row: { ...row, localFiles: localFiles.map(({ key, path }) => ({ key, path })) } }
  }
  if (hash.digest('hex') !== sha256) throw editedPlanError(path)
}

async function* readLines(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const input = createReadStream(path, { signal, encoding: 'utf8', highWaterMark: READ_BYTES })
  let rest = ''
  try {
    for await (const chunk of input as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_LINE) throw editedPlanError(path)
      yield* lines.map((line) => line.replace(/\r$/, ''))
    }
    if (rest !== '') yield rest
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof GdnError) throw error
    throw new GdnError('file_error', `can't be read: ${messageOf(error)}`, { place: { file: path }, cause: error })
  } finally {
    input.destroy()
  }
}

const untrustedPlanError = (message: string) =>
  new GdnError('refused', message, { hint: 'Nothing was sent. Apply only plans that you trust.' })

const otherFileError = (file: string) =>
  new GdnError('refused', 'changed after the plan was created', {
    place: { file },
    hint: 'Nothing was sent. Run `gdn plan <manifest> --out <file>` again, and review the plan.',
  })

const planFileError = (file: string, message: string, hint: string) =>
  new GdnError('usage', message, { place: { file }, hint })

const editedPlanError = (path: string) =>
  planFileError(
    path,
    'the plan was edited or is incomplete',
    'Nothing was sent. Edit the manifest instead, and run `gdn plan <manifest> --out <file>` again.',
  )
