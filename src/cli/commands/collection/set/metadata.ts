import { createTransport } from '../../../../client/create-transport.ts'
import { lacksEndpoint } from '../../../../client/responses.ts'
import { readProxies } from '../../../../config/proxy.ts'
import { canonicalJson } from '../../../../core/canonical-json.ts'
import { GdnError } from '../../../../core/errors.ts'
import { parseJson } from '../../../../core/json.ts'
import { sleep } from '../../../../core/time.ts'
import { DATA_URI, isInitialMetadata } from '../../../../server/chain/contract-uri.ts'
import { createStorageReader } from '../../../../verify/storage-reader.ts'
import { findCollectionByAddress, knownCollections } from '../../../connect/known-collections.ts'
import { httpUrl } from '../../../connect/open-verifier.ts'
import type { Connection, Deps } from '../../../deps.ts'
import { VERSION } from '../../../version.ts'
import { hashLocalFiles, printMediaWarnings, readMedia, uploadLocalFiles } from '../../nft/media.ts'
import type { SetFlags } from './flags.ts'

/** The metadata of a collection (ERC-7572): name, description, image, banner_image, external_link and other fields. */
export type ContractMetadata = Readonly<Record<string, unknown>>

export interface CollectionMetadataChange {
  /** The current values of the fields that change; null if none of them is set. */
  before: ContractMetadata | null
  /** The new values of these fields, with the paths of local files. */
  after: ContractMetadata
  /** Uploads files and metadata. Returns the URI of the metadata. */
  upload(): Promise<string>
}

/** Sources of a collection's metadata. */
export interface MetadataSource {
  connect: () => Promise<Connection>
  /** Returns the description and image that the collection was created with. */
  creation: () => Promise<ContractMetadata>
  /** The metadata URI in the contract. */
  uri: string
}

/** Returns the metadata change that the flags make; null if the metadata stays the same. */
export async function changeMetadata(
  deps: Deps,
  { connect, creation, uri }: MetadataSource,
  flags: SetFlags,
): Promise<CollectionMetadataChange | null> {
  const { image, banner, description, externalLink } = flags
  if ([image, banner, description, externalLink].every((value) => value === undefined)) return null
  const inContract = await readMetadata(deps, connect, flags, uri)
  const before = isInitialMetadata(uri, inContract) ? { ...inContract, ...(await creation()) } : inContract
  const images = [
    { key: 'image', flag: '--image', value: image },
    { key: 'banner_image', flag: '--banner', value: banner },
  ].flatMap(({ value, ...entry }) => (value === undefined ? [] : { ...entry, value }))
  const media = await readMedia(images, deps.cwd, (key) => images.find((entry) => entry.key === key)?.flag ?? '')
  printMediaWarnings(deps, media)
  const changes = {
    ...Object.fromEntries(media.fields.map(({ key, url }) => [key, url])),
    ...(description === undefined ? {} : { description }),
    ...(externalLink === undefined ? {} : { external_link: externalLink }),
  }
  const after = { ...before, ...changes }
  if (canonicalJson(after) === canonicalJson(before)) return null
  const changed = Object.entries(changes).flatMap(([key, value]) => (value === before[key] ? [] : key))
  const fieldsOf = (metadata: ContractMetadata) =>
    Object.fromEntries(changed.filter((key) => metadata[key] !== undefined).map((key) => [key, metadata[key]]))
  const old = fieldsOf(before)
  return {
    before: Object.keys(old).length === 0 ? null : old,
    after: metadataWithPaths(fieldsOf(after), media.localFiles),
    async upload() {
      const { client } = await connect()
      const urls = await uploadLocalFiles(deps, client, media.localFiles, await hashLocalFiles(media.localFiles))
      const fields = Object.entries(after).map(([key, value]) => [key, urls.get(String(value)) ?? value])
      const content = Buffer.from(`${JSON.stringify(Object.fromEntries(fields))}\n`)
      return (await client.upload(content, 'collection.json', { signal: deps.signals.signal })).url
    },
  }
}

const metadataWithPaths = (metadata: ContractMetadata, files: readonly { path: string; placeholder: string }[]) =>
  Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [
      key,
      files.find(({ placeholder }) => placeholder === value)?.path ?? value,
    ]),
  )

/**
 * Returns the description and image that a collection was created with. Only the server stores them. The contract
 * doesn't.
 */
export async function readCreation(deps: Deps, connection: Connection, contract: string): Promise<ContractMetadata> {
  const collection = findCollectionByAddress(await knownCollections(deps, connection), contract)
  if (collection === undefined) {
    deps.io.warn(
      `This machine has no record of the creation of ${contract}, so the change removes its description and image. To keep them, add --description and --image with their current values.`,
    )
    return {}
  }
  const request = { transaction_gdn_ids: [collection.transaction_gdn_id] }
  try {
    const { collections } = await connection.client.call('getcollections', request, { signal: deps.signals.signal })
    const { description, image } = collections[0] ?? {}
    return { ...(description ? { description } : {}), ...(image ? { image } : {}) }
  } catch (error) {
    if (!lacksEndpoint(error)) throw error
    return {}
  }
}

/** Returns the metadata at the metadata URI of a contract. */
export async function readMetadata(
  deps: Deps,
  connect: () => Promise<Connection>,
  { gateway }: SetFlags,
  uri: string,
): Promise<ContractMetadata> {
  if (uri === '') return {}
  if (uri.startsWith(DATA_URI)) {
    return asMetadata(parseJson(Buffer.from(uri.slice(DATA_URI.length), 'base64')), uri)
  }
  const server = gateway === undefined ? (await connect()).server : null
  const proxy = server?.isLoopback ? undefined : readProxies(deps.env)
  const transport = await createTransport('single', { proxy })
  try {
    const reader = createStorageReader({
      transport,
      clock: { now: () => performance.now(), sleep, random: Math.random },
      userAgent: `gdn/${VERSION}`,
      signal: deps.signals.signal,
      gateway: server?.baseUrl ?? httpUrl(gateway ?? '', '--gateway'),
    })
    const document = await reader.readJson(uri)
    if (document.kind !== 'json') throw unreadableMetadataError(uri, document.message)
    return asMetadata(document.value, uri)
  } finally {
    await transport.close()
  }
}

function asMetadata(value: unknown, uri: string): ContractMetadata {
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as ContractMetadata
  throw unreadableMetadataError(uri, 'it is not a JSON object')
}

const unreadableMetadataError = (uri: string, problem: string) =>
  new GdnError('refused', `the metadata of the collection at ${uri} can't be read: ${problem}`, {
    hint: 'Use --gateway <url> to read the metadata from another gateway, or replace the metadata with --contract-uri <uri>.',
  })
