import { realpath } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { anyAddressProblem } from '../../../api/address.ts'
import { isEnsName } from '../../../api/ens-name.ts'
import { findProjectFileIn } from '../../../config/project-file.ts'
import type { Settings } from '../../../config/settings.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { listSome } from '../../../core/list-some.ts'
import { sha256Hex } from '../../../core/sha256-hex.ts'
import { type ColumnMapping, meaningProblem } from '../../../manifest/columns.ts'
import type { ManifestOptions, ManifestSource } from '../../../manifest/read.ts'
import type { AddressBook } from '../../../wallet/address-book.ts'
import type { Deps } from '../../deps.ts'
import { type Io, safe } from '../../io/io.ts'
import { RowNames } from '../../request/row-names.ts'
import type { BatchMintFlags } from './flags.ts'

type TargetFlags = Pick<
  BatchMintFlags,
  'contract' | 'blockchain' | 'receiver' | 'sender' | 'dynamic' | 'map' | 'unknownColumns' | 'ccip'
>

type ColumnSettings = Pick<Settings, 'columnMap' | 'unknownColumns'>

/**
 * Returns the options for reading a manifest, from the flags and the project's file. Unless `withEnsNames` adds support
 * for them, ENS names are errors.
 *
 * @throws GdnError `invalid_config`, `usage`
 */
export function manifestOptions(
  deps: Deps,
  flags: TargetFlags,
  { columnMap, unknownColumns: inProject }: ColumnSettings = { columnMap: null, unknownColumns: null },
): ManifestOptions {
  const unknownColumns = flags.unknownColumns ?? inProject?.value
  return {
    blockchain: flags.blockchain ?? null,
    contractAddress: flags.contract ?? null,
    receiver: checkAddress(flags.receiver, '--receiver'),
    sender: checkAddress(flags.sender, '--sender'),
    ...createNameResolver(deps),
    namesDigest: async () => hashNames(await deps.addresses()),
    columnMap: flags.map?.map(({ key, value }) => [key, value] as const),
    defaultMap: columnMap === null ? undefined : checkColumnMap(columnMap),
    unknownColumns,
    dynamic: flags.dynamic,
    localFiles: true,
    fileFolders: [deps.cwd],
  }
}

/**
 * Returns functions that resolve names such as `@alice`. The address book is opened only if a manifest or list contains
 * a name.
 */
export function createNameResolver({
  addresses,
}: Pick<Deps, 'addresses'>): Required<Pick<ManifestOptions, 'addressOf' | 'openNames'>> {
  let book: AddressBook | undefined
  return {
    openNames: async () => {
      book = await addresses()
    },
    addressOf(name) {
      if (book === undefined) throw new Error('the address book is not open')
      return book.resolve(name, {})
    },
  }
}

function hashNames(book: AddressBook): string {
  // An unreadable address book is reported when a name is needed.
  if (book.problem !== null) return ''
  const lines = book.list().map(({ name, address }) => `${name} ${address ?? ''}\n`)
  return sha256Hex(lines.sort().join(''))
}

/**
 * Returns options that also permit ENS names in rows and flags. Use the same options for each pass of a command over
 * the manifest.
 */
export const withEnsNames = (
  deps: Deps,
  settings: Settings,
  flags: TargetFlags,
  options: ManifestOptions,
): ManifestOptions & { ensNames: RowNames } => ({ ...options, ensNames: new RowNames(deps, settings, flags) })

/**
 * Rejects an address that is invalid on every blockchain. A later check of each row compares the address with the row's
 * blockchain.
 */
function checkAddress(value: string | undefined, flag: string): string | null {
  const problem = value === undefined || isEnsName(value) ? null : anyAddressProblem(value)
  if (problem !== null) throw flagError(flag, problem)
  return value ?? null
}

/** Checks the attribute and file names in a column map, because the configuration schema doesn't check them. */
function checkColumnMap({ value, from }: NonNullable<Settings['columnMap']>): ColumnMapping[] {
  const map = Object.entries(value)
  for (const [column, meaning] of map) {
    const problem = meaningProblem(meaning)
    if (problem !== null)
      throw new GdnError('invalid_config', problem, { place: { file: from, field: `map.${column}` } })
  }
  return map
}

const MAX_SHOWN_MAPPINGS = 12
/**
 * Maximum number of mapped columns. The number is limited because each row of a JSON manifest may spell its keys
 * differently.
 */
const MAX_MAPPED_COLUMNS = 200

/** Collects the mapped columns of a manifest and prints each column once. */
export class MappedColumns {
  readonly #meanings = new Map<string, string>()
  readonly #io: Io
  readonly #settings: ColumnSettings

  constructor(io: Io, settings: ColumnSettings) {
    this.#io = io
    this.#settings = settings
  }

  /** The meaning of each mapped column, by column name. */
  get all(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#meanings)
  }

  readonly add = (mapped: readonly ColumnMapping[]): void => {
    const fresh = mapped
      .filter(([name]) => !this.#meanings.has(name))
      .slice(0, MAX_MAPPED_COLUMNS - this.#meanings.size)
    if (fresh.length === 0) return
    for (const [name, meaning] of fresh) this.#meanings.set(name, meaning)
    const shownMappings = fresh
      .slice(0, MAX_SHOWN_MAPPINGS)
      .map(([name, meaning]) => `${safe(name)} → ${safe(meaning)}`)
    const file = this.#findConfigFile(fresh)
    this.#io.note(`Columns: ${listSome(shownMappings, fresh.length)}${file === null ? '' : ` (${safe(file)})`}`)
  }

  /** Returns the path of the project's file if this file maps at least one of the columns. */
  #findConfigFile(mapped: readonly ColumnMapping[]): string | null {
    const { columnMap, unknownColumns } = this.#settings
    const names = Object.keys(columnMap?.value ?? {}).map((name) => name.toLowerCase())
    if (columnMap !== null && mapped.some(([name]) => names.includes(name.toLowerCase()))) return columnMap.from
    const as = unknownColumns?.value
    const isUnknown = mapped.some(([name, meaning]) => meaning === `${as}:${name}` || meaning === as)
    return isUnknown ? (unknownColumns?.from ?? null) : null
  }
}

/**
 * Returns standard input for `-`, or else the path as typed, so that messages contain locations such as `drop.csv:7`.
 */
export function manifestSource({ io }: Deps, manifest: string): ManifestSource {
  if (manifest === '-') return { stdin: io.stdin }
  return { path: manifest }
}

/** Warns about a project file beside the manifest that isn't in effect. gdn searches only from the current folder. */
export async function warnOfUnreadProjectFile(
  { cwd, io }: Pick<Deps, 'cwd' | 'io'>,
  manifest: string,
  { projectFile }: Pick<Settings, 'projectFile'>,
): Promise<void> {
  if (manifest === '-') return
  const path = await findProjectFileIn(dirname(resolve(cwd, manifest)))
  if (path === null || path === projectFile) return
  io.warn(safe(`${path} is ignored. gdn looks for a project file only in the current folder and its parent folders.`))
}

/** Returns the path that identifies a manifest in runs; null for standard input. */
export async function resolveManifestPath({ cwd }: Deps, manifest: string): Promise<string | null> {
  if (manifest === '-') return null
  const path = resolve(cwd, manifest)
  return await realpath(path).catch(() => path)
}
