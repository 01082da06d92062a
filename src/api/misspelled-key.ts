import { distance } from '../core/nearest.ts'

/** Fields for which an extra key may be a typing error. `title` isn't one, because metadata without it is rejected. */
const LONG_KEYS = ['description', 'attribute', 'file_fields']
const MAX_EDITS = 2

/**
 * Returns the first extra key of a request's metadata that looks like a misspelled field, with its path. Such a key
 * would be minted permanently. Returns null if there is none.
 */
export function misspelledKey(request: unknown): { path: (string | number)[]; message: string } | null {
  const { metadata = [] } = Object(request) as { metadata?: unknown }
  for (const [index, one] of [metadata].flat().entries()) {
    for (const key of Object.keys(Object(one))) {
      const meant = LONG_KEYS.find(
        (name) => name !== key && distance(key.toLowerCase().slice(0, 64), name) <= MAX_EDITS,
      )
      if (meant !== undefined) {
        const at = Array.isArray(metadata) ? [index] : []
        return { path: ['metadata', ...at, key], message: `is not a field of metadata: did you mean "${meant}"?` }
      }
    }
  }
  return null
}

export const MISSPELLED_HINT = 'To mint such an extra key, use a manifest with the column extra:<key>.'
