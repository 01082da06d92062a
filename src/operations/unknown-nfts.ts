import { GdnError } from '../core/errors.ts'

/** Throws if the server doesn't know some IDs. getnfts omits them without an error. */
export function refuseUnknown(missing: readonly string[]): void {
  if (missing.length > 0) throw unknownNfts(missing)
}

export function unknownNfts(missing: readonly string[]): GdnError {
  const named = missing.find((id) => /^0x[0-9a-f]{40}(\/\d+)?$/i.test(id))
  const [address, token] = named?.split('/') ?? []
  const hint =
    token !== undefined
      ? `Use the ID of the NFT: gdn nft list -c ${address} --json | jq -r '.[] | select(.token_id == "${token}").nft_gdn_id'`
      : address !== undefined
        ? 'This is an address. Run `gdn collection show <address>`, or list NFTs with `gdn nft list -c <address>`.'
        : missing.some((id) => /^\d+$/.test(id))
          ? 'For a token ID, use `<contract>/1`.'
          : 'Check the ID, the server and the account of the API key.'
  const what = `${missing.length === 1 ? 'NFT' : 'NFTs'} ${missing.join(', ')}`
  return new GdnError('not_found', `the server has no ${what}`, { hint, details: { nft_gdn_ids: missing } })
}
