import type { TraitType } from '../api/traits.ts'
import type { Place } from '../core/errors.ts'

/** Maximum number of NFTs in an edition. */
export const MAX_NFT_COUNT = 1_000_000
export const DEFAULT_SEED = 'gdn'

/** The separable blend modes of W3C's Compositing and Blending Level 1 (https://www.w3.org/TR/compositing-1/). */
export const BLEND_MODES = [
  ...['normal', 'multiply', 'screen', 'overlay', 'darken', 'lighten', 'color-dodge', 'color-burn'],
  ...['hard-light', 'soft-light', 'difference', 'exclusion'],
] as const satisfies readonly string[]
export type BlendMode = (typeof BLEND_MODES)[number]

export const ART_FORMATS = ['png', 'webp', 'jpeg'] as const
export type ArtFormat = (typeof ART_FORMATS)[number]

/** The frequency of a trait: a weight relative to the layer's other weights, or an exact count of NFTs. */
export type Frequency = { weight: number } | { count: number }

/** The frequency of NFTs without a trait of a layer: a share of all generated NFTs (0 to 1), or an exact count. */
export type OptionalFrequency = { share: number } | { count: number }

export interface ArtTrait {
  name: string
  /** The path of the image as spelled in `art.yaml`, relative to the folder of its layer. */
  file: string
  /** The absolute path of the image. */
  path: string
  frequency: Frequency
  /** The opacity, from 0 to 1. */
  opacity: number
  blend: BlendMode
  /** Whether the NFT has no attribute for this trait. */
  hidden: boolean
  /** The value of the attribute. */
  value: string
  /** The trait's location in `art.yaml`. */
  place: Place
}

export interface ArtLayer {
  name: string
  /** The absolute path of the folder with the images. */
  folder: string
  /** The folder as spelled in `art.yaml`, and its location; null if the file doesn't specify it. */
  namedFolder: { file: string; place: Place } | null
  /** The frequency of NFTs without a trait of this layer; null if every NFT has one. */
  optional: OptionalFrequency | null
  /** The type of the layer's attributes; null for text. */
  type: TraitType | null
  /** The maximum value of a typed trait. */
  max: string | null
  traits: readonly ArtTrait[]
  place: Place
}

/** A set of traits. An NFT matches the set if it has at least one of them. */
export interface TraitSet {
  /** The name in `art.yaml`: `Layer`, `Layer/Trait` or a group. */
  name: string
  /** The layer and trait numbers, in ascending order. */
  members: readonly { layer: number; trait: number }[]
}

/**
 * A rule for NFTs that have a trait in `subject`. `requires`: the NFT must match each set. `excludes`: it must match no
 * set. `only_with`: it must match at least one set.
 */
export interface ArtRule {
  kind: 'requires' | 'excludes' | 'only_with'
  subject: TraitSet
  sets: readonly TraitSet[]
  place: Place
}

/** An NFT with its own image. */
export interface OneOfOne {
  /** The NFT's number. Numbers start at 1. */
  at: number
  /** The path as spelled in `art.yaml`, relative to the folder of `art.yaml`. */
  image: string
  /** The absolute path of the image. */
  path: string
  /** The title; null if the template in `art.yaml` applies. */
  title: string | null
  description: string | null
  attributes: readonly { tag: string; value: string }[]
  place: Place
}

/** A problem or a warning, and its location. */
export interface ArtIssue {
  place: Place
  message: string
  hint?: string | undefined
}

/** The content of `art.yaml`. */
export interface Art {
  /** The path of `art.yaml` in messages. */
  file: string
  /** Templates, in which `{number}` stands for the number of the NFT. */
  title: string
  description: string
  /** The name of the collection. */
  collection: string | null
  output: {
    /** The output size; null to use the size of the images. */
    size: { width: number; height: number } | null
    format: ArtFormat
    /** The background color as `#rrggbb` or `#rrggbbaa`; null for transparent. */
    background: string | null
  }
  /** The layers, from bottom to top. */
  layers: readonly ArtLayer[]
  rules: readonly ArtRule[]
  /** The one-of-ones, ordered by number. */
  oneOfOnes: readonly OneOfOne[]
}

/** An NFT of an edition. */
export interface EditionItem {
  /** The NFT's number. Numbers start at 1. */
  number: number
  /** The index of the trait in each layer; -1 if the layer isn't shown. Empty for a one-of-one. */
  traits: Int16Array
  /** The index in `art.oneOfOnes`; null if the NFT is made from layers. */
  oneOfOne: number | null
}

/** The number of NFTs with a trait, if it differs from the number that the weights require. */
export interface Deviation {
  layer: number
  /** The index of the trait; -1 if the layer isn't shown. */
  trait: number
  wanted: number
  made: number
}

export interface Edition {
  art: Art
  /** The seed of the random choices. */
  seed: string
  /** The NFTs, ordered by number. */
  items: readonly EditionItem[]
  /** The deviations, ordered by layer and trait. Empty if all weights are met. */
  deviations: readonly Deviation[]
}
