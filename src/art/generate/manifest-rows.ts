import { manifestCell } from '../../core/spreadsheet-text.ts'
import type { Art, ArtLayer, EditionItem } from '../types.ts'

/** Returns the manifest rows of an edition: a header, and one row for each NFT. */
export function manifestRows(
  art: Art,
  items: readonly EditionItem[],
  fileOf: (item: EditionItem) => string,
): string[][] {
  const layers = art.layers.filter(({ traits }) => traits.some(({ hidden }) => !hidden))
  const columns = new Map(layers.map((layer) => [layer.name, formatColumn(layer)]))
  for (const { attributes } of art.oneOfOnes) {
    for (const { tag } of attributes) if (!columns.has(tag)) columns.set(tag, `attr:${tag}`)
  }
  const rows = items.map((item) => {
    const values = buildAttributes(art, item)
    const cells = [...columns.keys()].map((tag) => manifestCell(values.get(tag) ?? ''))
    return [String(item.number), ...formatTexts(art, item).map(manifestCell), fileOf(item), ...cells]
  })
  return [['id', 'title', 'description', 'image', ...columns.values()], ...rows]
}

/** Returns the attributes of an NFT, by layer or tag. */
export function buildAttributes(art: Art, { traits, oneOfOne }: EditionItem): Map<string, string> {
  const oneOfOneArt = oneOfOne === null ? undefined : art.oneOfOnes[oneOfOne]
  if (oneOfOneArt !== undefined) return new Map(oneOfOneArt.attributes.map(({ tag, value }) => [tag, value]))
  return new Map(
    art.layers.flatMap(({ name, traits: all }, layer) => {
      const trait = all[traits[layer] ?? -1]
      return trait === undefined || trait.hidden ? [] : [[name, trait.value] as const]
    }),
  )
}

/** Returns the title and the description of an NFT. */
export function formatTexts(
  { title, description, oneOfOnes }: Art,
  { number, oneOfOne }: EditionItem,
): [string, string] {
  const oneOfOneArt = oneOfOne === null ? undefined : oneOfOnes[oneOfOne]
  const fill = (template: string) => template.replaceAll('{number}', String(number))
  return [fill(oneOfOneArt?.title ?? title), fill(oneOfOneArt?.description ?? description)]
}

function formatColumn({ name, type, max }: ArtLayer): string {
  if (type === null) return `attr:${name}`
  return `attr(${type}${max === null ? '' : `,max=${max}`}):${name}`
}
