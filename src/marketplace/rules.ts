/** The marketplaces whose rules are public. */
export const MARKETPLACES = ['opensea'] as const
export type Marketplace = (typeof MARKETPLACES)[number]

/**
 * The severity of a rule. With an `error`, the command exits with code 2. A `hint` is a recommendation that is reported
 * once for all rows.
 */
export type Severity = 'error' | 'warning' | 'hint'

interface Rule {
  severity: Severity
  source: string
  /** The date on which the rule was last confirmed in the source. */
  date: string
}

const MEDIA = { source: 'https://docs.opensea.io/docs/media-and-traits', date: '2026-11-28' }
const COLLECTION = { source: 'https://docs.opensea.io/docs/contract-level-metadata', date: '2026-11-28' }
/** According to this source, OpenSea matches trait types exactly after trimming. */
const RARITY = { source: 'https://docs.opensea.io/reference/set_collection_rarity_setting', date: '2026-11-28' }
/** According to this source, each trait type has one of the categories string, number and date. */
const CATEGORIES = {
  source: 'https://projectopensea.github.io/opensea-js/types/TraitCategories.html',
  date: '2026-11-28',
}

/**
 * OpenSea's rules. A limit without a public source, such as a maximum name length, isn't a rule. OpenSea's media limit
 * of 300 MB is above the maximum size that gdn uploads.
 */
export const RULES = {
  'image-missing': { severity: 'warning', ...MEDIA },
  'image-type': { severity: 'error', ...MEDIA },
  /** OpenSea lists the supported animation extensions, but supports most image formats without listing them. */
  'image-extension': { severity: 'warning', ...MEDIA },
  'animation-extension': { severity: 'warning', ...MEDIA },
  /** OpenSea caches an SVG as a PNG, which has no scripts or animations. */
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
