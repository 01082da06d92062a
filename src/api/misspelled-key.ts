import { distance } from '../core/nearest.ts'
import { tagProblem } from './tag-problem.ts'

/**
 * Fields for which an extra key may be a typing error. `title` isn't included, because metadata without a title is
 * rejected.
 */
const LONG_KEYS = ['description', 'attribute', 'file_fields']
const MAX_EDITS = 2

/** A misspelled key or tag, with its path and the fix. A mint would make the error permanent. */
interface MisspelledKey {
  path: (string | number)[]
  message: string
  hint: string
}

/**
 * Returns the first extra key in a request's metadata that resembles a field, or the first attribute whose tag contains
 * a type; null if there is none.
 */
export function findMisspelledKey(request: unknown): MisspelledKey | null {
  const { metadata = [] } = Object(request) as { metadata?: unknown }
  for (const [index, nftMetadata] of [metadata].flat().entries()) {
    const at = ['metadata', ...(Array.isArray(metadata) ? [index] : [])]
    for (const key of Object.keys(Object(nftMetadata))) {
      const longKey = LONG_KEYS.find(
        (name) => name !== key && distance(key.toLowerCase().slice(0, 64), name) <= MAX_EDITS,
      )
      if (longKey !== undefined) {
        const hint = 'To add an extra key with this name, use a manifest with the column extra:<key>.'
        return { path: [...at, key], message: `is not a field of metadata: did you mean "${longKey}"?`, hint }
      }
    }
    const misplaced = findMisplacedType(nftMetadata)
    if (misplaced !== null) return { ...misplaced, path: [...at, ...misplaced.path] }
  }
  return null
}

/** Returns the first attribute of a metadata object whose tag contains a type; null if there is none. */
export function findMisplacedType(metadata: unknown): MisspelledKey | null {
  const { attribute } = Object(metadata) as { attribute?: unknown }
  for (const [index, entry] of Array.isArray(attribute) ? attribute.entries() : []) {
    const { tag } = Object(entry) as { tag?: unknown }
    const problem = typeof tag === 'string' ? tagProblem(tag) : null
    if (problem === null) continue
    const hint =
      'For a typed trait, add the fields display_type and max_value, and use only the name of the trait as the tag.'
    return { path: ['attribute', index, 'tag'], message: problem, hint }
  }
  return null
}
