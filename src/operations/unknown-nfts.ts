import { GdnError } from '../core/errors.ts'

/** Whether the command accepts `<contract>/<token ID>` in place of the ID of an NFT. */
interface AcceptedForms {
  takesTokens?: boolean
}

/** Throws if the server has no records for some IDs. getnfts omits such IDs without an error. */
export function refuseUnknownNfts(missing: readonly string[]): void {
  if (missing.length > 0) throw unknownNftsError(missing)
}

/** Returns a hint for the name of a collection or a manifest; undefined for other texts. */
function hintForName(missing: readonly string[], takesTokens: boolean): string | undefined {
  const token = missing.map((id) => /^[^/]+\/(\d+)$/.exec(id)?.[1]).find((id) => id !== undefined)
  if (token !== undefined)
    return `Use ${takesTokens ? `the address of the collection: <contract>/${token}` : 'the ID of the NFT'}. To list ${takesTokens ? 'addresses' : 'the IDs'}, run \`gdn ${takesTokens ? 'collection list' : 'nft list -c <collection>'}\`.`
  if (missing.some((id) => /\.(?:csv|tsv|jsonl?|ndjson)$/i.test(id)))
    return 'To show the NFTs of a manifest, run `gdn batch results <manifest>`. To verify them, add --verify.'
  return undefined
}

export function unknownNftsError(missing: readonly string[], { takesTokens = false }: AcceptedForms = {}): GdnError {
  const idOf = (contract: string, token: string) =>
    `gdn nft list -c ${contract} --json | jq -r '.[] | select(.token_id == "${token}").nft_gdn_id'`
  const number = missing.find((id) => /^\d+$/.test(id))
  const tokenId = missing.find((id) => /^0x[0-9a-f]{40}(\/\d+)?$/i.test(id))
  const [address, token] = tokenId?.split('/') ?? []
  const hint =
    token !== undefined
      ? `Use the ID of the NFT: ${idOf(address ?? '', token)}`
      : address !== undefined
        ? 'This is an address. Run `gdn collection show <address>`, or list NFTs with `gdn nft list -c <address>`.'
        : number !== undefined
          ? takesTokens
            ? `For a token ID, use \`<contract>/${number}\`.`
            : `For a token ID, use the ID of the NFT: ${idOf('<contract>', number)}`
          : (hintForName(missing, takesTokens) ?? 'Check the ID, the server and the account of the API key.')
  const nfts = `${missing.length === 1 ? 'NFT' : 'NFTs'} ${missing.join(', ')}`
  return new GdnError('not_found', `the server has no ${nfts}`, { hint, details: { nft_gdn_ids: missing } })
}
