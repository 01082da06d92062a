import { GdnError } from '../core/errors.ts'

/** Throws if the server doesn't know some IDs. getnfts omits them without an error. */
export function refuseUnknown(missing: readonly string[]): void {
  if (missing.length > 0) throw unknownNfts(missing)
}

export const unknownNfts = (missing: readonly string[]) =>
  new GdnError('not_found', `the server has no ${missing.length === 1 ? 'NFT' : 'NFTs'} ${missing.join(', ')}`, {
    hint: missing.some((id) => id.includes('/'))
      ? idOfToken(missing)
      : missing.some((id) => /^0x[0-9a-f]{40}$/i.test(id))
        ? 'This is an address. Run `gdn collection show <address>`, or list NFTs with `gdn nft list -c <address>`.'
        : 'Check the ID, the server and the account of the API key.',
    details: { nft_gdn_ids: missing },
  })

function idOfToken(missing: readonly string[]): string {
  for (const id of missing) {
    const [, contract, token] = /^(0x[0-9a-f]{40})\/(\d{1,78})$/i.exec(id) ?? []
    if (contract === undefined) continue
    return `Use the ID of the NFT: gdn nft list -c ${contract} --json | jq -r '.[] | select(.token_id == "${token}").nft_gdn_id'`
  }
  return 'Use the ID of the NFT, from `gdn nft list -o ids`. `gdn nft show` and `gdn nft verify` also accept <contract>/<number>.'
}
