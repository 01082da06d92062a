import { CID } from 'multiformats/cid'
import { extraKeys } from '../api/metadata.ts'
import { type Attribute, toFileAttribute } from '../api/traits.ts'
import { canonicalJson } from '../core/canonical-json.ts'

/** The metadata in the request for an NFT. */
export interface RequestedMetadata {
  title: string
  description: string
  file_fields: readonly { key: string; url: string }[]
  attribute?: readonly Attribute[] | undefined
  readonly [extra: string]: unknown
}

/** Returns metadata from a server in the form of a request, or null if the server returned a different form. */
export function parseRequested(metadata: unknown): RequestedMetadata | null {
  if (metadata === null || typeof metadata !== 'object') return null
  const { title, description, file_fields } = metadata as Partial<RequestedMetadata>
  const isWhole = typeof title === 'string' && typeof description === 'string' && Array.isArray(file_fields)
  return isWhole ? (metadata as RequestedMetadata) : null
}

/** A value that differs from the request. `found` is null if the value is missing. */
export interface Difference {
  what: string
  expected: string
  found: string | null
}

/**
 * Returns the differences between the metadata file of a token and the request. The file follows the ERC-721 metadata
 * schema: the title is `name`, attributes are `{trait_type, value}`, typed traits are numbers, and extra keys are
 * unchanged. Files are copied from their URLs to IPFS, except files with ar URLs. For ipfs URLs, compares the CIDs and
 * paths. For ar URLs, compares the URLs. For other URLs, only checks that the metadata file contains an ipfs URL.
 * Ignores additional keys in the metadata file.
 *
 * @param stored the parsed metadata file
 */
export function findMetadataDifferences(requested: RequestedMetadata, stored: unknown): Difference[] {
  if (stored === null || typeof stored !== 'object' || Array.isArray(stored)) {
    return [{ what: 'metadata', expected: 'a JSON object', found: JSON.stringify(stored) }]
  }
  const file = stored as Readonly<Record<string, unknown>>
  const differences: Difference[] = []
  const expect = (
    field: string,
    expected: unknown,
    isSame = canonicalJson(file[field]) === canonicalJson(expected),
  ) => {
    if (!isSame) differences.push({ what: field, expected: asText(expected), found: foundText(file, field) })
  }
  expect('name', requested.title)
  expect('description', requested.description)
  for (const { key, url } of requested.file_fields) {
    if (/^ipfs:\/\//i.test(url)) expect(key, url, hasSameContent(file[key], url))
    else if (/^ar:\/\//i.test(url)) expect(key, url)
    else expect(key, `an ipfs URL of ${url}`, isIpfsUrl(file[key]))
  }
  for (const key of extraKeys(requested)) expect(key, requested[key])
  if (requested.attribute !== undefined) {
    expect('attributes', requested.attribute.map(toFileAttribute))
  }
  return differences
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const foundText = (file: Readonly<Record<string, unknown>>, key: string): string | null =>
  Object.hasOwn(file, key) ? asText(file[key]) : null

const isIpfsUrl = (value: unknown): boolean => typeof value === 'string' && splitIpfs(value) !== null

/** Returns whether two ipfs URLs refer to the same content. CIDs may have either version and any base. */
function hasSameContent(value: unknown, url: string): boolean {
  const [a, b] = [typeof value === 'string' ? splitIpfs(value) : null, splitIpfs(url)]
  if (a === null || b === null || a.path !== b.path) return false
  return a.cid.code === b.cid.code && Buffer.from(a.cid.multihash.bytes).equals(b.cid.multihash.bytes)
}

function splitIpfs(url: string): { cid: CID; path: string } | null {
  const [, text = '', path = ''] = /^ipfs:\/\/([^/]+)(.*)$/is.exec(url) ?? []
  try {
    return { cid: CID.parse(text), path: path.split('/').filter(Boolean).join('/') }
  } catch {
    return null
  }
}
