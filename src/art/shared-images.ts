import { formatPlace } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { Art, ArtIssue } from './types.ts'

/**
 * Returns a warning for each trait that has the same file as an earlier trait, or a file with equal content in the same
 * layer. The warning contains both locations. Across layers, equal images are common, because many are empty.
 *
 * @param hashes the hash of each trait's image; null to compare only paths
 */
export function findSharedImages({ file, layers }: Art, hashes: readonly string[] | null): ArtIssue[] {
  const first = new Map<string, { name: string; place: string; file: string }>()
  let index = 0
  return layers.flatMap((layer) =>
    layer.traits.flatMap((trait) => {
      const place = { file, line: trait.place.line }
      const current = {
        name: quoted(`${layer.name}/${trait.name}`),
        place: formatPlace(place),
        file: quoted(trait.file),
      }
      const hash = hashes?.[index++]
      const keys = [trait.path, ...(hash === undefined ? [] : [`${layer.name}\0${hash}`])]
      const earlier = keys.map((key) => first.get(key)).find((candidate) => candidate !== undefined)
      for (const key of keys) if (!first.has(key)) first.set(key, current)
      if (earlier === undefined) return []
      const files =
        current.file === earlier.file ? current.file : `${current.file} has the same content as ${earlier.file}`
      return [{ place, message: `${current.name} has the same image as ${earlier.name} (${earlier.place}): ${files}` }]
    }),
  )
}
