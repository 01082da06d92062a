import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ColumnMapping } from '../../../manifest/columns.ts'
import type { ManifestOptions, ManifestSource } from '../../../manifest/read.ts'
import type { AddressBook } from '../../../wallet/address-book.ts'
import type { Deps } from '../../deps.ts'
import { type Io, safe } from '../../io/io.ts'
import type { BatchMintFlags } from './flags.ts'

type TargetFlags = Pick<
  BatchMintFlags,
  'contract' | 'blockchain' | 'receiver' | 'sender' | 'dynamic' | 'map' | 'unknownColumns'
>

/** Returns the options for reading a manifest that the flags set. */
export function manifestOptions({ addresses, cwd }: Deps, flags: TargetFlags): ManifestOptions {
  let book: AddressBook | undefined
  return {
    blockchain: flags.blockchain ?? null,
    contractAddress: flags.contract ?? null,
    receiver: flags.receiver ?? null,
    sender: flags.sender ?? null,
    openNames: async () => {
      book = await addresses()
    },
    addressOf(name) {
      if (book === undefined) throw new Error('the names are not open')
      return book.resolve(name, {})
    },
    ...(flags.map === undefined ? {} : { columnMap: flags.map.map(({ key, value }) => [key, value] as const) }),
    ...(flags.unknownColumns === undefined ? {} : { unknownColumns: flags.unknownColumns }),
    ...(flags.dynamic === undefined ? {} : { dynamic: flags.dynamic }),
    localFiles: true,
    fileFolders: [cwd],
  }
}

const MAX_SHOWN = 12
/** The rows of a JSON manifest may each spell their keys in a different way. */
const MAX_MAPPED = 200

/** Collects the mapped columns of a manifest, and prints each of them once. */
export class MappedColumns {
  readonly #meanings = new Map<string, string>()
  readonly #io: Io

  constructor(io: Io) {
    this.#io = io
  }

  /** Meanings by column name. */
  get all(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#meanings)
  }

  readonly add = (mapped: readonly ColumnMapping[]): void => {
    const fresh = mapped.filter(([name]) => !this.#meanings.has(name)).slice(0, MAX_MAPPED - this.#meanings.size)
    if (fresh.length === 0) return
    for (const [name, meaning] of fresh) this.#meanings.set(name, meaning)
    const shown = fresh.slice(0, MAX_SHOWN).map(([name, meaning]) => `${safe(name)} → ${safe(meaning)}`)
    if (fresh.length > MAX_SHOWN) shown.push(`and ${fresh.length - MAX_SHOWN} more`)
    this.#io.note(`Columns: ${shown.join(', ')}`)
  }
}

/** Returns standard input for `-`, or else the path as typed, so that messages read `drop.csv:7`. */
export function manifestSource({ io }: Deps, manifest: string): ManifestSource {
  if (manifest === '-') return { stdin: io.stdin }
  return { path: manifest }
}

/** Returns the path that identifies a manifest in runs; null for standard input. */
export async function manifestPath({ cwd }: Deps, manifest: string): Promise<string | null> {
  if (manifest === '-') return null
  const path = resolve(cwd, manifest)
  return await realpath(path).catch(() => path)
}
