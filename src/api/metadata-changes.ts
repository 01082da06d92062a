import { canonicalJson } from '../core/canonical-json.ts'
import type { NftMetadata } from './metadata.ts'

/** A metadata field with different values. A missing value is null. */
export interface MetadataChange {
  /** Name of the field, such as `title`, `file image` or `attribute level`. */
  field: string
  before: unknown
  after: unknown
}

function flattenFields({ file_fields, attribute, ...otherFields }: Partial<NftMetadata>): Map<string, unknown> {
  return new Map<string, unknown>([
    ...Object.entries(otherFields),
    ...(file_fields ?? []).map(({ key, url }) => [`file ${key}`, url] as const),
    ...(attribute ?? []).flatMap(({ tag, value, display_type, max_value }) => [
      [`attribute ${tag}`, value] as const,
      ...(display_type === undefined ? [] : [[`type of attribute ${tag}`, display_type] as const]),
      ...(max_value === undefined ? [] : [[`maximum of attribute ${tag}`, max_value] as const]),
    ]),
  ])
}

/** Returns the fields that differ: first those of the old metadata, in their order, followed by added fields. */
export function metadataChanges(before: Partial<NftMetadata>, after: Partial<NftMetadata>): MetadataChange[] {
  const [old, now] = [flattenFields(before), flattenFields(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((field) => canonicalJson(old.get(field)) !== canonicalJson(now.get(field)))
    .map((field) => ({ field, before: old.get(field) ?? null, after: now.get(field) ?? null }))
}
