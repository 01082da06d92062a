import { parseAbi } from 'viem'

/** The functions of a collection contract that drops of tests read. */
export const COLLECTION_ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
  'function totalSupply() view returns (uint256)',
])
