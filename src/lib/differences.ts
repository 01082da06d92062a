import { canonicalJson } from '../core/canonical-json.ts'
import { isObject } from '../core/json.ts'

/** Fields that are added to a request after the comparison. */
const ADDED_FIELDS = new Set(['reference_id', 'reference_ids'])

/** Returns the paths of the fields in which two requests differ, such as `metadata[0].title`. */
export function findDifferences(first: unknown, second: unknown, path = ''): string[] {
  if (isObject(first) && isObject(second) && Array.isArray(first) === Array.isArray(second)) {
    const keys = new Set([...Object.keys(first), ...Object.keys(second)])
    return [...keys]
      .filter((key) => path !== '' || !ADDED_FIELDS.has(key))
      .flatMap((key) => findDifferences(first[key], second[key], pathTo(path, key, Array.isArray(first))))
  }
  return isEqual(first, second) ? [] : [path]
}

const pathTo = (path: string, key: string, isIndex: boolean) =>
  isIndex ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`

function isEqual(first: unknown, second: unknown): boolean {
  if (first === undefined || second === undefined) return first === second
  return canonicalJson(first) === canonicalJson(second)
}
