import { dirname, resolve } from 'node:path'
import { type ParsedYaml, parseYamlWithPlaces } from '../api/parse-yaml.ts'
import { parseMaximum, parseTraitValue } from '../api/traits.ts'
import { formatPath } from '../api/validate.ts'
import { type ErrorCode, GdnError } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import { issuesError } from '../manifest/manifest-error.ts'
import type { ManifestIssue } from '../manifest/row.ts'
import { findForbiddenSubject } from './contradiction.ts'
import { References } from './references.ts'
import {
  type ArtFile,
  artSchema,
  checkTraitValues,
  formatAttributeValue,
  isAttributeValue,
  type LayerEntry,
  parseShare,
} from './schema.ts'
import type { Art, ArtLayer, ArtRule, ArtTrait, Frequency, OneOfOne } from './types.ts'

type Path = (string | number)[]

/** The hint of an error in `art.yaml`. */
const ART_FILE_HINT = 'docs/art.md describes the fields of art.yaml, and `gdn schema art` prints their schema.'

/**
 * Parses the text of an `art.yaml`.
 *
 * @param file the path of the file, to which the paths in it are relative
 * @param cwd the folder to which `file` is relative
 * @throws GdnError `invalid_config` with the file, line, column and field of the first problem. `details` contains
 *   all problems.
 */
export function parseArt(text: string, file: string, cwd: string): Art {
  const parsed = withHint(() => parseYamlWithPlaces(artSchema, text, file, isAttributeValue))
  const issues: ManifestIssue[] = []
  const report = (path: Path, message: string) => {
    issues.push({ place: { ...parsed.placeOf(path), field: formatPath(path) }, message })
  }
  checkLayers(parsed.value.layers, report)
  checkOneOfOnes(parsed.value, report)
  const references = new References(parsed.value, report)
  const rules = toRules(parsed, references)
  const art = toArt(parsed, file, resolve(cwd, dirname(file)), rules)
  if (issues.length === 0) {
    const issue = findForbiddenSubject(art)
    if (issue !== null) issues.push(issue)
  }
  if (issues.length === 0) return art
  throw issuesError('invalid_config', issues).withHint(ART_FILE_HINT)
}

function withHint<Value>(parse: () => Value): Value {
  try {
    return parse()
  } catch (error) {
    const code: ErrorCode = 'invalid_config'
    if (!(error instanceof GdnError) || error.code !== code) throw error
    const { issues = [] } = (error.details ?? {}) as { issues?: readonly ManifestIssue[] }
    throw (issues.length === 0 ? error : issuesError(code, issues)).withHint(ART_FILE_HINT)
  }
}

function checkLayers(layers: readonly LayerEntry[], report: (path: Path, message: string) => void): void {
  const names = new Map<string, string>()
  for (const [index, layer] of layers.entries()) {
    const at: Path = ['layers', index]
    const earlier = names.get(layer.name.toLowerCase())
    if (earlier !== undefined) report([...at, 'name'], `is already the name of another layer: ${quoted(earlier)}`)
    names.set(layer.name.toLowerCase(), layer.name)
    checkTraitValues(layer, at, report)
    const traits = Object.values(layer.traits)
    const canBeMade = traits.some(({ weight = 1, count = 0 }) => count > 0 || weight > 0)
    if (!canBeMade && layer.optional === undefined) {
      report([...at, 'traits'], 'must have at least one trait with a weight or count above 0')
    }
  }
}

function checkOneOfOnes({ one_of_ones: ones = [], layers }: ArtFile, report: (path: Path, message: string) => void) {
  const numbers = new Map<number, number>()
  for (const [index, { at, attributes = {} }] of ones.entries()) {
    const earlier = numbers.get(at)
    if (earlier !== undefined) report(['one_of_ones', index, 'at'], `is already used by entry ${earlier + 1}`)
    numbers.set(at, index)
    for (const [tag, value] of Object.entries(attributes)) {
      const layer = layers.find(({ name }) => name === tag)
      if (layer?.type === undefined) continue
      const most = layer.max === undefined ? undefined : parseMaximum(layer.type, String(layer.max))
      // Ignore an invalid maximum here, because `checkTraitValues` reports it.
      const max = most === undefined || 'problem' in most ? undefined : most.text
      const problem = parseTraitValue(layer.type, max, String(value))
      if ('problem' in problem) report(['one_of_ones', index, 'attributes', tag], problem.problem)
    }
  }
}

const RULE_KINDS = ['requires', 'excludes', 'only_with'] as const

function toRules({ value, placeOf }: ParsedYaml<ArtFile>, references: References): ArtRule[] {
  return (value.rules ?? []).flatMap((rule, index) =>
    RULE_KINDS.flatMap((kind) => {
      const targets = rule[kind]
      if (targets === undefined) return []
      const at: Path = ['rules', index]
      const subject = references.resolveUnion(rule.if, [...at, 'if'])
      return [{ kind, subject, sets: references.resolveEach(targets, [...at, kind]), place: placeOf(at) }]
    }),
  )
}

function toArt({ value, placeOf }: ParsedYaml<ArtFile>, file: string, folder: string, rules: ArtRule[]): Art {
  const { title, description, collection, output = {}, layers, one_of_ones: ones = [] } = value
  const { width, height, format = 'png', background } = output
  return {
    file,
    title,
    description,
    collection: collection ?? null,
    output: {
      size: width === undefined || height === undefined ? null : { width, height },
      format,
      background: background ?? null,
    },
    layers: layers.map((layer, index) => toLayer(layer, folder, ['layers', index], placeOf)),
    rules,
    oneOfOnes: ones
      .map((oneOfOne, index): OneOfOne => {
        const attributes = Object.entries(oneOfOne.attributes ?? {}).map(([tag, given]) => {
          const type = layers.find(({ name }) => name === tag)?.type
          return { tag, value: formatAttributeValue(type, given) }
        })
        return {
          at: oneOfOne.at,
          image: oneOfOne.image,
          path: resolve(folder, oneOfOne.image),
          title: oneOfOne.title ?? null,
          description: oneOfOne.description ?? null,
          attributes,
          place: placeOf(['one_of_ones', index]),
        }
      })
      .sort((a, b) => a.at - b.at),
  }
}

function toLayer(entry: LayerEntry, base: string, at: Path, placeOf: ParsedYaml<ArtFile>['placeOf']): ArtLayer {
  const folder = resolve(base, entry.folder ?? '.')
  const { optional } = entry
  const traits = Object.entries(entry.traits).map(
    ([name, given]): ArtTrait => ({
      name,
      file: given.file,
      path: resolve(folder, given.file),
      frequency: frequencyOf(given),
      opacity: given.opacity ?? entry.opacity ?? 1,
      blend: given.blend ?? entry.blend ?? 'normal',
      hidden: given.hidden ?? entry.hidden ?? false,
      value: formatAttributeValue(entry.type, given.value ?? name),
      place: placeOf([...at, 'traits', name]),
    }),
  )
  return {
    name: entry.name,
    folder,
    namedFolder: entry.folder === undefined ? null : { file: entry.folder, place: placeOf([...at, 'folder']) },
    optional:
      optional === undefined
        ? null
        : typeof optional === 'number'
          ? { count: optional }
          : { share: parseShare(optional) },
    type: entry.type ?? null,
    max: entry.max === undefined ? null : String(entry.max),
    traits,
    place: placeOf(at),
  }
}

const frequencyOf = ({ weight = 1, count }: { weight?: number | undefined; count?: number | undefined }): Frequency =>
  count === undefined ? { weight } : { count }
