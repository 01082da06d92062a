import * as z from 'zod'
import { parseMaximum, parseTraitValue, TRAIT_TYPES, type TraitType } from '../api/traits.ts'
import { nearest } from '../core/nearest.ts'
import { quoted } from '../core/quoted.ts'
import { ART_FORMATS, BLEND_MODES, MAX_NFT_COUNT } from './types.ts'

const MAX_LAYERS = 64
const MAX_TRAITS_PER_LAYER = 2000
const MAX_RULES = 1000
const MAX_SIDE_PIXELS = 16_384

/** Returns the message for an unknown key. It suggests the field that the user probably meant. */
const unknownKeyMessage =
  (knownKeys: readonly string[]): z.core.$ZodErrorMap =>
  (issue) => {
    if (issue.code !== 'unrecognized_keys') return undefined
    const near = nearest(issue.keys[0] ?? '', knownKeys)
    return `is not a known field${near === undefined ? '' : `: did you mean "${near}"?`}`
  }

/** Returns a strict object schema. For an unknown key, its error suggests the field that the user probably meant. */
const strictFields = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, { error: unknownKeyMessage(Object.keys(shape)) })

const lineSchema = z
  .string()
  .regex(/^[^\p{Cc}]*\S[^\p{Cc}]*$/u, { error: 'must be one line of text' })
  .max(500, { error: 'must have at most 500 characters' })
const nameSchema = lineSchema
  .regex(/^\S(?:.*\S)?$/u, { error: 'must not begin or end with a space' })
  .max(100, { error: 'must have at most 100 characters' })
/** A slash separates the layer name from the trait name in a reference, so names can't contain a slash. */
const plainNameSchema = nameSchema.regex(/^[^/]*$/, { error: 'must not contain a slash' })
const templateSchema = z
  .string()
  .regex(/\S/, { error: 'must not be empty' })
  .max(10_000, { error: 'must have at most 10000 characters' })
  .regex(/^(?:[^{}]|\{number\})*$/, { error: 'must contain no braces except {number}' })
const countSchema = z
  .int({ error: 'must be a whole number' })
  .min(0, { error: 'must be at least 0' })
  .max(MAX_NFT_COUNT, { error: `must be at most ${MAX_NFT_COUNT}` })
const opacitySchema = z
  .number({ error: 'must be a number from 0 to 1' })
  .min(0, { error: 'must be at least 0' })
  .max(1, { error: 'must be at most 1' })
const blendSchema = z.enum(BLEND_MODES)

const SHARE_PATTERN = /^(\d{1,2}(?:\.\d{1,6})?)%$/
const OPTIONAL_PROBLEM = 'must be a share below 100 % such as "20%", or the exact number of NFTs without this layer'
const optionalSchema = z.union([countSchema, z.string().regex(SHARE_PATTERN, { error: OPTIONAL_PROBLEM })], {
  error: OPTIONAL_PROBLEM,
})

const textOrNumberSchema = z.union([lineSchema, z.number()], {
  error: 'must be one line of text or a number: write texts such as "null" and "true" in quotes',
})

const traitSchema = strictFields({
  file: lineSchema.describe('Path of the image, relative to the folder of the layer'),
  weight: z
    .number({ error: 'must be a number' })
    .min(0, { error: 'must be at least 0' })
    .max(1e9, { error: 'must be at most 1000000000' })
    .optional()
    .describe('Weight relative to the other weights of the layer. Default: 1'),
  count: countSchema.optional().describe('Exact number of NFTs with this trait, instead of a weight'),
  opacity: opacitySchema.optional().describe('Opacity from 0 to 1. Default: the opacity of the layer'),
  blend: blendSchema.optional().describe('Blend mode. Default: the blend mode of the layer'),
  hidden: z.boolean().optional().describe('Whether NFTs have no attribute for this trait'),
  value: textOrNumberSchema.optional().describe('Value of the attribute. Default: the name of the trait'),
}).check((context) => {
  const { weight, count: exact } = context.value
  if (weight !== undefined && exact !== undefined) {
    const message = 'must not have both a weight and a count'
    context.issues.push({ code: 'custom', message, input: context.value })
  }
})

const layerSchema = strictFields({
  name: plainNameSchema.describe('Name of the layer, and of its attribute'),
  folder: lineSchema.optional().describe('Folder of the images, relative to this file'),
  optional: optionalSchema
    .optional()
    .describe('Share of the NFTs that show no trait of this layer, such as 20%, or their exact number'),
  opacity: opacitySchema.optional().describe('Opacity from 0 to 1. Default: 1'),
  blend: blendSchema.optional().describe('Blend mode. Default: normal'),
  hidden: z.boolean().optional().describe('Whether NFTs have no attribute for this layer'),
  type: z.enum(TRAIT_TYPES).optional().describe('Type of the attributes of the layer. Default: text'),
  max: z.number({ error: 'must be a number' }).optional().describe('Maximum value, for a numeric type'),
  traits: z
    .record(nameSchema, traitSchema)
    .describe('Traits by name')
    .check((context) => {
      const { length } = Object.keys(context.value)
      if (length > 0 && length <= MAX_TRAITS_PER_LAYER) return
      const message =
        length === 0 ? 'is empty: a layer needs a trait' : `must have at most ${MAX_TRAITS_PER_LAYER} traits`
      context.issues.push({ code: 'custom', message, input: context.value })
    }),
})

const referencesSchema = z.union([lineSchema, z.array(lineSchema).min(1).max(1000)], {
  error: ({ input }) =>
    input === null || (Array.isArray(input) && input.length === 0)
      ? 'is empty: use a layer, "Layer/Trait", a group, or a list of these'
      : 'must be a layer, "Layer/Trait", a group, or a list of these',
})

const ruleSchema = strictFields({
  if: referencesSchema.describe('The rule applies to NFTs with one of these traits'),
  requires: referencesSchema.optional().describe('The NFT must have each of these traits'),
  excludes: referencesSchema.optional().describe('The NFT must have none of these traits'),
  only_with: referencesSchema.optional().describe('The NFT must have at least one of these traits'),
}).check((context) => {
  const { requires, excludes, only_with: onlyWith } = context.value
  if ([requires, excludes, onlyWith].filter((condition) => condition !== undefined).length === 1) return
  const message = 'must have one of requires, excludes and only_with'
  context.issues.push({ code: 'custom', message, input: context.value })
})

const oneOfOneSchema = strictFields({
  at: countSchema.min(1, { error: 'must be at least 1' }).describe('Number of the NFT'),
  image: lineSchema.describe('Path of the image, relative to this file'),
  title: templateSchema.optional().describe('Title of the NFT. Default: the title for all NFTs'),
  description: templateSchema.optional().describe('Description of the NFT. Default: the description for all NFTs'),
  attributes: z.record(nameSchema, textOrNumberSchema).optional().describe('Values of attributes by name'),
})

const sideSchema = z
  .int({ error: 'must be a whole number of pixels' })
  .min(1, { error: 'must be at least 1 pixel' })
  .max(MAX_SIDE_PIXELS, { error: `must be at most ${MAX_SIDE_PIXELS} pixels` })

const outputSchema = strictFields({
  width: sideSchema.optional().describe('Width in pixels. Default: the width of the images'),
  height: sideSchema.optional().describe('Height in pixels. Default: the height of the images'),
  format: z.enum(ART_FORMATS).optional().describe('Image format. Default: png. webp is lossless'),
  background: z
    .string()
    .regex(/^#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$/, { error: 'must be a color such as "#1a2b3c" or "#1a2b3cff"' })
    .optional()
    .describe('Color below all layers. Default: transparent'),
}).check((context) => {
  const { width, height } = context.value
  if ((width === undefined) === (height === undefined)) return
  const message = 'must have both width and height, or neither'
  context.issues.push({ code: 'custom', message, input: context.value })
})

/**
 * Returns whether the field at these keys is the value of an attribute. Such a value keeps its spelling in the file:
 * 007 differs from 7.
 */
export const isAttributeValue = ([top, list, ...rest]: readonly string[]): boolean =>
  (top === 'layers' && list === 'traits' && rest.length === 2 && rest[1] === 'value') ||
  (top === 'one_of_ones' && list === 'attributes' && rest.length === 1)

/** The schema of `art.yaml`. `art-file.ts` checks rules that concern several fields. */
export const artSchema = strictFields({
  title: templateSchema.describe('Title of each NFT. {number} is the number of the NFT'),
  description: templateSchema.describe('Description of each NFT. {number} is the number of the NFT'),
  collection: nameSchema.optional().describe('Name of the collection'),
  output: outputSchema.optional().describe('Size and format of the images'),
  layers: z
    .array(layerSchema)
    .min(1, { error: 'must have at least one layer' })
    .max(MAX_LAYERS, { error: `must have at most ${MAX_LAYERS} layers` })
    .describe('Layers, from the bottom to the top'),
  groups: z.record(plainNameSchema, referencesSchema).optional().describe('Groups of traits, for rules'),
  rules: z
    .array(ruleSchema)
    .max(MAX_RULES, { error: `must have at most ${MAX_RULES} rules` })
    .optional()
    .describe('Rules that every NFT follows'),
  one_of_ones: z.array(oneOfOneSchema).max(10_000).optional().describe('NFTs with a unique image'),
})

export type ArtFile = z.output<typeof artSchema>
export type LayerEntry = ArtFile['layers'][number]

/** Returns the share in a text such as `20%`, as a number from 0 to 1. */
export const parseShare = (text: string): number => Number(SHARE_PATTERN.exec(text)?.[1]) / 100

/** Returns an attribute's value as text. A number is in its shortest form: `1.50` becomes `1.5`. */
export function formatAttributeValue(type: TraitType | undefined, value: string | number): string {
  const text = String(value)
  if (type === undefined || type === 'date') return text
  const parsed = parseTraitValue(type, undefined, text)
  // Return an invalid value unchanged, because `checkTraitValues` reports it.
  return 'problem' in parsed ? text : parsed.text
}

type ReportProblem = (path: (string | number)[], message: string) => void

/** Reports traits whose values don't match the type of their layer. */
export function checkTraitValues(
  { type, max, traits }: LayerEntry,
  at: (string | number)[],
  report: ReportProblem,
): void {
  if (type === undefined) {
    if (max !== undefined) report([...at, 'max'], 'needs a type, such as type: number')
    return
  }
  const most = max === undefined ? undefined : parseMaximum(type, String(max))
  if (most !== undefined && 'problem' in most) {
    report([...at, 'max'], most.problem)
    return
  }
  for (const [key, { value = key }] of Object.entries(traits)) {
    const parsed = parseTraitValue(type, most?.text, String(value))
    if ('problem' in parsed) report([...at, 'traits', key], `the value of ${quoted(key)} ${parsed.problem}`)
  }
}
