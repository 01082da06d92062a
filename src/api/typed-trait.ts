import type { Attribute } from './traits.ts'

/** Returns the first typed trait in metadata, which may have any form. */
export function findTypedTrait(metadata: unknown): Attribute | undefined {
  const { attribute } = Object(metadata) as { attribute?: unknown }
  if (!Array.isArray(attribute)) return undefined
  return attribute.find((trait: unknown) => (Object(trait) as Partial<Attribute>).display_type !== undefined)
}

/** Returns the first typed trait in the metadata of a request. */
export function findTypedTraitInRequest(request: unknown): Attribute | undefined {
  for (const metadata of [Object(request).metadata].flat()) {
    const trait = findTypedTrait(metadata)
    if (trait !== undefined) return trait
  }
  return undefined
}
