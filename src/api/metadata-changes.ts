import { canonicalJson } from '../core/canonical-json.ts'
import type { NftMetadata } from './metadata.ts'

/** A field of metadata whose value differs. A missing value is null. */
export interface MetadataChange {
  /** `title`, `file image`, `attribute level` and so on. */
  field: string
  before: unknown
  after: unknown
}

function fieldsOf({ file_fields, attribute, ...others }: Partial<NftMetadata>): Map<string, unknown> {
  return new Map<string, unknown>([
    ...Object.entries(others),
    ...(file_fields ?? []).map(({ key, url }) => [`file ${key}`, url] as const),
    ...(attribute ?? []).map(({ tag, value }) => [`attribute ${tag}`, value] as const),
  ])
}

/** Returns the fields that differ, in the order of the old metadata, then of the new one. */
export function metadataChanges(before: Partial<NftMetadata>, after: Partial<NftMetadata>): MetadataChange[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((field) => canonicalJson(old.get(field)) !== canonicalJson(now.get(field)))
    .map((field) => ({ field, before: old.get(field) ?? null, after: now.get(field) ?? null }))
}
