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

/** The known name that a misspelt one most likely means, or null where none is near. */
export function nearest(name: string, known: readonly string[]): string | null {
  const wanted = name.slice(0, 64).trim().toLowerCase().replaceAll(/[ -]/g, '_')
  const synonym = Object.hasOwn(SYNONYMS, wanted) ? SYNONYMS[wanted] : undefined
  if (synonym !== undefined) return synonym
  const [best] = known
    .map((candidate) => ({ candidate, distance: distance(wanted, candidate) }))
    .sort((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= Math.ceil(best.candidate.length / 3) ? best.candidate : null
}

/** Levenshtein's: letters inserted, removed or changed. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...a].entries()) {
    const row = [i + 1]
    for (const [j, other] of [...b].entries()) {
      row.push(Math.min((row[j] ?? 0) + 1, (previous[j + 1] ?? 0) + 1, (previous[j] ?? 0) + (letter === other ? 0 : 1)))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
