import { readdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Place } from '../core/errors.ts'
import { isInside } from '../core/is-inside.ts'
import { listSome } from '../core/list-some.ts'
import { nearest } from '../core/nearest.ts'
import { quoted } from '../core/quoted.ts'
import type { Art, ArtIssue } from './types.ts'

/** Maximum number of files that a note lists. */
const MAX_LISTED_FILES = 5
const IMAGE_NAME = /^[^.].*\.(?:png|webp|jpe?g|gif|avif|svg)$/i

/**
 * Returns warnings about parts of an `art.yaml` that are valid but probably unintended.
 *
 * @param folder the absolute path of the folder of the file
 */
export async function collectArtWarnings(art: Art, count: number, folder: string): Promise<ArtIssue[]> {
  return [
    ...findEqualTitles(art, count),
    ...findMisspelledTags(art),
    ...findCaseDifferences(art),
    ...(await findUnusedImages(art, folder)),
  ]
}

/**
 * Warns about equal titles. The hint uses quotes, because an unquoted number sign after a space begins a comment in
 * YAML.
 */
function findEqualTitles({ file, title, oneOfOnes }: Art, count: number): ArtIssue[] {
  const generatedCount = count - oneOfOnes.filter((oneOfOne) => oneOfOne.title !== null).length
  if (generatedCount < 2 || title.includes('{number}')) return []
  const fix = `title: ${JSON.stringify(`${title} #{number}`)}`
  return [
    {
      place: { file },
      message: `the title has no {number}, so ${generatedCount} NFTs have the title ${quoted(title)}. To number the titles, enclose the title in quotes, because an unquoted # begins a comment: ${fix}`,
    },
  ]
}

function findMisspelledTags({ file, layers, oneOfOnes }: Art): ArtIssue[] {
  const names = layers.map(({ name }) => name)
  return oneOfOnes.flatMap(({ attributes, place }) =>
    attributes.flatMap(({ tag }) => {
      const near = names.includes(tag) ? undefined : nearest(tag, names)
      // Ignore attributes that differ only in case, because `findCaseDifferences` reports them.
      if (near === undefined || near.toLowerCase() === tag.toLowerCase()) return []
      const message = `the attribute ${quoted(tag)} is not the name of a layer: did you mean ${quoted(near)}?`
      return [{ place: { file, line: place.line }, message }]
    }),
  )
}

/**
 * Finds traits of a layer that differ only in case, and attributes that differ only in case from the name of a layer.
 */
function findCaseDifferences({ file, layers, oneOfOnes }: Art): ArtIssue[] {
  const warnings: ArtIssue[] = []
  const add = (first: Map<string, string>, text: string, { place, of }: { place: Place; of: string | null }) => {
    const earlier = first.get(text.toLowerCase())
    first.set(text.toLowerCase(), earlier ?? text)
    if (earlier === undefined || earlier === text) return
    const subject = of === null ? `the attribute ${quoted(text)}` : `the value ${quoted(text)} of ${quoted(of)}`
    const message = `${subject} differs only in case from ${quoted(earlier)}`
    warnings.push({ place: { file, line: place.line }, message })
  }
  const tags = new Map(layers.map(({ name }) => [name.toLowerCase(), name]))
  const values = new Map(layers.map(({ name }) => [name, new Map<string, string>()]))
  for (const { name, traits } of layers) {
    const layerValues = values.get(name) ?? new Map<string, string>()
    for (const { value, place } of traits) add(layerValues, value, { place, of: name })
  }
  for (const { attributes, place } of oneOfOnes) {
    for (const { tag, value } of attributes) {
      add(tags, tag, { place, of: null })
      add(values.get(tag) ?? new Map(), value, { place, of: tag })
    }
  }
  return warnings
}

/** Finds images and folders that `art.yaml` doesn't name, next to those of the layers. */
async function findUnusedImages({ file, layers, oneOfOnes }: Art, base: string): Promise<ArtIssue[]> {
  const usedImages = new Set([
    ...layers.flatMap(({ traits }) => traits.map(({ path }) => path)),
    ...oneOfOnes.map((oneOfOne) => oneOfOne.path),
  ])
  // Don't search the folder of `art.yaml`, because it also contains other images, such as a placeholder or an output.
  const folders = new Set([...usedImages].map(dirname).filter((folder) => folder !== base))
  const ofTraits = new Set(layers.flatMap(({ traits }) => traits.map(({ path }) => dirname(path))))
  ofTraits.delete(base)
  const unnamed: string[] = []
  for (const folder of ofTraits) {
    for (const { name, isFolder } of await readEntries(folder)) {
      if (!isFolder && IMAGE_NAME.test(name) && !usedImages.has(join(folder, name))) unnamed.push(join(folder, name))
    }
  }
  for (const parent of new Set([...ofTraits].map(dirname))) {
    if (isInside(base, parent)) continue
    for (const { name, isFolder } of await readEntries(parent)) {
      const path = join(parent, name)
      const isLayer = isFolder && !name.startsWith('.') && ![...folders].some((folder) => isInside(folder, path))
      if (isLayer && (await readEntries(path)).some((entry) => IMAGE_NAME.test(entry.name))) unnamed.push(path)
    }
  }
  if (unnamed.length === 0) return []
  const shownPaths = unnamed.slice(0, MAX_LISTED_FILES).map((path) => relative(base, path))
  return [{ place: { file }, message: `no layer uses ${listSome(shownPaths, unnamed.length)}` }]
}

const readEntries = async (folder: string): Promise<{ name: string; isFolder: boolean }[]> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
