import { formatPlace } from '../../src/core/errors.ts'
import { type ManifestFormat, type ManifestOptions, readManifest } from '../../src/manifest/read.ts'
import type { ManifestIssue, ManifestRow } from '../../src/manifest/row.ts'

export const OPTIONS: ManifestOptions = { blockchain: 'polygon', localFiles: true }

export const ALICE = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
export const BOB = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'

/** Text or bytes like standard input, in chunks of `size` bytes. */
export async function* pieces(content: string | Uint8Array, size = 7): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(content)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export interface ReadResult {
  rows: ManifestRow[]
  issues: ManifestIssue[]
}

export async function read(
  content: string | Uint8Array,
  { format, size, ...options }: Partial<ManifestOptions> & { format?: ManifestFormat; size?: number } = {},
): Promise<ReadResult> {
  const source = { stdin: pieces(content, size), ...(format === undefined ? {} : { format }) }
  const result: ReadResult = { rows: [], issues: [] }
  for await (const item of readManifest(source, { ...OPTIONS, ...options })) {
    if ('row' in item) result.rows.push(item.row)
    else result.issues.push(item.issue)
  }
  return result
}

/** An issue as a person sees it, such as `stdin:2:4 (receiver) receiver is …`. */
export const told = ({ place, message }: ManifestIssue): string => `${formatPlace(place)} ${message}`
