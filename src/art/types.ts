import type { TraitType } from '../api/traits.ts'
import type { Place } from '../core/errors.ts'

/** The largest number of NFTs in an edition. */
export const MAX_COUNT = 1_000_000
export const DEFAULT_SEED = 'gdn'

/** The separable blend modes of W3C's Compositing and Blending Level 1 (https://www.w3.org/TR/compositing-1/). */
export const BLEND_MODES = [
  ...['normal', 'multiply', 'screen', 'overlay', 'darken', 'lighten', 'color-dodge', 'color-burn'],
  ...['hard-light', 'soft-light', 'difference', 'exclusion'],
] as const satisfies readonly string[]
export type BlendMode = (typeof BLEND_MODES)[number]

export const ART_FORMATS = ['png', 'webp', 'jpeg'] as const
export type ArtFormat = (typeof ART_FORMATS)[number]

/** How many NFTs have a trait: a weight relative to the layer's other weights, or an exact count. */
export type Frequency = { weight: number } | { count: number }

/** How many NFTs show no trait of a layer: a share of all generated NFTs (0 to 1), or an exact count. */
export type Optional = { share: number } | { count: number }

export interface ArtTrait {
  name: string
  /** The path of the image as `art.yaml` spells it, relative to the folder of its layer. */
  file: string
  /** The absolute path of the image. */
  path: string
  frequency: Frequency
  /** 0 to 1. */
  opacity: number
  blend: BlendMode
  /** Whether the NFT has no attribute for this trait. */
  hidden: boolean
  /** The value of the attribute. */
  value: string
  /** Its location in `art.yaml`. */
  place: Place
}

export interface ArtLayer {
  name: string
  /** The absolute path of the folder with the images. */
  folder: string
  /** The folder as `art.yaml` spells it, with its location; null if the file doesn't name it. */
  namedFolder: { file: string; place: Place } | null
  /** Null if every NFT has a trait of this layer. */
  optional: Optional | null
  /** The type of its attributes; null for text. */
  type: TraitType | null
  /** The maximum value of a typed trait. */
  max: string | null
  traits: readonly ArtTrait[]
  place: Place
}

/** One or more traits. It holds for an NFT that has at least one of them. */
export interface TraitSet {
  /** The name in `art.yaml`: `Layer`, `Layer/Trait` or a group. */
  name: string
  /** The layer and trait numbers, in ascending order. */
  members: readonly { layer: number; trait: number }[]
}

/**
 * A rule for NFTs that have a trait of `subject`. `requires`: each of the sets must hold. `excludes`: none may hold.
 * `only_with`: at least one must hold.
 */
export interface ArtRule {
  kind: 'requires' | 'excludes' | 'only_with'
  subject: TraitSet
  sets: readonly TraitSet[]
  place: Place
}

/** An NFT with an image of its own. */
export interface OneOfOne {
  /** The number of the NFT, from 1. */
  at: number
  /** The path as `art.yaml` spells it, relative to the file. */
  image: string
  /** The absolute path. */
  path: string
  /** Null if the template of the file applies. */
  title: string | null
  description: string | null
  attributes: readonly { tag: string; value: string }[]
  place: Place
}

/** A problem or a warning with its location. */
export interface ArtIssue {
  place: Place
  message: string
  hint?: string | undefined
}

/** The content of `art.yaml`. */
export interface Art {
  /** The path of the file in messages. */
  file: string
  /** Templates in which `{number}` is the number of the NFT. */
  title: string
  description: string
  /** The name of the collection. */
  collection: string | null
  output: {
    /** Null for the size of the images. */
    size: { width: number; height: number } | null
    format: ArtFormat
    /** `#rrggbb` or `#rrggbbaa`; null for transparent. */
    background: string | null
  }
  /** Bottom first. */
  layers: readonly ArtLayer[]
  rules: readonly ArtRule[]
  /** Ordered by number. */
  oneOfOnes: readonly OneOfOne[]
}

/** An NFT of an edition. */
export interface EditionItem {
  /** From 1. */
  number: number
  /** The number of the trait in each layer; -1 if the layer is not shown. Empty for a one-of-one. */
  traits: Int16Array
  /** The index in `art.oneOfOnes`; null if the NFT is made from layers. */
  oneOfOne: number | null
}

/** The number of NFTs with a trait, if it differs from the one that the weights ask for. */
export interface Deviation {
  layer: number
  /** -1 if the layer is not shown. */
  trait: number
  wanted: number
  made: number
}

export interface Edition {
  art: Art
  /** The seed of the random choices. */
  seed: string
  /** Ordered by number. */
  items: readonly EditionItem[]
  /** Ordered by layer and trait. Empty if all weights are met. */
  deviations: readonly Deviation[]
}
