import { canonicalJson } from '../core/canonical-json.ts'
import { isObject } from '../core/json.ts'

/** Fields that are added to a request after the comparison. */
const ADDED = new Set(['reference_id', 'reference_ids'])

/** Returns the paths of the fields in which two requests differ, such as `metadata[0].title`. */
export function differencesOf(one: unknown, other: unknown, path = ''): string[] {
  if (isObject(one) && isObject(other) && Array.isArray(one) === Array.isArray(other)) {
    const keys = new Set([...Object.keys(one), ...Object.keys(other)])
    return [...keys]
      .filter((key) => path !== '' || !ADDED.has(key))
      .flatMap((key) => differencesOf(one[key], other[key], pathTo(path, key, Array.isArray(one))))
  }
  return isEqual(one, other) ? [] : [path]
}

const pathTo = (path: string, key: string, isIndex: boolean) =>
  isIndex ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`

function isEqual(one: unknown, other: unknown): boolean {
  if (one === undefined || other === undefined) return one === other
  return canonicalJson(one) === canonicalJson(other)
}
