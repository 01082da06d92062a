import { expect, it } from 'vitest'
import { transactionUrl } from '../../src/core/block-explorer.ts'

it.each([
  ['https://polygonscan.com', 'https://polygonscan.com/tx/0xab'],
  ['https://polygonscan.com/', 'https://polygonscan.com/tx/0xab'],
  ['https://scan.example/polygon//', 'https://scan.example/polygon/tx/0xab'],
  ['https://explorer.solana.com/?cluster=devnet', 'https://explorer.solana.com/tx/0xab?cluster=devnet'],
])('links a transaction on %s to %s', (explorer, url) => {
  expect(transactionUrl(explorer, '0xab')).toBe(url)
})
