import { expect, test } from 'vitest'
import { unknownNfts } from '../../src/operations/unknown-nfts.ts'

test('an unknown ID has a hint to check it', () => {
  for (const id of ['nft-1', '0xabc/1']) {
    expect(unknownNfts([id]).hint).toBe('Check the ID, the server and the account of the API key.')
  }
})

test('an unknown NFT that is named by address and token has a hint with the command that prints its ID', () => {
  const contract = `0x${'aB'.repeat(20)}`
  expect(unknownNfts(['nft-1', `${contract}/3`]).hint).toBe(
    `Use the ID of the NFT: gdn nft list -c ${contract} --json | jq -r '.[] | select(.token_id == "3").nft_gdn_id'`,
  )
})

test('an address in the place of an ID gets the commands for collections', () => {
  expect(unknownNfts([`0x${'aB'.repeat(20)}`]).hint).toContain('`gdn nft list -c <address>`')
})
