import { formatPlace } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { Art } from './types.ts'

/** Returns a sentence for each trait that has the image file of an earlier trait, with both locations. */
export function sharedImages({ file, layers }: Art): string[] {
  const first = new Map<string, { name: string; place: string }>()
  return layers.flatMap((layer) =>
    layer.traits.flatMap((trait) => {
      const own = { name: quoted(`${layer.name}/${trait.name}`), place: formatPlace({ file, line: trait.place.line }) }
      const earlier = first.get(trait.path)
      if (earlier === undefined) {
        first.set(trait.path, own)
        return []
      }
      return [
        `${own.place}: ${own.name} has the same image as ${earlier.name} (${earlier.place}): ${quoted(trait.file)}`,
      ]
    }),
  )
}
