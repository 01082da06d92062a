/** The endpoints whose requests create NFTs. */
export const MINT_ENDPOINTS = ['createnft', 'createnfttrans', 'creatednft'] as const

export type MintEndpoint = (typeof MINT_ENDPOINTS)[number]
