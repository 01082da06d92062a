import { formatPlace } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { Art } from './types.ts'

/**
 * Returns a sentence for each trait that has the image of an earlier trait, with both locations.
 *
 * @param hashes the hash of the image of each trait; null if only paths are compared
 */
export function sharedImages({ file, layers }: Art, hashes: readonly string[] | null): string[] {
  const first = new Map<string, { name: string; place: string; file: string }>()
  let index = 0
  return layers.flatMap((layer) =>
    layer.traits.flatMap((trait) => {
      const place = formatPlace({ file, line: trait.place.line })
      const own = { name: quoted(`${layer.name}/${trait.name}`), place, file: quoted(trait.file) }
      const key = hashes?.[index++] ?? trait.path
      const earlier = first.get(key)
      if (earlier === undefined) {
        first.set(key, own)
        return []
      }
      const files = own.file === earlier.file ? own.file : `${own.file} equals ${earlier.file}`
      return [`${own.place}: ${own.name} has the same image as ${earlier.name} (${earlier.place}): ${files}`]
    }),
  )
}
