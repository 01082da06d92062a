import { trimSlashes } from './parse-url.ts'

/**
 * Returns the URL of a transaction in a block explorer. Nearly all block explorers use this path.
 *
 * @param blockExplorer the configured URL, such as `https://polygonscan.com` or
 *   `https://explorer.solana.com/?cluster=devnet`
 * @example
 * transactionUrl('https://polygonscan.com/', '0x4c3f…') // https://polygonscan.com/tx/0x4c3f…
 */
export const transactionUrl = (blockExplorer: string, hash: string): string => pageUrl(blockExplorer, `tx/${hash}`)

/** Returns the URL of an account or a contract in a block explorer. */
export const addressUrl = (blockExplorer: string, address: string): string =>
  pageUrl(blockExplorer, `address/${address}`)

function pageUrl(blockExplorer: string, page: string): string {
  const url = new URL(blockExplorer)
  url.pathname = `${trimSlashes(url.pathname)}/${page}`
  return url.href
}
