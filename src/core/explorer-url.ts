/**
 * Where a block explorer shows a transaction, as nearly all of them spell it.
 *
 * @param explorer what people write of it: `https://polygonscan.com`, `https://explorer.solana.com/?cluster=devnet`
 * @example
 * transactionUrl('https://polygonscan.com/', '0x4c3f…') // https://polygonscan.com/tx/0x4c3f…
 */
export function transactionUrl(explorer: string, hash: string): string {
  const url = new URL(explorer)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/tx/${hash}`
  return url.href
}
