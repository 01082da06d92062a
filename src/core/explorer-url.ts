/**
 * Where a block explorer shows a transaction, as nearly all of them spell it.
 *
 * @param explorer what people write of it: `https://polygonscan.com`, `https://explorer.solana.com/?cluster=devnet`
 * @example
 * transactionUrl('https://polygonscan.com/', '0x4c3f…') // https://polygonscan.com/tx/0x4c3f…
 */
export const transactionUrl = (explorer: string, hash: string): string => pageUrl(explorer, `tx/${hash}`)

/** The page of an account or a contract, likewise. */
export const addressUrl = (explorer: string, address: string): string => pageUrl(explorer, `address/${address}`)

function pageUrl(explorer: string, page: string): string {
  const url = new URL(explorer)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${page}`
  return url.href
}
