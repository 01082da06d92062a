/**
 * Writes screenshots of the web explorer at a URL to a folder.
 *
 * @param nft ID of the NFT whose page is captured
 */
export function screenshots(url: string, nft: string, folder: string): Promise<{ name: string; bytes: number }[]>
