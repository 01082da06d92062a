import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { BatchOptions, BatchSummary } from '../../src/batch/types.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { FakeHostedApi, type FakeOptions } from '../helpers/fake-hosted-api.ts'
import { seededFrom } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { Machine } from './simulation.ts'
import { RECEIVERS, row } from './simulation-rows.ts'

/** The probability that a request fails, in a world with faults. */
const FAULTS = 0.12

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** A row of a manifest. */
export interface Piece {
  /** Identifies the row in all manifests, and is part of its title and of its ID. */
  n: number
  /** Distinguishes intended duplicates. */
  copy: number
  /** Changes with each edit of the title. */
  version: number
  /** Index in RECEIVERS. */
  receiver: number
  hasId: boolean
  /** An ID in place of the row's own, after the IDs of a manifest were shifted. */
  id?: string
  /** Whether the row has a local image, which is in the folder of its manifest. */
  hasImage: boolean
  /** The values before the first edit since the last finished run. */
  before?: { version: number; receiver: number } | undefined
}

/** A row that is minted to each receiver of a list. */
export interface List {
  n: number
  version: number
  hasImage: boolean
  receivers: number[]
}

function urlOf(path: string): string {
  const digits = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 58)
  return `ipfs://b${digits.replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)] ?? '')}`
}

/** A server that stores each file under a URL of its content, as IPFS does. */
class ContentApi extends FakeHostedApi {
  override async upload(path: string): Promise<{ url: string }> {
    this.uploads.push(path)
    return { url: urlOf(path) }
  }
}

const keyOf = ({ n, copy }: Piece) => (copy === 0 ? `p${n}` : `p${n}c${copy}`)
export const idOf = (piece: Piece) => piece.id ?? keyOf(piece)
const titleOf = ({ n, version }: { n: number; version: number }) => `P${n}v${version}`
const shown = (piece: Piece) =>
  `${piece.hasId ? `${idOf(piece)}:` : ''}${titleOf(piece)}${piece.copy === 0 ? '' : `(copy ${piece.copy})`}@${piece.receiver}${piece.hasImage ? '+image' : ''}`

interface MintedMetadata {
  title: string
  file_fields: { url: string }[]
}

/** Returns the title, the receiver and the URLs of the files of an NFT. */
function contentOf(metadata: unknown, receiver: string): string {
  const { title, file_fields } = metadata as MintedMetadata
  return `${title}|${receiver}|${file_fields.map(({ url }) => url).join()}`
}

/** A machine with manifests, images, lists and a server, all of which a seed determines. */
export class World {
  readonly machine: Machine
  readonly server: FakeHostedApi
  readonly manifests = new Map<string, Piece[]>()
  /** The rows that were deleted from each manifest. */
  readonly removed = new Map<string, Piece[]>()
  readonly lists = new Map<string, List>()
  /** The keys of rows that had an ID in any manifest. */
  readonly identified = new Set<string>()
  /** What happened, to read after a failure. */
  readonly log: string[] = []
  /** Number of outcomes by kind. */
  readonly figures: Record<string, number>
  readonly random: () => number
  readonly root: string
  /** The copies of each content that manifests have had, without images. */
  readonly #copies = new Map<string, Set<string>>()
  /**
   * The rows with IDs whose NFTs had other content when a run without a record of them began. A run may adopt such an
   * NFT, and then doesn't know its content. Not checked if the state was lost.
   */
  readonly #forgotten = new Set<number>()
  /** Whether the state was lost, or restored from a backup. */
  hasForgotten = false
  readonly #versions = new Map<number, number>()
  #next = 1

  private constructor(machine: Machine, root: string, random: () => number, figures: Record<string, number>) {
    this.machine = machine
    this.root = root
    this.random = random
    this.figures = figures
    const kind = this.any(['references', 'idempotency', 'neither'] as const)
    const hasFaults = this.chance(0.5)
    const faultOf: FakeOptions['faultOf'] = () =>
      hasFaults && this.chance(FAULTS)
        ? {
            fault: this.any(['cut_before', 'cut_after', 'status_before', 'status_after', 'not_sent'] as const),
            status: this.any([500, 502]),
          }
        : null
    const idempotency = kind === 'idempotency' || (kind === 'references' && this.chance(0.5))
    this.server = new ContentApi({
      idempotency,
      references: kind === 'references',
      now: machine.time.now,
      faultOf,
    })
    this.log.push(`# server: ${kind}, idempotency ${idempotency}, faults ${hasFaults}`)
  }

  static async start(seed: number, figures: Record<string, number>): Promise<World> {
    return new World(await Machine.start(), await temporaryFolder('gdn-lives-'), seededFrom(seed), figures)
  }

  stop(): Promise<void> {
    rmSync(this.root, { recursive: true, force: true })
    rmSync(this.backup, { recursive: true, force: true })
    return this.machine.stop()
  }

  pick(count: number): number {
    return Math.floor(this.random() * count)
  }

  any<Value>(values: readonly Value[]): Value {
    return values[this.pick(values.length)] as Value
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  count(what: string): void {
    this.figures[what] = (this.figures[what] ?? 0) + 1
  }

  get backup(): string {
    return `${this.machine.stateDir}-backup`
  }

  path(name: string): string {
    return join(this.root, name)
  }

  /** Returns a row with a new content. */
  fresh(hasId: boolean): Piece {
    const hasImage = this.chance(0.3)
    return { n: this.#next++, copy: 0, version: 1, receiver: this.pick(RECEIVERS.length), hasId, hasImage }
  }

  /** Returns the next free copy number of a row. */
  nextCopy({ n }: Piece): number {
    const all = [...this.manifests.values(), ...this.removed.values()].flat()
    return 1 + Math.max(...all.filter((piece) => piece.n === n).map(({ copy }) => copy))
  }

  /** Returns a version of a row's title: a new one, or any that the row had. */
  versionFor({ n }: Piece, isNew: boolean): number {
    const newest = this.#versions.get(n) ?? 1
    if (!isNew) return 1 + this.pick(newest)
    this.#versions.set(n, newest + 1)
    return newest + 1
  }

  wasIdentified(piece: Piece): boolean {
    return this.identified.has(keyOf(piece))
  }

  /** Writes a manifest. Images that its folder lacks are copied from another folder, or created. */
  write(name: string, from = name): void {
    const pieces = this.manifests.get(name) ?? []
    const folder = dirname(this.path(name))
    mkdirSync(folder, { recursive: true })
    writeFileSync(this.path(name), '')
    for (const piece of pieces) {
      if (piece.hasId) this.identified.add(keyOf(piece))
      const content = `${titleOf(piece)}|${RECEIVERS[piece.receiver]}`
      this.#copies.set(content, (this.#copies.get(content) ?? new Set()).add(keyOf(piece)))
      const [image, source] = [this.imageOf(name, piece), this.imageOf(from, piece)]
      if (!piece.hasImage || existsSync(image)) continue
      if (existsSync(source)) cpSync(source, image)
      else this.writeImage(name, piece, '')
    }
    this.log.push(`# ${name}: ${pieces.map(shown).join(' ')}`)
  }

  /** Excludes rows from the check for duplicates that a run may adopt although their NFTs have other content. */
  exceptAdopted(name: string): void {
    if (!this.hasForgotten) return
    const contents = [...this.server.minted.values()].map(({ metadata, receiver }) => contentOf(metadata, receiver))
    for (const piece of this.manifests.get(name) ?? []) {
      const content = `${titleOf(piece)}|${RECEIVERS[piece.receiver]}|`
      const isMinted = contents.some((one) => one.startsWith(`P${piece.n}v`))
      if (piece.hasId && isMinted && !contents.some((one) => one.startsWith(content))) this.#forgotten.add(piece.n)
    }
  }

  replaceImage(manifest: string, piece: Piece, end: string): void {
    this.writeImage(manifest, piece, end)
    this.log.push(`# image of P${piece.n} beside ${manifest}: ${end}`)
  }

  /** Writes an image that differs from others by its row and its end. */
  writeImage(manifest: string, piece: Pick<Piece, 'n'>, end: string): void {
    writeFileSync(this.imageOf(manifest, piece), Buffer.concat([PIXEL, Buffer.from(`${piece.n}${end}`)]))
  }

  imageOf(manifest: string, { n }: Pick<Piece, 'n'>): string {
    return join(dirname(this.path(manifest)), `p${n}.png`)
  }

  rowsOf(name: string): ManifestRow[] {
    return (this.manifests.get(name) ?? []).map((piece, index) =>
      row(index + 1, {
        id: piece.hasId ? idOf(piece) : null,
        receiver: RECEIVERS[piece.receiver] ?? '',
        metadata: {
          title: titleOf(piece),
          description: 'd',
          file_fields: piece.hasImage ? [{ key: 'image', url: '' }] : [],
        },
        localFiles: piece.hasImage ? [{ key: 'image', path: this.imageOf(name, piece) }] : [],
      }),
    )
  }

  /** Returns the options with which a list is minted, and its files. */
  writeList(name: string): { row: string; list: string; options: Partial<BatchOptions> } {
    const { n, version, receivers, hasImage } = this.lists.get(name) as List
    const [rowPath, list] = [this.path(`${name}.json`), this.path(`${name}.csv`)]
    if (hasImage && !existsSync(this.imageOf(name, { n }))) this.writeImage(name, { n }, '')
    const image = hasImage ? { image: `p${n}.png` } : {}
    writeFileSync(rowPath, JSON.stringify({ title: titleOf({ n, version }), description: 'd', ...image }))
    writeFileSync(list, `receiver\n${receivers.map((index) => `${RECEIVERS[index]}\n`).join('')}`)
    const reading = { list: { path: list, merge: false, skipsContracts: false } }
    return { row: rowPath, list, options: { manifestPath: rowPath, runName: `${name}.json+${name}.csv`, reading } }
  }

  /** Returns the first content that was minted more often than manifests have copies of it. */
  mintedTwice(): string | null {
    const held = new Map<string, number>()
    for (const { metadata, receiver } of this.server.minted.values()) {
      const content = contentOf(metadata, receiver)
      held.set(content, (held.get(content) ?? 0) + 1)
    }
    for (const [content, count] of held) {
      const n = Number(/^P(\d+)v/.exec(content)?.[1])
      if (this.hasForgotten && this.#forgotten.has(n)) continue
      const copies = this.#copies.get(content.split('|').slice(0, 2).join('|'))
      if (count > Math.max(1, copies?.size ?? 1)) return `minted ${count} times: ${content}`
    }
    return null
  }

  /** Returns a row of a finished manifest for which there is no NFT. A row with an ID may have been edited since. */
  lostRow(name: string): string | null {
    const left = [...this.server.minted.values()].map(({ metadata, receiver }) => ({
      title: (metadata as MintedMetadata).title,
      receiver,
    }))
    const pieces = (this.manifests.get(name) ?? []).toSorted((a, b) => Number(a.hasId) - Number(b.hasId))
    for (const piece of pieces) {
      // The row has the NFT of the row that had its ID before.
      if (piece.id !== undefined) continue
      const found = left.findIndex(({ title, receiver }) =>
        piece.hasId
          ? title.startsWith(`P${piece.n}v`)
          : title === titleOf(piece) && receiver === RECEIVERS[piece.receiver],
      )
      if (found < 0) return `no NFT of ${shown(piece)} in ${name}`
      left.splice(found, 1)
    }
    return null
  }

  /** Returns a receiver of a finished list without an NFT. */
  lostReceiver(name: string): string | null {
    const { n, version, receivers } = this.lists.get(name) as List
    const have = [...this.server.minted.values()]
      .filter(({ metadata }) => (metadata as MintedMetadata).title === titleOf({ n, version }))
      .map(({ receiver }) => receiver.toLowerCase())
    const lost = receivers.find((index) => !have.includes((RECEIVERS[index] ?? '').toLowerCase()))
    return lost === undefined ? null : `no NFT of ${name} for receiver ${lost}`
  }

  /** Returns a row of a finished run without an NFT of its own. */
  async lostResult(summary: BatchSummary): Promise<string | null> {
    const seen = new Set<string>()
    for (const { key, nft_gdn_id } of await this.machine.results(summary)) {
      if (nft_gdn_id === null || !this.server.minted.has(nft_gdn_id)) return `no NFT for ${key} of ${summary.run.name}`
      if (seen.has(nft_gdn_id)) return `${key} of ${summary.run.name} shares ${nft_gdn_id}`
      seen.add(nft_gdn_id)
    }
    return null
  }
}
