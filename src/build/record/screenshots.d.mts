/**
 * Writes screenshots of the web explorer at a URL to a folder.
 *
 * @param nft the NFT on the page of an NFT
 */
export function screenshots(url: string, nft: string, folder: string): Promise<{ name: string; bytes: number }[]>
