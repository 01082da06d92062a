/** The marketplaces whose rules are public. */
export const MARKETPLACES = ['opensea'] as const
export type Marketplace = (typeof MARKETPLACES)[number]

/** An `error` exits with code 2. A `hint` is a recommendation, which is reported once for all rows. */
export type Severity = 'error' | 'warning' | 'hint'

interface Rule {
  severity: Severity
  source: string
  /** The day on which the source was last found to say so. */
  date: string
}

const MEDIA = { source: 'https://docs.opensea.io/docs/media-and-traits', date: '2026-11-28' }
const COLLECTION = { source: 'https://docs.opensea.io/docs/contract-level-metadata', date: '2026-11-28' }
/** Matches trait types exactly after trimming. */
const RARITY = { source: 'https://docs.opensea.io/reference/set_collection_rarity_setting', date: '2026-11-28' }
/** Gives each trait type one of the categories string, number and date. */
const CATEGORIES = {
  source: 'https://projectopensea.github.io/opensea-js/types/TraitCategories.html',
  date: '2026-11-28',
}

/**
 * The rules of OpenSea. A limit without a public source, such as a maximum length of names, isn't a rule. OpenSea's
 * limit of 300 MB for media is above the size that gdn uploads.
 */
export const RULES = {
  'image-missing': { severity: 'warning', ...MEDIA },
  'image-type': { severity: 'error', ...MEDIA },
  /** OpenSea lists the extensions of animations, and supports most image formats without listing them. */
  'image-extension': { severity: 'warning', ...MEDIA },
  'animation-extension': { severity: 'warning', ...MEDIA },
  /** OpenSea caches an SVG as PNG, which has no scripts and no motion. */
  'image-motion': { severity: 'warning', ...MEDIA },
  'image-pixels': { severity: 'hint', ...MEDIA },
  'animation-type': { severity: 'error', ...MEDIA },
  'background-color': { severity: 'error', ...MEDIA },
  'external-url': { severity: 'error', ...MEDIA },
  'trait-spelling': { severity: 'warning', ...RARITY },
  'trait-typo': { severity: 'warning', ...RARITY },
  'trait-type': { severity: 'warning', ...CATEGORIES },
  'trait-max': { severity: 'warning', ...MEDIA },
  'value-spelling': { severity: 'warning', ...MEDIA },
  'value-once': { severity: 'hint', ...MEDIA },
  'collection-image': { severity: 'warning', ...COLLECTION },
  'collection-banner': { severity: 'warning', ...COLLECTION },
  'collection-description': { severity: 'warning', ...COLLECTION },
} as const satisfies Readonly<Record<string, Rule>>

export type RuleName = keyof typeof RULES
