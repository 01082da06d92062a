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

export type Permission = (typeof PERMISSIONS)[number]
