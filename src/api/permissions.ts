/** The permissions of API keys. createnfttrans needs `nft:create` and `nft:transfer`. */
export const PERMISSIONS = [
  'collection:create',
  'nft:create',
  'nft:transfer',
  'nft:update',
  'nft:burn',
  'nft:read',
  'wallet:create',
] as const

/** Permissions for requests that cost something. A key with any of them may limit a run's cost. */
export const SPENDING_PERMISSIONS = [
  'collection:create',
  'nft:create',
  'nft:transfer',
  'nft:update',
  'nft:burn',
] as const satisfies readonly (typeof PERMISSIONS)[number][]

export type Permission = (typeof PERMISSIONS)[number]
