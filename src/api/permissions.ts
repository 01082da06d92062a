/** The permissions of API keys. createnfttrans requires both `nft:create` and `nft:transfer`. */
export const PERMISSIONS = [
  'collection:create',
  'nft:create',
  'nft:transfer',
  'nft:update',
  'nft:burn',
  'nft:read',
  'wallet:create',
] as const

/** Permissions for requests that cost money. A key with any of them may limit the cost of a run. */
export const SPENDING_PERMISSIONS = [
  'collection:create',
  'nft:create',
  'nft:transfer',
  'nft:update',
  'nft:burn',
] as const satisfies readonly (typeof PERMISSIONS)[number][]

export type Permission = (typeof PERMISSIONS)[number]
