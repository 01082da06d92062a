import { nearest as nearestWord } from '../core/nearest.ts'

/** Names that people give to a column, and the one that is meant. */
const SYNONYMS: Readonly<Record<string, string>> = {
  name: 'title',
  nft_name: 'title',
  desc: 'description',
  to: 'receiver',
  to_address: 'receiver',
  owner: 'receiver',
  wallet: 'receiver',
  wallet_address: 'receiver',
  address: 'receiver',
  recipient: 'receiver',
  receiver_wallet_address: 'receiver',
  from: 'sender',
  sender_wallet_address: 'sender',
  contract: 'contract_address',
  chain: 'blockchain',
  network: 'blockchain',
  image_url: 'image',
  picture: 'image',
  file: 'file:',
  url: 'image',
}

/** The column that a misspelt name most likely means, or null where none is near. */
export function nearest(name: string, known: readonly string[]): string | null {
  const wanted = name.slice(0, 64).trim().toLowerCase().replaceAll(/[ -]/g, '_')
  const synonym = Object.hasOwn(SYNONYMS, wanted) ? SYNONYMS[wanted] : undefined
  return synonym ?? nearestWord(wanted, known) ?? null
}
