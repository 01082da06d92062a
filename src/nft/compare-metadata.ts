import { CID } from 'multiformats/cid'
import { extraKeys } from '../api/metadata.ts'
import { canonicalJson } from '../core/canonical-json.ts'

/** Metadata as an NFT was requested with. */
export interface RequestedMetadata {
  title: string
  description: string
  file_fields: readonly { key: string; url: string }[]
  attribute?: readonly { tag: string; value: string }[] | undefined
  readonly [extra: string]: unknown
}

/** Something that is not as requested. `found` is null where it is missing. */
export interface Difference {
  what: string
  expected: string
  found: string | null
}

/**
 * What of the metadata file that a token points to is not as requested, by the ERC-721 metadata schema: title is
 * `name`, attributes are `{trait_type, value}`, extra keys stand as they are. A file was taken over from its URL into
 * IPFS: of one that had a CID before, that is compared; of others only that they are there. Further keys of the file
 * are no fault.
 *
 * @param stored the parsed file
 */
export function metadataDifferences(requested: RequestedMetadata, stored: unknown): Difference[] {
  if (stored === null || typeof stored !== 'object' || Array.isArray(stored)) {
    return [{ what: 'metadata', expected: 'a JSON object', found: JSON.stringify(stored) }]
  }
  const file = stored as Readonly<Record<string, unknown>>
  const differences: Difference[] = []
  const expect = (what: string, expected: unknown, isSame = canonicalJson(file[what]) === canonicalJson(expected)) => {
    if (!isSame) differences.push({ what, expected: asText(expected), found: foundText(file, what) })
  }
  expect('name', requested.title)
  expect('description', requested.description)
  for (const { key, url } of requested.file_fields) {
    if (/^ipfs:\/\//i.test(url)) expect(key, url, sameContent(file[key], url))
    else if (/^ar:\/\//i.test(url)) expect(key, url)
    else expect(key, `an ipfs URL of ${url}`, isIpfsUrl(file[key]))
  }
  for (const key of extraKeys(requested)) expect(key, requested[key])
  if (requested.attribute !== undefined) {
    expect(
      'attributes',
      requested.attribute.map(({ tag, value }) => ({ trait_type: tag, value })),
    )
  }
  return differences
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const foundText = (file: Readonly<Record<string, unknown>>, key: string): string | null =>
  Object.hasOwn(file, key) ? asText(file[key]) : null

const isIpfsUrl = (value: unknown): boolean => typeof value === 'string' && splitIpfs(value) !== null

/** Two ipfs URLs of the same content: a CID may be written in either version, and in any base. */
function sameContent(value: unknown, url: string): boolean {
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
